"""Links between the words or tokens of given pairs, by the attention of a model, or of a model and its reverse.

aligner = Aligner(saccade.load("en-fr").translator, reverse=saccade.load("fr-en").translator)
for pair in aligner.align([("the cat sleeps", "le chat dort")]):
    print(format_links(pair.links))
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.align.attention import NO_ATTENTION, AlignmentHead, PairAttention, SegmentedText
from saccade.align.heads import HeadChoice, candidate_heads, choose_head
from saccade.align.links import GoldLinks, Links, reverse_links, symmetrise
from saccade.align.options import Symmetrisation
from saccade.align.weights import Matrix, entropy
from saccade.errors import UserError
from saccade.text import Tokeniser, Vocabularies, words
from saccade.text.words import TextUnit, UnitChoice, choose_unit

CHUNK = 64  # pairs in memory at a time, with the weights of all layers
CHOICE_PAIRS = 300  # a head is chosen on at most this many pairs
BATCH_TOKENS = 8192

TextPair = tuple[str, str]


class AttentiveModel(Protocol):
    """The part of a translator that an aligner needs."""

    vocabularies: Vocabularies

    @property
    def attends(self) -> bool: ...

    def attend(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = ...
    ) -> list[PairAttention]: ...

    def segments(self, source: str, target: str) -> tuple[SegmentedText, SegmentedText]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class AlignedPair:
    unit: TextUnit
    source: tuple[str, ...]  # words, or tokens
    target: tuple[str, ...]
    links: Links
    weights: Matrix  # (T, S) of the model, before symmetrisation
    attention: PairAttention | None  # None: one side is blank


class Aligner:
    """`tokenised`: words are separated by white space, as in gold alignments of tokenised text; otherwise
    `saccade.text.words` defines them.

    All pairs are aligned in one unit, so that all links of a file count the same thing. If `by` is "auto",
    `saccade.text.words` decides: tokens for a character model, and where the first sources are all single words.
    """

    def __init__(
        self,
        translator: AttentiveModel,
        head: AlignmentHead | None = None,
        *,
        reverse: AttentiveModel | None = None,
        reverse_head: AlignmentHead | None = None,
        symmetrisation: Symmetrisation = "grow-diag-final",
        tokenised: bool = False,
        by: UnitChoice = "auto",
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        if tokenised and by == "piece":
            raise UserError("tokenised text is aligned by its words; leave out tokenised to align by piece")
        symmetrise(frozenset(), frozenset(), symmetrisation)  # refuses an unknown name before hours of work
        for name, model in (("the model", translator), ("the reverse model", reverse)):
            if model is not None and not model.attends:
                raise UserError(f"{name} has no attention to align by: {NO_ATTENTION}")
        self.translator, self.head = translator, head or AlignmentHead()
        self.reverse, self.reverse_head = reverse, reverse_head or AlignmentHead()
        self.symmetrisation, self.tokenised, self.batch_tokens = symmetrisation, tokenised, batch_tokens
        self.by: UnitChoice = "word" if tokenised else by

    def unit(self, pairs: Iterable[TextPair]) -> TextUnit:
        """Choose words or tokens from the first `CHUNK` pairs."""
        first = [pair for pair in islice(pairs, CHUNK) if _has_text(pair)]
        vocabularies = self.translator.vocabularies
        return choose_unit(
            self.by,
            characters="char" in (vocabularies.source.policy.kind, vocabularies.target.policy.kind),
            source_words=[len(self._words(self.translator, pair)[0]) for pair in first],
        )

    def with_unit(self, unit: TextUnit) -> "Aligner":
        aligner = copy(self)
        aligner.by = unit
        return aligner

    def lengths(self, pair: TextPair) -> tuple[int, int]:
        """Count the source and target words, or tokens. Where `by` is "auto", the pair alone decides which."""
        source, target = self._units(pair, self.unit([pair]))
        return len(source), len(target)

    def align(self, pairs: Iterable[TextPair]) -> Iterator[AlignedPair]:
        """Yield one result per pair, in order, with `CHUNK` pairs in memory at a time."""
        rest, unit = enumerate(pairs, 1), None
        while chunk := list(islice(rest, CHUNK)):
            unit = unit or self.unit([pair for _, pair in chunk])
            attentions = self._read([(number, pair) for number, pair in chunk if _has_text(pair)], unit)
            for number, pair in chunk:
                yield self._aligned(*attentions[number], unit) if number in attentions else self._blank(pair, unit)

    def with_best_head(
        self,
        pairs: Iterable[TextPair],
        gold: Sequence[GoldLinks] | None = None,
        *,
        every_head: bool = False,
        every_shift: bool = False,
    ) -> "tuple[Aligner, HeadChoice]":
        """Return this aligner with the head that aligns the first of these pairs best: see `choose_head`."""
        numbered = ((number, pair) for number, pair in enumerate(pairs, 1) if _has_text(pair))
        sample = list(islice(numbered, CHOICE_PAIRS))
        if not sample:
            raise UserError("nothing to choose a head or a shift by: every pair has a blank side")
        unit = self.unit([pair for _, pair in sample])
        read: dict[int, tuple[PairAttention, PairAttention | None]] = {}
        for start in range(0, len(sample), CHUNK):
            read |= self._read(sample[start : start + CHUNK], unit)
        forward = [attention for attention, _ in read.values()]
        backward = [attention for _, attention in read.values() if attention]
        options = {"every_head": every_head, "every_shift": every_shift}
        choice = choose_head(
            forward,
            candidate_heads(forward[0], self.head, **options),
            gold=None if gold is None else [gold[number - 1] for number in read],
            reverse=backward or None,
            reverse_candidates=candidate_heads(backward[0], self.reverse_head, **options) if backward else (),
            unit=unit,
        )
        aligner = self.with_unit(unit)
        aligner.head, aligner.reverse_head = choice.head, choice.reverse_head or self.reverse_head
        return aligner, choice

    def _read(
        self, numbered: Sequence[tuple[int, TextPair]], unit: TextUnit
    ) -> "dict[int, tuple[PairAttention, PairAttention | None]]":
        """The attention of both models, by the number of the pair (its line)."""
        forward = self._attend(self.translator, numbered, unit)
        if self.reverse is None:
            return {number: (attention, None) for number, attention in forward.items()}
        split_tag = self.translator.vocabularies.source.split_tag
        swapped = [(number, (pair[1], split_tag(pair[0])[1])) for number, pair in numbered]
        backward = self._attend(self.reverse, swapped, unit)
        if unit == "piece":
            for number, attention in forward.items():
                _check_same_tokens(attention, backward[number], number)
        return {number: (attention, backward[number]) for number, attention in forward.items()}

    def _attend(
        self, translator: AttentiveModel, numbered: Sequence[tuple[int, TextPair]], unit: TextUnit
    ) -> dict[int, PairAttention]:
        if not numbered:
            return {}
        sources, targets = zip(*(pair for _, pair in numbered), strict=True)
        attentions = translator.attend(sources, targets, batch_tokens=self.batch_tokens)
        if unit == "piece":
            return {number: attention for (number, _), attention in zip(numbered, attentions, strict=True)}
        regrouped = {}
        for (number, pair), attention in zip(numbered, attentions, strict=True):
            source_words, target_words = self._words(translator, pair)
            source = _regroup(attention.source, source_words, translator.vocabularies.source, number)
            target = _regroup(attention.target, target_words, translator.vocabularies.target, number)
            regrouped[number] = replace(attention, source=source, target=target)
        return regrouped

    def _aligned(self, attention: PairAttention, reverse: PairAttention | None, unit: TextUnit) -> AlignedPair:
        links = self.head.links(attention, unit)
        if reverse is not None:
            links = symmetrise(links, reverse_links(self.reverse_head.links(reverse, unit)), self.symmetrisation)
        source, target = attention.units(unit)
        weights = self.head.weights(attention, unit)
        return AlignedPair(unit=unit, source=source, target=target, links=links, weights=weights, attention=attention)

    def _blank(self, pair: TextPair, unit: TextUnit) -> AlignedPair:
        source, target = map(tuple, self._units(pair, unit))
        weights = np.zeros((len(target), len(source)))
        return AlignedPair(unit=unit, source=source, target=target, links=frozenset(), weights=weights, attention=None)

    def _units(self, pair: TextPair, unit: TextUnit) -> tuple[Sequence[str], Sequence[str]]:
        if unit == "word":
            return self._words(self.translator, pair)
        source, target = self.translator.segments(*pair)
        return source.units(unit), target.units(unit)

    def _words(self, translator: AttentiveModel, pair: TextPair) -> tuple[list[str], list[str]]:
        source, target = pair
        _, source = translator.vocabularies.source.split_tag(source)
        split = str.split if self.tokenised else words
        return split(source), split(target)


class HeadEntropies:
    """The mean entropy of every head, in bits per token, over all pairs added."""

    def __init__(self) -> None:
        self._sums: list[NDArray[np.float64]] = []
        self._tokens = 0

    def add(self, attention: PairAttention) -> None:
        layers = range(len(attention.layers))
        bits = [entropy(attention.token_weights(layer)).sum(axis=-1) for layer in layers]  # (H,) each
        self._sums = [total + more for total, more in zip(self._sums, bits, strict=True)] if self._sums else bits
        self._tokens += len(attention.target.ids)

    def mean(self) -> list[list[float]]:
        """One list per layer, with one number per head."""
        return [(total / max(1, self._tokens)).tolist() for total in self._sums]


def _has_text(pair: TextPair) -> bool:
    return all(text.strip() for text in pair)


def _check_same_tokens(attention: PairAttention, reverse: PairAttention, number: int) -> None:
    if attention.units("piece") != reverse.units("piece")[::-1]:
        raise UserError(
            f"pair {number}: the two models split it into different tokens, so their links cannot be combined; "
            "align by word"
        )


def _regroup(text: SegmentedText, given_words: Sequence[str], tokeniser: Tokeniser, number: int) -> SegmentedText:
    """Assign the tokens to `given_words` instead of the model's words.

    They differ where words are separated by white space, and where normalisation changes the number of words.
    """
    sizes = [len(words(tokeniser.normalise(word))) for word in given_words]
    if sum(sizes) != len(text.words):
        raise UserError(
            f"pair {number}: a text has {len(given_words)} words, and the {len(text.words)} that the model reads are "
            "not parts of them; normalise the text first"
        )
    owners = [place for place, size in enumerate(sizes) for _ in range(size)]
    spans = tuple((owners[first], owners[end - 1] + 1) if first < end else (0, 0) for first, end in text.spans)
    return replace(text, spans=spans, words=tuple(given_words))
