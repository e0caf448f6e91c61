"""The files that a recipe names, found in a folder of the user's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saccade.errors import UserError
from saccade.names import hub_name, is_stdin, task_name

_KEYS = ("pairs", "targets", "valid", "valid_targets")
_ENDINGS = ("", ".gz", ".xz")


def find_files(tables: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of a recipe with the relative paths of [data] and [[data.corpora]] taken from `folder`, where a file
    may also have one of the endings .gz and .xz."""
    data = tables.get("data")
    if not isinstance(data, dict):
        return dict(tables)
    moved = _found_in(folder, data)
    if isinstance(corpora := data.get("corpora"), list):
        moved["corpora"] = [_found_in(folder, entry) if isinstance(entry, dict) else entry for entry in corpora]
    return {**tables, "data": moved}


def _found_in(folder: Path, table: dict[str, Any]) -> dict[str, Any]:
    return table | {key: str(find_file(folder, table[key])) for key in _KEYS if _is_file(table.get(key))}


def _is_file(name: Any) -> bool:
    if not isinstance(name, str) or name in ("", "none"):
        return False
    return task_name(name) is None and hub_name(name) is None and not is_stdin(name) and not Path(name).is_absolute()


def find_file(folder: Path, name: str) -> Path:
    for ending in _ENDINGS:
        if (path := folder / f"{name}{ending}").exists():
            return path
    raise UserError(f"--data-folder {folder}: there is no {name}, nor {name}.gz or {name}.xz, which the recipe names")
