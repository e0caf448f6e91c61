"""The documents are true: code prints the output shown, links exist, tables and pictures are up to date."""

import contextlib
import io
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

import saccade
from saccade.cli.commands import app
from saccade.models import MODELS
from saccade.tasks import task
from saccade.train.recipe import recipe_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import diagrams  # noqa: E402  (docs/ is not a package: its scripts are imported by path)
import measured  # noqa: E402
import pictures  # noqa: E402
import tables  # noqa: E402
import website  # noqa: E402

READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
# The Chinese README has the same code; the blocks of CONTRIBUTING.md are edits, made by tests/test_contributing.py.
EXECUTED = [READMES[0], *DOCS]
MARKDOWN = sorted({*READMES, *DOCS, *ROOT.glob("*.md"), *(ROOT / "decisions").glob("*.md")})
# The README shows a training of ten minutes on the reader's pairs; it is executed as one update on a few pairs.
SHOWN, QUICK = 'budget="10m"', 'budget=1, settings={"model.preset": "tiny", "train.judge_on": 2, "train.device": "cpu"}'
LANGUAGES = {"python", "text", "bash", "console", "toml", "json", "tree"}


class Block(NamedTuple):
    language: str
    code: str
    line: int  # the first line of the code, counted from 1


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(fence[1], fence[2], text.count("\n", 0, fence.start()) + 2)


def run(block: Block, page: Path, names: dict[str, object]) -> str:
    """The output of a python block; a traceback shows the line of the page."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = block.code.replace(SHOWN, QUICK) if page in READMES else block.code
        exec(compile("\n" * (block.line - 1) + code, str(page), "exec"), names)
    return printed.getvalue()


def relative(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", EXECUTED, ids=relative)
def test_python_blocks_print_the_output_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, count in (("pairs.tsv", 60), ("test.tsv", 3)):
        pairs = task("phrasebook-en-fr").pairs(count, seed=1, words=(3, 6))
        (tmp_path / name).write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
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
def test_links_inside_the_project_exist(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue  # another site
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists() and file.is_relative_to(ROOT), f"{relative(page)} links to {target}, which is not there"
        assert not heading or heading in headings(file), f"{relative(page)} links to {target}: no such heading"


def headings(page: Path) -> set[str]:
    """The anchors that GitHub derives from the headings of a page."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {website.slug(line, "-") for line in lines}


def test_the_file_tree_lists_every_package() -> None:
    """A line is `indent name  description`, with two spaces per level; the name of a folder ends in a slash."""
    (tree,) = (block.code for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "tree")
    listed: set[str] = set()
    folders: list[str] = []
    for line in filter(str.strip, tree.splitlines()):
        level = (len(line) - len(line.lstrip(" "))) // 2
        name = line.split()[0]
        folders[level:] = [name]
        path = "".join(folders[: level + 1])
        assert (ROOT / path).exists(), f"the tree lists {path}, which does not exist"
        listed.add(path)
    packages = {f"saccade/{inside.parent.name}/" for inside in (ROOT / "saccade").glob("*/__init__.py")}
    assert packages <= listed, f"the tree lacks {sorted(packages - listed)}"


def test_generated_tables_are_up_to_date() -> None:
    for page, text in tables.refreshed().items():
        assert page.read_text(encoding="utf-8") == text, f"{relative(page)} is out of date: run python docs/tables.py"


def test_diagrams_are_up_to_date() -> None:
    drawn = diagrams.build_diagrams()
    kept = {path.name: path.read_text(encoding="utf-8") for path in diagrams.IMAGES.glob("*.svg")}
    assert kept == drawn, "run python docs/diagrams.py"


def test_pictures_are_drawn_from_the_results(tmp_path: Path) -> None:
    pictures.draw_all(tmp_path)
    for drawn in tmp_path.iterdir():
        assert drawn.stat().st_size < 200_000 > (pictures.IMAGES / drawn.name).stat().st_size


def test_both_readmes_have_the_same_parts() -> None:
    """The headings, the code, the tables and the links to other pages."""
    english, chinese = (page.read_text(encoding="utf-8") for page in READMES)
    chinese = chinese.replace("-zh -->", " -->")  # the same table, with Chinese labels
    chinese = chinese.replace(".zh.md", ".md").replace("/zh/", "/en/")  # the same page, in Chinese
    for part in (r"^#+ ", r"^<!-- table: .*", r"\]\(([^)\s]+)\)"):
        first, second = (set(re.findall(part, text, re.MULTILINE)) for text in (english, chinese))
        assert first - {"README.zh-CN.md"} == second - {"README.md"}
    first, second = (
        [re.sub(r" *#.*", "", block.code) for block in blocks(page) if block.language != "console"] for page in READMES
    )  # what a command printed is a generated table
    assert first == second


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "story" / "en").glob("*.md")), ids=lambda page: page.stem)
def test_the_story_has_the_same_parts_in_both_languages(page: Path) -> None:
    """The headings, the diagrams, the tables, the blocks of code and the exercises"""
    english, chinese = (
        (page.parents[1] / language / page.name).read_text(encoding="utf-8") for language in ("en", "zh")
    )
    chinese = chinese.replace(".zh.svg", ".en.svg").replace("study-zh-", "study-en-").replace("-zh -->", " -->")
    for part in (r"^#+ ", r"/story/([\w-]+)\.en\.svg", r"^<!-- table: .*", r"^```(\w+)$", r"^\d\. "):
        assert re.findall(part, english, re.MULTILINE) == re.findall(part, chinese, re.MULTILINE), part
    assert "images/story/" in english


def bash_lines() -> Iterator[str]:
    """Every command line in the documents, without its comment."""
    for page in MARKDOWN:
        for block in blocks(page):
            if block.language == "bash":
                yield from (line.partition("  #")[0] for line in block.code.split("\n"))


def commands() -> dict[tuple[str, str], set[str]]:
    """(program, subcommand) of each call of saccade or make, with every option that appears with it."""
    calls: dict[tuple[str, str], set[str]] = {}
    for line in bash_lines():
        for program, subcommand, rest in re.findall(
            r"(?:^|[|&;] *)(saccade|make) +((?:words|lm|labels) +\S+|\S+)([^|;&]*)", line
        ):
            calls.setdefault((program, subcommand), set()).update(re.findall(r"(?<!\S)--[a-z][a-z0-9-]+", rest))
    return calls


@pytest.mark.parametrize(("program", "subcommand"), sorted(commands()))
def test_commands_shown_exist(program: str, subcommand: str) -> None:
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(subcommand)}:", makefile, re.MULTILINE), f"make has no target {subcommand}"
        return
    arguments = [subcommand] if subcommand.startswith("-") else [*subcommand.split(), "--help"]
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})  # so that no option is truncated
    assert done.exit_code == 0, f"saccade {' '.join(arguments)}: {done.output}"
    for option in commands()[program, subcommand]:
        assert re.search(rf"{option}\b", done.stdout), f"saccade {subcommand} has no option {option}"


def test_scripts_shown_exist() -> None:
    for line in bash_lines():
        for script in re.findall(r"^python (\S+\.py)", line):
            assert (ROOT / script).is_file(), f"`{line.strip()}` runs {script}, which does not exist"


def test_recipes_in_documents_and_files_are_valid() -> None:
    in_documents = [block.code for page in DOCS for block in blocks(page) if block.language == "toml"]
    in_files = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "recipes").glob("*.toml"))]
    assert in_documents and in_files
    for text in [*in_documents, *in_files]:
        recipe_of({"model": {"name": "bahdanau2014"}, **tomllib.loads(text)}, "recipe.toml")  # some show [data] alone


@pytest.mark.parametrize("name", measured.learnt_models())
def test_the_picture_of_a_model_shows_a_heatmap_if_it_has_attention(name: str) -> None:
    page = (ROOT / f"docs/models/{name}.md").read_text(encoding="utf-8")
    (description,) = re.findall(r"!\[([^\]]*)\]\(\.\./images/models/", page)
    has_attention = bool(MODELS[name](MODELS[name].PRESETS["tiny"], 20, 20).cross)
    assert ("heatmap" in description) == has_attention and "learns" in description


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [saccade.__version__]
