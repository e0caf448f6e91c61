"""How good translations and alignments are: scores, breakdowns, behaviour, significance; links and gold."""

from saccade.evaluate.agreement import agreement, foretelling
from saccade.evaluate.alignment import (
    AlignmentScores,
    GoldLinks,
    Links,
    diagonal_links,
    links_from_weights,
    score_alignments,
    score_uniform,
)
from saccade.evaluate.ambiguity import AmbiguousWord, DistanceScores, by_distance, judge
from saccade.evaluate.behaviour import Behaviour, behaviour, repeated_words, unread_words
from saccade.evaluate.buckets import Bucket
from saccade.evaluate.constraints import ConstraintScores, by_constraint
from saccade.evaluate.edits import edit_distance
from saccade.evaluate.entropy import entropy
from saccade.evaluate.evaluation import Evaluation, evaluate
from saccade.evaluate.frequency import FrequencyScores, by_frequency, word_counts
from saccade.evaluate.gold import format_gold, format_links, parse_gold, read_gold
from saccade.evaluate.lengths import LengthScores, by_length
from saccade.evaluate.metrics import METRICS, Tokenisation
from saccade.evaluate.scores import Measured, Scores, score
from saccade.evaluate.significance import (
    Difference,
    MeanScore,
    mean_over_seeds,
    significance,
    significance_over_seeds,
)
from saccade.evaluate.symmetrise import Symmetrisation, symmetrise
from saccade.evaluate.weights import Span, to_words, weight_matrix

__all__ = [
    "METRICS",
    "AlignmentScores",
    "AmbiguousWord",
    "Behaviour",
    "Bucket",
    "ConstraintScores",
    "Difference",
    "DistanceScores",
    "Evaluation",
    "FrequencyScores",
    "GoldLinks",
    "LengthScores",
    "Links",
    "MeanScore",
    "Measured",
    "Scores",
    "Span",
    "Symmetrisation",
    "Tokenisation",
    "agreement",
    "behaviour",
    "by_constraint",
    "by_distance",
    "by_frequency",
    "by_length",
    "diagonal_links",
    "edit_distance",
    "entropy",
    "evaluate",
    "foretelling",
    "format_gold",
    "format_links",
    "judge",
    "links_from_weights",
    "mean_over_seeds",
    "parse_gold",
    "read_gold",
    "repeated_words",
    "score",
    "score_alignments",
    "score_uniform",
    "significance",
    "significance_over_seeds",
    "symmetrise",
    "to_words",
    "unread_words",
    "weight_matrix",
    "word_counts",
]
