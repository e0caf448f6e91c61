"""The attention of a pair: what a decoder read of a source while it wrote a target, between tokens or between words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from saccade.align.links import Links, Matrix, links_from_weights, to_words
from saccade.align.options import AlignOptions
from saccade.errors import UserError
from saccade.text import EOS, Tokeniser, WordRange, words
from saccade.text.words import TextUnit, UnitChoice, choose_unit

TokenWeights = NDArray[np.float32]  # (H, T, S)
Layer: TypeAlias = 'int | Literal["all"] | None'  # None: the default layer
Shown: TypeAlias = Mapping[str, str] | None  # placeholders and the text they stand for, whose words people see
NO_ATTENTION = (
    "this model reads the source as one fixed vector, so no attention weights exist to show or align by; "
    "train one with attention, such as bahdanau2014"
)


@dataclass(frozen=True, kw_only=True)
class SegmentedText:
    """One text as a model reads or writes it: token ids, and the words that each token belongs to."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    spans: tuple[WordRange, ...]
    words: tuple[str, ...]
    places: tuple[int, ...] | None = None  # each token's place in the text; None: tokens are in the order of the text
    characters: bool = False  # tokens are single characters

    @classmethod
    def from_text(cls, text: str, tokeniser: Tokeniser, shown: Shown = None) -> "SegmentedText":
        ids, spans, written = tokeniser.encode_with_spans(text, shown)
        return cls._from_spans(ids, spans, written, tokeniser, shown)

    @classmethod
    def from_ids(cls, ids: Sequence[int], tokeniser: Tokeniser, shown: Shown = None) -> "SegmentedText":
        """Segment a model's output, which may be tokenised differently from its text."""
        text, spans = tokeniser.decode_with_spans(ids, shown)
        return cls._from_spans(ids, spans, text, tokeniser, shown)

    @classmethod
    def _from_spans(
        cls, ids: Sequence[int], spans: Sequence[WordRange], text: str, tokeniser: Tokeniser, shown: Shown
    ) -> "SegmentedText":
        return cls(
            ids=tuple(ids),
            tokens=tuple(tokeniser.tokens(ids, shown)),
            spans=tuple(spans),
            words=tuple(words(text)),
            places=tuple(reversed(range(len(ids)))) if tokeniser.right_to_left else None,
            characters=tokeniser.policy.kind == "char",
        )

    @property
    def text_places(self) -> tuple[int, ...]:
        return tuple(range(len(self.ids))) if self.places is None else self.places

    def units(self, unit: TextUnit) -> tuple[str, ...]:
        """The words, or the tokens, in the order of the text."""
        if unit == "word":
            return self.words
        return tuple(token for _, token in sorted(zip(self.text_places, self.tokens, strict=True)))

    def unit_spans(self, unit: TextUnit) -> tuple[WordRange, ...]:
        """For each id, the units that it belongs to."""
        return self.spans if unit == "word" else tuple((place, place + 1) for place in self.text_places)


@dataclass(frozen=True, kw_only=True)
class AlignmentHead:
    """The attention weights that align: a layer, a head, and the step (shift 0 or 1) that reads for a token.

    None means the model's default; a head of None in a given layer means the mean of the layer's heads.
    """

    layer: Layer = None
    head: int | None = None
    shift: int | None = None

    @classmethod
    def from_options(cls, options: AlignOptions) -> "AlignmentHead":
        shift = None if options.shift in (None, "auto") else int(options.shift)
        return cls(layer="all" if options.mean else options.layer, head=options.head, shift=shift)

    def weights(self, attention: "PairAttention", by: UnitChoice = "word") -> Matrix:
        """(target units, source units). The end of the source is no unit: what a row read there is left out, so that a
        row may sum to less than 1."""
        chosen, unit, source, target = self.resolve(attention), attention.unit(by), attention.source, attention.target
        heads = attention.token_weights(chosen.layer, chosen.shift)
        if chosen.head is not None and not -len(heads) <= chosen.head < len(heads):
            raise UserError(f"head {chosen.head} does not exist: the layer has {len(heads)}, counted from 0")
        return to_words(
            heads.mean(0) if chosen.head is None else heads[chosen.head],
            [*source.unit_spans(unit), None],
            target.unit_spans(unit),
            source_words=len(source.units(unit)),
            target_words=len(target.units(unit)),
        )

    def links(self, attention: "PairAttention", by: UnitChoice = "word") -> Links:
        return links_from_weights(self.weights(attention, by))

    def resolve(self, attention: "PairAttention") -> "AlignmentHead":
        """Replace defaults by the model's numbers. The default layer is the last but one where there are several: the
        last is known to look ahead to the next token."""
        default, layer = attention.default_head, self.layer
        head = default.head if layer is None and self.head is None else self.head
        if layer is None:
            layer = max(0, len(attention.layers) - 2) if default.layer is None else default.layer
        return AlignmentHead(layer=layer, head=head, shift=default.shift if self.shift is None else self.shift)

    def __str__(self) -> str:
        layer = "default layer" if self.layer is None else f"layer {self.layer}"
        head = "mean of heads" if self.head is None else f"head {self.head}"
        shift = "default shift" if self.shift is None else f"shift {self.shift}"
        return f"{'all layers' if self.layer == 'all' else layer}, {head}, {shift}"


DEFAULT_HEAD = AlignmentHead()


@dataclass(frozen=True, kw_only=True, eq=False)
class PairAttention:
    """The weights of every layer in which the decoder reads the source, one row per step.

    The columns are the source's tokens and its end. Step i writes token i, and step i + 1 has it as input: the shift of
    the default head says which of the two aligns the token.
    """

    source: SegmentedText
    target: SegmentedText
    layers: tuple[TokenWeights, ...]  # each (H, T + 1, S + 1)
    default_head: AlignmentHead
    end: str  # the token for the end of the source

    @classmethod
    def from_batch(
        cls,
        source: SegmentedText,
        target: SegmentedText,
        readings: Sequence[TokenWeights],
        *,
        default_head: AlignmentHead,
        tokeniser: Tokeniser,
    ) -> "PairAttention":
        """Cut one row out of a padded batch: readings (H, ≥T + 1, ≥S + 1), from the step that reads the start."""
        rows, columns = slice(len(target.ids) + 1), slice(len(source.ids) + 1)
        (end,) = tokeniser.tokens([EOS])
        layers = tuple(np.ascontiguousarray(reading[:, rows, columns]) for reading in readings)
        return cls(source=source, target=target, layers=layers, default_head=default_head, end=end)

    @property
    def source_tokens(self) -> tuple[str, ...]:
        """The columns of `token_weights`."""
        return (*self.source.tokens, self.end)

    def token_weights(self, layer: Layer = None, shift: int | None = None) -> TokenWeights:
        """(H, T, S + 1) of one layer, counted from 0 or from the end by −1, −2 …, or of "all" layers with all their
        heads; row i aligns token i of the target."""
        chosen = AlignmentHead(layer=layer, shift=shift).resolve(self)
        rows = slice(chosen.shift or 0, (chosen.shift or 0) + len(self.target.ids))
        if not isinstance(chosen.layer, int):  # "all"
            return np.concatenate(self.layers)[:, rows]
        if not -len(self.layers) <= chosen.layer < len(self.layers):
            raise UserError(
                f"layer {chosen.layer} does not exist: the model reads the source in {len(self.layers)}, counted from 0"
            )
        return self.layers[chosen.layer][:, rows]

    def unit(self, by: UnitChoice = "auto") -> TextUnit:
        """What weights and links are between."""
        characters = self.source.characters or self.target.characters
        return choose_unit(by, characters=characters, source_words=(len(self.source.words),))

    def units(self, by: UnitChoice = "auto") -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The source and the target, in words or in tokens: the columns and the rows of `weights`."""
        unit = self.unit(by)
        return self.source.units(unit), self.target.units(unit)

    def weights(self, layer: Layer = None, head: int | None = None, *, by: UnitChoice = "auto") -> Matrix:
        """(target units, source units) of one head of a layer, or of the mean over its heads; of the default head if
        neither is given."""
        return AlignmentHead(layer=layer, head=head).weights(self, by)

    def words(self, layer: Layer = None, head: int | None = None) -> Matrix:
        """(target words, source words), whatever the model's tokens are."""
        return self.weights(layer, head, by="word")

    def alignment(self, layer: Layer = None, head: int | None = None, *, by: UnitChoice = "auto") -> Links:
        """Link each target unit to the source unit with its largest weight: (source unit, target unit), from 0."""
        return AlignmentHead(layer=layer, head=head).links(self, by)
