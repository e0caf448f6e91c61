"""The tables of README.md, README.zh-CN.md and docs/attention.md, made from the code: `python docs/tables.py`.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. tests/test_docs.py fails when one is stale.
"""

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import saccade.attention
from saccade.attention import ATTENTIONS, Bias, Normaliser, Score, Window, describe
from saccade.attention.part import Part

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "README.zh-CN.md", "docs/attention.md")
PAPERS = "saccade/attention/papers.py"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ["---"] * len(list(head)), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def attentions(*head: str) -> str:
    """A row a named attention."""
    rows = []
    for name, factory in ATTENTIONS.items():
        said = describe(name)
        parts = said["parts"]
        formula = said["formula"] + (f", {parts['positions']}" if "positions" in parts else "")
        paper = f"{said['paper'] or '–'} ({said['year']})" if said["year"] else said["paper"] or "–"
        rows.append(
            [f"`{name}`", paper, f"`{formula}`", parts["window"], parts["normaliser"], parts["heads"], code(factory)]
        )
    return table(head, rows)


def code(factory: object) -> str:
    """The call that makes it, linked to the file where it is written."""
    given = ""
    if isinstance(factory, partial):
        given = ", ".join([repr(value) for value in factory.args] + [f"{k}={v!r}" for k, v in factory.keywords.items()])
        factory = factory.func
    return f"[`{getattr(factory, '__name__', 'table')}({given})`]({PAPERS})".replace("'", '"')


def parts(kind: type[Part]) -> str:
    """A row a part of one kind that the package exports."""
    classes = [vars(saccade.attention)[name] for name in saccade.attention.__all__]
    chosen = [c for c in classes if isinstance(c, type) and issubclass(c, kind) and hasattr(c, "formula")]
    return table(["part", "name", "formula"], [[f"`{c.__name__}`", c.name, f"`{c.formula}`"] for c in chosen])


TABLES = {
    "attentions": partial(attentions, "name", "paper", "score", "window", "normaliser", "heads", "code"),
    "注意力": partial(attentions, "名称", "论文", "打分公式", "窗口", "归一化", "头数", "代码"),
    "scores": partial(parts, Score),
    "windows": partial(parts, Window),
    "normalisers": partial(parts, Normaliser),
    "biases": partial(parts, Bias),
}


def refreshed() -> dict[Path, str]:
    """Each page as it should be."""
    pattern = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
    pages = {ROOT / page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
    return {
        page: pattern.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)
        for page, text in pages.items()
    }


if __name__ == "__main__":
    for page, text in refreshed().items():
        page.write_text(text, encoding="utf-8")
