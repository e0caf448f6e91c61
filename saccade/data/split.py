"""Which pairs are held out for validation, when no file of them is given."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np

from saccade.errors import UserError
from saccade.text import HasTexts

Pair = TypeVar("Pair", bound=HasTexts)


def is_empty(pair: HasTexts) -> bool:
    return not pair.source.strip() or not pair.target.strip()


@dataclass(frozen=True)
class Split:
    """Pairs are held out by their source, whole groups at a time: no held-out source is seen in training, not even one
    that differs only in case or white space. The choice depends on the pairs and the seed, not on their order."""

    seed: int
    held_out: frozenset[int]

    @classmethod
    def of(
        cls, pairs: Iterable[HasTexts], *, seed: int = 1, share: float = 0.05, most: int = 2000, name: str = "the pairs"
    ) -> Self:
        """Holds out about `share` of the pairs, at most `most`, always some. `name` is for the messages."""
        keys = np.fromiter((_key(pair.source, seed) for pair in pairs if not is_empty(pair)), np.uint64)
        sources, counts = np.unique(keys, return_counts=True)  # in the order of their keys: a seeded shuffle
        if len(sources) < 2:
            raise UserError(
                f"{name}: {len(keys)} pair{'s' * (len(keys) != 1)} with {len(sources)} different "
                f"source{'s' * (len(sources) != 1)}; expected at least 2 to hold one out for validation: "
                "give more pairs, or a validation file"
            )
        room = max(1, min(most, round(share * len(keys))))
        held_out = []
        for source, count in zip(sources.tolist(), counts.tolist(), strict=True):
            if count <= room:
                held_out.append(source)
                room -= count
            if room == 0:
                break
        return cls(seed, frozenset(held_out or [sources[counts.argmin()].item()]))

    def __contains__(self, pair: HasTexts) -> bool:
        """Whether the pair is held out. An empty one is nobody's."""
        return not is_empty(pair) and _key(pair.source, self.seed) in self.held_out

    def validation(self, pairs: Iterable[Pair]) -> list[Pair]:
        return [pair for pair in pairs if pair in self]

    def training(self, pairs: Iterable[Pair]) -> "Training[Pair]":
        return Training(pairs, self)

    @property
    def hash(self) -> str:
        return hashlib.sha256(f"{self.seed} {sorted(self.held_out)}".encode()).hexdigest()


@dataclass(frozen=True)
class Training(Generic[Pair]):
    """The pairs that are not held out; like what it is made from, it can be gone through again."""

    pairs: Iterable[Pair]
    split: Split

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair in self.pairs if not is_empty(pair) and pair not in self.split)


def _key(source: str, seed: int) -> int:
    text = " ".join(source.casefold().split())
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little")
