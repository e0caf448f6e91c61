"""Is one system better than another, or were its sentences, or its seeds, lucky?

Between two outputs of the same sentences, by sacrebleu: the *paired bootstrap* (Koehn 2004) draws sentences again and
again and asks how often the difference is that large by chance; *approximate randomisation* (Noreen 1989; Riezler and
Maxwell 2005) swaps the two systems' outputs sentence by sentence at random, and assumes less.

Both speak of two trained models only. Train again with another seed, and the score moves, often by more than what is to
be shown. Given several runs of each system, `significance_over_seeds` therefore draws twice, in a hierarchy: the
sentences, the same for all runs, and the runs of each system. The statistic is the difference of the mean scores. A
draw of n runs varies too little by a factor of (n − 1)/n, which is a third at three runs: deviations from a system's
mean are widened by √(n/(n − 1)) to make good for it. With one run the spread between seeds cannot be known, and the
result is about that run. Randomisation over several runs swaps all outputs of a sentence at once, those of run i of one
system with those of run i of the other: it speaks of the mean of these runs, and not of further ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.evaluate.metrics import METRICS, Tokenisation, make_metrics
from saccade.evaluate.references import References, same_count
from saccade.evaluate.scores import USUAL, Counts

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Test = Literal["bootstrap", "randomisation"]
TESTS: Mapping[Test, str] = {"bootstrap": "bs", "randomisation": "ar"}
RESAMPLES = 1000  # of a bootstrap
SEED = 12345  # sacrebleu's


@dataclass(frozen=True, kw_only=True)
class Difference:
    """System less baseline, in percent; of several runs, between their means."""

    metric: str
    baseline: float
    system: float
    difference: float
    low: float  # of the difference, the 95 % interval by bootstrap
    high: float
    p: float  # of so large a difference, in either direction, where there is none
    test: str
    runs: tuple[int, int]  # of the baseline, of the system

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class MeanScore:
    """Of all runs of a system, in percent."""

    metric: str
    mean: float
    low: float  # the 95 % interval by the same hierarchical bootstrap
    high: float
    deviation: float | None  # standard, of a sample, between runs; None: of a single one
    runs: tuple[float, ...]  # each one's score

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def significance(
    baseline: Sequence[str],
    system: Sequence[str],
    references: References,
    *,
    metrics: Sequence[str] = USUAL,
    test: Test = "bootstrap",
    resamples: int = 0,
    tokenise: Tokenisation = "auto",
) -> tuple[Difference, ...]:
    """A difference a metric, tested by sacrebleu; `resamples` are 1000 of a bootstrap and 10,000 swaps unless said."""
    if test not in TESTS:
        raise UserError(f"unknown test '{test}': choose one of {', '.join(TESTS)}")
    same_count(baseline=baseline, system=system, references=references)
    one, other = (Counts(run, references, metrics=metrics, tokenise=tokenise) for run in (baseline, system))
    found = []
    for difference in _differences([one], [other], RESAMPLES):
        p = _paired_p(difference.metric, one, other, test, resamples)
        found.append(replace(difference, p=p, test=f"paired {test}"))
    return tuple(found)


def significance_over_seeds(
    baseline: Sequence[Sequence[str]],
    system: Sequence[Sequence[str]],
    references: References,
    *,
    metrics: Sequence[str] = USUAL,
    test: Test = "bootstrap",
    resamples: int = RESAMPLES,
    tokenise: Tokenisation = "auto",
) -> tuple[Difference, ...]:
    """A difference a metric between the means of several runs of each, by the hierarchical bootstrap; or tested by
    randomisation, of as many runs of both."""
    if test not in TESTS:
        raise UserError(f"unknown test '{test}': choose one of {', '.join(TESTS)}")
    one = _counts("the baseline", baseline, references, metrics, tokenise)
    other = _counts("the system", system, references, metrics, tokenise)
    found = _differences(one, other, resamples)
    if test == "bootstrap":
        return found
    if len(one) != len(other):
        raise UserError(f"randomisation swaps run for run: expected as many of both, got {len(one)} and {len(other)}")
    return tuple(
        replace(difference, p=p, test="randomisation of all runs")
        for difference, p in zip(found, _swapped(one, other, resamples), strict=True)
    )


def mean_over_seeds(
    runs: Sequence[Sequence[str]],
    references: References,
    *,
    metrics: Sequence[str] = USUAL,
    resamples: int = RESAMPLES,
    tokenise: Tokenisation = "auto",
) -> tuple[MeanScore, ...]:
    """A score a metric, of the mean of several runs, with its interval over sentences and runs."""
    counts = _counts("the system", runs, references, metrics, tokenise)
    random = np.random.default_rng(SEED)
    drawn = _drawn(random, counts[0], resamples)
    picks = random.integers(len(counts), size=(resamples, len(counts)))
    found = []
    for name, metric in make_metrics(list(metrics), counts[0].references, counts[0].tokenise).items():
        each, draws = _draws(counts, name, metric, drawn, picks)
        # Widened, a draw may leave what a score can be: error rates have no upper end, all others are shares.
        low, high = np.quantile(draws, (0.025, 0.975)).clip(0, 100 if METRICS[name].higher_is_better else None)
        found.append(
            MeanScore(
                metric=name,
                mean=float(each.mean()),
                low=float(low),
                high=float(high),
                deviation=float(each.std(ddof=1)) if len(each) > 1 else None,
                runs=tuple(each.tolist()),
            )
        )
    return tuple(found)


def _counts(
    name: str, runs: Sequence[Sequence[str]], references: References, metrics: Sequence[str], tokenise: Tokenisation
) -> list[Counts]:
    if not runs or isinstance(runs, str) or any(isinstance(run, str) for run in runs):
        raise UserError(f"{name} must be a list of runs, each a list with one output a sentence")
    for number, run in enumerate(runs):
        same_count(**{f"in run {number} of {name}": run, "references": references})
    return [Counts(run, references, metrics=metrics, tokenise=tokenise) for run in runs]


def _differences(baseline: Sequence[Counts], system: Sequence[Counts], resamples: int) -> tuple[Difference, ...]:
    random = np.random.default_rng(SEED)
    references = baseline[0].references
    drawn = _drawn(random, baseline[0], resamples)
    picked = [random.integers(len(runs), size=(resamples, len(runs))) for runs in (baseline, system)]
    found = []
    for name, metric in make_metrics(list(baseline[0].rows), references, baseline[0].tokenise).items():
        means, draws = [], []
        for runs, picks in zip((baseline, system), picked, strict=True):
            each, some = _draws(runs, name, metric, drawn, picks)
            means.append(float(each.mean()))
            draws.append(some)
        difference, differences = means[1] - means[0], draws[1] - draws[0]
        low, high = np.quantile(differences, (0.025, 0.975))
        # Were there none, they would lie around 0 as they now lie around the one observed.
        as_far = int((np.abs(differences - difference) >= abs(difference) - 1e-9).sum())
        found.append(
            Difference(
                metric=name,
                baseline=means[0],
                system=means[1],
                difference=difference,
                low=float(low),
                high=float(high),
                p=(as_far + 1) / (resamples + 1),
                test="hierarchical bootstrap",
                runs=(len(baseline), len(system)),
            )
        )
    return tuple(found)


def _drawn(random: np.random.Generator, counts: Counts, resamples: int) -> NDArray[np.int64]:
    """(draws, sentences): how often each was drawn."""
    sentences = len(counts.references)
    return random.multinomial(sentences, np.full(sentences, 1 / sentences), size=resamples)


def _draws(
    runs: Sequence[Counts], name: str, metric: "Metric", drawn: NDArray[np.int64], picks: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each run's score (runs,), and what their mean is in each draw of sentences and of runs (draws,)."""
    scores = np.stack([_scores(run.rows[name], metric, drawn) for run in runs], axis=1)  # (1 + draws, runs)
    return scores[0], np.take_along_axis(_widened(scores[1:]), picks, axis=1).mean(axis=1)


def _swapped(baseline: Sequence[Counts], system: Sequence[Counts], resamples: int) -> list[float]:
    """p of each metric, by randomisation."""
    swap = np.random.default_rng(SEED).integers(2, size=(resamples, len(baseline[0].references)))
    found = []
    for name, metric in make_metrics(list(baseline[0].rows), baseline[0].references, baseline[0].tokenise).items():
        differences = np.zeros(1 + resamples)
        for one, other in zip(baseline, system, strict=True):
            moved = other.rows[name] - one.rows[name]  # of a sentence, when it is swapped
            for rows, sign in ((one.rows[name], 1), (other.rows[name], -1)):
                sums = rows.sum(axis=0) + sign * np.concatenate([np.zeros((1, moved.shape[1])), swap @ moved])
                scores = [metric._compute_score_from_stats(one_sum).score for one_sum in sums.tolist()]
                differences += sign * np.array(scores)
        as_far = int((np.abs(differences[1:]) >= abs(differences[0]) - 1e-9).sum())
        found.append((as_far + 1) / (resamples + 1))
    return found


def _scores(rows: NDArray[np.float64], metric: "Metric", drawn: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of all sentences, and of each draw."""
    sums = np.concatenate([rows.sum(axis=0, keepdims=True), drawn @ rows])
    return np.array([metric._compute_score_from_stats(one).score for one in sums.tolist()])


def _widened(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    runs = scores.shape[1]
    mean = scores.mean(axis=1, keepdims=True)
    return scores if runs == 1 else mean + (scores - mean) * float(np.sqrt(runs / (runs - 1)))


def _paired_p(name: str, baseline: Counts, system: Counts, test: Test, resamples: int) -> float:
    from sacrebleu.significance import PairedTest

    (metric,) = make_metrics([name], baseline.references, baseline.tokenise).values()
    counted: Any = metric
    counted.num_refs = 1  # of a signature that is not shown
    counted._extract_corpus_statistics = lambda rows, _: rows  # counted already
    systems: Any = [("baseline", baseline.rows[name]), ("system", system.rows[name])]
    _, results = PairedTest(systems, {name: counted}, None, test_type=TESTS[test], n_samples=resamples)()
    (tested,) = (column[1] for title, column in results.items() if title != "System")
    p: Any = getattr(tested, "p_value", None)
    return float(p)
