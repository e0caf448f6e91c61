"""How good translations and alignments are: corpus scores, by length, word alignments, ambiguous words."""

from saccade.evaluate.alignment import (
    AlignmentScores,
    GoldLinks,
    Links,
    diagonal_links,
    format_links,
    links_from_weights,
    parse_gold,
    read_gold,
    score_alignments,
    score_uniform,
)
from saccade.evaluate.ambiguity import AmbiguousWord, DistanceScores, by_distance, judge
from saccade.evaluate.buckets import Bucket
from saccade.evaluate.lengths import LengthScores, by_length
from saccade.evaluate.scores import Scores, Tokenisation, score
from saccade.evaluate.weights import Span, to_words, weight_matrix

__all__ = [
    "AlignmentScores",
    "AmbiguousWord",
    "Bucket",
    "DistanceScores",
    "GoldLinks",
    "LengthScores",
    "Links",
    "Scores",
    "Span",
    "Tokenisation",
    "by_distance",
    "by_length",
    "diagonal_links",
    "format_links",
    "judge",
    "links_from_weights",
    "parse_gold",
    "read_gold",
    "score",
    "score_alignments",
    "score_uniform",
    "to_words",
    "weight_matrix",
]
