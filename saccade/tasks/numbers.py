"""`numbers-XX`: figures to words; `figures-XX`: words to figures (languages: see `spelling`); `addition`: sums."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from saccade.tasks.drawing import Lengths, RuleTask, whole_number
from saccade.tasks.pair import Pair
from saccade.tasks.spelling import LIMIT, SPELLERS


@dataclass(frozen=True, kw_only=True)
class Numbers(RuleTask):
    """A split owns a number, in every language and in both directions. Each length is about equally likely."""

    language: str
    to_figures: bool = False

    name, things, unit, lengths, longest = "numbers", "numbers", "digits", (1, 9), len(str(LIMIT - 1))

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        figures = str(number := whole_number(random.random, words))
        if not belongs(figures):
            return None
        spelled = SPELLERS[self.language](number)
        source, target = (spelled, figures) if self.to_figures else (figures, spelled)
        return Pair(source=source, target=target)


@dataclass(frozen=True, kw_only=True)
class Addition(RuleTask):
    """`123+456` to `579`. A split owns a sum with its two numbers in either order: 1+2 and 2+1 share a split."""

    name, things, unit, lengths = "addition", "sums of numbers", "digits", (1, 4)

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        a, b = whole_number(random.random, words), whole_number(random.random, words)
        return Pair(source=f"{a}+{b}", target=str(a + b)) if belongs(f"{min(a, b)}+{max(a, b)}") else None
