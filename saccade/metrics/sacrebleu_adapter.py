"""The one module that uses sacrebleu: metrics as sums of statistics per sentence, intervals and paired tests.

sacrebleu's `Metric` leaves its statistics to subclasses, so ours are subclasses. Import this module lazily: importing
sacrebleu takes time.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric, Score, Signature
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, estimate_ci

from saccade import __version__

Rows = NDArray[np.float64]  # (sentences, statistics)
Alternatives = Sequence[Sequence[str]]  # the references of each sentence
Count = Callable[[str, Sequence[str]], tuple[float, float]]  # (hypothesis, its references) → (part, whole)
SEED = 12345  # sacrebleu's default
TESTS = {"bootstrap": "bs", "randomisation": "ar"}


class CountedMetric(Metric):
    """A metric whose corpus score depends only on the sums of its statistics over sentences."""

    def count(self, hypotheses: Sequence[str], references: Alternatives) -> Rows:
        rows = self._extract_corpus_statistics(list(hypotheses), _streams(references))
        return np.array(rows, dtype=np.float64)

    def score_sums(self, sums: Rows) -> Rows:
        """Score each row of summed statistics."""
        return np.array([float(self._compute_score_from_stats(row).score) for row in sums.tolist()])

    def pairwise(self, texts: Sequence[str]) -> Rows:
        """Score every text (row) against every text (column); a text, even a blank one, scores 100 against itself."""
        segments = [self._preprocess_segment(text) for text in texts]
        infos = [self._extract_reference_info([segment]) for segment in segments]
        rows = [self._compute_segment_statistics(segment, info) for segment in segments for info in infos]
        scores = self.score_sums(np.array(rows, dtype=np.float64)).reshape(len(texts), len(texts))
        np.fill_diagonal(scores, 100.0)
        return scores

    def interval(self, rows: Rows, resamples: int) -> tuple[float, float]:
        """Return sacrebleu's 95 % interval, by a bootstrap over sentences."""
        draws = np.random.default_rng(SEED).choice(len(rows), size=(resamples, len(rows)))
        times = np.stack([np.bincount(draw, minlength=len(rows)) for draw in draws])
        mean, half = estimate_ci(self.score_sums(times @ rows))
        return float(mean - half), float(mean + half)

    def signature(self, num_refs: int, resamples: int = 0) -> str:
        self.num_refs = num_refs
        if resamples > 1:
            self.n_bootstrap, self.seed = resamples, str(SEED)
        return str(self.get_signature())


class Bleu(CountedMetric, BLEU):
    pass


class Chrf(CountedMetric, CHRF):
    pass


class Ter(CountedMetric, TER):
    pass


class RatioSignature(Signature):
    def __init__(self, about: dict[str, Any]) -> None:
        super().__init__(about)
        self.info |= {"case": "mixed", "unit": about["unit"], "version": f"saccade-{__version__}"}


class Ratio(CountedMetric):
    """100 · Σ part / Σ whole over the sentences."""

    _SIGNATURE_TYPE: type[Signature] = RatioSignature

    def __init__(self, name: str, unit: str, count: Count) -> None:
        untyped: Any = super()
        untyped.__init__()
        self.name, self.unit, self.part_and_whole = name, unit, count

    def _preprocess_segment(self, sent: str) -> str:
        return sent.strip()

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        return list(self.part_and_whole(hypothesis, ref_kwargs["references"]))

    def _compute_score_from_stats(self, stats: Sequence[Any]) -> Score:
        part, whole = float(stats[0]), float(stats[1])
        # Against blank references there is no whole: any part is 100 % wrong, none is 0 %.
        return Score(self.name, 100 * (part / whole if whole else float(part > 0)))

    def _aggregate_and_compute(self, stats: Sequence[Sequence[Any]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])


def paired_p_value(
    metric: CountedMetric,
    baseline: Sequence[str],
    system: Sequence[str],
    references: Alternatives,
    test: str,
    resamples: int,
) -> float:
    """Return sacrebleu's p-value; 0 `resamples` means its default, 1000 bootstrap draws or 10,000 swaps."""
    systems: Any = [("baseline", list(baseline)), ("system", list(system))]
    paired = PairedTest(systems, {"metric": metric}, _streams(references), TESTS[test], resamples)
    _, results = paired()
    (tested,) = (column[1] for title, column in results.items() if title != "System")
    p: Any = getattr(tested, "p_value", None)
    return float(p)


def _streams(references: Alternatives) -> list[list[Any]]:
    """All first references, all second ones …; None where a sentence has fewer."""
    return [list(stream) for stream in zip_longest(*references)]
