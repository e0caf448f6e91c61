"""`addition`: two numbers and their sum, in figures."""

from collections.abc import Iterator
from dataclasses import dataclass

from saccade.tasks.drawing import asked, draw, generator, split_of, whole_number
from saccade.tasks.pair import Pair

DIGITS = (1, 4)  # of each number, unless asked otherwise


@dataclass(frozen=True, kw_only=True)
class Addition:
    """`123+456` to `579`. A split owns a sum with its two numbers in either order: who saw 1+2 is not asked 2+1."""

    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = DIGITS) -> Iterator[Pair]:
        """`count` sums of numbers of `words[0]` to `words[1]` digits each, each length about equally often."""
        what = asked("sums of numbers", words, "digits")
        random = generator("addition", seed, split, words, split=split).random

        def one() -> Pair | None:
            a, b = whole_number(random, words), whole_number(random, words)
            if split_of(f"{min(a, b)}+{max(a, b)}") != split:
                return None
            return Pair(source=f"{a}+{b}", target=str(a + b))

        return draw(one, count, split, what)
