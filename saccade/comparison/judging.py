"""Scores of each system, tests of every pair of systems, and the sentences on which they differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from saccade.evaluation import Difference, Evaluation, MeanScore, evaluate, mean_over_seeds, significance_over_seeds
from saccade.evaluation import evaluation as defaults
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.metrics import Counts
from saccade.text import words
from saccade.train.sweep import Result

SENTENCE_METRICS = ("bleu", "chrf", "exact")
WORD_METRICS = ("word_error", "phone_error", "exact")
LONGEST_SHOWN = 14  # source words: the heatmaps of longer sentences do not fit side by side


@dataclass(frozen=True, kw_only=True)
class RunOutput:
    """The translations of one model."""

    folder: Path
    texts: list[str]
    training: Result | None = None  # None: the model was trained before

    @property
    def seed(self) -> int | None:
        return None if self.training is None else self.training.seed


@dataclass(frozen=True, kw_only=True)
class JudgedRun(RunOutput):
    evaluation: Evaluation

    def to_dict(self) -> dict[str, Any]:
        result, evaluation = self.training, self.evaluation.to_dict()
        del evaluation["by_frequency"], evaluation["constraints"]
        training = result and {"step": result.step, "seconds": result.seconds, "best": result.best}
        return {"seed": self.seed, "folder": self.folder.name, "training": training, **evaluation}


@dataclass(frozen=True, kw_only=True)
class JudgedSystem:
    """A system over all its runs."""

    name: str
    runs: tuple[JudgedRun, ...]
    scores: Mapping[str, MeanScore]  # by metric

    def lengths(self, metric: str) -> list[float | None]:
        """The mean score in each range of source lengths; None where there is no sentence."""
        rows = zip(*(run.evaluation.lengths for run in self.runs), strict=True)
        return [fmean(cell.scores[metric] for cell in row if cell.scores) if row[0].scores else None for row in rows]

    def behaviour(self) -> dict[str, float | None]:
        """Means over runs."""
        measured = [run.evaluation.behaviour.to_dict() for run in self.runs]
        known = {name: [value for run in measured if (value := run[name]) is not None] for name in measured[0]}
        return {name: fmean(values) if values else None for name, values in known.items()}


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """The difference between two systems by one metric: `system` minus `baseline`."""

    baseline: str
    system: str
    difference: Difference  # with p by the bootstrap over sentences and runs
    corrected: float  # that p after Holm (1979), for all pairs of systems
    randomised: float | None  # p by randomisation; None if the two systems have different numbers of runs
    runs: int  # of the system that has fewer

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.difference.to_dict(),
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


def choose_metrics(sources: Sequence[str]) -> tuple[str, ...]:
    """Error rates for data of single words, such as pronunciations; BLEU and others for sentences."""
    return WORD_METRICS if defaults.choose_metrics(sources) == defaults.WORD_METRICS else SENTENCE_METRICS


def judge_systems(
    outputs: Mapping[str, Sequence[RunOutput]],
    pairs: EvaluationSet,
    metrics: Sequence[str] = SENTENCE_METRICS,
    *,
    longest_trained: int | None,
    resamples: int,
) -> tuple[JudgedSystem, ...]:
    systems = []
    for name, runs in outputs.items():
        judged = tuple(
            JudgedRun(
                **vars(run),
                evaluation=evaluate(
                    run.texts,
                    pairs.references,
                    sources=pairs.sources,
                    metrics=metrics,
                    resamples=resamples,
                    longest_trained=longest_trained,
                ),
            )
            for run in runs
        )
        means = mean_over_seeds([run.evaluation.counts for run in judged], resamples=resamples)
        systems.append(JudgedSystem(name=name, runs=judged, scores={mean.metric: mean for mean in means}))
    return tuple(systems)


def compare_pairs(systems: Sequence[JudgedSystem], *, resamples: int) -> tuple[PairTest, ...]:
    """Test every pair of systems by every metric, ordered by metric."""
    tests: list[PairTest] = []
    metrics = list(systems[0].scores)
    for baseline, system in combinations(systems, 2):
        first, second = ([run.evaluation.counts for run in side.runs] for side in (baseline, system))
        run = partial(significance_over_seeds, first, second, resamples=resamples)
        randomised: list[float | None] = [None] * len(metrics)
        if len(first) == len(second):
            randomised = [difference.p for difference in run(test="randomisation")]
        tests += [
            PairTest(
                baseline=baseline.name,
                system=system.name,
                difference=difference,
                corrected=difference.p,
                randomised=p,
                runs=min(len(first), len(second)),
            )
            for difference, p in zip(run(), randomised, strict=True)
        ]
    corrected = []
    for metric in metrics:
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
    systems: Sequence[JudgedSystem], pairs: EvaluationSet, count: int
) -> tuple[DifferingSentence, ...]:
    """The sentences with the widest gap between the systems' chrF, each the mean over runs."""
    sources, references = pairs.sources or [], pairs.references
    chrf = {
        system.name: [Counts(run.texts, references, metrics=["chrf"]).sentence_scores("chrf") for run in system.runs]
        for system in systems
    }
    means = [[fmean(run[place] for run in runs) for runs in chrf.values()] for place in range(len(sources))]
    short = [place for place, source in enumerate(sources) if len(words(source)) <= LONGEST_SHOWN]
    order = sorted(short, key=lambda place: min(means[place]) - max(means[place]))
    order = list({sources[place]: place for place in reversed(order)}.values())[::-1]  # each sentence once
    return tuple(
        DifferingSentence(
            place=place,
            source=sources[place],
            reference=references[place][0],
            outputs={system.name: system.runs[0].texts[place] for system in systems},
            chrf={system.name: chrf[system.name][0][place] for system in systems},
        )
        for place in order[:count]
        if max(means[place]) > min(means[place])
    )
