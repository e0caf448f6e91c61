"""How probable a language model finds texts: in total, per token, per word and per character."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.text import words


class TokenProbabilities(NamedTuple):
    """The score of each token of a text, and of its end."""

    text: str
    log_probs: NDArray[np.float64]
    is_unknown: NDArray[np.bool_]


@dataclass(frozen=True)
class TextScore:
    """The score of one text. Its end is predicted, too, and counts as a token, a word and a character."""

    log_probability: float
    tokens: int
    unknown: int
    words: int
    characters: int

    @classmethod
    def of(cls, scores: TokenProbabilities) -> "TextScore":
        text, log_probs, is_unknown = scores
        counts = len(log_probs), int(is_unknown.sum()), len(words(text)) + 1, len(text) + 1
        return cls(float(log_probs.sum()), *counts)

    @property
    def perplexity(self) -> float:
        """Per token: comparable only between models with the same tokens."""
        return perplexity(self.log_probability, self.tokens)

    @property
    def word_perplexity(self) -> float:
        return perplexity(self.log_probability, self.words)

    @property
    def bits_per_character(self) -> float:
        return -self.log_probability / math.log(2) / max(1, self.characters)


@dataclass(frozen=True)
class TotalScore(TextScore):
    texts: int
    known_log_probability: float  # without the unknown tokens

    @property
    def known_perplexity(self) -> float:
        return perplexity(self.known_log_probability, self.tokens - self.unknown)

    def to_dict(self) -> dict[str, Any]:
        derived = ("perplexity", "known_perplexity", "word_perplexity", "bits_per_character")
        return asdict(self) | {name: getattr(self, name) for name in derived}


class TextModel(ABC):
    """What every language model does, whatever it is made of."""

    @abstractmethod
    def score_tokens(self, texts: Iterable[str]) -> Iterator[TokenProbabilities]:
        """The log-probability of each token of each text, in order."""

    @property
    @abstractmethod
    def lower(self) -> bool:
        """Whether it reads every text in lower case."""

    def score_texts(self, texts: Iterable[str]) -> Iterator[TextScore]:
        """One score per text, in order."""
        return map(TextScore.of, self.score_tokens(texts))

    def score(self, texts: Iterable[str]) -> TotalScore:
        """One score for all texts."""
        total, known, counts = 0.0, 0.0, np.zeros(5, np.int64)
        for scores in self.score_tokens(texts):
            score = TextScore.of(scores)
            total, known = total + score.log_probability, known + float(scores.log_probs[~scores.is_unknown].sum())
            counts += score.tokens, score.unknown, score.words, score.characters, 1
        if not counts.any():
            raise UserError("nothing to score: there are no texts")
        tokens, unknown, word_count, characters, number = counts.tolist()
        return TotalScore(total, tokens, unknown, word_count, characters, number, known)


def perplexity(log_probability: float, count: int) -> float:
    return math.exp(min(700.0, -log_probability / max(1, count)))  # exp(710) overflows
