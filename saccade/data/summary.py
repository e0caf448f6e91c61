"""Statistics of each side of a corpus: lengths, scripts, words, and how a vocabulary tokenises it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from saccade.data.sources import TextPair
from saccade.text import Tokeniser, letters_by_script, words

_COMMONEST = (1_000, 8_000, 32_000)


@dataclass(frozen=True, kw_only=True)
class TokenisationSummary:
    pieces_per_word: float
    unknown_share: float  # of the tokens: bytes of characters that are not in the vocabulary


@dataclass(frozen=True, kw_only=True)
class SideSummary:
    mean_words: float
    median_words: int
    most_words: int
    words_of_95_percent: int  # 95 % of the texts are no longer
    mean_characters: float
    scripts: dict[str, float]  # share of the letters, the largest first
    different_words: int
    covered: dict[int, float]  # share of all words that the commonest 1,000, 8,000, … account for
    spelling: TokenisationSummary | None


class _SideCounter:
    """Memory: one number per text, and one per different word."""

    def __init__(self, tokeniser: Tokeniser | None) -> None:
        self._tokeniser = tokeniser
        self._lengths: list[int] = []
        self._characters = 0
        self._letters = Counter[str]()
        self._words = Counter[str]()
        self._tokens = self._unknown = 0

    def add(self, text: str) -> None:
        text_words = words(text)
        self._lengths.append(len(text_words))
        self._words.update(text_words)
        self._characters += len(text)
        self._letters.update(letters_by_script(text))
        if self._tokeniser is not None:
            ids = self._tokeniser.encode(text)
            self._tokens += len(ids)
            self._unknown += sum(map(self._tokeniser.is_unknown, ids))

    def summary(self) -> SideSummary:
        lengths = np.array(self._lengths or [0])
        letters, total = self._letters.total() or 1, self._words.total() or 1
        counts = np.cumsum(sorted(self._words.values(), reverse=True) or [0])
        spelling = None
        if self._tokeniser is not None:
            unknown = self._unknown / max(1, self._tokens)
            spelling = TokenisationSummary(pieces_per_word=self._tokens / total, unknown_share=unknown)
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
    """Summarise the source side and the target side."""
    source, target = (_SideCounter(tokeniser) for tokeniser in tokenisers or (None, None))
    for pair in pairs:
        source.add(pair.source)
        target.add(pair.target)
    return source.summary(), target.summary()
