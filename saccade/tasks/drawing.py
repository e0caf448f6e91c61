"""What the tasks share: randomness that depends only on the request, splits by content, and two ways to draw pairs.

A split owns contents, not draws: a hash of the content of a pair (its sequence, date or spelling) gives one in twenty
to `valid`, one in twenty to `test` and the rest to `train`. The seed does not matter, so the training data of one seed
is never in the test data of another.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest
from random import Random
from typing import ClassVar

from saccade.errors import UserError
from saccade.tasks.pair import Pair

SPLITS = ("train", "valid", "test")
PATIENCE = 20_000  # draws in a row without a fitting pair, after which drawing ends
Lengths = tuple[int, int]  # the shortest and the longest


def generator(*request: object, split: str) -> Random:
    """Random numbers that depend only on the request, not on the process or the Python version."""
    if split not in SPLITS:
        raise UserError(f"split is {split!r}; expected one of {', '.join(SPLITS)}")
    return Random(int.from_bytes(blake2b(repr(request).encode(), digest_size=16).digest()))


def split_of(content: str) -> str:
    """The split that owns a content."""
    drawn = int.from_bytes(blake2b(content.encode(), digest_size=8).digest()) % 20
    return "valid" if drawn == 0 else "test" if drawn == 1 else "train"


def whole_number(random: Callable[[], float], lengths: Lengths) -> int:
    """A number for which each number of digits is equally likely; 0 has one digit."""
    least, most = lengths
    digits = least + int(random() * (most - least + 1))
    first = int(random() * 10) if digits == 1 else 1 + int(random() * 9)
    return int(f"{first}" + "".join(f"{int(random() * 10)}" for _ in range(digits - 1)))


class BoundedTask(ABC):
    """A task whose sources have a range of lengths."""

    name: ClassVar[str]  # seeds the random numbers
    things: ClassVar[str]  # the sources, in messages
    unit: ClassVar[str]  # in which lengths are counted
    lengths: ClassVar[Lengths]  # by default
    longest: ClassVar[int | None] = None  # the limit of lengths

    def pairs(self, count: int, seed: int, split: str = "train", words: Lengths | None = None) -> Iterator[Pair]:
        """`count` pairs whose sources have `words[0]` to `words[1]` units; a finite task may have fewer."""
        least, most = words = words or self.lengths
        request = f"{self.things} of {least} to {most} {self.unit}"
        if not 1 <= least <= most or (self.longest is not None and most > self.longest):
            limit = "from 1" if self.longest is None else f"from 1 to {self.longest}"
            raise UserError(f"{request} were requested; words is [shortest, longest], {limit}")
        random = generator(self.name, seed, split, words, split=split)
        error = UserError(f"found no {request} in the {split} split; widen the range")
        return self._pairs(count, random, split, words, error)

    @abstractmethod
    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]: ...


class RuleTask(BoundedTask):
    """A task that draws every pair by a rule. A held-out split repeats no source, and ends when there is no other."""

    @abstractmethod
    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        """Draw a pair, or None where it does not fit. `belongs` tells whether the split owns a content."""

    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]:
        seen: set[str] = set()
        for _ in range(count):
            for _ in range(PATIENCE):
                pair = self.draw(random, words, lambda content: split_of(content) == split)
                if pair is not None and pair.source not in seen:
                    break
            else:
                if not seen:
                    raise error
                return
            if split != "train":
                seen.add(pair.source)
            yield pair


class FiniteTask(BoundedTask):
    """A task that chooses from existing pairs, each of them once."""

    @abstractmethod
    def loader(self) -> Callable[[], Mapping[str, str]]:
        """A function that returns all sources with their targets."""

    @abstractmethod
    def length(self, source: str) -> int: ...

    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]:
        least, most = words
        fitting = [pair for pair in _of_split(self.loader(), split) if least <= self.length(pair[0]) <= most]
        if not fitting:
            raise error
        order = nsmallest(count, ((random.random(), *pair) for pair in fitting))
        return (Pair(source=source, target=target) for _, source, target in order)


@lru_cache
def _of_split(load: Callable[[], Mapping[str, str]], split: str) -> list[tuple[str, str]]:
    return [(source, target) for source, target in load().items() if split_of(source) == split]


def missing_package(task: str, *packages: str) -> UserError:
    return UserError(f"task:{task} needs {' and '.join(packages)}: pip install {' '.join(packages)}")
