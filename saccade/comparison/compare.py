"""Compare systems: train those that are not trained, translate, score, measure costs, and write a report.

Each finished run and its translations are saved in one folder, so the same call continues an interrupted comparison.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from saccade import files, model_folder
from saccade.align.attention import PairAttention
from saccade.comparison import judging
from saccade.comparison.costs import Cost, Workload, measure_costs
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import Plan, make_plan
from saccade.comparison.result import Comparison
from saccade.data.inputs import name_pairs
from saccade.decode import DEFAULT_SEARCH, Search, load
from saccade.errors import Bar, Say, UserError, as_bar
from saccade.evaluation import choose_metrics, evaluate
from saccade.evaluation.evaluation_set import EvaluationSet, read_evaluation_set
from saccade.evaluation.systems import shortest_training
from saccade.files import parse_json
from saccade.language import preferred_language
from saccade.locking import locked
from saccade.provenance import provenance
from saccade.train.sweep import Result, train_points


def compare(
    systems: Sequence[str | Path],
    out: str | Path,
    options: CompareOptions,
    *,
    search: Search = DEFAULT_SEARCH,
    say: Say = lambda _: None,
    bar: Bar | None = None,
) -> Comparison:
    """Compare `systems` on equal terms, and write report.html and results.json into the folder `out`.

    Systems are model folders, recipe files or names of models, written as on the command line. The same call continues
    an interrupted comparison.
    """
    out = Path(out)
    plan = make_plan([str(system) for system in systems], options)
    pairs = choose_evaluation_set(plan, options)
    pairs.report_left_out(say)
    with locked(out, folder=True):
        try:
            comparison = Comparer(plan, pairs, out, options, search, bar or as_bar(None)).compare(say)
        except KeyboardInterrupt:
            say(f"interrupted; the finished runs are in {out}, and the same command continues")
            raise
        files.remove_leftovers(out / "results.json")
        files.write_json(out / "results.json", comparison.to_dict())
        comparison.write_report(out / "report.html", options.by, options.lang or preferred_language())
    return comparison


def choose_evaluation_set(plan: Plan, options: CompareOptions) -> EvaluationSet:
    """The test pairs that the options name; by default, the test split of the task that all systems are trained on."""
    on, words = options.on, _parse_range(options.words)
    if on is None:
        if plan.task is None:
            raise UserError("there are no test pairs; give --on test.tsv, or --on test.en --targets test.fr")
        on, words = plan.task[0], words or plan.task[1]
    return read_evaluation_set(name_pairs(on, options.targets, count=options.count, words=words))


def _parse_range(words: str | tuple[int, int] | None) -> tuple[int, int] | None:
    if words is None:
        return None
    text = words if isinstance(words, str) else f"{words[0]}-{words[1]}"
    match = re.fullmatch(r"\s*([0-9]{1,6})\s*[-–,]\s*([0-9]{1,6})\s*", text)
    if match is None or not 0 < int(match[1]) <= int(match[2]):
        raise UserError(f"--words {text}: expected the shortest and the longest, such as --words 3-60")
    return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Comparer:
    """Trains, translates, scores and measures all systems of a plan on the same pairs."""

    plan: Plan
    pairs: EvaluationSet
    out: Path
    options: CompareOptions
    search: Search
    bar: Bar

    def compare(self, say: Say = lambda _: None) -> Comparison:
        with locked(self.out, folder=True):
            trained = self._train(say)
            threads = next((recipe.train.threads for recipe in self.plan.recipes.values()), None)
            if isinstance(threads, int):
                torch.set_num_threads(threads)
            systems = self._evaluate(trained)
            differing = judging.find_differing_sentences(systems, self.pairs, self.options.shown)
            folders = {system.name: system.runs[0].folder for system in systems}
            return Comparison(
                plan=self.plan,
                pairs=self.pairs,
                options=self.options,
                search=self.search,
                systems=systems,
                pairwise=judging.compare_pairs(systems, resamples=self.options.resamples),
                costs=self._measure(folders) if self.options.rounds else {},
                differing=differing,
                attention={name: self._attend(name, folder, differing) for name, folder in folders.items()},
                settings={name: self._settings(name, folder) for name, folder in folders.items()},
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

    def _evaluate(self, trained: Sequence[Result]) -> list[judging.ComparedSystem]:
        runs: dict[str, list[tuple[Path, Result | None]]] = {
            system.name: [(folder, None) for folder in system.folders] for system in self.plan.systems
        }
        for result in trained:
            runs[result.settings["system"]].append((self.out / result.folder, result))
        measure = partial(
            evaluate,
            references=self.pairs.references,
            sources=self.pairs.sources,
            metrics=[metric for metric in choose_metrics(self.pairs.sources) if metric in judging.METRICS_COMPARED],
            resamples=self.options.resamples,
            longest_trained=shortest_training(folder for folders in runs.values() for folder, _ in folders),
        )
        systems = []
        for name, folders in runs.items():
            compared = []
            for folder, training in folders:
                label = f"translating with {name}" + ("" if training is None else f", seed {training.seed}")
                evaluation = measure(self.translate(folder, label))
                compared.append(judging.ComparedRun(name=name, evaluation=evaluation, folder=folder, training=training))
            systems.append(judging.ComparedSystem.of(name, compared, resamples=self.options.resamples))
        return systems

    def translate(self, folder: Path, label: str) -> list[str]:
        """Translate with a model folder, or read what this model wrote for these sources with this search before."""
        saved = self.out / "outputs" / f"{files.sha256(str(folder.resolve()).encode())[:16]}.json"
        sources = list(self.pairs.sources)
        weights = files.sha256(files.read(folder, "config.json"))  # which holds the checksum of the weights
        key = files.sha256(json.dumps([weights, sources, asdict(self.search)]).encode())
        with self.bar(label, len(sources)) as advance:
            if saved.exists() and (content := parse_json(saved.read_bytes()))["key"] == key:
                advance(len(sources))
                return list(content["texts"])
            translator, batch_tokens = load(folder, device=self.options.device), self.options.batch_tokens
            translations = translator.translate(sources, self.search, batch_tokens=batch_tokens, progress=advance)
        texts = [translation.text for translation in translations]
        saved.parent.mkdir(parents=True, exist_ok=True)
        files.remove_leftovers(saved)
        files.write_json(saved, {"key": key, "texts": texts})
        return texts

    def _measure(self, folders: dict[str, Path]) -> dict[str, Cost]:
        tokens = min((recipe.train.batch_tokens for recipe in self.plan.recipes.values()), default=1024)
        device, threads = self.options.device, torch.get_num_threads()
        workload = Workload.sample(self.pairs.pairs, self.search, tokens, device, threads)
        with self.bar("measuring speed and memory", (self.options.rounds + 1) * len(folders)) as advance:
            return measure_costs(folders, workload, rounds=self.options.rounds, progress=advance)

    def _attend(
        self, name: str, folder: Path, differing: Sequence[judging.DifferingSentence]
    ) -> Sequence[PairAttention] | str:
        """Where the first run of a system read while it wrote its outputs."""
        translator = load(folder, device=self.options.device)
        if not translator.attends:
            return translator.model.paper.reads
        sources, outputs = [each.source for each in differing], [each.outputs[name] for each in differing]
        return translator.attend(sources, outputs) if differing else []

    def _settings(self, name: str, folder: Path) -> dict[str, Any]:
        """The recipe of a system trained here; of a model folder, its model."""
        if name in self.plan.recipes:
            return self.plan.recipes[name].to_dict()
        saved = model_folder.load_config(folder)
        return {"model": {"name": saved.model, **saved.config}}
