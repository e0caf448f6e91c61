"""Word alignments by attention: the attention of a pair, links, gold formats, scores, and the aligner."""

from saccade.align.aligner import AlignedPair, Aligner, HeadEntropies
from saccade.align.attention import NO_ATTENTION, AlignmentHead, PairAttention, SegmentedText
from saccade.align.gold import format_gold, format_links, parse_gold, read_gold
from saccade.align.heads import HeadChoice, choose_head
from saccade.align.links import (
    GoldLinks,
    Links,
    Symmetrisation,
    diagonal_links,
    links_from_weights,
    reverse_links,
    sort_links,
    symmetrise,
)
from saccade.align.scores import (
    AlignmentScores,
    agreement,
    predictability,
    score_alignments,
    score_baselines,
    score_uniform,
)
from saccade.align.weights import Span, entropy, to_words, weight_matrix

__all__ = [
    "NO_ATTENTION",
    "AlignedPair",
    "Aligner",
    "AlignmentHead",
    "AlignmentScores",
    "GoldLinks",
    "HeadChoice",
    "HeadEntropies",
    "Links",
    "PairAttention",
    "SegmentedText",
    "Span",
    "Symmetrisation",
    "agreement",
    "choose_head",
    "diagonal_links",
    "entropy",
    "format_gold",
    "format_links",
    "links_from_weights",
    "parse_gold",
    "predictability",
    "read_gold",
    "reverse_links",
    "score_alignments",
    "score_baselines",
    "score_uniform",
    "sort_links",
    "symmetrise",
    "to_words",
    "weight_matrix",
]
