"""What the tasks share: pairs, randomness that depends only on the request, splits by content, and two ways to draw.

A split owns contents, not draws: a hash of the content of a pair (its sequence, date or spelling) gives one in twenty
to `valid`, one in twenty to `test` and the rest to `train`. The seed does not matter, so the training data of one seed
is never in the test data of another.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from random import Random
from typing import ClassVar

from saccade.errors import UserError
from saccade.text.tokeniser import Kind
from saccade.text.words import words as split_words

SPLITS = ("train", "valid", "test")
LANGUAGES = {"en": "English", "fr": "French", "de": "German", "zh": "Chinese"}
PATIENCE = 20_000  # draws in a row without a fitting pair, after which drawing ends
Lengths = tuple[int, int]  # the shortest and the longest


@dataclass(frozen=True, kw_only=True)
class Sense:
    """An ambiguous source word, and the word elsewhere that decides its sense. Positions count `saccade.text.words`."""

    word: str  # as in a dictionary: "bank"
    name: str  # the sense that is right here
    source: int  # the position of the word
    target: tuple[int, ...]  # the positions of its translation
    forms: Mapping[str, tuple[str, ...]]  # sense → every form of its translation, in the target language
    distance: int  # from the word to the cue, in source words; negative: the cue comes first
    cue: str | None  # the deciding word; None: a neutral word stands in its place, and nothing decides

    def read(self, translation: str) -> str | None:
        """The sense that a translation chose; None if it contains forms of neither sense, or of both."""

        def spaced(text: str) -> str:
            return f" {' '.join(split_words(text))} "

        line = spaced(translation)
        chosen = [name for name, forms in self.forms.items() if any(spaced(form) in line for form in forms)]
        return chosen[0] if len(chosen) == 1 else None


@dataclass(frozen=True, kw_only=True)
class Pair:
    source: str
    target: str
    alignment: tuple[tuple[int, int], ...] | None = None  # links (i, j) between words of source and target, sorted
    sense: Sense | None = None


def hash_number(text: str, size: int = 8) -> int:
    """A number of `size` bytes that is the same in every process and Python version."""
    return int.from_bytes(blake2b(text.encode(), digest_size=size).digest())


def generator(*request: object, split: str) -> Random:
    """Random numbers that depend only on the request."""
    if split not in SPLITS:
        raise UserError(f"split is {split!r}; expected one of {', '.join(SPLITS)}")
    return Random(hash_number(repr(request), 16))


def split_of(content: str) -> str:
    """The split that owns a content."""
    return {0: "valid", 1: "test"}.get(hash_number(content) % 20, "train")


class Task(ABC):
    """Pairs for each split, always the same ones for the same request."""

    name: ClassVar[str]  # seeds the random numbers
    sources: ClassVar[str]  # their name in messages
    words: ClassVar[Lengths]  # the default range of lengths
    unit: ClassVar[str] = "words"  # in which lengths are counted
    longest: ClassVar[int | None] = None  # the limit of lengths
    origin: ClassVar[str] = "made by a rule; no data"  # of the data, with its licence
    packages: ClassVar[str | None] = None  # that the data needs, as pip installs them
    pieces: ClassVar[Kind] = "char"  # the vocabulary that suits the task
    joint: ClassVar[bool] = True  # both sides share one vocabulary
    finite: ClassVar[bool] = False  # there is a fixed number of pairs, and each comes once
    rule: ClassVar[bool] = False  # a rule without exceptions makes any number of pairs: no dropout, no smoothing

    @property
    @abstractmethod
    def summary(self) -> str: ...

    def pairs(self, count: int, seed: int, split: str = "train", words: Lengths | None = None) -> Iterator[Pair]:
        """`count` pairs whose sources have `words[0]` to `words[1]` units; a finite task may have fewer."""
        least, most = words = words or self.words
        request = f"{self.sources} of {least} to {most} {self.unit}"
        if not 1 <= least <= most or (self.longest is not None and most > self.longest):
            limit = "from 1" if self.longest is None else f"from 1 to {self.longest}"
            raise UserError(f"{request} were requested; words is [shortest, longest], {limit}")
        random = generator(self.name, seed, split, words, split=split)
        error = UserError(f"found no {request} in the {split} split; widen the range")
        return self._pairs(count, random, split, words, error)

    @abstractmethod
    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]: ...


class RuleTask(Task):
    """A task that draws every pair by a rule. A held-out split repeats no source, and ends when there is no other."""

    rule = True

    @abstractmethod
    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        """Draw a pair, or None where it does not fit. `belongs` tells whether the split owns a content."""

    def owner(self, content: str) -> str:
        """The split that owns a content."""
        return split_of(content)

    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]:
        seen: set[str] = set()
        for _ in range(count):
            for _ in range(PATIENCE):
                pair = self.draw(random, words, lambda content: self.owner(content) == split)
                if pair is not None and pair.source not in seen:
                    break
            else:
                if not seen:
                    raise error
                return
            if split != "train":
                seen.add(pair.source)
            yield pair


class FiniteTask(Task):
    """A task that chooses from existing pairs, each of them once."""

    finite = True

    @abstractmethod
    def load(self) -> Mapping[str, str]:
        """All sources with their targets."""

    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]:
        length = len if self.unit == "characters" else count_words
        owned = [pair for pair in self.load().items() if split_of(pair[0]) == split]
        fitting = [pair for pair in owned if words[0] <= length(pair[0]) <= words[1]]
        if not fitting:
            raise error
        order = nsmallest(count, ((random.random(), *pair) for pair in fitting))
        return (Pair(source=source, target=target) for _, source, target in order)


def count_words(text: str) -> int:
    """Punctuation marks count as words."""
    return len(split_words(text))


def missing_package(task: str, *packages: str) -> UserError:
    return UserError(f"task:{task} needs {' and '.join(packages)}: pip install {' '.join(packages)}")
