"""What a decoder read of a source while it wrote a target, between pieces and between words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.evaluate import Links, links_from_weights, to_words
from saccade.text import EOS, Tokeniser, WordRange, words
from saccade.text.words import TextUnit, UnitChoice, choose_unit

PieceWeights = NDArray[np.float32]  # (H, T, S)
Layer: TypeAlias = 'int | Literal["all"] | None'  # None: the one that aligns unless said
NO_ATTENTION = (
    "this model reads the source as one fixed vector, so no attention weights exist to show or align by; "
    "train one with attention, such as bahdanau2014"
)


@dataclass(frozen=True, kw_only=True)
class Segments:
    """One text as a model has it: ids, and the words that each of them belongs to."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    spans: tuple[WordRange, ...]
    words: tuple[str, ...]
    places: tuple[int, ...] | None = None  # of each piece in the text; None: the pieces are in the order of the text
    characters: bool = False  # pieces are single characters

    @classmethod
    def of_text(cls, text: str, tokeniser: Tokeniser, shown: Mapping[str, str] | None = None) -> "Segments":
        """`shown` is what stands in place of placeholders: the words are those of the text as people have it."""
        ids, spans, written = tokeniser.encode_with_spans(text, shown)
        return cls._of(ids, spans, written, tokeniser, shown)

    @classmethod
    def of_ids(cls, ids: Sequence[int], tokeniser: Tokeniser, shown: Mapping[str, str] | None = None) -> "Segments":
        """Of what a model wrote, which need not be how its text would be cut into pieces."""
        text, spans = tokeniser.decode_with_spans(ids, shown)
        return cls._of(ids, spans, text, tokeniser, shown)

    @classmethod
    def _of(
        cls,
        ids: Sequence[int],
        spans: Sequence[WordRange],
        text: str,
        tokeniser: Tokeniser,
        shown: Mapping[str, str] | None,
    ) -> "Segments":
        return cls(
            ids=tuple(ids),
            pieces=tuple(tokeniser.tokens(ids, shown)),
            spans=tuple(spans),
            words=tuple(words(text)),
            places=tuple(reversed(range(len(ids)))) if tokeniser.right_to_left else None,
            characters=tokeniser.policy.kind == "char",
        )

    @property
    def text_places(self) -> tuple[int, ...]:
        return tuple(range(len(self.ids))) if self.places is None else self.places

    def units(self, unit: TextUnit) -> tuple[str, ...]:
        """The words, or the pieces, in the order of the text."""
        if unit == "word":
            return self.words
        return tuple(piece for _, piece in sorted(zip(self.text_places, self.pieces, strict=True)))

    def spans_of(self, unit: TextUnit) -> tuple[WordRange, ...]:
        """For each id, the units that it belongs to."""
        return self.spans if unit == "word" else tuple((place, place + 1) for place in self.text_places)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Which of the weights align. A model's own says it all; of another, None is as the model's own has it, except that
    where a layer is given, None is the mean of its heads."""

    layer: Layer = None
    head: int | None = None
    shift: int | None = None

    def weights(self, attended: "Attended", by: UnitChoice = "word") -> NDArray[np.float64]:
        """(target units, source units)"""
        shift = attended.usual.shift if self.shift is None else self.shift
        return replace(attended, usual=replace(attended.usual, shift=shift)).weights(self.layer, self.head, by=by)

    def links(self, attended: "Attended", by: UnitChoice = "word") -> Links:
        return links_from_weights(self.weights(attended, by))

    def settled(self, attended: "Attended") -> "Reader":
        """The same, with numbers for what is usual."""
        usual = attended.usual
        layer, head = (usual.layer, usual.head) if self == Reader(shift=self.shift) else (self.layer, self.head)
        if layer is None:
            layer = max(0, len(attended.layers) - 2) if usual.layer is None else usual.layer
        return Reader(layer=layer, head=head, shift=usual.shift if self.shift is None else self.shift)

    def __str__(self) -> str:
        layer = (
            "the usual layer" if self.layer is None else "all layers" if self.layer == "all" else f"layer {self.layer}"
        )
        head = "mean of heads" if self.head is None else f"head {self.head}"
        return f"{layer}, {head}, {'the usual shift' if self.shift is None else f'shift {self.shift}'}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Attended:
    """Weights of every layer by which the decoder reads the source, a row a step.

    The source's columns are its pieces and one more, its end. Step i writes piece i, and step i + 1 has it as input: a
    reader's shift says at which of the two the piece is aligned. Where none chose a layer, it is the last but one of
    several: the last is known to look ahead to what it writes next.
    """

    source: Segments
    target: Segments
    layers: tuple[PieceWeights, ...]  # each (H, T + 1, S + 1)
    usual: Reader  # what is meant where nothing is said
    end: str  # how the end of the source is written

    @property
    def source_pieces(self) -> tuple[str, ...]:
        """The columns of `pieces`."""
        return (*self.source.pieces, self.end)

    def pieces(self, layer: Layer = None) -> PieceWeights:
        """(H, T, S + 1) of one layer, counted from 0, or from the end by −1, −2 …, or of "all", with all their heads;
        row i aligns piece i of the target."""
        shift = self.usual.shift or 0
        rows = slice(shift, shift + len(self.target.ids))
        chosen = self.usual.layer if layer is None else layer
        if chosen == "all":
            return np.concatenate(self.layers)[:, rows]
        if chosen is None:
            chosen = max(-2, -len(self.layers))
        if not -len(self.layers) <= chosen < len(self.layers):
            raise UserError(f"layer {chosen} does not exist: the model reads the source in {len(self.layers)}, from 0")
        return self.layers[chosen][:, rows]

    def unit(self, by: UnitChoice = "auto") -> TextUnit:
        """What weights and links are between."""
        characters = self.source.characters or self.target.characters
        return choose_unit(by, characters=characters, source_words=(len(self.source.words),))

    def units(self, by: UnitChoice = "auto") -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The source and the target, in words or in pieces: the columns and the rows of `weights`."""
        unit = self.unit(by)
        return self.source.units(unit), self.target.units(unit)

    def weights(self, layer: Layer = None, head: int | None = None, *, by: UnitChoice = "auto") -> NDArray[np.float64]:
        """(target units, source units) of one head of a layer, or of the mean over its heads; of neither, of what is
        usual. The end of the source is no unit: what a row read there is left out, so that a row may sum to less than
        1."""
        unit, heads = self.unit(by), self.pieces(layer)
        if layer is None and head is None:
            head = self.usual.head
        if head is not None and not -len(heads) <= head < len(heads):
            raise UserError(f"head {head} does not exist: the layer has {len(heads)}, counted from 0")
        return to_words(
            heads.mean(0) if head is None else heads[head],
            [*self.source.spans_of(unit), None],
            self.target.spans_of(unit),
            source_words=len(self.source.units(unit)),
            target_words=len(self.target.units(unit)),
        )

    def words(self, layer: Layer = None, head: int | None = None) -> NDArray[np.float64]:
        """(target words, source words), whatever the model reads and writes."""
        return self.weights(layer, head, by="word")

    def alignment(self, layer: Layer = None, head: int | None = None, *, by: UnitChoice = "auto") -> Links:
        """Each target unit linked to the source unit that it weighs most: (source unit, target unit), from 0."""
        return links_from_weights(self.weights(layer, head, by=by))


def attended(
    source: Segments, target: Segments, readings: Sequence[PieceWeights], *, usual: Reader, tokeniser: Tokeniser
) -> Attended:
    """Of one row of a padded batch, whose readings (H, ≥T + 1, ≥S + 1) begin with the step that reads the start."""
    rows, columns = slice(len(target.ids) + 1), slice(len(source.ids) + 1)
    (end,) = tokeniser.tokens([EOS])
    layers = tuple(np.ascontiguousarray(reading[:, rows, columns]) for reading in readings)
    return Attended(source=source, target=target, layers=layers, usual=usual, end=end)
