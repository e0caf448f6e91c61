"""Which pairs are held out for validation, when no file of them is given."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from saccade.errors import UserError
from saccade.text import HasTexts


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
        total, counts = _least(
            (key(pair.source, seed) for pair in pairs if not is_empty(pair)), 2 * most + 100
        )  # twice as many groups as are needed if each is a single pair: some are too large
        if len(counts) < 2:
            raise UserError(
                f"{name}: {total} pair{'s' * (total != 1)} with {len(counts)} different "
                f"source{'s' * (len(counts) != 1)}; expected at least 2 to hold one out for validation: "
                "give more pairs, or a validation file"
            )
        room = max(1, min(most, round(share * total)))
        held_out = []
        for source, count in sorted(counts.items()):  # in the order of their keys: a seeded shuffle
            if count <= room:
                held_out.append(source)
                room -= count
            if room == 0:
                break
        return cls(seed, frozenset(held_out or [min(counts, key=lambda source: (counts[source], source))]))

    def __contains__(self, pair: HasTexts) -> bool:
        """Whether the pair is held out. An empty one is nobody's."""
        return not is_empty(pair) and key(pair.source, self.seed) in self.held_out


def key(source: str, seed: int) -> int:
    text = " ".join(source.casefold().split())
    digest = hashlib.blake2b(text.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little")


def _least(keys: Iterable[int], most: int) -> tuple[int, Counter[int]]:
    """How many keys there are, and how often each of the `most` least ones comes: their number bounds the memory,
    however many there are."""
    total, counts, bound = 0, Counter[int](), 1 << 64
    for one in keys:
        total += 1
        if one < bound:
            counts[one] += 1
            if len(counts) == 2 * most:  # any that is among the least in the end was below the bound all along
                kept = sorted(counts)[:most]
                counts, bound = Counter({one: counts[one] for one in kept}), kept[-1] + 1
    return total, counts
