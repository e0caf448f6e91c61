"""Word alignments by attention: the attention of a pair, links, gold formats, scores, and the aligner.

Names are resolved when first used, so that the options load no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.align.aligner import AlignedPair, Aligner, HeadEntropies
    from saccade.align.attention import NO_ATTENTION, AlignmentHead, PairAttention, SegmentedText
    from saccade.align.corpus import CorpusAlignment, align_corpus
    from saccade.align.gold import format_gold, format_links, parse_gold, read_gold
    from saccade.align.heads import HeadChoice, choose_head
    from saccade.align.links import (
        GoldLinks,
        Links,
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
    "CorpusAlignment",
    "GoldLinks",
    "HeadChoice",
    "HeadEntropies",
    "Links",
    "PairAttention",
    "SegmentedText",
    "Span",
    "agreement",
    "align_corpus",
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
_MODULES = (
    "saccade.align.weights",
    "saccade.align.links",
    "saccade.align.scores",
    "saccade.align.gold",
    "saccade.align.attention",
    "saccade.align.heads",
    "saccade.align.aligner",
    "saccade.align.corpus",
)

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in __all__:
            modules = (import_module(module) for module in _MODULES)
            return next(getattr(module, name) for module in modules if hasattr(module, name))
        raise AttributeError(f"module 'saccade.align' has no attribute {name!r}; it has {', '.join(__all__)}")
