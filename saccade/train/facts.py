"""Facts about the pairs and the machine on which the choice of a recipe depends."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import torch

from saccade import tasks
from saccade.text import HasTexts, Policy, words
from saccade.train.data_options import Data
from saccade.train.dataset import FIRST_PAIRS, read_first_pairs

_CHARACTERS = {"char": 1.0, "word": 2.0}  # per token, about; 3 per subword
_MOST_SYMBOLS = 300  # different phones, with stress and tone
_SPECIAL = 4  # padding, unknown, start and end
_SINGLE_WORD = 1.5  # mean words of a side at most, for texts that are single words


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the choice depends on."""

    pairs: int
    mean_words: float  # per source
    mean_characters: float  # per pair, both sides together
    alphabet: int  # different characters
    cuda: bool
    mean_target_words: float = 9.0
    target_words: int = 10_000  # different words on the target side
    texts: bool = False  # corrupted, to be restored, instead of pairs
    rule: bool = False  # drawn by a rule without exceptions, so that there is nothing to memorise
    overlap: float = 1.0  # of the letters' distributions on the two sides: 0 for two scripts, 1 for one language

    @classmethod
    def of(cls, pairs: Iterable[HasTexts], *, count: int | None = None, cuda: bool | None = None) -> "Facts":
        """`count` is the number of all pairs, if `pairs` are only the first."""
        iterator = iter(pairs)
        sample = list(islice(iterator, FIRST_PAIRS))
        size = max(1, len(sample))
        count = len(sample) + sum(1 for _ in iterator) if count is None else count
        sides = [pair.source for pair in sample], [pair.target for pair in sample]
        characters = [Counter("".join(texts)) for texts in sides]
        source_words, target_words = ([word for text in texts for word in words(text)] for texts in sides)
        return cls(
            pairs=count,
            mean_words=len(source_words) / size,
            mean_characters=sum(side.total() for side in characters) / size,
            alphabet=len(characters[0].keys() | characters[1].keys()),
            cuda=torch.cuda.is_available() if cuda is None else cuda,
            mean_target_words=len(target_words) / size,
            target_words=len(set(target_words)),
            overlap=_overlap(*characters),
        )

    @classmethod
    def of_data(cls, data: Data, *, seed: int = 1, cuda: bool | None = None) -> "Facts":
        """Of several corpora, only the first is examined."""
        if data.task is None:
            pairs, count = read_first_pairs(data, seed)
            return cls.of(pairs, count=count, cuda=cuda)
        known = tasks.task(data.task)
        if known.finite:
            return cls.of(data.drawn("train", data.count), cuda=cuda)
        facts = cls.of(data.drawn("train", min(2000, data.count)), cuda=cuda)
        return replace(facts, pairs=data.count, rule=known.rule)

    @property
    def judge(self) -> Literal["bleu", "exact", "loss"]:
        """Words and their pronunciations, dates and numbers are right or wrong; BLEU would count words of one. What is
        hidden in a text can be guessed in part only."""
        if self.texts:
            return "loss"
        return "exact" if min(self.mean_words, self.mean_target_words) <= _SINGLE_WORD else "bleu"

    @property
    def is_pronunciation(self) -> bool:
        """Whether targets spell single words in symbols between spaces, such as phones."""
        return self.mean_words <= _SINGLE_WORD and self.mean_target_words >= 2.5 and self.target_words <= _MOST_SYMBOLS

    def tokens(self, policy: Policy) -> float:
        """Approximate number of tokens per text, including the end symbol."""
        return max(8.0, self.mean_characters / 2 / _CHARACTERS.get(policy.kind, 3.0))

    @property
    def spelling(self) -> int:
        """Number of tokens that can spell every text: special ones, bytes, and every character."""
        return _SPECIAL + 256 + self.alphabet

    def target_size(self, policy: Policy) -> int:
        """Approximate number of different tokens on the target side; `policy.size` is only a maximum."""
        if self.is_pronunciation:
            return _SPECIAL + self.target_words
        return min(policy.size, self.spelling) if policy.kind == "char" else policy.size


def _overlap(first: Counter[str], second: Counter[str]) -> float:
    """Σ min(p(c), q(c)) over the letters c, where p and q are their shares on the two sides."""
    letters = [{c: n for c, n in side.items() if c.isalpha()} for side in (first, second)]
    totals = [sum(side.values()) for side in letters]
    if not all(totals):
        return 1.0
    return sum(min(n / totals[0], letters[1].get(c, 0) / totals[1]) for c, n in letters[0].items())
