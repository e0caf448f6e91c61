"""From a labelled text to token ids and label ids. A tag belongs to the first token of its word."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from saccade.data.sources import TextPair
from saccade.text import EOS, PAD, UNK, Tokeniser
from saccade.train.request import LabelKind

FIRST_LABEL = EOS + 1  # the label ids follow those of padding and eos
NO_LABEL = PAD  # of a token that begins no word, and of a label that was not learnt


class TextEncoder:
    """Encodes a text, or its words one by one: a word has the same tokens in every sentence."""

    def __init__(self, kind: LabelKind, tokeniser: Tokeniser, labels: Sequence[str]) -> None:
        self.kind, self.tokeniser = kind, tokeniser
        self.numbers: Mapping[str, int] = {label: place for place, label in enumerate(labels, FIRST_LABEL)}
        self._encode_word = lru_cache(1 << 16)(lambda word: tokeniser.encode(word) or [UNK])

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        """→ the ids, and the place of the first token of each word; for a classifier, no places"""
        if self.kind == "classify":
            return self.tokeniser.encode(text), []
        return self.encode_words(text.split())

    def encode_words(self, words: Iterable[str]) -> tuple[list[int], list[int]]:
        ids, starts = list[int](), list[int]()
        for word in words:
            starts.append(len(ids))
            ids += self._encode_word(word)
        return ids, starts

    def encode_pair(self, pair: TextPair, longest: int) -> tuple[list[int], list[int]]:
        """→ the ids and, for a classifier, the label's number; for a tagger, one number per id"""
        ids, starts = self.encode(pair.source)
        if self.kind == "classify":
            return ids[:longest], [self.numbers.get(pair.target.strip(), NO_LABEL)]
        numbers = [NO_LABEL] * len(ids)
        for start, tag in zip(starts, pair.target.split(), strict=True):
            numbers[start] = self.numbers.get(tag, NO_LABEL)
        return ids[:longest], numbers[:longest]
