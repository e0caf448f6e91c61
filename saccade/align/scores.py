"""How good alignments are: the error rate against gold, the agreement of two, and predictability without either.

With A the predicted links, S the sure and P ⊇ S the possible gold links, summed over the corpus (Och & Ney 2003):

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.align.links import GoldLinks, Links, diagonal_links
from saccade.errors import check_same_length


@dataclass(frozen=True, kw_only=True)
class AlignmentScores:
    """Fractions from 0 to 1. Precision is 1 where no link was predicted; recall is 1 where no gold link is sure."""

    aer: float
    precision: float
    recall: float
    sentences: int


def score_alignments(predicted: Sequence[Links], gold: Sequence[GoldLinks]) -> AlignmentScores:
    check_same_length(alignments=predicted, gold=gold)
    pairs = list(zip(predicted, gold, strict=True))
    return _scores(
        sure_hits=sum(len(links & truth.sure) for links, truth in pairs),
        possible_hits=sum(len(links & truth.possible) for links, truth in pairs),
        predicted=sum(map(len, predicted)),
        gold=gold,
    )


def score_uniform(gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]) -> AlignmentScores:
    """Return the expected scores of linking each target word to a uniformly drawn source word; `lengths` are (S, T).

    |A| is the number of target words whatever is drawn, so all three scores are linear in the hits and the expectation
    is exact: a gold link of a sentence with S source words is hit with probability 1/S.
    """
    check_same_length(gold=gold, lengths=lengths)
    pairs = [(truth, 1 / source) for truth, (source, _) in zip(gold, lengths, strict=True) if source]
    return _scores(
        sure_hits=sum(chance * len(truth.sure) for truth, chance in pairs),
        possible_hits=sum(chance * len(truth.possible) for truth, chance in pairs),
        predicted=sum(target for source, target in lengths if source),
        gold=gold,
    )


def score_baselines(gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]) -> dict[str, AlignmentScores]:
    """Score two aligners that read nothing: along the diagonal, and uniformly at random."""
    diagonal = [diagonal_links(*length) for length in lengths]
    return {"diagonal": score_alignments(diagonal, gold), "uniform": score_uniform(gold, lengths)}


def _scores(*, sure_hits: float, possible_hits: float, predicted: int, gold: Sequence[GoldLinks]) -> AlignmentScores:
    sure = sum(len(truth.sure) for truth in gold)
    return AlignmentScores(
        aer=1 - (sure_hits + possible_hits) / (predicted + sure) if predicted + sure else 0.0,
        precision=possible_hits / predicted if predicted else 1.0,
        recall=sure_hits / sure if sure else 1.0,
        sentences=len(gold),
    )


def agreement(forward: Sequence[Links], backward: Sequence[Links]) -> float:
    """Return 2·|A ∩ B| / (|A| + |B|) over a corpus, from 0 to 1; two empty alignments agree."""
    check_same_length(forward=forward, backward=backward)
    common = sum(len(left & right) for left, right in zip(forward, backward, strict=True))
    total = sum(map(len, forward)) + sum(map(len, backward))
    return 2 * common / total if total else 1.0


def predictability(
    alignments: Sequence[Links], sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> float:
    """Return how many bits a target word's linked source word tells about it, on average; 0 without a link.

    A good alignment links the same words repeatedly, so that a source word's *other* links predict the target word:
    log₂ p(t | s) / p(t), with p(t | s) = (n(s, t) − 1 + p(t)) / (n(s) − 1 + 1). The link itself is left out, so that
    links that occur once gain nothing; otherwise any alignment of a corpus of rare words would look good.
    """
    check_same_length(alignments=alignments, sources=sources, targets=targets)
    pairs = [
        (source[i].casefold(), target[j].casefold())
        for links, source, target in zip(alignments, sources, targets, strict=True)
        for i, j in links
    ]
    source_counts, target_counts = Counter(s for s, _ in pairs), Counter(t for _, t in pairs)
    gain = 0.0
    for (s, t), times in Counter(pairs).items():
        chance = target_counts[t] / len(pairs)
        gain += times * math.log2((times - 1 + chance) / (source_counts[s] * chance))
    total = sum(map(len, targets))
    return gain / total if total else 0.0
