"""Systems over all their runs, tests of every pair of systems, and the sentences on which they differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from saccade.evaluation import Difference, MeanScore, mean_over_seeds, significance_over_seeds
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.evaluation.results import EvaluatedRun, EvaluatedSystem
from saccade.evaluation.significance_tests import randomise
from saccade.text import words
from saccade.train.sweep import Result

METRICS_COMPARED = ("bleu", "chrf", "exact", "word_error", "phone_error")  # where the data choose them
LONGEST_SHOWN = 14  # source words: the heatmaps of longer sentences do not fit side by side


@dataclass(frozen=True, kw_only=True)
class ComparedRun(EvaluatedRun):
    folder: Path
    training: Result | None = None  # None: the model was trained before

    @property
    def seed(self) -> int | None:
        return None if self.training is None else self.training.seed

    def to_dict(self) -> dict[str, Any]:
        result, evaluation = self.training, self.evaluation.to_dict()
        del evaluation["by_frequency"], evaluation["constraints"]
        training = result and {"step": result.step, "seconds": result.seconds, "best": result.best}
        return {"seed": self.seed, "folder": self.folder.name, "training": training, **evaluation}


@dataclass(frozen=True, kw_only=True)
class ComparedSystem(EvaluatedSystem):
    runs: Sequence[ComparedRun]
    scores: Mapping[str, MeanScore]  # over all runs, by metric

    @classmethod
    def of(cls, name: str, runs: Sequence[ComparedRun], *, resamples: int) -> "ComparedSystem":
        means = mean_over_seeds([run.evaluation.counts for run in runs], resamples=resamples)
        return cls(name=name, runs=runs, scores={mean.metric: mean for mean in means})


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """The difference between two systems by one metric: `system` minus `baseline`."""

    baseline: str
    system: str
    difference: Difference  # with p by the bootstrap over sentences and runs
    corrected: float  # that p after Holm (1979), for all pairs of systems
    randomised: float | None  # p by randomisation; None if the two systems have different numbers of runs

    def to_dict(self) -> dict[str, Any]:
        return {
            **asdict(self.difference),
            "baseline_score": self.difference.baseline,
            "system_score": self.difference.system,
            "p_holm": self.corrected,
            "p_randomisation": self.randomised,
            "baseline": self.baseline,
            "system": self.system,
        }


@dataclass(frozen=True, kw_only=True)
class DifferingSentence:
    """A sentence on which the systems differ, with the output of each system's first run."""

    place: int
    source: str
    reference: str
    outputs: Mapping[str, str]
    chrf: Mapping[str, float]  # of these outputs


def compare_pairs(systems: Sequence[ComparedSystem], *, resamples: int) -> tuple[PairTest, ...]:
    """Test every pair of systems by every metric, ordered by metric."""
    tests: list[PairTest] = []
    for first, second in combinations(systems, 2):
        differences = significance_over_seeds(first.counts, second.counts, resamples=resamples)
        randomised: Sequence[float | None] = [None] * len(differences)
        if len(first.runs) == len(second.runs):
            randomised = randomise(first.counts, second.counts, resamples)
        tests += [
            PairTest(baseline=first.name, system=second.name, difference=each, corrected=each.p, randomised=p)
            for each, p in zip(differences, randomised, strict=True)
        ]
    corrected = []
    for metric in systems[0].scores:
        of_metric = [test for test in tests if test.difference.metric == metric]
        ps = correct_by_holm([test.difference.p for test in of_metric])
        corrected += [replace(test, corrected=p) for test, p in zip(of_metric, ps, strict=True)]
    return tuple(corrected)


def correct_by_holm(ps: Sequence[float]) -> list[float]:
    """Holm (1979): multiply the smallest of m by m, the next by m − 1 …, and let none fall below one before it."""
    corrected, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        corrected[place] = least
    return corrected


def find_differing_sentences(
    systems: Sequence[ComparedSystem], pairs: EvaluationSet, count: int
) -> tuple[DifferingSentence, ...]:
    """The sentences with the widest gap between the systems' chrF, each the mean over runs."""
    sources, gaps = pairs.sources, []
    for place in range(len(sources)):
        means = [fmean(run.evaluation.sentence_chrf[place] for run in system.runs) for system in systems]
        gaps.append(max(means) - min(means))
    short = [place for place, source in enumerate(sources) if len(words(source)) <= LONGEST_SHOWN]
    order = sorted(short, key=lambda place: -gaps[place])
    order = list({sources[place]: place for place in reversed(order)}.values())[::-1]  # each sentence once
    firsts = {system.name: system.runs[0] for system in systems}
    return tuple(
        DifferingSentence(
            place=place,
            source=sources[place],
            reference=pairs.references[place][0],
            outputs={name: run.texts[place] for name, run in firsts.items()},
            chrf={name: run.evaluation.sentence_chrf[place] for name, run in firsts.items()},
        )
        for place in order[:count]
        if gaps[place] > 0
    )
