"""What a corpus is like, side by side: lengths, scripts, words, and how a vocabulary would spell it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from saccade.data.sources import TextPair
from saccade.text import Tokeniser, letters_by_script, words

_COMMONEST = (1_000, 8_000, 32_000)


@dataclass(frozen=True, kw_only=True)
class TokenisationSummary:
    """By a vocabulary."""

    pieces_per_word: float
    unknown_share: float  # of the pieces: bytes of characters that are in none


@dataclass(frozen=True, kw_only=True)
class SideSummary:
    mean_words: float
    median_words: int
    most_words: int
    words_of_95_percent: int  # texts that are no longer
    mean_characters: float
    scripts: dict[str, float]  # shares of the letters, the largest first
    different_words: int
    covered: dict[int, float]  # share of all words that the so many commonest are
    spelling: TokenisationSummary | None


class _Side:
    """What is counted of one side: a number a text, and a number a different word."""

    def __init__(self, tokeniser: Tokeniser | None) -> None:
        self._tokeniser = tokeniser
        self._lengths: list[int] = []
        self._characters = 0
        self._letters = Counter[str]()
        self._words = Counter[str]()
        self._pieces = self._unknown = 0

    def add(self, text: str) -> None:
        found = words(text)
        self._lengths.append(len(found))
        self._words.update(found)
        self._characters += len(text)
        self._letters.update(letters_by_script(text))
        if self._tokeniser is not None:
            ids = self._tokeniser.encode(text)
            self._pieces += len(ids)
            self._unknown += sum(map(self._tokeniser.is_unknown, ids))

    def summary(self) -> SideSummary:
        lengths = np.array(self._lengths or [0])
        letters, total = self._letters.total() or 1, self._words.total() or 1
        counts = np.cumsum(sorted(self._words.values(), reverse=True) or [0])
        spelling = None
        if self._tokeniser is not None:
            spelling = TokenisationSummary(
                pieces_per_word=self._pieces / total, unknown_share=self._unknown / max(1, self._pieces)
            )
        return SideSummary(
            mean_words=float(lengths.mean()),
            median_words=int(np.median(lengths)),
            most_words=int(lengths.max()),
            words_of_95_percent=int(np.quantile(lengths, 0.95, method="higher")),
            mean_characters=self._characters / len(lengths),
            scripts={script: count / letters for script, count in self._letters.most_common()},
            different_words=len(self._words),
            covered={few: float(counts[min(few, len(counts)) - 1] / total) for few in _COMMONEST},
            spelling=spelling,
        )


def summarise(
    pairs: Iterable[TextPair], tokenisers: tuple[Tokeniser, Tokeniser] | None = None
) -> tuple[SideSummary, SideSummary]:
    """Of the source and of the target."""
    source, target = (_Side(tokeniser) for tokeniser in tokenisers or (None, None))
    for pair in pairs:
        source.add(pair.source)
        target.add(pair.target)
    return source.summary(), target.summary()
