"""Scores of texts against references: the table of metrics, corpus scores, intervals and signatures."""

from saccade.metrics.edits import edit_distance
from saccade.metrics.scores import DEFAULT_METRICS, Counts, Measured, Scores, score, score_pairwise
from saccade.metrics.table import (
    METRICS,
    MetricInfo,
    References,
    Tokenisation,
    alternatives,
    choose_tokenisation,
    make_metrics,
)

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Counts",
    "Measured",
    "MetricInfo",
    "References",
    "Scores",
    "Tokenisation",
    "alternatives",
    "choose_tokenisation",
    "edit_distance",
    "make_metrics",
    "score",
    "score_pairwise",
]
