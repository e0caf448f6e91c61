"""Package namespaces whose names are imported when they are first used, so that importing the package stays fast."""

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def import_on_first_use(package: str) -> None:
    """Give a package the names of its `if TYPE_CHECKING:` block, in which type checkers see plain imports."""
    module = sys.modules[package]
    source = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    blocks = [statement.body for statement in source.body if isinstance(statement, ast.If)]
    imports = [statement for block in blocks for statement in block if isinstance(statement, ast.ImportFrom)]
    module_of = {alias.name: str(statement.module) for statement in imports for alias in statement.names}

    names = sorted(module_of)

    def resolve(name: str) -> Any:
        if module_of.get(name) == package:  # a package inside this one
            return import_module(f"{package}.{name}")
        if name in module_of:
            return getattr(import_module(module_of[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}; it has {', '.join(names)}")

    vars(module).update(__all__=names, __dir__=lambda: names, __getattr__=resolve)
