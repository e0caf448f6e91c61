"""Word alignments: from attention weights, and their error rate against gold.

With A the links found, S the sure and P ⊇ S the possible links of the gold, summed over the corpus (Och & Ney 2003):

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

Links are (source word, target word), both counted from 0; what a word is, `saccade.text.words` says.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from saccade.evaluate.references import same_count
from saccade.evaluate.weights import weight_matrix

Links: TypeAlias = frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class GoldLinks:
    """The sure links of a sentence and the possible ones, which contain them."""

    sure: Links
    possible: Links

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError(f"every sure link must be possible too; {sorted(self.sure - self.possible)} are not")

    @classmethod
    def all_sure(cls, links: Iterable[tuple[int, int]]) -> "GoldLinks":
        sure = frozenset(links)
        return cls(sure=sure, possible=sure)


@dataclass(frozen=True, kw_only=True)
class AlignmentScores:
    """Fractions from 0 to 1. Where nothing was found, precision is 1; where nothing was sure, recall is 1."""

    aer: float
    precision: float
    recall: float
    sentences: int

    def to_dict(self) -> dict[str, float | int]:
        return asdict(self)


def score_alignments(found: Sequence[Links], gold: Sequence[GoldLinks]) -> AlignmentScores:
    same_count(alignments=found, gold=gold)
    pairs = list(zip(found, gold, strict=True))
    return _scores(
        sure_hits=sum(len(links & truth.sure) for links, truth in pairs),
        possible_hits=sum(len(links & truth.possible) for links, truth in pairs),
        found=sum(map(len, found)),
        gold=gold,
    )


def score_uniform(gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]) -> AlignmentScores:
    """What linking each target word to a source word drawn uniformly is expected to score; `lengths` are (S, T) words.

    |A| is the number of target words whatever is drawn, so all three scores are linear in the hits and the expectation
    is exact: a gold link of a sentence with S source words is hit with probability 1/S.
    """
    same_count(gold=gold, lengths=lengths)
    pairs = [(truth, 1 / source) for truth, (source, _) in zip(gold, lengths, strict=True) if source]
    return _scores(
        sure_hits=sum(chance * len(truth.sure) for truth, chance in pairs),
        possible_hits=sum(chance * len(truth.possible) for truth, chance in pairs),
        found=sum(target for source, target in lengths if source),
        gold=gold,
    )


def _scores(*, sure_hits: float, possible_hits: float, found: int, gold: Sequence[GoldLinks]) -> AlignmentScores:
    sure = sum(len(truth.sure) for truth in gold)
    return AlignmentScores(
        aer=1 - (sure_hits + possible_hits) / (found + sure) if found + sure else 0.0,
        precision=possible_hits / found if found else 1.0,
        recall=sure_hits / sure if sure else 1.0,
        sentences=len(gold),
    )


def links_from_weights(weights: object, *, threshold: float = 0.0) -> Links:
    """Each target word linked to the source word that it weighs most (the first of equals), in weights (T, S) of words.

    A target word whose largest weight is 0 or below `threshold` stays without a link.
    """
    matrix = weight_matrix(weights)
    if not matrix.size:
        return frozenset()
    best = matrix.argmax(axis=1)
    return frozenset(
        (int(source), target)
        for target, source in enumerate(best)
        if matrix[target, source] > 0 and matrix[target, source] >= threshold
    )


def diagonal_links(source_words: int, target_words: int) -> Links:
    """Each target word linked to the source word at the same relative place: the aligner that reads nothing."""
    if not source_words:
        return frozenset()
    # ⌊(j + ½) · S/T⌋, in whole numbers
    return frozenset(((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words))
