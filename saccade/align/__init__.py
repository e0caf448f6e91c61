"""Word alignments by attention: the attention of a pair, links, gold formats, scores, and the aligner.

Names are resolved when first used, so that the options load no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.align.aligner import AlignedPair as AlignedPair
    from saccade.align.aligner import Aligner as Aligner
    from saccade.align.aligner import HeadEntropies as HeadEntropies
    from saccade.align.attention import NO_ATTENTION as NO_ATTENTION
    from saccade.align.attention import AlignmentHead as AlignmentHead
    from saccade.align.attention import PairAttention as PairAttention
    from saccade.align.attention import SegmentedText as SegmentedText
    from saccade.align.corpus import CorpusAlignment as CorpusAlignment
    from saccade.align.corpus import align_corpus as align_corpus
    from saccade.align.gold import format_gold as format_gold
    from saccade.align.gold import format_links as format_links
    from saccade.align.gold import parse_gold as parse_gold
    from saccade.align.gold import read_gold as read_gold
    from saccade.align.heads import HeadChoice as HeadChoice
    from saccade.align.links import GoldLinks as GoldLinks
    from saccade.align.links import Links as Links
    from saccade.align.links import diagonal_links as diagonal_links
    from saccade.align.links import links_from_weights as links_from_weights
    from saccade.align.links import reverse_links as reverse_links
    from saccade.align.links import sort_links as sort_links
    from saccade.align.links import symmetrise as symmetrise
    from saccade.align.scores import AlignmentScores as AlignmentScores
    from saccade.align.scores import agreement as agreement
    from saccade.align.scores import predictability as predictability
    from saccade.align.scores import score_alignments as score_alignments
    from saccade.align.scores import score_baselines as score_baselines
    from saccade.align.scores import score_uniform as score_uniform
    from saccade.align.weights import Span as Span
    from saccade.align.weights import entropy as entropy
    from saccade.align.weights import to_words as to_words
    from saccade.align.weights import weight_matrix as weight_matrix

_MODULES = {
    "align.aligner": ("AlignedPair", "Aligner", "HeadEntropies"),
    "align.attention": ("NO_ATTENTION", "AlignmentHead", "PairAttention", "SegmentedText"),
    "align.corpus": ("CorpusAlignment", "align_corpus"),
    "align.gold": ("format_gold", "format_links", "parse_gold", "read_gold"),
    "align.heads": ("HeadChoice",),
    "align.links": (
        "GoldLinks",
        "Links",
        "diagonal_links",
        "links_from_weights",
        "reverse_links",
        "sort_links",
        "symmetrise",
    ),
    "align.scores": (
        "AlignmentScores",
        "agreement",
        "predictability",
        "score_alignments",
        "score_baselines",
        "score_uniform",
    ),
    "align.weights": ("Span", "entropy", "to_words", "weight_matrix"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"saccade.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'saccade.align' has no attribute {name!r}; it has {', '.join(__all__)}")
