"""Links between the words or tokens of given pairs, by the attention of a model, or of a model and its reverse.

aligner = Aligner(saccade.load("en-fr").translator, reverse=saccade.load("fr-en").translator)
for pair in aligner.align([("the cat sleeps", "le chat dort")]):
    print(format_links(pair.links))
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.align.attention import DEFAULT_HEAD, NO_ATTENTION, AlignmentHead, PairAttention, SegmentedText
from saccade.align.links import GoldLinks, Links, Matrix, entropy, links_from_weights, reverse_links, symmetrise
from saccade.align.options import Symmetrisation
from saccade.align.scores import HeadChoice, candidate_heads, choose_head
from saccade.errors import UserError
from saccade.text import Tokeniser, Vocabularies, words
from saccade.text.words import TextUnit, UnitChoice, choose_unit

CHUNK = 64  # pairs in memory at a time, with the weights of all layers
CHOICE_PAIRS = 300  # a head is chosen on at most this many pairs
BATCH_TOKENS = 8192

TextPair = tuple[str, str]
NumberedPair = tuple[int, TextPair]  # with its line, from 1


class AttentiveModel(Protocol):
    """The part of a translator that an aligner needs."""

    vocabularies: Vocabularies

    @property
    def attends(self) -> bool: ...

    def attend(
        self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = ...
    ) -> list[PairAttention]: ...

    def segments(self, source: str, target: str) -> tuple[SegmentedText, SegmentedText]: ...


@dataclass(frozen=True, eq=False)
class AlignedPair:
    unit: TextUnit
    source: tuple[str, ...]  # words, or tokens
    target: tuple[str, ...]
    links: Links
    weights: Matrix  # (T, S) of the model, before symmetrisation
    attention: PairAttention | None  # None: one side is blank, or the links are not by attention


@dataclass(eq=False)
class Aligner:
    """`tokenised`: words are separated by white space, as in gold alignments of tokenised text; otherwise
    `saccade.text.words` defines them.

    All pairs are aligned in one unit, so that all links of a file count the same thing. If `by` is "auto",
    `saccade.text.words` decides: tokens for a character model, and where the first sources are all single words.
    """

    translator: AttentiveModel
    head: AlignmentHead = DEFAULT_HEAD
    _: KW_ONLY
    reverse: AttentiveModel | None = None
    reverse_head: AlignmentHead = DEFAULT_HEAD
    symmetrisation: Symmetrisation = "grow-diag-final"
    tokenised: bool = False
    by: UnitChoice = "auto"
    batch_tokens: int = BATCH_TOKENS

    def __post_init__(self) -> None:
        if self.tokenised and self.by == "piece":
            raise UserError("tokenised text is aligned by its words; leave out tokenised to align by piece")
        if self.tokenised:
            self.by = "word"
        symmetrise(frozenset(), frozenset(), self.symmetrisation)  # refuses an unknown name before hours of work
        for name, model in (("the model", self.translator), ("the reverse model", self.reverse)):
            if model is not None and not model.attends:
                raise UserError(f"{name} has no attention to align by: {NO_ATTENTION}")

    @property
    def symmetrised(self) -> Symmetrisation | None:
        return None if self.reverse is None or self.symmetrisation == "none" else self.symmetrisation

    def unit(self, pairs: Iterable[TextPair]) -> TextUnit:
        """Choose words or tokens from the first `CHUNK` pairs."""
        first = [pair for pair in islice(pairs, CHUNK) if _has_text(pair)]
        vocabularies = self.translator.vocabularies
        return choose_unit(
            self.by,
            characters="char" in (vocabularies.source.policy.kind, vocabularies.target.policy.kind),
            source_words=[len(self._words(self.translator, pair)[0]) for pair in first],
        )

    def split(self, pair: TextPair, unit: TextUnit | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The source and the target in words, or tokens. Where `by` is "auto", the pair alone decides which."""
        unit = unit or self.unit([pair])
        if unit == "word":
            return self._words(self.translator, pair)
        source, target = self.translator.segments(*pair)
        return source.units(unit), target.units(unit)

    def lengths(self, pairs: Iterable[TextPair]) -> list[tuple[int, int]]:
        return [(len(source), len(target)) for source, target in map(self.split, pairs)]

    def align(self, pairs: Iterable[TextPair]) -> Iterator[AlignedPair]:
        """Yield one result per pair, in order, with `CHUNK` pairs in memory at a time."""
        rest, unit = enumerate(pairs, 1), None
        while chunk := list(islice(rest, CHUNK)):
            unit = unit or self.unit(pair for _, pair in chunk)
            attentions = iter(self._read([(number, pair) for number, pair in chunk if _has_text(pair)], unit))
            for _, pair in chunk:
                if _has_text(pair):
                    yield self._link(*next(attentions), unit)
                else:
                    source, target = self.split(pair, unit)
                    nothing = np.zeros((len(target), len(source)))
                    yield AlignedPair(unit, source, target, frozenset(), nothing, None)

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
        unit = self.unit(pair for _, pair in sample)
        chunks = [self._read(sample[start : start + CHUNK], unit) for start in range(0, len(sample), CHUNK)]
        forward, backward = zip(*(attentions for chunk in chunks for attentions in chunk), strict=True)
        tried = {"every_head": every_head, "every_shift": every_shift}
        choice = choose_head(
            forward,
            candidate_heads(forward[0], self.head, **tried),
            gold=None if gold is None else [gold[number - 1] for number, _ in sample],
            reverse=backward if self.reverse else (),
            reverse_candidates=candidate_heads(backward[0], self.reverse_head, **tried) if self.reverse else (),
            unit=unit,
        )
        return replace(self, by=unit, head=choice.head, reverse_head=choice.reverse_head or self.reverse_head), choice

    def _read(self, numbered: Sequence[NumberedPair], unit: TextUnit) -> list[tuple[PairAttention, Any]]:
        """The attention of the model, and of its reverse or None, for each pair."""
        forward = self._attend(self.translator, numbered, unit)
        if self.reverse is None:
            return [(attention, None) for attention in forward]
        split_tag = self.translator.vocabularies.source.split_tag
        swapped = [(number, (target, split_tag(source)[1])) for number, (source, target) in numbered]
        read = list(zip(forward, self._attend(self.reverse, swapped, unit), strict=True))
        for (number, _), (attention, reverse) in zip(numbered, read, strict=True):
            if unit == "piece" and attention.units("piece") != reverse.units("piece")[::-1]:
                raise UserError(
                    f"pair {number}: the two models split it into different tokens, so their links cannot be combined; "
                    "align by word"
                )
        return read

    def _attend(
        self, model: AttentiveModel, numbered: Sequence[NumberedPair], unit: TextUnit
    ) -> Sequence[PairAttention]:
        if not numbered:
            return []
        sources, targets = zip(*(pair for _, pair in numbered), strict=True)
        attentions = model.attend(sources, targets, batch_tokens=self.batch_tokens)
        if unit == "piece":
            return attentions
        regrouped, (of_source, of_target) = [], (model.vocabularies.source, model.vocabularies.target)
        for (number, pair), attention in zip(numbered, attentions, strict=True):
            source_words, target_words = self._words(model, pair)
            source = _regroup(attention.source, source_words, of_source, number)
            target = _regroup(attention.target, target_words, of_target, number)
            regrouped.append(replace(attention, source=source, target=target))
        return regrouped

    def _link(self, attention: PairAttention, reverse: PairAttention | None, unit: TextUnit) -> AlignedPair:
        weights = self.head.weights(attention, unit)
        links = links_from_weights(weights)
        if reverse is not None:
            links = symmetrise(links, reverse_links(self.reverse_head.links(reverse, unit)), self.symmetrisation)
        return AlignedPair(unit, *attention.units(unit), links, weights, attention)

    def _words(self, model: AttentiveModel, pair: TextPair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        _, source = model.vocabularies.source.split_tag(pair[0])
        split = str.split if self.tokenised else words
        return tuple(split(source)), tuple(split(pair[1]))


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


def _regroup(text: SegmentedText, new_words: tuple[str, ...], tokeniser: Tokeniser, number: int) -> SegmentedText:
    """Assign the tokens to `new_words` instead of the model's words.

    They differ where words are separated by white space, and where normalisation changes the number of words.
    """
    sizes = [len(words(tokeniser.normalise(word))) for word in new_words]
    if sum(sizes) != len(text.words):
        raise UserError(
            f"pair {number}: a text has {len(new_words)} words, and the {len(text.words)} that the model reads are "
            "not parts of them; normalise the text first"
        )
    owners = [place for place, size in enumerate(sizes) for _ in range(size)]
    spans = tuple((owners[first], owners[end - 1] + 1) if first < end else (0, 0) for first, end in text.spans)
    return replace(text, spans=spans, words=new_words)
