"""Refresh the generated tables of the READMEs and of docs/*.md: `python docs/tables.py`.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. It is generated from the code or, in the
modules beside this one (measured.py, story_tables.py …), from benchmarks/results. A model without a page in
docs/models/ gets one. tests/test_docs.py fails when a table is out of date.
"""

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, get_args, get_type_hints

import compared
import measured
import results_tables
import scaling_tables
import signatures
import speeds
import story_tables
from measured import table

from saccade import config
from saccade.attention import ATTENTIONS, Bias, Normaliser, Score, Window, describe
from saccade.attention.part import Part
from saccade.data import Cleaning
from saccade.decode import Constraints, Search
from saccade.labels.settings import LabelConfig, LabelData
from saccade.models import ALL_MODELS, LANGUAGE_MODELS, MODELS, Seq2Seq
from saccade.public_data.table import PUBLIC_SETS, PublicSet, find_set
from saccade.study import STUDIES
from saccade.tasks import TASKS
from saccade.train.data_options import Data
from saccade.train.training_options import Training

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "README.zh-CN.md",
    "docs/api.md",
    "docs/attention.md",
    "docs/training.md",
    "docs/recipes.md",
    "docs/results.md",
    "docs/data.md",
    "docs/getting-data.md",
    "docs/decoding.md",
    "docs/constraining.md",
    "docs/tasks.md",
    "docs/models.md",
    "docs/benchmarks.md",
    "docs/speed.md",
    "docs/ambiguity.md",
    "docs/aligning.md",
    "docs/comparing.md",
    "docs/scaling.md",
    "docs/words.md",
    "docs/language-models.md",
    "docs/scoring.md",
    "docs/pretraining.md",
    "docs/labelling.md",
)
PAPERS = "../saccade/attention/papers.py"
NEW_PAGE = """# {name}

<!-- table: paper-{name} -->
<!-- end of table -->

## Presets and settings

<!-- table: presets-{name} -->
<!-- end of table -->

<!-- table: keys-{name} -->
<!-- end of table -->

`saccade {command} --set model.preset=tiny` trains it on your data. [Models](../models.md)
describes the common parts of all models.
"""


def attentions() -> str:
    """One row per named attention."""
    rows = []
    for name, factory in ATTENTIONS.items():
        description = describe(name)
        parts = description["parts"]
        formula = description["formula"] + (f", {parts['positions']}" if "positions" in parts else "")
        composition = [parts[kind] for kind in ("window", "normaliser", "heads")]
        rows.append([f"`{name}`", description["origin"] or "–", f"`{formula}`", *composition, code(factory)])
    return table(["name", "paper", "score", "window", "normaliser", "heads", "code"], rows)


def code(factory: object) -> str:
    """The call that builds an attention, with a link to its file."""
    arguments = ""
    if isinstance(factory, partial):
        keywords = [f"{key}={value!r}" for key, value in factory.keywords.items()]
        arguments = ", ".join([*map(repr, factory.args), *keywords])
        factory = factory.func
    return f"[`{getattr(factory, '__name__', 'table')}({arguments})`]({PAPERS})".replace("'", '"')


def parts(kind: type[Part]) -> str:
    """One row per part of one kind, in the order of their files."""
    chosen = sorted(set(_subclasses(kind)), key=lambda part: (part.__module__, inspect.getsourcelines(part)[1]))
    rows = [[f"`{part.__name__}`", part.name, f"`{part.formula}`"] for part in chosen]
    return table(["part", "name", "formula"], rows)


def _subclasses(kind: type[Part]) -> Iterator[type[Part]]:
    """Every named part of the package below `kind`."""
    for part in kind.__subclasses__():
        yield from _subclasses(part)
        if part.__module__.startswith("saccade.") and {"name", "formula"} <= vars(part).keys():
            yield part


def zoo(models: Mapping[str, type[Seq2Seq[Any, Any]]], side: str) -> str:
    """One row per model, with links to its page and its code."""
    rows = []
    for name, model in models.items():
        paper, file = model.paper, model.__module__.replace(".", "/") + ".py"
        cited = f"{paper.authors}: {paper.title} ({paper.year})"
        rows.append([f"[`{name}`](models/{name}.md)", cited, paper.reads, f"[{Path(file).name}](../{file})"])
    return table(["model", "paper", f"reads {side} through", "code"], rows)


def tasks() -> str:
    """One row per built-in task."""
    rows = [
        [f"`{name}`", task.summary, task.origin, f"`pip install {task.packages}`" if task.packages else "–"]
        for name, task in TASKS.items()
    ]
    return table(["task", "pairs", "data", "needs"], rows)


def public_sets() -> str:
    """One row per data set of `saccade get`, as it is by default."""
    rows = []
    for name in PUBLIC_SETS:
        chosen = find_set("opus:Books/v1/en-fr" if name == "opus" else name)
        addresses = "<br>".join(f"`{original.url}`" for original in chosen.originals) or "–"
        rows.append([f"`{chosen.name}`", _files(chosen), chosen.licence, _checksum(chosen), addresses])
    return table(["by default, or for example", "files", "licence", "checksum", "originals"], rows)


def _files(chosen: PublicSet) -> str:
    parts = [part for part in ("train", "dev", "test") if part in chosen.parts or (part == "dev" and chosen.hold_out)]
    return ", ".join(f"`{name}`" for part in parts for name in chosen.layout.names(part))


def _checksum(chosen: PublicSet) -> str:
    kinds = {"recorded" if original.sha256 is None else "pinned" for original in chosen.originals}
    return " and ".join(sorted(kinds)) or "–"


def alignment() -> str:
    """AER and time of aligners without attention; of the phrasebook, also of the attention of `saccade try`."""
    result = json.loads((measured.RESULTS / "alignment.json").read_text(encoding="utf-8"))
    tries = json.loads((measured.RESULTS / "try.json").read_text(encoding="utf-8"))["runs"]
    attention = fmean(run["systems"][measured.ATTENTION]["alignment"]["aer"] for run in tries)
    rows = []
    for corpus in result["corpora"]:
        name, learnt = corpus["name"], f"{corpus['pairs']:,}"
        rows.append([name, "diagonal", "–", f"{corpus['baselines']['diagonal']:.3f}", "", "", "", ""])
        if name == "phrasebook":
            rows.append([name, "attention of `make try`", "60,000", f"{attention:.3f}", "", "", "", ""])
        for row in corpus["rows"]:
            errors = [f"{row['scores'][method]['aer']:.3f}" for method in _METHODS]
            rows.append([name, row["aligner"], learnt, *errors, f"{row['cpu_seconds']:.0f}"])
    made = result["provenance"]
    methods = ["one direction" if method == "none" else method for method in _METHODS]
    place = f"{made['machine']['cpu']}, {made['machine']['cores']} cores, shared with other programs"
    return (
        table(["aligned", "aligner", "pairs learnt from", *methods, "CPU seconds"], rows)
        + f"\n\n{place}, numpy {made['versions']['numpy']}. {made['date'][:10]}."
    )


_METHODS = ("none", "intersection", "grow-diag", "grow-diag-final")


def paper(name: str) -> str:
    """The docstring of a model's file; its indented equations are code blocks in Markdown."""
    module = inspect.getmodule(ALL_MODELS[name])
    assert module is not None and module.__doc__ is not None
    return inspect.cleandoc(module.__doc__)


def presets(name: str) -> str:
    """One row per setting and one column per preset, without the settings that every preset leaves at the default."""
    kind = ALL_MODELS[name]
    values = {preset: config.to_dict(given) for preset, given in kind.PRESETS.items()}
    usual = config.to_dict(kind.config_type())
    differing = [key for key in usual if any(of[key] != usual[key] for of in values.values())]
    rows = [[f"`{key}`", *(f"`{_toml(of[key])}`" for of in values.values())] for key in differing]
    return table(["", *(f"`{preset}`" for preset in values)], rows)


# Bounds of 1,000 or more only turn a mistyped size into a message.
_FAR_ABOVE_ANY_USE = re.compile(r"from (\d+) to \d[\d,]*,\d{3}")


def keys(cls: type[Any], at: str) -> str:
    """One row per key of a recipe's table, with the field's help, or else the comment beside it."""
    comments = notes(cls, at)
    rows = [
        [
            f"`{key.key}`",
            _FAR_ABOVE_ANY_USE.sub(r"at least \1", key.type),
            f"`{key.default}`",
            key.help or comments.get(key.key, ""),
        ]
        for key in config.describe(cls, at)
    ]
    return table(["key", "value", "default", "meaning"], rows)


def notes(cls: type[Any], at: str) -> dict[str, str]:
    """The comments beside the fields as sentences, by dotted key."""
    found = {}
    for name, comment in re.findall(r"^    (\w+):[^#\n]*#\s*(.+)$", inspect.getsource(cls), re.MULTILINE):
        found[f"{at}.{name}"] = f"{comment[0].upper()}{comment[1:]}."
    for name, hint in get_type_hints(cls).items():
        for inner in (hint, *get_args(hint)):
            if dataclasses.is_dataclass(inner) and isinstance(inner, type):
                found |= notes(inner, f"{at}.{name}" if inner is hint else f"{at}.{name}[]")
    return found


def _toml(value: Any) -> str:
    return config.dump_toml({"value": value}).removeprefix("value = ").strip()


TABLES: dict[str, Callable[[], str]] = {
    "api-functions": signatures.functions,
    "api-methods": signatures.methods,
    "api-options": signatures.options,
    "attentions": attentions,
    "scores": partial(parts, Score),
    "windows": partial(parts, Window),
    "normalisers": partial(parts, Normaliser),
    "biases": partial(parts, Bias),
    "try-output": measured.try_output,
    "try-output-zh": partial(measured.try_output, "try-zh.json", "saccade try --to zh --lang zh"),
    "try-languages": measured.try_languages,
    "try-lengths": measured.try_lengths,
    "try-targets": measured.try_targets,
    "try-aligners": measured.try_aligners,
    "try-senses": measured.try_senses,
    "try-provenance": measured.try_provenance,
    "results": results_tables.results,
    "results-tokenised": results_tables.tokenised,
    "results-by-length": results_tables.lengths,
    "tried-multi30k": results_tables.tried,
    "tried-pronunciation": results_tables.pronunciation,
    "tried-english": results_tables.english,
    "grid": results_tables.grid,
    **{f"ablations-{device}": partial(results_tables.ablations, device) for device in ("gpu", "cpu")},
    "plans": results_tables.plans,
    "alignment": alignment,
    "ambiguity-runs": measured.ambiguity_runs,
    "ambiguity-distances": measured.ambiguity_distances,
    "ambiguity-steps": measured.ambiguity_steps,
    "compared-scores": compared.scores,
    "compared-pairs": compared.pairs,
    "compared-lengths": compared.lengths,
    "speed-summary": partial(speeds.summary, 0),
    "speed-summary-zh": partial(speeds.summary, 1),
    "speed-gpu-targets": speeds.gpu_targets,
    "speed-cpu-targets": speeds.cpu_targets,
    **{f"study-en-{name}": partial(story_tables.study_summary, name, "en") for name in STUDIES},
    **{f"study-zh-{name}": partial(story_tables.study_summary, name, "zh") for name in STUDIES},
    **{f"run-{name}": partial(story_tables.command_output, name) for name in story_tables.COMMANDS},
    **{f"speed-{name}": partial(speeds.contestants, name) for name in speeds.TABLES},
    **{f"speed-growth-{device}": partial(speeds.growth, device) for device in ("cuda", "cpu")},
    "speed-profiles": speeds.profiles,
    "search": partial(keys, Search, ""),
    "constraints": partial(keys, Constraints, ""),
    "public-sets": public_sets,
    "keys-data": partial(keys, Data, "data"),
    "keys-clean": partial(keys, Cleaning, "data.clean"),
    "keys-train": partial(keys, Training, "train"),
    **{f"keys-{name}": partial(keys, kind.config_type, "model") for name, kind in ALL_MODELS.items()},
    **{f"presets-{name}": partial(presets, name) for name in ALL_MODELS},
    **{f"paper-{name}": partial(paper, name) for name in ALL_MODELS},
    **{f"learnt-{name}": partial(measured.learnt, name) for name in MODELS},
    "learnt": measured.learnt,
    "ray-translation": scaling_tables.ray_translation,
    "scaling-workers": scaling_tables.workers,
    "scaling-estimate": scaling_tables.estimate,
    "word-vectors": measured.word_vectors,
    "ngrams": measured.ngrams,
    "character-models": measured.character_models,
    "character-models-gpu": partial(measured.character_models, "gpu"),
    "word-models": measured.word_models,
    "word-models-zh": partial(measured.word_models, "zh"),
    "hops": measured.hops,
    "keys-labels-data": partial(keys, LabelData, "data"),
    "keys-labels-model": partial(keys, LabelConfig, "model"),
    "pretraining": measured.pretraining,
    "reranking": measured.reranking,
    "zoo": partial(zoo, MODELS, "the source"),
    "zoo-languages": partial(zoo, LANGUAGE_MODELS, "the words before"),
    "tasks": tasks,
}


def refreshed() -> dict[Path, str]:
    """Each page with its tables as they should be. A name with a dot belongs to benchmarks/cost_tables.py."""
    pattern = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
    written = [*(ROOT / page for page in PAGES), *sorted((ROOT / "docs" / "story").rglob("*.md"))]
    pages = {page: page.read_text(encoding="utf-8") for page in written}
    for name, kind in ALL_MODELS.items():
        page = ROOT / "docs" / "models" / f"{name}.md"
        command = f"{'train pairs.tsv' if kind.reads_source else 'lm train text.txt'} --model {name}"
        pages[page] = page.read_text(encoding="utf-8") if page.exists() else NEW_PAGE.format(name=name, command=command)
    return {
        page: pattern.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}\n{match[3]}", text)
        for page, text in pages.items()
    }


if __name__ == "__main__":
    for page, text in refreshed().items():
        page.write_text(text, encoding="utf-8")
