"""Whether one system is better than another, or its sentences or its seeds were lucky.

Between two outputs of the same sentences, by sacrebleu: the *paired bootstrap* (Koehn 2004) repeatedly draws sentences
and counts how often the difference is that large by chance; *approximate randomisation* (Noreen 1989; Riezler and
Maxwell 2005) swaps the two systems' outputs sentence by sentence at random, and assumes less.

Both speak of two trained models only. Training with another seed moves the score, often by more than the difference in
question. Given several runs of each system, `significance_over_seeds` therefore draws in a hierarchy: the sentences,
the same for all runs, and the runs of each system. The statistic is the difference of the mean scores. A draw of n runs
varies too little by a factor of (n − 1)/n, which is a third at three runs: deviations from a system's mean are widened
by √(n/(n − 1)) to compensate. With one run the spread between seeds is unknown, and the result is about that run.
Randomisation over several runs swaps all outputs of a sentence at once, those of run i of one system with those of run
i of the other: it speaks of the mean of these runs, not of further ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.metrics import METRICS, Counts

Test = Literal["bootstrap", "randomisation"]
RESAMPLES = 1000  # bootstrap draws
SEED = 12345  # sacrebleu's default


@dataclass(frozen=True)
class Difference:
    """System minus baseline, in percent; between the means where there are several runs."""

    metric: str
    baseline: float
    system: float
    difference: float
    low: float  # the 95 % interval of the difference, by bootstrap
    high: float
    p: float  # the probability of so large a difference, in either direction, between equal systems
    test: str
    runs: tuple[int, int]  # of the baseline, of the system


@dataclass(frozen=True)
class MeanScore:
    """The mean over all runs of a system, in percent."""

    metric: str
    mean: float
    low: float  # the 95 % interval by the hierarchical bootstrap
    high: float
    deviation: float | None  # standard deviation between runs (of a sample); None for a single run
    runs: tuple[float, ...]  # each run's score


def significance(
    baseline: Counts, system: Counts, *, test: Test = "bootstrap", resamples: int = 0
) -> tuple[Difference, ...]:
    """Test the difference in each metric with sacrebleu; 0 `resamples` means 1000 draws or 10,000 swaps."""
    from saccade.metrics.sacrebleu_adapter import paired_p_value

    _check(test, [baseline], [system])
    differences = []
    for difference in significance_over_seeds([baseline], [system]):
        metric = baseline.metrics[difference.metric]
        p = paired_p_value(metric, baseline.hypotheses, system.hypotheses, baseline.references, test, resamples)
        differences.append(replace(difference, p=p, test=f"paired {test}"))
    return tuple(differences)


def significance_over_seeds(
    baseline: Sequence[Counts], system: Sequence[Counts], *, test: Test = "bootstrap", resamples: int = RESAMPLES
) -> tuple[Difference, ...]:
    """Test the difference between the means of several runs in each metric, by the hierarchical bootstrap, or by
    randomisation, which needs as many runs of both."""
    _check(test, baseline, system)
    differences, counts = [], (len(baseline), len(system))
    for name, ((before, draws_before), (after, draws_after)) in _bootstrap((baseline, system), resamples):
        difference, draws = float(after.mean() - before.mean()), draws_after - draws_before
        low, high = np.quantile(draws, (0.025, 0.975))
        # Under the null hypothesis the draws would spread around 0 as they now spread around the observed difference.
        p = _p_value(draws - difference, difference)
        scores = (float(before.mean()), float(after.mean()), difference, float(low), float(high))
        differences.append(Difference(name, *scores, p, "hierarchical bootstrap", counts))
    if test == "randomisation":
        p_values = randomise(baseline, system, resamples)
        differences = [
            replace(difference, p=p, test="randomisation of all runs")
            for difference, p in zip(differences, p_values, strict=True)
        ]
    return tuple(differences)


def mean_over_seeds(runs: Sequence[Counts], *, resamples: int = RESAMPLES) -> tuple[MeanScore, ...]:
    """Average each metric over several runs, with its interval over sentences and runs."""
    means = []
    for name, ((scores, draws),) in _bootstrap([runs], resamples):
        # A widened draw may exceed the range of a score: error rates have no upper end, all others end at 100.
        low, high = np.quantile(draws, (0.025, 0.975)).clip(0, 100 if METRICS[name].higher_is_better else None)
        deviation = float(scores.std(ddof=1)) if len(scores) > 1 else None
        means.append(MeanScore(name, float(scores.mean()), float(low), float(high), deviation, tuple(scores.tolist())))
    return tuple(means)


def randomise(baseline: Sequence[Counts], system: Sequence[Counts], resamples: int) -> list[float]:
    """Return the p-value of each metric, by swapping outputs at random."""
    if len(baseline) != len(system):
        counts = f"{len(baseline)} and {len(system)}"
        raise UserError(f"randomisation swaps run for run: expected as many of both, got {counts}")
    swap = np.random.default_rng(SEED).integers(2, size=(resamples, len(baseline[0].references)))
    p_values = []
    for name, metric in baseline[0].metrics.items():
        differences = np.zeros(1 + resamples)
        for before, after in zip(baseline, system, strict=True):
            change = after.rows[name] - before.rows[name]  # per sentence, if it is swapped
            moved = np.concatenate([np.zeros((1, change.shape[1])), swap @ change])
            differences += metric.score_sums(before.rows[name].sum(axis=0) + moved)
            differences -= metric.score_sums(after.rows[name].sum(axis=0) - moved)
        p_values.append(_p_value(differences[1:], differences[0]))
    return p_values


def _check(test: str, baseline: Sequence[Counts], system: Sequence[Counts]) -> None:
    if test not in get_args(Test):
        raise UserError(f"unknown test '{test}': choose one of {', '.join(get_args(Test))}")
    first, *others = (*baseline, *system)
    if any(run.references != first.references or run.rows.keys() != first.rows.keys() for run in others):
        raise UserError("only runs that were counted with the same references and metrics can be compared")


def _p_value(draws: NDArray[np.float64], difference: float) -> float:
    """The share of draws that are as far from 0 as the difference, itself included."""
    as_far = int((np.abs(draws) >= abs(difference) - 1e-9).sum())
    return (as_far + 1) / (len(draws) + 1)


def _bootstrap(
    systems: Sequence[Sequence[Counts]], resamples: int
) -> Iterator[tuple[str, list[tuple[NDArray[np.float64], NDArray[np.float64]]]]]:
    """For each metric, of each system: its runs' scores (runs,), and its mean in each draw of sentences and runs."""
    random, sentences = np.random.default_rng(SEED), len(systems[0][0].references)
    times = random.multinomial(sentences, np.full(sentences, 1 / sentences), size=resamples)  # (draws, sentences)
    picks = [random.integers(len(runs), size=(resamples, len(runs))) for runs in systems]
    for name, metric in systems[0][0].metrics.items():
        measured = []
        for runs, drawn in zip(systems, picks, strict=True):
            sums = [np.vstack([run.rows[name].sum(axis=0), times @ run.rows[name]]) for run in runs]
            scores = np.stack([metric.score_sums(rows) for rows in sums], axis=1)  # (1 + draws, runs)
            draws = scores[1:]
            if len(runs) > 1:
                mean = draws.mean(axis=1, keepdims=True)
                draws = mean + (draws - mean) * float(np.sqrt(len(runs) / (len(runs) - 1)))  # widened
            measured.append((scores[0], np.take_along_axis(draws, drawn, axis=1).mean(axis=1)))
        yield name, measured
