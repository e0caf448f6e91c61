"""Scores of our own, in the form of sacrebleu's: its signatures, bootstrap and paired tests then serve them as well.

A module apart, because sacrebleu takes its time to import.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sacrebleu.metrics.base import Metric, Score, Signature

from saccade import __version__

Count = Callable[[str, Sequence[str]], tuple[float, float]]  # (hypothesis, its references) → (part, whole)


class RatioSignature(Signature):
    def __init__(self, about: dict[str, Any]) -> None:
        super().__init__(about)
        self.info |= {"case": "mixed", "unit": about["unit"], "version": f"saccade-{__version__}"}


class Ratio(Metric):
    """100 · Σ part / Σ whole over the sentences."""

    _SIGNATURE_TYPE: type[Signature] = RatioSignature

    def __init__(self, name: str, unit: str, count: Count) -> None:
        untyped: Any = super()
        untyped.__init__()
        self.name, self.unit, self.count = name, unit, count

    def _preprocess_segment(self, sent: str) -> str:
        return sent.strip()

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        return list(self.count(hypothesis, ref_kwargs["references"]))

    def _compute_score_from_stats(self, stats: Sequence[Any]) -> Score:
        part, whole = float(stats[0]), float(stats[1])
        # Nothing to be a part of, as against blank references alone: all wrong, or nothing wrong.
        return Score(self.name, 100 * (part / whole if whole else float(part > 0)))

    def _aggregate_and_compute(self, stats: Sequence[Sequence[Any]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])
