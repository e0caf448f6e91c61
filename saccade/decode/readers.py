"""Which of a model's many readings align: of which layer, of which head, at which step; and how to choose."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

from saccade.decode.attended import Attended, Layer, Reader
from saccade.evaluate import GoldLinks, Links, agreement, foretelling, score_alignments
from saccade.text.words import TextUnit

SHIFTS = (0, 1)
Criterion = Literal["gold", "agreement", "foretelling"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The best of `tried` readers, and how good it was where it was chosen.

    `value` is 1 − AER by gold, the F of the two directions' links by agreement, bits a unit by foretelling.
    """

    reader: Reader
    reverse: Reader | None  # of the reverse model, where there is one
    by: Criterion
    value: float
    tried: int
    pairs: int
    unit: TextUnit = "word"  # what the links were between

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        what = {
            "gold": "1 − AER",
            "agreement": "agreement of both directions",
            "foretelling": f"bits foretold a {self.unit}",
        }
        back = "" if self.reverse is None else f"; of the reverse model, {self.reverse}"
        return (
            f"{self.reader}{back}: the best of {self.tried} on {self.pairs} pairs by {what[self.by]}, {self.value:.3f}"
        )


def readers(
    attended: Attended, usual: Reader, *, every_head: bool = False, every_shift: bool = False
) -> tuple[Reader, ...]:
    """Those to choose among, the usual one first: of equals, the first is chosen."""
    first = usual.settled(attended)
    shifts = [first.shift, *(shift for shift in SHIFTS if shift != first.shift)] if every_shift else [first.shift]
    places: list[tuple[Layer, int | None]] = [(first.layer, first.head)]
    if every_head:
        places += [("all", None)] if len(attended.layers) > 1 else []
        for number, layer in enumerate(attended.layers):
            places += [(number, None), *((number, head) for head in range(len(layer)) if len(layer) > 1)]
    found = (Reader(layer=layer, head=head, shift=shift) for (layer, head), shift in product(places, shifts))
    return tuple(dict.fromkeys(found))


def choose(
    attended: Sequence[Attended],
    among: Sequence[Reader],
    *,
    gold: Sequence[GoldLinks] | None = None,
    reverse: Sequence[Attended] | None = None,
    among_reverse: Sequence[Reader] = (),
    unit: TextUnit = "word",
) -> Choice:
    """By the error rate where there is gold; else by agreement with the reverse model, whose reader is chosen with it;
    else by how well linked words, or pieces, foretell each other."""
    found = {reader: [reader.links(one, unit) for one in attended] for reader in among}
    turned = {}
    if reverse is not None:
        turned = {reader: [turn(reader.links(one, unit)) for one in reverse] for reader in among_reverse}
    tried = len(found) * max(1, len(turned))

    def choice(reader: Reader, back: Reader | None, by: Criterion, value: float) -> Choice:
        return Choice(reader=reader, reverse=back, by=by, value=value, tried=tried, pairs=len(attended), unit=unit)

    if gold is not None:
        right = {reader: 1 - score_alignments(links, gold).aer for reader, links in found.items()}
        right_back = {reader: 1 - score_alignments(links, gold).aer for reader, links in turned.items()}
        best, back = max(right, key=right.__getitem__), max(right_back, key=right_back.__getitem__, default=None)
        return choice(best, back, "gold", right[best])
    if turned:
        agreed = {(one, back): agreement(found[one], turned[back]) for one in found for back in turned}
        best, back = max(agreed, key=agreed.__getitem__)
        return choice(best, back, "agreement", agreed[best, back])
    texts = [(one.source, one.target) for one in attended]
    sources, targets = ([side.units(unit) for side in sides] for sides in zip(*texts, strict=True))
    told = {reader: foretelling(links, sources, targets) for reader, links in found.items()}
    best = max(told, key=told.__getitem__)
    return choice(best, None, "foretelling", told[best])


def turn(links: Links) -> Links:
    """Links of the reverse model as links of the model."""
    return frozenset((target, source) for source, target in links)
