"""Is one system better than another, or were its sentences, or its seeds, lucky?

Between two outputs of the same sentences, by sacrebleu: the *paired bootstrap* (Koehn 2004) draws sentences again and
again and asks how often the difference is that large by chance; *approximate randomisation* (Noreen 1989; Riezler and
Maxwell 2005) swaps the two systems' outputs sentence by sentence at random, and assumes less.

Both speak of two trained models only. Train again with another seed, and the score moves, often by more than what is to
be shown. Given several runs of each system, `significance_over_seeds` therefore draws twice, in a hierarchy: the
sentences, the same for all runs, and the runs of each system. The statistic is the difference of the mean scores. A
draw of n runs varies too little by a factor of (n − 1)/n, which is a third at three runs: deviations from a system's
mean are widened by √(n/(n − 1)) to make good for it. With one run the spread between seeds cannot be known, and the
result is about that run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.evaluate.metrics import Tokenisation, make_metrics
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
    resamples: int = RESAMPLES,
    tokenise: Tokenisation = "auto",
) -> tuple[Difference, ...]:
    """A difference a metric between the means of several runs of each, by the hierarchical bootstrap."""
    for name, runs in (("baseline", baseline), ("system", system)):
        if not runs or isinstance(runs, str) or any(isinstance(run, str) for run in runs):
            raise UserError(f"{name} must be a list of runs, each a list with one output a sentence")
        for number, run in enumerate(runs):
            same_count(**{f"in run {number} of the {name}": run, "references": references})
    one, other = (
        [Counts(run, references, metrics=metrics, tokenise=tokenise) for run in runs] for runs in (baseline, system)
    )
    return _differences(one, other, resamples)


def _differences(baseline: Sequence[Counts], system: Sequence[Counts], resamples: int) -> tuple[Difference, ...]:
    random = np.random.default_rng(SEED)
    references = baseline[0].references
    drawn = random.multinomial(len(references), np.full(len(references), 1 / len(references)), size=resamples)
    picked = [random.integers(len(runs), size=(resamples, len(runs))) for runs in (baseline, system)]
    found = []
    for name, metric in make_metrics(list(baseline[0].rows), references, baseline[0].tokenise).items():
        means, draws = [], []
        for runs, picks in zip((baseline, system), picked, strict=True):
            scores = np.stack([_scores(run.rows[name], metric, drawn) for run in runs], axis=1)  # (1 + draws, runs)
            means.append(float(scores[0].mean()))
            draws.append(np.take_along_axis(_widened(scores[1:]), picks, axis=1).mean(axis=1))
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
