"""Word alignments by attention and by statistics of pairs: aligners, links, gold formats and scores.

Names are resolved when first used, so that the options load no numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.align.aligner import AlignedPair as AlignedPair
    from saccade.align.aligner import Aligner as Aligner
    from saccade.align.attention import AlignmentHead as AlignmentHead
    from saccade.align.attention import PairAttention as PairAttention
    from saccade.align.attention import SegmentedText as SegmentedText
    from saccade.align.corpus import align_corpus as align_corpus
    from saccade.align.corpus import align_file as align_file
    from saccade.align.gold import format_links as format_links
    from saccade.align.gold import parse_gold as parse_gold
    from saccade.align.gold import read_gold as read_gold
    from saccade.align.links import GoldLinks as GoldLinks
    from saccade.align.links import Links as Links
    from saccade.align.links import diagonal_links as diagonal_links
    from saccade.align.links import links_from_weights as links_from_weights
    from saccade.align.links import reverse_links as reverse_links
    from saccade.align.links import symmetrise as symmetrise
    from saccade.align.links import to_words as to_words
    from saccade.align.scores import AlignmentScores as AlignmentScores
    from saccade.align.scores import agreement as agreement
    from saccade.align.scores import predictability as predictability
    from saccade.align.scores import score_alignments as score_alignments
    from saccade.align.scores import score_uniform as score_uniform
    from saccade.align.statistical.learning import StatisticalAligner as StatisticalAligner
    from saccade.align.statistical.learning import learn_aligner as learn_aligner

import_on_first_use(__name__)
