"""The documents do what they say: code prints what is shown, links lead somewhere, tables and trees are fresh."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from saccade.models import MODELS
from saccade.train.recipe import recipe_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import tables  # noqa: E402  (docs/ is no package: its scripts are found by path)

READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
RUN = [*READMES, *DOCS]  # CONTRIBUTING.md's blocks are edits: tests/test_contributing.py makes them
MARKDOWN = [*RUN, *sorted(ROOT.glob("C*.md")), *sorted((ROOT / "decisions").glob("*.md"))]
LANGUAGES = {"python", "text", "bash", "toml", "json", "tree"}


class Block(NamedTuple):
    language: str
    code: str
    line: int  # where the code starts, from 1


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(fence[1], fence[2], text.count("\n", 0, fence.start()) + 2)


def run(block: Block, page: Path, names: dict[str, object]) -> str:
    """What a python block prints; a traceback shows the page's own line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
    return printed.getvalue()


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN, ids=relative)
def test_python_blocks_print_what_is_shown(page: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    printed, since = "", 0
    for block in blocks(page):
        place = f"{relative(page)}:{block.line}"
        if block.language == "python":
            assert not printed, (
                f"{relative(page)}:{since} prints this, and no ```text block after it shows it:\n{printed}"
            )
            printed, since = run(block, page, names), block.line
        elif block.language == "text":
            assert block.code == printed, f"{place} shows\n{block.code}\nbut the code prints\n{printed}"
            printed = ""
    assert not printed, f"{relative(page)}:{since} prints this, and no ```text block after it shows it:\n{printed}"


@pytest.mark.parametrize("page", MARKDOWN, ids=relative)
def test_every_block_has_a_known_language(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{relative(page)}:{block.line - 1} opens a block of {block.language!r}"


@pytest.mark.parametrize("page", MARKDOWN, ids=relative)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue  # another site
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists() and file.is_relative_to(ROOT), f"{relative(page)} links to {target}, which is not there"
        assert not heading or heading in headings(file), f"{relative(page)} links to {target}: no such heading"


def headings(page: Path) -> set[str]:
    """The anchors of a page, made of its headings as GitHub makes them."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("page", READMES, ids=relative)
def test_the_file_tree_is_true(page: Path) -> None:
    """A line is `indent name  what it is`, two blanks a level; a folder ends in a slash."""
    (tree,) = (block.code for block in blocks(page) if block.language == "tree")
    named: set[str] = set()
    folders: list[str] = []
    for line in filter(str.strip, tree.splitlines()):
        level = (len(line) - len(line.lstrip(" "))) // 2
        name = line.split()[0]
        folders[level:] = [name]
        path = "".join(folders[: level + 1])
        assert (ROOT / path).exists(), f"{relative(page)}: the tree names {path}, which is not there"
        named.add(path)
    packages = {f"saccade/{inside.parent.name}/" for inside in (ROOT / "saccade").glob("*/__init__.py")}
    assert packages <= named, f"{relative(page)}: the tree lacks {sorted(packages - named)}"


def test_generated_tables_are_fresh() -> None:
    for page, text in tables.refreshed().items():
        assert page.read_text(encoding="utf-8") == text, f"{relative(page)} is stale: run python docs/tables.py"


def bash_lines() -> Iterator[str]:
    """Every command line shown, without its comment."""
    for page in MARKDOWN:
        for block in blocks(page):
            if block.language == "bash":
                yield from (line.partition("  #")[0] for line in block.code.split("\n"))


def commands() -> dict[tuple[str, str], set[str]]:
    """(program, subcommand) of what runs saccade or make, however piped, with every option that it is shown with."""
    found: dict[tuple[str, str], set[str]] = {}
    for line in bash_lines():
        for program, subcommand, rest in re.findall(r"(?:^|[|&;] *)(saccade|make) +(\S+)([^|;&]*)", line):
            found.setdefault((program, subcommand), set()).update(re.findall(r"(?<!\S)--[a-z-]+", rest))
    return found


@pytest.mark.parametrize(("program", "subcommand"), sorted(commands()))
def test_commands_shown_exist(program: str, subcommand: str) -> None:
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(subcommand)}:", makefile, re.MULTILINE), f"make has no target {subcommand}"
        return
    asked = [subcommand] if subcommand.startswith("-") else [subcommand, "--help"]
    cli = [sys.executable, "-m", "saccade", *asked]
    wide = {**os.environ, "COLUMNS": "200"}  # so that no option is cut short
    done = subprocess.run(cli, capture_output=True, text=True, cwd=ROOT, check=False, env=wide)
    assert done.returncode == 0, f"saccade {' '.join(asked)}: {done.stdout}{done.stderr}"
    for option in commands()[program, subcommand]:
        assert re.search(rf"{option}\b", done.stdout), f"saccade {subcommand} has no option {option}"


def test_scripts_shown_exist() -> None:
    for line in bash_lines():
        for script in re.findall(r"^python (\S+\.py)", line):
            assert (ROOT / script).is_file(), f"`{line.strip()}` is shown, but {script} is not there"


def test_recipes_shown_and_kept_are_valid() -> None:
    shown = [block.code for page in DOCS for block in blocks(page) if block.language == "toml"]
    kept = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "recipes").glob("*.toml"))]
    assert shown and kept
    for text in [*shown, *kept]:
        recipe_of(tomllib.loads(text), "recipe.toml")


@pytest.mark.parametrize("name", MODELS)
def test_a_picture_promises_a_heatmap_only_of_a_model_that_looks(name: str) -> None:
    page = (ROOT / f"docs/models/{name}.md").read_text(encoding="utf-8")
    (alternative,) = re.findall(r"!\[([^\]]*)\]\(\.\./images/models/", page)
    attends = bool(MODELS[name](MODELS[name].PRESETS["tiny"], 20, 20).cross)
    assert ("heatmap" in alternative) == attends and "learns" in alternative
