"""The public API. Every command of `saccade` is one call here, with the same names and defaults.

    model = saccade.fit("pairs.tsv", out="my-model", budget="10m")
    model.translate(["the cat sleeps."])[0].text

Nothing here loads torch before it is needed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.align.options import AlignOptions
from saccade.catalogue import list_attentions, list_models, list_tasks
from saccade.comparison.options import CompareOptions
from saccade.decode.file_options import EnsembleOptions, FileOptions, PairOptions, RerankingModels, ScoreOptions
from saccade.decode.search.options import DEFAULT_SEARCH, Constraints, Search
from saccade.errors import UserError, say
from saccade.evaluation.options import EvaluateOptions
from saccade.ranges import change_options, take_options
from saccade.tour import TourOptions
from saccade.train.request import TrainingRequest
from saccade.trained_model import SEARCH_OPTIONS, Bar, Model, Progress, Say, as_bar, load, with_targets

if TYPE_CHECKING:
    from saccade.comparison.result import Comparison
    from saccade.data.inputs import Pairs
    from saccade.evaluation.systems import SystemsEvaluation
    from saccade.train.corpus_report import CorpusReport
    from saccade.train.loop import Outcome
    from saccade.train.sweep import Sweep

__all__ = [
    "DEFAULT_SEARCH",
    "AlignOptions",
    "CompareOptions",
    "Constraints",
    "EnsembleOptions",
    "EvaluateOptions",
    "FileOptions",
    "Model",
    "PairOptions",
    "Progress",
    "RerankingModels",
    "ScoreOptions",
    "Search",
    "TourOptions",
    "TrainingRequest",
    "compare",
    "describe_data",
    "evaluate",
    "fit",
    "list_attentions",
    "list_models",
    "list_tasks",
    "load",
    "run_tour",
    "sweep",
    "train_model",
]


def fit(
    pairs: "Pairs",
    targets: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | Sequence[str] = (),
    progress: Progress | None = None,
    device: str = "auto",
    **options: Any,
) -> "Model":
    """Train a model on `pairs` and load it. Unless they are given, the model, the vocabulary, the size and the schedule
    are chosen for the pairs.

    `pairs` is a file, the source side of two files, task:NAME, hf:NAME, a recipe.toml, a list of (source, target), or a
    DataFrame. `options` are those of `saccade train`: `out="my-model", budget="10m"`. `progress` is called after each
    validation with the number of updates so far.
    """
    if isinstance(settings, Mapping):
        settings = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    options |= {"settings": settings, "targets": None if targets is None else str(targets)}
    if not isinstance(pairs, str | Path):
        pairs = _save_pairs(pairs, options)
    request = change_options(TrainingRequest(pairs=str(pairs)), options)
    outcome = train_model(request, progress=progress)
    if outcome.diverged:
        raise outcome.error()
    if not outcome.finished:
        raise UserError(f"{outcome.folder}: {outcome.reason}; call fit(…, resume=True) to continue")
    return load(outcome.folder, device=device)


def train_model(request: TrainingRequest, *, say: Say = say, progress: Progress | None = None) -> "Outcome":
    """Train as `saccade train` does; `say` gets the reasons for what was chosen automatically."""
    from saccade.train.planning import fit as train_request

    observe = None if progress is None else lambda state, translator: progress(state.step, None)
    return train_request(request, say=say, observe=observe)


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


def evaluate(
    systems: "str | Path | Model | Sequence[str | Path | Model]",
    pairs: "Pairs | None" = None,
    targets: str | Path | None = None,
    options: EvaluateOptions | None = None,
    *,
    search: Search | None = None,
    progress: Progress | None = None,
    say: Say = say,
    bar: Bar | None = None,
    **named: Any,
) -> "SystemsEvaluation":
    """Score the translations of systems, and test whether the others differ from the first.

    A system is a model, its folder, or a file of outputs. `named` are the options of `saccade evaluate`.
    """
    from saccade.evaluation.systems import evaluate_systems

    search = take_options(search or DEFAULT_SEARCH, named, *SEARCH_OPTIONS)
    several = [systems] if isinstance(systems, str | Path | Model) else list(systems)
    return evaluate_systems(
        [system.translator if isinstance(system, Model) else system for system in several],
        pairs,
        with_targets(options or EvaluateOptions(), targets, named),
        search=search,
        say=say,
        bar=bar or as_bar(progress),
    )


def compare(
    systems: Sequence[str | Path],
    *,
    out: str | Path = "runs/compare",
    options: CompareOptions | None = None,
    search: Search | None = None,
    progress: Progress | None = None,
    say: Say = say,
    bar: Bar | None = None,
    **named: Any,
) -> "Comparison":
    """Train systems on equal data and budget, evaluate them on the same sentences, and report in the folder `out`.

    A system is a model folder, a recipe.toml or the name of a model. `named` are the options of `saccade compare`:
    `data="task:phrasebook-en-fr", seeds=3, minutes=2`. The same call continues an interrupted comparison.
    """
    from saccade.comparison.compare import compare as compare_systems

    search = take_options(search or DEFAULT_SEARCH, named, *SEARCH_OPTIONS)
    options = change_options(options or CompareOptions(), named)
    return compare_systems(list(systems), out, options, search=search, say=say, bar=bar or as_bar(progress))


def sweep(
    recipe: str | Path,
    out: str | Path,
    *,
    grid: Mapping[str, Sequence[Any]] | Sequence[str] = (),
    seeds: str | int | Sequence[int] = "1",
    settings: Sequence[str] = (),
    say: Say = say,
) -> "Sweep":
    """Train every combination of `grid` with every seed; the same call continues an interrupted sweep.

    `grid` has items such as "train.lr=1e-3,3e-4", or is {"train.lr": [1e-3, 3e-4]}.
    """
    from saccade.train.sweep import sweep as train_grid

    if isinstance(grid, Mapping):
        grid = [f"{key}={','.join(json.dumps(value) for value in values)}" for key, values in grid.items()]
    return train_grid(recipe, out, grid=grid, seeds=seeds, settings=settings, say=say)


def describe_data(
    pairs: "Pairs",
    targets: str | Path | None = None,
    *,
    fields: str | Sequence[str] | None = None,
    clean: Sequence[str] | None = None,
    out: str | Path | None = None,
    vocab_from: str | Path | None = None,
) -> "CorpusReport":
    """Summarise pairs and the effect of cleaning them, as `saccade data` does; write the pairs kept to `out`.

    `clean` has rules of data.clean: `["duplicates", "ratio=3"]`, or `["all"]`.
    """
    from saccade.train.corpus_report import describe_corpus

    return describe_corpus(pairs, targets, fields=fields, clean=clean, out=out, vocab_from=vocab_from)


def run_tour(
    out: str | Path = "runs/try", options: TourOptions | None = None, *, quiet: bool = False, **named: Any
) -> dict[str, Any]:
    """Train a model without attention and one with it, side by side, as `saccade try` does; return the figures.

    Progress, tables and a heatmap are printed; with `quiet`, only progress, on standard error.
    """
    from saccade.tour.contest import run_in_terminal

    return run_in_terminal(Path(out), change_options(options or TourOptions(), named), quiet=quiet)
