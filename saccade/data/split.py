"""Which pairs are held out for validation, when there is no validation file."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from saccade.errors import UserError, plural
from saccade.text import HasTexts

SideName = Literal["source", "target"]


def is_empty(pair: HasTexts) -> bool:
    return not pair.source.strip() or not pair.target.strip()


@dataclass(frozen=True)
class Split:
    """Pairs are held out by their source, whole groups at a time: no held-out source is seen in training, not even one
    that differs only in case or white space. Where all pairs have the same source (a model of targets alone), they are
    held out by their target. The choice depends on the pairs and the seed, not on the order of the pairs."""

    seed: int
    held_out: frozenset[int]
    side: SideName = "source"

    @classmethod
    def of(
        cls, pairs: Iterable[HasTexts], *, seed: int = 1, share: float = 0.05, most: int = 2000, name: str = "the pairs"
    ) -> Self:
        """Hold out about `share` of the pairs, at least 1 and at most `most`. `pairs` may be iterated twice; `name` is
        for error messages."""

        def count_groups(side: SideName) -> tuple[int, Counter[int]]:
            texts = (getattr(pair, side) for pair in pairs if not is_empty(pair))
            # Twice as many groups as are needed if each is a single pair, since some are too large.
            return _smallest_keys((text_key(text, seed) for text in texts), 2 * most + 100)

        side: SideName = "source"
        total, counts = count_groups(side)
        if len(counts) == 1 and total > 1:
            side = "target"
            _, counts = count_groups(side)
        if len(counts) < 2:
            raise UserError(
                f"{name}: {plural(total, 'pair')}{', all alike' * (total > 1)}; expected at least 2 that differ, to "
                "hold one out for validation: give more pairs, or a validation file (--valid)"
            )
        room = max(1, min(most, round(share * total), total - 1))  # at least one pair is left to train on
        held_out = []
        for group, count in sorted(counts.items()):  # the order of the keys is a seeded shuffle
            if count <= room:
                held_out.append(group)
                room -= count
            if room == 0:
                break
        return cls(seed, frozenset(held_out or [min(counts, key=lambda group: (counts[group], group))]), side)

    def __contains__(self, pair: HasTexts) -> bool:
        """Tell whether the pair is held out. An empty pair never is."""
        return not is_empty(pair) and text_key(getattr(pair, self.side), self.seed) in self.held_out


def text_key(text: str, seed: int) -> int:
    """Hash a text, ignoring case and white space."""
    plain = " ".join(text.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little")


def _smallest_keys(keys: Iterable[int], most: int) -> tuple[int, Counter[int]]:
    """Count all keys, and the occurrences of each of the `most` smallest: memory does not grow with the corpus."""
    total, counts, bound = 0, Counter[int](), 1 << 64
    for key in keys:
        total += 1
        if key < bound:
            counts[key] += 1
            if len(counts) == 2 * most:  # a key that is among the smallest in the end was below the bound all along
                smallest = sorted(counts)[:most]
                counts, bound = Counter({key: counts[key] for key in smallest}), smallest[-1] + 1
    return total, counts
