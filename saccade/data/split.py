"""Which pairs are held out for validation, when no file of them is given."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from saccade.errors import UserError
from saccade.text import HasTexts

Side = Literal["source", "target"]


def is_empty(pair: HasTexts) -> bool:
    return not pair.source.strip() or not pair.target.strip()


@dataclass(frozen=True)
class Split:
    """Pairs are held out by their source, whole groups at a time: no held-out source is seen in training, not even one
    that differs only in case or white space. Where all pairs have one source (a model of targets alone), they are held
    out by their target. The choice depends on the pairs and the seed, not on their order."""

    seed: int
    held_out: frozenset[int]
    side: Side = "source"

    @classmethod
    def of(
        cls, pairs: Iterable[HasTexts], *, seed: int = 1, share: float = 0.05, most: int = 2000, name: str = "the pairs"
    ) -> Self:
        """Holds out about `share` of the pairs, which can be iterated twice; at most `most`, always some. `name` is for
        the messages."""

        def groups(side: Side) -> tuple[int, Counter[int]]:
            texts = (getattr(pair, side) for pair in pairs if not is_empty(pair))
            # Twice as many groups as are needed if each is a single pair: some are too large.
            return _least((text_key(text, seed) for text in texts), 2 * most + 100)

        side: Side = "source"
        total, counts = groups(side)
        if len(counts) == 1 and total > 1:
            side = "target"
            _, counts = groups(side)
        if len(counts) < 2:
            found = "that are all alike" if total > 1 else f"with {total} different source{'s' * (not total)}"
            raise UserError(
                f"{name}: {total} pair{'s' * (total != 1)} {found}; expected at least 2 that differ, to hold one out "
                "for validation: give more pairs, or a validation file (--valid)"
            )
        room = max(1, min(most, round(share * total), total - 1))  # something is left to train on
        held_out = []
        for group, count in sorted(counts.items()):  # in the order of their keys: a seeded shuffle
            if count <= room:
                held_out.append(group)
                room -= count
            if room == 0:
                break
        return cls(seed, frozenset(held_out or [min(counts, key=lambda group: (counts[group], group))]), side)

    def __contains__(self, pair: HasTexts) -> bool:
        """Whether the pair is held out. An empty one is nobody's."""
        return not is_empty(pair) and text_key(getattr(pair, self.side), self.seed) in self.held_out


def text_key(text: str, seed: int) -> int:
    plain = " ".join(text.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8, key=str(seed).encode()).digest()
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
