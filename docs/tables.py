"""The generated tables of the READMEs and of docs/*.md: `python docs/tables.py` makes them anew.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`; it is made of the code, or (measured.py) of
benchmarks/results/*.json. tests/test_docs.py fails when one is stale.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import compared
import measured
from measured import table

import saccade.attention
from saccade import config
from saccade.attention import ATTENTIONS, Bias, Normaliser, Score, Window, describe
from saccade.attention.part import Part
from saccade.models import MODELS
from saccade.train.recipe import Data, Training

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "README.zh-CN.md",
    "docs/attention.md",
    "docs/training.md",
    "docs/models.md",
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/models").glob("*.md")),
    "docs/ambiguity.md",
    "docs/comparing.md",
)
PAPERS = "saccade/attention/papers.py"


def attentions(*head: str) -> str:
    """A row a named attention."""
    rows = []
    for name, factory in ATTENTIONS.items():
        said = describe(name)
        parts = said["parts"]
        formula = said["formula"] + (f", {parts['positions']}" if "positions" in parts else "")
        made_of = [parts[kind] for kind in ("window", "normaliser", "heads")]
        rows.append([f"`{name}`", said["origin"] or "–", f"`{formula}`", *made_of, code(factory)])
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


def models(*head: str, reads: dict[str, str] | None = None) -> str:
    """A row a model; `reads` says how it reads the source in another language."""
    rows = []
    for name, kind in MODELS.items():
        about = kind.paper
        link = f"[`{name}`]({_file(kind)})"
        read = about.reads if reads is None else reads[name]
        rows.append([link, f"{about.authors}: {about.title} ({about.year})", read])
    return table(head, rows)


def zoo() -> str:
    """A row a model, with its page."""
    rows = [[f"[`{name}`](models/{name}.md)", str(kind.paper.year), kind.paper.reads] for name, kind in MODELS.items()]
    return table(["model", "year", "reads the source through"], rows)


def paper(name: str) -> str:
    """What a model's file says at its head: indented equations are blocks in Markdown, too."""
    module = inspect.getmodule(MODELS[name])
    assert module is not None and module.__doc__ is not None
    return inspect.cleandoc(module.__doc__)


def _file(kind: type) -> str:
    return kind.__module__.replace(".", "/") + ".py"


def presets(name: str) -> str:
    """A row a setting, a column a preset; what is the default in all of them is in the table of keys."""
    kind = MODELS[name]
    values = {preset: config.to_dict(given) for preset, given in kind.PRESETS.items()}
    usual = config.to_dict(kind.config_type())
    differing = [key for key in usual if any(of[key] != usual[key] for of in values.values())]
    rows = [[f"`{key}`", *(f"`{_toml(of[key])}`" for of in values.values())] for key in differing]
    return table(["", *(f"`{preset}`" for preset in values)], rows)


def keys(cls: type[Any], at: str) -> str:
    """One row per key of a recipe's table, with the field's help, or else the comment beside it."""
    comments = notes(cls, at)
    rows = [
        [f"`{key.key}`", key.type, f"`{key.default}`", key.help or comments.get(key.key, "")]
        for key in config.describe(cls, at)
    ]
    return table(["key", "what to give", "default", ""], rows)


def notes(cls: type[Any], at: str) -> dict[str, str]:
    """The comments beside the fields, by dotted key."""
    found = {}
    for name, comment in re.findall(r"^    (\w+):[^#\n]*#\s*(.+)$", inspect.getsource(cls), re.MULTILINE):
        found[f"{at}.{name}"] = comment
    for name, hint in get_type_hints(cls).items():
        for inner in (hint, *get_args(hint)):
            if dataclasses.is_dataclass(inner) and isinstance(inner, type):
                found |= notes(inner, f"{at}.{name}" if inner is hint else f"{at}.{name}[]")
    return found


def _toml(value: Any) -> str:
    return config.dump_toml({"value": value}).removeprefix("value = ").strip()


LENGTHS = ["source words", "", "fixed context", "attention"]
SENSES = ["words to the cue", "sentences", "fixed context", "cue removed", "attention", "cue removed"]
ALIGNERS = ["attention", "diagonal (knows the lengths alone)", "uniform (knows nothing)"]
MADE = (
    "Seeds {seeds}; {fixed} updates without attention, {attention} with it, and {seconds} seconds from start to end. "
    "{cpu}, {cores} cores, torch {torch}, {date}. Over several seeds a cell shows the mean (least–most)."
)
LENGTHS_ZH = ["源句词数", "", "固定向量", "注意力"]
SENSES_ZH = ["与线索的距离（词）", "句数", "固定向量", "去掉线索", "注意力", "去掉线索"]
ALIGNERS_ZH = ["注意力", "对角线（只知道句长）", "均匀（什么都不知道）"]
MADE_ZH = (
    "种子 {seeds}；没有注意力的模型更新 {fixed} 次，有注意力的 {attention} 次，从头到尾用时 {seconds} 秒。"
    "{cpu}，{cores} 核，torch {torch}，{date}。"
    "有多个种子时给出均值（最小–最大）。"
)
CLAIMS_ZH = (
    "注意力模型在 20 词以内未见句子上 BLEU ≥ 95",
    "31–40 词时，注意力比固定向量高 ≥ 30 BLEU",
    "与标准对齐相比，AER ≤ 0.15",
)
READS_ZH = {
    "aligned-rnn": "写第 i 个词时只读第 i 个词",
    "kalchbrenner2013": "卷积得到的一个固定向量",
    "cho2014": "一个固定向量",
    "sutskever2014": "各层最后的状态",
    "bahdanau2014": "对编码器各状态的一个注意力",
    "luong2015": "一个注意力，用新状态提问，并送回下一步",
    "gehring2017": "每个解码层各有一个注意力",
    "vaswani2017": "每个解码层各有一个注意力",
    "russin2019": "一个注意力：键来自句法，值来自词义",
}

TABLES: dict[str, Callable[[], str]] = {
    "attentions": partial(attentions, "name", "paper", "score", "window", "normaliser", "heads", "code"),
    "注意力": partial(attentions, "名称", "论文", "打分公式", "窗口", "归一化", "头数", "代码"),
    "scores": partial(parts, Score),
    "windows": partial(parts, Window),
    "normalisers": partial(parts, Normaliser),
    "biases": partial(parts, Bias),
    "models": partial(models, "name", "paper", "reads the source through"),
    "模型": partial(models, "名称", "论文", "怎样读源句", reads=READS_ZH),
    "try-lengths": partial(measured.try_lengths, LENGTHS, "as in training", "longer than training"),
    "try-targets": partial(measured.try_targets, "target", "seed", "✓", "✗ not met"),
    "try-aligners": partial(measured.try_aligners, ["aligner", "AER"], ALIGNERS),
    "try-senses": partial(measured.try_senses, SENSES),
    "try-made": partial(measured.try_made, MADE),
    "长度": partial(measured.try_lengths, LENGTHS_ZH, "训练见过的长度", "比训练更长"),
    "目标": partial(measured.try_targets, "目标", "种子", "✓", "✗ 未达到", CLAIMS_ZH),
    "对齐": partial(measured.try_aligners, ["对齐方法", "AER"], ALIGNERS_ZH),
    "歧义": partial(measured.try_senses, SENSES_ZH),
    "来源": partial(measured.try_made, MADE_ZH),
    "automatic": measured.automatic,
    "ambiguity-runs": measured.ambiguity_runs,
    "ambiguity-distances": measured.ambiguity_distances,
    "ambiguity-steps": measured.ambiguity_steps,
    "compared-scores": compared.scores,
    "compared-pairs": compared.pairs,
    "compared-lengths": compared.lengths,
    "keys-data": partial(keys, Data, "data"),
    "keys-train": partial(keys, Training, "train"),
    **{f"keys-{name}": partial(keys, kind.config_type, "model") for name, kind in MODELS.items()},
    **{f"presets-{name}": partial(presets, name) for name in MODELS},
    **{f"paper-{name}": partial(paper, name) for name in MODELS},
    **{f"learnt-{name}": partial(measured.learnt, name) for name in MODELS},
    "learnt": measured.learnt,
    "zoo": zoo,
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
