"""How good alignments are, and whose attention weights align best: which layer, head and step.

Alignments have an error rate against gold; two of them, an agreement; and one alone, a predictability.

With A the predicted links, S the sure and P ⊇ S the possible gold links, summed over the corpus (Och & Ney 2003):

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

from saccade.align.attention import AlignmentHead, Layer, PairAttention
from saccade.align.links import GoldLinks, Links, diagonal_links, reverse_links
from saccade.errors import check_same_length, plural
from saccade.text.words import TextUnit

SHIFTS = (0, 1)
Criterion = Literal["gold", "agreement", "predictability"]


@dataclass(frozen=True, kw_only=True)
class AlignmentScores:
    """Fractions from 0 to 1. Precision is 1 where no link was predicted; recall is 1 where no gold link is sure."""

    aer: float
    precision: float
    recall: float
    sentences: int


def score_alignments(predicted: Sequence[Links], gold: Sequence[GoldLinks]) -> AlignmentScores:
    check_same_length(alignments=predicted, gold=gold)
    pairs = zip(predicted, gold, strict=True)
    hits = [(len(links & truth.sure), len(links & truth.possible)) for links, truth in pairs]
    return _scores(hits, sum(map(len, predicted)), gold)


def score_uniform(gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]) -> AlignmentScores:
    """Return the expected scores of linking each target word to a uniformly drawn source word; `lengths` are (S, T).

    |A| is the number of target words whatever is drawn, so all three scores are linear in the hits and the expectation
    is exact: a gold link of a sentence with S source words is hit with probability 1/S.
    """
    check_same_length(gold=gold, lengths=lengths)
    pairs = [(truth, 1 / source) for truth, (source, _) in zip(gold, lengths, strict=True) if source]
    hits = [(chance * len(truth.sure), chance * len(truth.possible)) for truth, chance in pairs]
    return _scores(hits, sum(target for source, target in lengths if source), gold)


def score_baselines(gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]) -> dict[str, AlignmentScores]:
    """Score two aligners that read nothing: along the diagonal, and uniformly at random."""
    diagonal = [diagonal_links(*length) for length in lengths]
    return {"diagonal": score_alignments(diagonal, gold), "uniform": score_uniform(gold, lengths)}


def _scores(hits: Sequence[tuple[float, float]], predicted: int, gold: Sequence[GoldLinks]) -> AlignmentScores:
    """`hits` of each sentence are its expected |A ∩ S| and |A ∩ P|; `predicted` is |A|."""
    sure_hits, possible_hits = sum(sure for sure, _ in hits), sum(possible for _, possible in hits)
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


@dataclass(frozen=True)
class HeadChoice:
    """The best of `tried` heads, and how good it was on the pairs that it was chosen on.

    `value` is 1 − AER by gold, the F1 of the two directions' links by agreement, bits per unit by predictability.
    """

    head: AlignmentHead
    reverse_head: AlignmentHead | None  # None without a reverse model
    by: Criterion
    value: float
    tried: int
    pairs: int
    unit: TextUnit  # what the links were between

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        return {"reader": values.pop("head"), "reverse": values.pop("reverse_head"), **values}

    def __str__(self) -> str:
        criterion: Mapping[Criterion, str] = {
            "gold": "1 − AER",
            "agreement": "the agreement of both directions",
            "predictability": f"predictability in bits per {self.unit}",
        }
        reverse = "" if self.reverse_head is None else f"; in the reverse model, {self.reverse_head}"
        tried = f"best of {plural(self.tried, 'candidate')} on {plural(self.pairs, 'pair')}"
        return f"{self.head}{reverse} ({tried}; {criterion[self.by]}: {self.value:.3f})"


def candidate_heads(
    attention: PairAttention, default: AlignmentHead, *, every_head: bool = False, every_shift: bool = False
) -> tuple[AlignmentHead, ...]:
    """List the heads to choose among, the default first: the first of equals is chosen."""
    first = default.resolve(attention)
    shifts = [first.shift, *(shift for shift in SHIFTS if shift != first.shift)] if every_shift else [first.shift]
    places: list[tuple[Layer, int | None]] = [(first.layer, first.head)]
    if every_head:
        places += [("all", None)] if len(attention.layers) > 1 else []
        for number, layer in enumerate(attention.layers):
            places += [(number, None), *((number, head) for head in range(len(layer)) if len(layer) > 1)]
    heads = (AlignmentHead(layer=layer, head=head, shift=shift) for (layer, head), shift in product(places, shifts))
    return tuple(dict.fromkeys(heads))


def choose_head(
    attentions: Sequence[PairAttention],
    candidates: Sequence[AlignmentHead],
    *,
    gold: Sequence[GoldLinks] | None = None,
    reverse: Sequence[PairAttention] = (),
    reverse_candidates: Sequence[AlignmentHead] = (),
    unit: TextUnit = "word",
) -> HeadChoice:
    """Choose by the error rate where there is gold; else by agreement with the reverse model, whose head is chosen at
    the same time; else by how well linked words, or tokens, predict each other."""
    links = {head: [head.links(attention, unit) for attention in attentions] for head in candidates}
    back = {head: [reverse_links(head.links(pair, unit)) for pair in reverse] for head in reverse_candidates}
    by: Criterion
    if gold is not None:
        right, right_back = (
            {head: 1 - score_alignments(predicted, gold).aer for head, predicted in side.items()}
            for side in (links, back)
        )
        best_back = max(right_back, key=right_back.__getitem__, default=None)
        by, values = "gold", {(head, best_back): value for head, value in right.items()}
    elif back:
        by = "agreement"
        values = {(head, other): agreement(links[head], back[other]) for head, other in product(links, back)}
    else:
        by = "predictability"
        sources, targets = zip(*(attention.units(unit) for attention in attentions), strict=True)
        values = {(head, None): predictability(predicted, sources, targets) for head, predicted in links.items()}
    best, best_back = max(values, key=values.__getitem__)
    tried = len(links) * max(1, len(back))
    return HeadChoice(best, best_back, by, values[best, best_back], tried, len(attentions), unit)
