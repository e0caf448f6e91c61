"""Compare systems: train those that are not trained, translate, score, measure costs, and write a report.

Each finished run and its translations are saved in one folder, so the same call continues an interrupted comparison.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from saccade import files, model_folder
from saccade.align.attention import PairAttention
from saccade.comparison.costs import Cost, Workload, measure_costs
from saccade.comparison.judging import (
    DifferingSentence,
    RunOutput,
    choose_metrics,
    compare_pairs,
    find_differing_sentences,
    judge_systems,
)
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import Plan, make_plan
from saccade.comparison.report import write_report
from saccade.comparison.result import Comparison
from saccade.data.inputs import name_pairs
from saccade.decode import DEFAULT_SEARCH, Search, load
from saccade.errors import Say, UserError
from saccade.evaluation.evaluation_set import EvaluationSet, read_evaluation_set
from saccade.files import parse_json
from saccade.locking import locked
from saccade.progress import Bar
from saccade.provenance import provenance
from saccade.train.sweep import Result, train_points


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
    pairs = choose_evaluation_set(plan, options)
    if pairs.left_out:
        say(f"left out: {pairs.left_out} pair{'s' * (pairs.left_out > 1)} with a blank side")
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


def choose_evaluation_set(plan: Plan, options: CompareOptions) -> EvaluationSet:
    """The test pairs that the options name; by default, the test split of the task that all systems are trained on."""
    on, words = options.on, _word_range(options.words)
    if on is None:
        if plan.task is None:
            raise UserError("there are no test pairs; give --on test.tsv, or --on test.en --targets test.fr")
        on, words = plan.task[0], words or plan.task[1]
    return read_evaluation_set(name_pairs(on, options.targets, count=options.count, words=words))


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
    comparer = _Comparer(plan, pairs, out, options, search, bar or (lambda *_: nullcontext(lambda _: None)))
    with locked(out, folder=True):
        return comparer.compare(say or (lambda _: None))


class _Comparer:
    def __init__(
        self, plan: Plan, pairs: EvaluationSet, out: Path, options: CompareOptions, search: Search, bar: Bar
    ) -> None:
        self.plan, self.pairs, self.sources = plan, pairs, pairs.sources or []
        self.out, self.options, self.search, self.bar = out, options, search, bar

    def compare(self, say: Say) -> Comparison:
        plan, pairs, options = self.plan, self.pairs, self.options
        trained = self._train(say)
        threads = next((recipe.train.threads for recipe in plan.recipes.values()), None)
        if isinstance(threads, int):
            torch.set_num_threads(threads)
        outputs: dict[str, list[RunOutput]] = {}
        for system in plan.systems:
            runs: list[tuple[Path, Result | None]] = [
                *((self.out / result.folder, result) for result in trained if result.settings["system"] == system.name),
                *((folder, None) for folder in system.folders),
            ]
            outputs[system.name] = [self._translate(system.name, folder, result) for folder, result in runs]
        longest = [_longest_trained(run.folder) for runs in outputs.values() for run in runs]
        metrics = choose_metrics(self.sources)
        systems = judge_systems(
            outputs,
            pairs,
            metrics,
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
            search=self.search,
            metrics=metrics,
            systems=systems,
            pairwise=compare_pairs(systems, resamples=options.resamples),
            costs=self._measure(first_runs),
            differing=differing,
            attention={name: self._attend(name, folder, differing) for name, folder in first_runs.items()},
            settings={name: self._settings(name, folder) for name, folder in first_runs.items()},
            threads=torch.get_num_threads(),
            provenance=provenance(),
        )

    def _train(self, say: Say) -> list[Result]:
        results = list(train_points(self.plan.points, self.out, say))
        if failed := [result for result in results if result.best is None]:
            raise UserError(
                f"{len(failed)} of {len(results)} runs failed, the others are saved in {self.out}; the first, "
                f"{failed[0].settings['system']} with seed {failed[0].seed}: {failed[0].reason}"
            )
        return results

    def _translate(self, name: str, folder: Path, result: Result | None) -> RunOutput:
        saved = self.out / "outputs" / f"{files.sha256(str(folder.resolve()).encode())[:16]}.json"
        label = f"translating with {name}" + ("" if result is None else f", seed {result.seed}")
        with self.bar(label, len(self.sources)) as advance:
            texts = translate_once(
                folder,
                self.sources,
                self.search,
                saved,
                device=self.options.device,
                batch_tokens=self.options.batch_tokens,
                progress=advance,
            )
        return RunOutput(folder=folder, texts=texts, training=result)

    def _measure(self, folders: dict[str, Path]) -> dict[str, Cost]:
        rounds = self.options.rounds
        if not rounds:
            return {}
        workload = Workload.sample(
            self.pairs.pairs,
            search=self.search,
            tokens=min((recipe.train.batch_tokens for recipe in self.plan.recipes.values()), default=1024),
            device=self.options.device,
            threads=torch.get_num_threads(),
        )
        with self.bar("measuring speed and memory", (rounds + 1) * len(folders)) as advance:
            return measure_costs(folders, workload, rounds=rounds, progress=advance)

    def _attend(self, name: str, folder: Path, differing: Sequence[DifferingSentence]) -> Sequence[PairAttention] | str:
        """Where the first run of a system read while it wrote its outputs."""
        translator = load(folder, device=self.options.device)
        if not translator.attends:
            return translator.model.paper.reads
        if not differing:
            return []
        return translator.attend(
            [sentence.source for sentence in differing], [sentence.outputs[name] for sentence in differing]
        )

    def _settings(self, name: str, folder: Path) -> dict[str, Any]:
        """The recipe of a system trained here; of a model folder, its model."""
        if name in self.plan.recipes:
            return self.plan.recipes[name].to_dict()
        saved = model_folder.load_config(folder)
        return {"model": {"name": saved.model, **saved.config}}


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


def _longest_trained(folder: Path) -> int | None:
    length = model_folder.load_config(folder).extra.get("longest_trained")
    return length if isinstance(length, int) else None
