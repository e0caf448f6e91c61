"""Word alignments by attention: the attention of a pair, links, gold formats, scores, and the aligner.

Names are resolved when first used, so that the options load no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.align.aligner import AlignedPair as AlignedPair
    from saccade.align.aligner import Aligner as Aligner
    from saccade.align.attention import AlignmentHead as AlignmentHead
    from saccade.align.attention import PairAttention as PairAttention
    from saccade.align.attention import SegmentedText as SegmentedText
    from saccade.align.corpus import align_corpus as align_corpus
    from saccade.align.gold import format_links as format_links
    from saccade.align.gold import parse_gold as parse_gold
    from saccade.align.gold import read_gold as read_gold
    from saccade.align.links import GoldLinks as GoldLinks
    from saccade.align.links import Links as Links
    from saccade.align.links import diagonal_links as diagonal_links
    from saccade.align.links import links_from_weights as links_from_weights
    from saccade.align.links import reverse_links as reverse_links
    from saccade.align.links import symmetrise as symmetrise
    from saccade.align.scores import AlignmentScores as AlignmentScores
    from saccade.align.scores import agreement as agreement
    from saccade.align.scores import predictability as predictability
    from saccade.align.scores import score_alignments as score_alignments
    from saccade.align.scores import score_uniform as score_uniform
    from saccade.align.weights import to_words as to_words

_MODULES = {
    "align.aligner": "AlignedPair Aligner",
    "align.attention": "AlignmentHead PairAttention SegmentedText",
    "align.corpus": "align_corpus",
    "align.gold": "format_links parse_gold read_gold",
    "align.links": "GoldLinks Links diagonal_links links_from_weights reverse_links symmetrise",
    "align.scores": "AlignmentScores agreement predictability score_alignments score_uniform",
    "align.weights": "to_words",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)

if not TYPE_CHECKING:  # a type checker would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULE_OF:
            return getattr(import_module(f"saccade.{_MODULE_OF[name]}"), name)
        raise AttributeError(f"module 'saccade.align' has no attribute {name!r}; it has {', '.join(__all__)}")
