"""A comparison from end to end: train what is not trained, translate, judge, measure, and look at where they differ.

All of it is kept in one folder, run by run: the same call goes on where an earlier one was stopped.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from saccade import files, model_folder
from saccade.compare.costs import Cost, Workload, costs
from saccade.compare.judging import (
    DifferingSentence,
    JudgedSystem,
    PairTest,
    compare_pairs,
    find_differing_sentences,
    judge_systems,
)
from saccade.compare.outputs import translated
from saccade.compare.planning import Plan
from saccade.decode import Attended, Search, load
from saccade.decode.search.options import DEFAULT_SEARCH
from saccade.errors import UserError
from saccade.locking import locked
from saccade.provenance import provenance
from saccade.train.sweep import Result, Say, sweep

Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # of what, of how many


@dataclass(frozen=True, kw_only=True)
class EvaluationSet:
    """What all are judged on."""

    name: str
    sources: Sequence[str]
    references: Sequence[Sequence[str]]  # of each, all that it has


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """How thoroughly."""

    search: Search = DEFAULT_SEARCH
    resamples: int = 1000  # of each bootstrap, and swaps
    rounds: int = 5  # in which costs are measured; 0: they are not
    shown: int = 6  # sentences that differ
    device: str = "auto"
    batch_tokens: int = 8192


@dataclass(frozen=True, kw_only=True)
class Comparison:
    plan: Plan
    pairs: EvaluationSet
    effort: CompareOptions
    systems: tuple[JudgedSystem, ...]
    pairwise: tuple[PairTest, ...]
    trained: Mapping[str, tuple[Result, ...]]  # of the systems that were trained here
    costs: Mapping[str, Cost]
    apart: tuple[DifferingSentence, ...]
    looked: Mapping[str, Sequence[Attended] | str]  # at those sentences; of a model without attention, how it reads
    settings: Mapping[str, Mapping[str, Any]]  # of each system: table → key → value
    threads: int
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the outputs but for those shown, and the weights, are left out."""
        return {
            "pairs": {"name": self.pairs.name, "sentences": len(self.pairs.sources)},
            "unequal": list(self.plan.unequal),
            "effort": asdict(self.effort),
            "systems": [self._system(system) for system in self.systems],
            "pairwise": [one.to_dict() for one in self.pairwise],
            "apart": [asdict(one) for one in self.apart],
            "threads": self.threads,
            "provenance": dict(self.provenance),
        }

    def _system(self, system: JudgedSystem) -> dict[str, Any]:
        cost = self.costs.get(system.name)
        results = {result.seed: result for result in self.trained.get(system.name, ())}
        runs = []
        for run in system.runs:
            result = results.get(run.seed) if run.seed is not None else None
            made = {} if result is None else {"step": result.step, "seconds": result.seconds, "best": result.best}
            evaluation = run.evaluation.to_dict()
            del evaluation["by_frequency"], evaluation["constraints"]
            runs.append({"seed": run.seed, "folder": run.folder.name, "training": made or None, **evaluation})
        return {
            "name": system.name,
            "scores": {name: score.to_dict() for name, score in system.scores.items()},
            "cost": cost and cost.to_dict(),
            "settings": self.settings[system.name],
            "runs": runs,
        }


def compare(
    plan: Plan,
    pairs: EvaluationSet,
    out: Path,
    *,
    effort: CompareOptions | None = None,
    say: Say | None = None,
    bar: Bar | None = None,
) -> Comparison:
    """Train, judge and measure all systems of the plan on the same pairs; `out` keeps what is done."""
    effort, say = effort or CompareOptions(), say or (lambda _: None)
    bar = bar or (lambda *_: nullcontext(lambda _: None))
    with locked(out, folder=True):
        return _compare(plan, pairs, out, effort, say, bar)


def _compare(plan: Plan, pairs: EvaluationSet, out: Path, effort: CompareOptions, say: Say, bar: Bar) -> Comparison:
    trained = _trained(plan, out, say)
    threads = next((recipe.train.threads for recipe in plan.recipes.values()), None)
    if isinstance(threads, int):
        torch.set_num_threads(threads)
    runs = {
        system.name: [
            *((result.seed, out / result.folder) for result in trained.get(system.name, ())),
            *((None, folder) for folder in system.folders),
        ]
        for system in plan.systems
    }
    outputs = _translated(runs, pairs, effort, out / "outputs", bar)
    longest = [_longest_trained(folder) for some in runs.values() for _, folder in some]
    systems = judge_systems(
        outputs,
        pairs.sources,
        pairs.references,
        longest_trained=min((one for one in longest if one), default=None),  # one for all, or ranges would not compare
        resamples=effort.resamples,
    )
    firsts = {name: some[0][1] for name, some in runs.items()}
    differing = find_differing_sentences(systems, pairs.sources, pairs.references, effort.shown)
    return Comparison(
        plan=plan,
        pairs=pairs,
        effort=effort,
        systems=systems,
        pairwise=compare_pairs(systems, pairs.references, resamples=effort.resamples),
        trained=trained,
        costs=_costs(plan, firsts, pairs, effort, bar),
        apart=differing,
        looked={name: _looked(folder, name, differing, effort.device) for name, folder in firsts.items()},
        settings={name: _settings(plan, name, folder) for name, folder in firsts.items()},
        threads=torch.get_num_threads(),
        provenance=provenance(),
    )


def _trained(plan: Plan, out: Path, say: Say) -> dict[str, tuple[Result, ...]]:
    """Every run of every recipe, by system."""
    results = list(sweep(plan.points, out, say))
    if failed := [result for result in results if result.best is None]:
        raise UserError(
            f"{len(failed)} of {len(results)} runs failed, the others are kept in {out}; the first, "
            f"{failed[0].settings['system']} with seed {failed[0].seed}: {failed[0].reason}"
        )
    names = dict.fromkeys(result.settings["system"] for result in results)
    return {name: tuple(one for one in results if one.settings["system"] == name) for name in names}


def _translated(
    runs: Mapping[str, Sequence[tuple[int | None, Path]]],
    pairs: EvaluationSet,
    effort: CompareOptions,
    kept: Path,
    bar: Bar,
) -> dict[str, list[tuple[int | None, Path, list[str]]]]:
    found: dict[str, list[tuple[int | None, Path, list[str]]]] = {}
    for name, some in runs.items():
        for seed, folder in some:
            own = files.sha256(str(folder.resolve()).encode())[:16]
            with bar(f"translating by {name}" + ("" if seed is None else f", seed {seed}"), len(pairs.sources)) as more:
                texts = translated(
                    folder,
                    pairs.sources,
                    effort.search,
                    kept / f"{own}.json",
                    device=effort.device,
                    batch_tokens=effort.batch_tokens,
                    progress=more,
                )
            found.setdefault(name, []).append((seed, folder, texts))
    return found


def _costs(
    plan: Plan, folders: Mapping[str, Path], pairs: EvaluationSet, effort: CompareOptions, bar: Bar
) -> dict[str, Cost]:
    if not effort.rounds:
        return {}
    tokens = min((recipe.train.batch_tokens for recipe in plan.recipes.values()), default=1024)
    work = Workload.of(
        pairs.sources,
        [some[0] for some in pairs.references],
        how=effort.search,
        tokens=tokens,
        device=effort.device,
        threads=torch.get_num_threads(),
    )
    with bar("measuring speed and memory", (effort.rounds + 1) * len(folders)) as more:
        return costs(folders, work, rounds=effort.rounds, progress=more)


def _looked(folder: Path, name: str, differing: Sequence[DifferingSentence], device: str) -> list[Attended] | str:
    """Where the first run of a system read while it wrote what it wrote."""
    translator = load(folder, device=device)
    if not translator.attends:
        return translator.model.paper.reads
    if not differing:
        return []
    return translator.attend([one.source for one in differing], [one.outputs[name] for one in differing])


def _longest_trained(folder: Path) -> int | None:
    found = model_folder.load_config(folder).extra.get("longest_trained")
    return found if isinstance(found, int) else None


def _settings(plan: Plan, name: str, folder: Path) -> dict[str, Any]:
    """Of a recipe, all of it; of a folder, its model."""
    if name in plan.recipes:
        return plan.recipes[name].to_dict()
    described = model_folder.load_config(folder)
    return {"model": {"name": described.model, **described.config}}
