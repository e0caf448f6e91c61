"""Choosing the layer, head and step whose attention weights align best."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

from saccade.align.attention import AlignmentHead, Layer, PairAttention
from saccade.align.links import GoldLinks, reverse_links
from saccade.align.scores import agreement, predictability, score_alignments
from saccade.text.words import TextUnit

SHIFTS = (0, 1)
Criterion = Literal["gold", "agreement", "predictability"]


@dataclass(frozen=True)
class HeadChoice:
    """The best of `tried` heads, and how good it was on the pairs that it was chosen on.

    `value` is 1 − AER by gold, the F1 of the two directions' links by agreement, bits per unit by predictability.
    """

    head: AlignmentHead
    reverse_head: AlignmentHead | None  # of the reverse model, where there is one
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
        pairs = f"{self.pairs} pair{'s' * (self.pairs != 1)}"
        return f"{self.head}{reverse}: the best of {self.tried} on {pairs} by {criterion[self.by]}, {self.value:.3f}"


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
