"""How good a system's outputs are: scores, breakdowns, behaviour and significance."""

from saccade.evaluate.behaviour import Behaviour, behaviour, repeated_words, unread_words
from saccade.evaluate.breakdowns import Bucket, FrequencyScores, LengthScores, by_frequency, by_length, word_counts
from saccade.evaluate.evaluation import Evaluation, evaluate
from saccade.evaluate.phrases import (
    AmbiguousWord,
    ConstraintScores,
    DistanceScores,
    by_constraint,
    by_distance,
    judge_sense,
)
from saccade.evaluate.significance import (
    Difference,
    MeanScore,
    mean_over_seeds,
    significance,
    significance_over_seeds,
)
from saccade.metrics import METRICS, Measured, Scores, Tokenisation, edit_distance, score

__all__ = [
    "METRICS",
    "AmbiguousWord",
    "Behaviour",
    "Bucket",
    "ConstraintScores",
    "Difference",
    "DistanceScores",
    "Evaluation",
    "FrequencyScores",
    "LengthScores",
    "MeanScore",
    "Measured",
    "Scores",
    "Tokenisation",
    "behaviour",
    "by_constraint",
    "by_distance",
    "by_frequency",
    "by_length",
    "edit_distance",
    "evaluate",
    "judge_sense",
    "mean_over_seeds",
    "repeated_words",
    "score",
    "significance",
    "significance_over_seeds",
    "unread_words",
    "word_counts",
]
