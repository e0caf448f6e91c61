"""What came of each system, whether any is better than another, and where they differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from saccade.evaluate import (
    Difference,
    Evaluation,
    MeanScore,
    evaluate,
    mean_over_seeds,
    significance_over_seeds,
)
from saccade.evaluate.scores import Counts
from saccade.text import words

METRICS = ("bleu", "chrf", "exact")
LONGEST_SHOWN = 14  # source words: of longer ones the heatmaps are not seen side by side


@dataclass(frozen=True, kw_only=True)
class JudgedRun:
    """One model, and what it wrote."""

    seed: int | None  # None: of a folder that was given
    folder: Path
    texts: list[str]
    evaluation: Evaluation


@dataclass(frozen=True, kw_only=True)
class JudgedSystem:
    """A system over all its runs."""

    name: str
    runs: tuple[JudgedRun, ...]
    scores: Mapping[str, MeanScore]  # by metric

    def lengths(self, metric: str) -> list[float | None]:
        """The mean score in each range of source lengths; None where there is no sentence."""
        rows = zip(*(run.evaluation.lengths for run in self.runs), strict=True)
        return [fmean(one.scores[metric] for one in row if one.scores) if row[0].scores else None for row in rows]

    def behaviour(self) -> dict[str, float | None]:
        """Means over runs."""
        found = [run.evaluation.behaviour.to_dict() for run in self.runs]
        known = {name: [value for one in found if (value := one[name]) is not None] for name in found[0]}
        return {name: fmean(values) if values else None for name, values in known.items()}


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """Two systems by one metric: `system` less `baseline`."""

    baseline: str
    system: str
    difference: Difference  # with p by the bootstrap over sentences and runs
    corrected: float  # that p after Holm (1979), for all pairs of systems
    randomised: float | None  # p by randomisation; None: not as many runs of both

    def to_dict(self) -> dict[str, Any]:
        both = {"baseline": self.baseline, "system": self.system}
        found = {**self.difference.to_dict(), "baseline_score": self.difference.baseline}
        found |= {"system_score": self.difference.system, "p_holm": self.corrected, "p_randomisation": self.randomised}
        return found | both


@dataclass(frozen=True, kw_only=True)
class DifferingSentence:
    """A sentence on which the systems differ, with what the first run of each wrote."""

    place: int
    source: str
    reference: str
    outputs: Mapping[str, str]
    chrf: Mapping[str, float]  # of those outputs


def judge_systems(
    outputs: Mapping[str, Sequence[tuple[int | None, Path, list[str]]]],
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    longest_trained: int | None,
    resamples: int,
) -> tuple[JudgedSystem, ...]:
    """Systems by name, each with its runs: a seed, a folder, and what it wrote."""
    found = []
    for name, runs in outputs.items():
        judged = [
            JudgedRun(
                seed=seed,
                folder=folder,
                texts=texts,
                evaluation=evaluate(
                    texts,
                    references,
                    sources=sources,
                    metrics=METRICS,
                    resamples=resamples,
                    longest_trained=longest_trained,
                ),
            )
            for seed, folder, texts in runs
        ]
        means = mean_over_seeds([run.texts for run in judged], references, metrics=METRICS, resamples=resamples)
        found.append(JudgedSystem(name=name, runs=tuple(judged), scores={one.metric: one for one in means}))
    return tuple(found)


def compare_pairs(
    systems: Sequence[JudgedSystem], references: Sequence[Sequence[str]], *, resamples: int
) -> tuple[PairTest, ...]:
    """Every pair of systems by every metric, those of a metric together."""
    tested: list[tuple[str, str, Difference, float | None]] = []
    for one, other in combinations(systems, 2):
        first, second = ([run.texts for run in system.runs] for system in (one, other))
        found = significance_over_seeds(first, second, references, metrics=METRICS, resamples=resamples)
        swapped: list[float | None] = [None] * len(found)
        if len(first) == len(second):
            swaps = significance_over_seeds(
                first, second, references, metrics=METRICS, resamples=resamples, test="randomisation"
            )
            swapped = [difference.p for difference in swaps]
        tested += [(one.name, other.name, d, p) for d, p in zip(found, swapped, strict=True)]
    rows = []
    for metric in METRICS:
        here = [one for one in tested if one[2].metric == metric]
        corrected = correct_by_holm([difference.p for _, _, difference, _ in here])
        rows += [
            PairTest(baseline=baseline, system=system, difference=difference, corrected=p, randomised=randomised)
            for (baseline, system, difference, randomised), p in zip(here, corrected, strict=True)
        ]
    return tuple(rows)


def correct_by_holm(ps: Sequence[float]) -> list[float]:
    """Holm (1979): the smallest of m is multiplied by m, the next by m − 1 …, and none falls below one before it."""
    found, least = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        found[place] = least
    return found


def find_differing_sentences(
    systems: Sequence[JudgedSystem], sources: Sequence[str], references: Sequence[Sequence[str]], count: int
) -> tuple[DifferingSentence, ...]:
    """The sentences on which systems differ most: by the widest gap between their chrF, each the mean over runs."""
    each = {system.name: [_sentence_chrf(run.texts, references) for run in system.runs] for system in systems}
    means = [[fmean(run[place] for run in runs) for runs in each.values()] for place in range(len(sources))]
    shown = [place for place, source in enumerate(sources) if len(words(source)) <= LONGEST_SHOWN]
    order = sorted(shown, key=lambda place: min(means[place]) - max(means[place]))
    order = list({sources[place]: place for place in reversed(order)}.values())[::-1]  # each sentence once
    return tuple(
        DifferingSentence(
            place=place,
            source=sources[place],
            reference=references[place][0],
            outputs={system.name: system.runs[0].texts[place] for system in systems},
            chrf={system.name: each[system.name][0][place] for system in systems},
        )
        for place in order[:count]
        if max(means[place]) > min(means[place])
    )


def _sentence_chrf(texts: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    counts = Counts(texts, references, metrics=["chrf"])
    return [counts.scores([place])["chrf"] for place in range(len(texts))]
