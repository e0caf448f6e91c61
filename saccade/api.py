"""The public API, except for a model and its methods, which are in `trained_model`.

    model = saccade.fit("pairs.tsv", out="my-model", budget="10m")
    model.translate(["the cat sleeps."])[0].text

Every command of `saccade` is one call, with the same names and defaults. Nothing here loads torch before it is needed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.comparison.options import CompareOptions
from saccade.decode.options import DEFAULT_SEARCH, Search
from saccade.errors import Bar, Progress, Say, UserError, as_bar, say
from saccade.provenance import recording_call
from saccade.public_data.options import GetOptions
from saccade.ranges import OptionError, change_options, share_options
from saccade.tour import TourOptions
from saccade.train.pretraining import PretrainingRequest, pretrain_model
from saccade.train.request import TrainingRequest, list_settings, train_model
from saccade.trained_model import Model, load

if TYPE_CHECKING:
    from saccade.comparison.result import Comparison
    from saccade.data.inputs import Pairs
    from saccade.public_data.getting import FetchedData
    from saccade.train.loop import Outcome

VOCABULARY = 8000  # size of each vocabulary for which `list_models` counts parameters


@recording_call
def fit(
    pairs: "Pairs",
    targets: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | Sequence[str] = (),
    progress: Progress | None = None,
    device: str = "auto",
    **options: Any,
) -> Model:
    """Train a model on `pairs` and load it. By default, the model, the vocabulary, the size and the schedule
    are chosen for the pairs.

    `pairs` is a file, the sources of two files, task:NAME, hf:NAME, a recipe.toml, a list of (source, target), or a
    DataFrame. `options` are the options of `saccade train`: `out="my-model", budget="10m"`. After each validation,
    `progress` is called with the number of updates so far.
    """
    if (kind := options.get("kind", "translate")) != "translate":
        raise OptionError("kind", f"is {kind}: saccade.labels.train(…, kind={kind!r}) returns its model")
    options |= {"settings": list_settings(settings), "targets": None if targets is None else str(targets)}
    if not isinstance(pairs, str | Path):
        pairs = _save_pairs(pairs, options)
    outcome = train_model(change_options(TrainingRequest(pairs=str(pairs)), options), progress=progress)
    if outcome.diverged:
        raise outcome.error()
    if not outcome.finished:
        raise UserError(f"{outcome.folder}: {outcome.reason}; call fit(…, resume=True) to continue")
    return load(outcome.folder, device=device)


@recording_call
def pretrain(
    *texts: str | Path,
    settings: Mapping[str, Any] | Sequence[str] = (),
    progress: Progress | None = None,
    **options: Any,
) -> Path:
    """Train a model to restore corrupted texts, one per line, and return its folder: `fit(pairs, init_from=folder)`
    starts from it.

    `options` are the options of `saccade pretrain`: `pairs="pairs.tsv", out="pretrained", budget="30m"`. After each
    validation, `progress` is called with the number of updates so far.
    """
    options |= {"settings": list_settings(settings)}
    request = change_options(PretrainingRequest(texts=tuple(map(str, texts))), options)
    outcome = pretrain_model(request, progress=progress)
    if outcome.diverged:
        raise outcome.error()
    if not outcome.finished:
        raise UserError(f"{outcome.folder}: {outcome.reason}; call pretrain(…, resume=True) to continue")
    return outcome.folder


def run_training(request: TrainingRequest) -> "Outcome":
    """Train what the request asks for: a model that translates, a classifier or a tagger."""
    if request.kind == "translate":
        return train_model(request)
    from saccade.labels.training import train_labels

    return train_labels(request)


def _save_pairs(pairs: Any, options: dict[str, Any]) -> Path:
    """Write pairs from memory into the folder of the run, where a resumed run finds them."""
    from saccade.data.inputs import list_pairs
    from saccade.files import write_atomically
    from saccade.train.run import refuse_used_folder

    folder = options["out"] = Path(options.get("out") or "runs/pairs")
    saved = folder / "pairs.jsonl"
    if not options.get("resume"):
        refuse_used_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in list_pairs(pairs)]
        write_atomically(saved, "".join(lines))
    return saved


@recording_call
def compare(
    systems: Sequence[str | Path],
    *,
    out: str | Path = "runs/compare",
    search: Search = DEFAULT_SEARCH,
    progress: Progress | None = None,
    say: Say = say,
    bar: Bar | None = None,
    **options: Any,
) -> "Comparison":
    """Train systems on equal data and budget, evaluate them on the same sentences, and write a report to `out`.

    A system is a model folder, a recipe.toml or the name of a model. `options` are the options of `saccade compare`:
    `data="task:phrasebook-en-fr", seeds=3, minutes=2`. The same call continues an interrupted comparison.
    """
    from saccade.comparison.compare import compare as compare_systems

    chosen, search = share_options(options, CompareOptions(), search)
    return compare_systems(list(systems), out, chosen, search=search, say=say, bar=bar or as_bar(progress))


@recording_call
def run_tour(out: str | Path = "runs/try", *, quiet: bool = False, **options: Any) -> dict[str, Any]:
    """Train a model without attention and a model with attention, as `saccade try` does, and return the results.

    Prints progress, tables and a heatmap; with `quiet`, only progress, on standard error.
    """
    from saccade.tour.run import run_in_terminal

    return run_in_terminal(Path(out), change_options(TourOptions(), options), quiet=quiet)


def get(name: str, *, progress: Progress | None = None, say: Say = say, **options: Any) -> "FetchedData":
    """Download a public data set, such as "multi30k", and write files to train on.

    `options` are the options of `saccade get`: `out="data/multi30k", pair="en-fr"`. `progress` is called with the
    number of bytes so far. The same call continues an interrupted download.
    """
    from saccade.public_data.getting import get as get_data

    return get_data(name, change_options(GetOptions(), options), progress=progress, say=say)


def list_attentions() -> list[dict[str, Any]]:
    """Return the named attentions, each with its name, origin, formula and parts."""
    from saccade.attention import ATTENTIONS, describe

    return [describe(name) for name in ATTENTIONS]


def list_models() -> list[dict[str, Any]]:
    """Return the models, each with its paper, year, the size of every preset, and the way it reads the source; a
    language model has none, and reads the words before."""
    from saccade.models import ALL_MODELS

    return [
        {
            "name": name,
            "paper": f"{kind.paper.authors}: {kind.paper.title}",
            "year": kind.paper.year,
            "reads_source": kind.reads_source,
            "reads": kind.paper.reads,
            "parameters": {preset: _count_parameters(kind, preset) for preset in kind.PRESETS},
        }
        for name, kind in ALL_MODELS.items()
    ]


def list_tasks() -> list[dict[str, Any]]:
    """Return the built-in tasks, each with an example, or with the reason why its data is missing."""
    from saccade.tasks import TASKS

    rows: list[dict[str, Any]] = []
    for name, task in TASKS.items():
        known = ("summary", "origin", "pieces", "words", "unit", "finite", "packages")
        row = {"name": name, **{key: getattr(task, key) for key in known}}
        try:
            example = next(task.pairs(1, seed=1))
            row |= {"source": example.source, "target": example.target, "missing": None}
        except UserError as missing:
            row |= {"source": None, "target": None, "missing": str(missing)}
        rows.append(row)
    return rows


def _count_parameters(kind: Any, preset: str) -> int:
    import torch

    with torch.device("meta"):  # shapes alone: nothing is allocated
        model = kind(kind.PRESETS[preset], VOCABULARY, VOCABULARY)
    return sum(parameter.numel() for parameter in model.parameters())
