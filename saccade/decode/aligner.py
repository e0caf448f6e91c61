"""Words or pieces of given pairs, linked by what a model reads when it is made to write them, or by what it and a
reverse model read.

aligner = Aligner(load("en-fr"), reverse=load("fr-en"))
for one in aligner.align([("the cat sleeps", "le chat dort")]):
    print(format_links(one.links))
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from saccade.decode.attended import NO_ATTENTION, Attended, Reader, Segments
from saccade.decode.loading import model_name
from saccade.decode.readers import Choice, choose, readers, turn
from saccade.decode.translator import BATCH_TOKENS, Translator
from saccade.errors import UserError
from saccade.evaluate import GoldLinks, Links, Symmetrisation, entropy, symmetrise
from saccade.evaluate.weights import Matrix
from saccade.text import Tokeniser, words
from saccade.text.words import TextUnit, UnitChoice, choose_unit

CHUNK = 64  # pairs in memory at a time: all layers' weights of each
CHOSEN_ON = 300  # pairs that a reader is chosen on, at most

TextPair = tuple[str, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Aligned:
    unit: TextUnit
    source: tuple[str, ...]  # words, or pieces
    target: tuple[str, ...]
    links: Links
    weights: Matrix  # (T, S) of the model, before it meets its reverse
    attended: Attended | None  # None: a side is blank, and nothing was read


class Aligner:
    """`tokenised`: words are what blanks separate, as gold counts them in texts that were tokenised for it; else what
    `saccade.text.words` says.

    All pairs are aligned by one unit, so that a file of links counts one thing. Unless `by` chooses it, it is found by
    `saccade.text.words`: pieces for a model of characters, and where the first sources are all single words.
    """

    def __init__(
        self,
        translator: Translator,
        reader: Reader | None = None,
        *,
        reverse: Translator | None = None,
        reverse_reader: Reader | None = None,
        how: Symmetrisation = "grow-diag-final",
        tokenised: bool = False,
        by: UnitChoice = "auto",
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        if tokenised and by == "piece":
            raise UserError(
                "tokenised text is aligned by the words that blanks separate; leave out tokenised to align by piece"
            )
        symmetrise(frozenset(), frozenset(), how)  # an unknown name is refused before hours of work
        for one in (translator, reverse):
            if one is not None and not one.attends:
                raise UserError(f"{model_name(type(one.model))} has no attention to align by: {NO_ATTENTION}")
        self.translator, self.reader = translator, reader or Reader()
        self.reverse, self.reverse_reader = reverse, reverse_reader or Reader()
        self.how, self.tokenised, self.batch_tokens = how, tokenised, batch_tokens
        self.by: UnitChoice = "word" if tokenised else by

    def unit(self, pairs: Iterable[TextPair]) -> TextUnit:
        """What these pairs are aligned by: the first `CHUNK` of them decide."""
        first = [pair for pair in islice(pairs, CHUNK) if _written(pair)]
        vocabularies = self.translator.vocabularies
        return choose_unit(
            self.by,
            characters="char" in (vocabularies.source.policy.kind, vocabularies.target.policy.kind),
            source_words=[len(self._words(self.translator, pair)[0]) for pair in first],
        )

    def with_unit(self, unit: TextUnit) -> "Aligner":
        """The same aligner, by this unit."""
        settled = copy(self)
        settled.by = unit
        return settled

    def lengths(self, pair: TextPair) -> tuple[int, int]:
        """Source and target words, or pieces: what links count. Where `by` is automatic, the pair alone decides."""
        source, target = self._units(pair, self.unit([pair]))
        return len(source), len(target)

    def align(self, pairs: Iterable[TextPair]) -> Iterator[Aligned]:
        """In order, a result a pair, `CHUNK` of them in memory at a time."""
        rest, unit = enumerate(pairs, 1), None
        while some := list(islice(rest, CHUNK)):
            unit = unit or self.unit([pair for _, pair in some])
            read = self._read([(number, pair) for number, pair in some if _written(pair)], unit)
            for number, pair in some:
                yield self._aligned(*read[number], unit) if number in read else self._blank(pair, unit)

    def chosen(
        self,
        pairs: Iterable[TextPair],
        gold: Sequence[GoldLinks] | None = None,
        *,
        every_head: bool = False,
        every_shift: bool = False,
    ) -> "tuple[Aligner, Choice]":
        """The same aligner, reading by what aligns the first of these pairs best: see `choose`."""
        kept = list(islice(((number, pair) for number, pair in enumerate(pairs, 1) if _written(pair)), CHOSEN_ON))
        if not kept:
            raise UserError("nothing to choose a head or a shift by: every pair has a blank side")
        unit = self.unit([pair for _, pair in kept])
        read: dict[int, tuple[Attended, Attended | None]] = {}
        for start in range(0, len(kept), CHUNK):
            read |= self._read(kept[start : start + CHUNK], unit)
        forward, backward = [one for one, _ in read.values()], [other for _, other in read.values() if other]
        choice = choose(
            forward,
            readers(forward[0], self.reader, every_head=every_head, every_shift=every_shift),
            gold=None if gold is None else [gold[number - 1] for number in read],
            reverse=backward or None,
            among_reverse=readers(backward[0], self.reverse_reader, every_head=every_head, every_shift=every_shift)
            if backward
            else (),
            unit=unit,
        )
        settled = self.with_unit(unit)
        settled.reader, settled.reverse_reader = choice.reader, choice.reverse or self.reverse_reader
        return settled, choice

    def _read(
        self, numbered: Sequence[tuple[int, TextPair]], unit: TextUnit
    ) -> "dict[int, tuple[Attended, Attended | None]]":
        """By the number of the pair, which is its line's; what the reverse model read with it."""
        forward = self._attend(self.translator, numbered, unit)
        if self.reverse is None:
            return {number: (one, None) for number, one in forward.items()}
        untagged = self.translator.vocabularies.source.split_tag
        turned = [(number, (pair[1], untagged(pair[0])[1])) for number, pair in numbered]
        backward = self._attend(self.reverse, turned, unit)
        if unit == "piece":
            for number, one in forward.items():
                _check_same_pieces(one, backward[number], number)
        return {number: (one, backward[number]) for number, one in forward.items()}

    def _attend(
        self, translator: Translator, numbered: Sequence[tuple[int, TextPair]], unit: TextUnit
    ) -> dict[int, Attended]:
        if not numbered:
            return {}
        sources, targets = zip(*(pair for _, pair in numbered), strict=True)
        read = translator.attend(sources, targets, batch_tokens=self.batch_tokens)
        if unit == "piece":
            return {number: one for (number, _), one in zip(numbered, read, strict=True)}
        found = {}
        for (number, pair), one in zip(numbered, read, strict=True):
            ours = self._words(translator, pair)
            source = _grouped(one.source, ours[0], translator.vocabularies.source, number)
            target = _grouped(one.target, ours[1], translator.vocabularies.target, number)
            found[number] = replace(one, source=source, target=target)
        return found

    def _aligned(self, attended: Attended, reverse: Attended | None, unit: TextUnit) -> Aligned:
        links = self.reader.links(attended, unit)
        if reverse is not None:
            links = symmetrise(links, turn(self.reverse_reader.links(reverse, unit)), self.how)
        source, target = attended.units(unit)
        return Aligned(
            unit=unit,
            source=source,
            target=target,
            links=links,
            weights=self.reader.weights(attended, unit),
            attended=attended,
        )

    def _blank(self, pair: TextPair, unit: TextUnit) -> Aligned:
        source, target = self._units(pair, unit)
        nothing = np.zeros((len(target), len(source)))
        return Aligned(
            unit=unit,
            source=tuple(source),
            target=tuple(target),
            links=frozenset(),
            weights=nothing,
            attended=None,
        )

    def _units(self, pair: TextPair, unit: TextUnit) -> tuple[Sequence[str], Sequence[str]]:
        if unit == "word":
            return self._words(self.translator, pair)
        source, target = self.translator.segments(*pair)
        return source.units(unit), target.units(unit)

    def _words(self, translator: Translator, pair: TextPair) -> tuple[list[str], list[str]]:
        source, target = pair
        _, source = translator.vocabularies.source.split_tag(source)
        cut = str.split if self.tokenised else words
        return cut(source), cut(target)


class Entropies:
    """The mean entropy of every head, in bits a piece, over all that is added."""

    def __init__(self) -> None:
        self._sums: list[NDArray[np.float64]] = []
        self._pieces = 0

    def add(self, attended: Attended) -> None:
        bits = [entropy(attended.pieces(layer)).sum(axis=-1) for layer in range(len(attended.layers))]  # (H,) each
        self._sums = [one + more for one, more in zip(self._sums, bits, strict=True)] if self._sums else bits
        self._pieces += len(attended.target.ids)

    def mean(self) -> list[list[float]]:
        """A list a layer, of a number a head."""
        return [(one / max(1, self._pieces)).tolist() for one in self._sums]


def _written(pair: TextPair) -> bool:
    return all(text.strip() for text in pair)


def _check_same_pieces(one: Attended, reverse: Attended, number: int) -> None:
    if one.units("piece") != reverse.units("piece")[::-1]:
        raise UserError(
            f"pair {number}: the two models cut it into different pieces, so their links cannot meet; align by word"
        )


def _grouped(segments: Segments, given: Sequence[str], tokeniser: Tokeniser, number: int) -> Segments:
    """The same pieces, over the words as they are given: a piece belongs to the word that holds its own.

    They differ where words are what blanks separate, and where the model normalises its texts into more words or fewer.
    """
    sizes = [len(words(tokeniser.normalise(word))) for word in given]
    if sum(sizes) != len(segments.words):
        raise UserError(
            f"pair {number}: a text has {len(given)} words, and the {len(segments.words)} that the model reads are no "
            "parts of them; normalise the text first"
        )
    owners = [place for place, size in enumerate(sizes) for _ in range(size)]
    spans = tuple((owners[first], owners[end - 1] + 1) if first < end else (0, 0) for first, end in segments.spans)
    return replace(segments, spans=spans, words=tuple(given))
