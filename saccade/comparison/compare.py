"""Compare systems: train those that are not trained, translate, score, measure costs, and write a report.

Each finished run and its translations are saved in one folder, so the same call continues an interrupted comparison.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from saccade import files, model_folder
from saccade.align import PairAttention
from saccade.comparison.costs import Cost, Workload, measure_costs
from saccade.comparison.judging import (
    DifferingSentence,
    EvaluationSet,
    RunOutput,
    compare_pairs,
    find_differing_sentences,
    judge_systems,
)
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import Plan, make_plan
from saccade.comparison.report import write_report
from saccade.comparison.result import Comparison
from saccade.data import PairFiles, TextPair
from saccade.decode import Search, load
from saccade.decode.search.options import DEFAULT_SEARCH
from saccade.errors import UserError
from saccade.files import parse_json
from saccade.locations import task_name
from saccade.locking import locked
from saccade.provenance import provenance
from saccade.tasks import task
from saccade.train.sweep import Result, Say, train_points

Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # (label, total) → a function that advances


def compare(
    systems: Sequence[str | Path],
    out: str | Path = "runs/compare",
    options: CompareOptions | None = None,
    *,
    search: Search = DEFAULT_SEARCH,
    say: Say | None = None,
    bar: Bar | None = None,
    **changes: Any,
) -> Comparison:
    """Compare `systems` on equal terms, and write report.html and results.json into the folder `out`.

    Systems are model folders, recipe files or names of models, written as on the command line. `changes` are fields of
    `CompareOptions`. The same call continues an interrupted comparison.
    """
    out, options, say = Path(out), replace(options or CompareOptions(), **changes), say or (lambda _: None)
    plan = make_plan([str(system) for system in systems], options)
    pairs = read_evaluation_set(plan, options, say)
    with locked(out, folder=True):
        try:
            comparison = run_plan(plan, pairs, out, options, search=search, say=say, bar=bar)
        except KeyboardInterrupt:
            say(f"interrupted; the finished runs are in {out}, and the same command continues")
            raise
        files.remove_leftovers(out / "results.json")
        files.write_json(out / "results.json", comparison.to_dict())
        write_report(comparison, out / "report.html", options.by)
    return comparison


def read_evaluation_set(plan: Plan, options: CompareOptions, say: Say) -> EvaluationSet:
    """The test pairs that the options name; by default, the test split of the task that all systems are trained on."""
    on, words = options.on, _word_range(options.words)
    if on is None:
        if plan.task is None:
            raise UserError("there are no test pairs; give --on test.tsv, or --on test.en --targets test.fr")
        on, words = plan.task[0], words or plan.task[1]
    if (task_key := task_name(on)) is not None:
        if options.targets is not None:
            raise UserError(f"{on} has its own targets; leave out {options.targets}")
        lengths = {} if words is None else {"words": words}
        drawn = task(task_key).pairs(options.count, seed=1, split="test", **lengths)
        pairs = [TextPair(pair.source, pair.target) for pair in drawn]
        name = f"{on}, test split, seed 1" + ("" if words is None else f", {words[0]} to {words[1]} words")
    else:
        if words is not None:
            raise UserError(f"--words {words[0]}-{words[1]} is for a task; {on} is used as it is")
        pair_files = PairFiles(on, options.targets)
        pairs, name = list(pair_files), str(pair_files)
    usable = [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    if not usable:
        raise UserError(f"{name}: every pair has a blank side; expected texts to translate and their references")
    if blank := len(pairs) - len(usable):
        say(f"left out: {blank} pair{'s' * (blank > 1)} with a blank side")
    return EvaluationSet(
        name=name, sources=[pair.source for pair in usable], references=[[pair.target] for pair in usable]
    )


def _word_range(words: str | tuple[int, int] | None) -> tuple[int, int] | None:
    if words is None:
        return None
    text = words if isinstance(words, str) else f"{words[0]}-{words[1]}"
    match = re.fullmatch(r"\s*([0-9]{1,6})\s*[-–,]\s*([0-9]{1,6})\s*", text)
    if match is None or not 0 < int(match[1]) <= int(match[2]):
        raise UserError(f"--words {text}: expected the shortest and the longest, such as --words 3-60")
    return int(match[1]), int(match[2])


def run_plan(
    plan: Plan,
    pairs: EvaluationSet,
    out: Path,
    options: CompareOptions,
    *,
    search: Search = DEFAULT_SEARCH,
    say: Say | None = None,
    bar: Bar | None = None,
) -> Comparison:
    """Train, translate, score and measure all systems of a plan on the same pairs."""
    bar = bar or (lambda *_: nullcontext(lambda _: None))
    with locked(out, folder=True):
        trained = _train(plan, out, say or (lambda _: None))
        threads = next((recipe.train.threads for recipe in plan.recipes.values()), None)
        if isinstance(threads, int):
            torch.set_num_threads(threads)
        outputs = {}
        for system in plan.systems:
            runs: list[tuple[Path, Result | None]] = [(out / run.folder, run) for run in trained.get(system.name, ())]
            runs += [(folder, None) for folder in system.folders]
            outputs[system.name] = [
                _translate(system.name, folder, result, pairs.sources, out, options, search, bar)
                for folder, result in runs
            ]
        longest = [_longest_trained(run.folder) for runs in outputs.values() for run in runs]
        systems = judge_systems(
            outputs,
            pairs,
            # one for all systems: otherwise their ranges of length could not be compared
            longest_trained=min((length for length in longest if length), default=None),
            resamples=options.resamples,
        )
        first_runs = {name: runs[0].folder for name, runs in outputs.items()}
        differing = find_differing_sentences(systems, pairs, options.shown)
        return Comparison(
            plan=plan,
            pairs=pairs,
            options=options,
            search=search,
            systems=systems,
            pairwise=compare_pairs(systems, pairs, resamples=options.resamples),
            costs=_measure(plan, first_runs, pairs, options, search, bar),
            differing=differing,
            attention={name: _attend(name, folder, differing, options.device) for name, folder in first_runs.items()},
            settings={name: _settings(plan, name, folder) for name, folder in first_runs.items()},
            threads=torch.get_num_threads(),
            provenance=provenance(),
        )


def _train(plan: Plan, out: Path, say: Say) -> dict[str, list[Result]]:
    """The runs of every recipe, by system."""
    results = list(train_points(plan.points, out, say))
    if failed := [result for result in results if result.best is None]:
        raise UserError(
            f"{len(failed)} of {len(results)} runs failed, the others are saved in {out}; the first, "
            f"{failed[0].settings['system']} with seed {failed[0].seed}: {failed[0].reason}"
        )
    by_system: dict[str, list[Result]] = {}
    for result in results:
        by_system.setdefault(result.settings["system"], []).append(result)
    return by_system


def _translate(
    name: str,
    folder: Path,
    result: Result | None,
    sources: Sequence[str],
    out: Path,
    options: CompareOptions,
    search: Search,
    bar: Bar,
) -> RunOutput:
    saved = out / "outputs" / f"{files.sha256(str(folder.resolve()).encode())[:16]}.json"
    label = f"translating with {name}" + ("" if result is None else f", seed {result.seed}")
    with bar(label, len(sources)) as advance:
        texts = translate_once(
            folder,
            sources,
            search,
            saved,
            device=options.device,
            batch_tokens=options.batch_tokens,
            progress=advance,
        )
    return RunOutput(folder=folder, texts=texts, training=result)


def translate_once(
    folder: Path,
    sources: Sequence[str],
    search: Search,
    saved: Path,
    *,
    device: str = "auto",
    batch_tokens: int = 8192,
    progress: Callable[[int], None] | None = None,
) -> list[str]:
    """Translate with a model folder, or read the file `saved` if this model, these sources and this search wrote it."""
    weights = files.sha256(files.read(folder, "config.json"))  # which holds the checksum of the weights
    key = files.sha256(json.dumps([weights, list(sources), asdict(search)]).encode())
    if saved.exists():
        content = parse_json(saved.read_bytes())
        if content["key"] == key:
            if progress is not None:
                progress(len(sources))
            return list(content["texts"])
    translator = load(folder, device=device)
    translations = translator.translate(sources, search, batch_tokens=batch_tokens, progress=progress)
    texts = [translation.text for translation in translations]
    saved.parent.mkdir(parents=True, exist_ok=True)
    files.remove_leftovers(saved)
    files.write_json(saved, {"key": key, "texts": texts})
    return texts


def _measure(
    plan: Plan, folders: Mapping[str, Path], pairs: EvaluationSet, options: CompareOptions, search: Search, bar: Bar
) -> dict[str, Cost]:
    if not options.rounds:
        return {}
    workload = Workload.sample(
        pairs.sources,
        [references[0] for references in pairs.references],
        search=search,
        tokens=min((recipe.train.batch_tokens for recipe in plan.recipes.values()), default=1024),
        device=options.device,
        threads=torch.get_num_threads(),
    )
    with bar("measuring speed and memory", (options.rounds + 1) * len(folders)) as advance:
        return measure_costs(folders, workload, rounds=options.rounds, progress=advance)


def _attend(name: str, folder: Path, differing: Sequence[DifferingSentence], device: str) -> list[PairAttention] | str:
    """Where the first run of a system read while it wrote its outputs."""
    translator = load(folder, device=device)
    if not translator.attends:
        return translator.model.paper.reads
    if not differing:
        return []
    return translator.attend(
        [sentence.source for sentence in differing], [sentence.outputs[name] for sentence in differing]
    )


def _longest_trained(folder: Path) -> int | None:
    length = model_folder.load_config(folder).extra.get("longest_trained")
    return length if isinstance(length, int) else None


def _settings(plan: Plan, name: str, folder: Path) -> dict[str, Any]:
    """The recipe of a system trained here; of a model folder, its model."""
    if name in plan.recipes:
        return plan.recipes[name].to_dict()
    saved = model_folder.load_config(folder)
    return {"model": {"name": saved.model, **saved.config}}
