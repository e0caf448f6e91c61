"""`copy`, `reverse` and `sort`: letters, written again in a certain order, with the alignment."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase
from typing import Literal

from saccade.tasks.drawing import Lengths, Pair, RuleTask

Order = Literal["copy", "reverse", "sort"]
_SUMMARIES: dict[Order, str] = {
    "copy": "letters, the same again",
    "reverse": "letters, the last one first",
    "sort": "letters in the order of the alphabet",
}


@dataclass(frozen=True, kw_only=True)
class Sequences(RuleTask):
    """Letters a to z, separated by spaces. Each length is about equally likely."""

    order: Order

    name, sources, unit, words, pieces = "sequences", "sequences", "letters", (3, 12), "word"

    @property
    def summary(self) -> str:
        return _SUMMARIES[self.order]

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        least, most = words
        length = least + int(random.random() * (most - least + 1))
        letters = [ascii_lowercase[int(random.random() * len(ascii_lowercase))] for _ in range(length)]
        source = " ".join(letters)
        if not belongs(source):
            return None
        order = list(range(length))  # the positions of the letters in the order in which they are written
        if self.order == "reverse":
            order.reverse()
        elif self.order == "sort":
            order.sort(key=letters.__getitem__)  # stable: equal letters keep their order
        links = tuple(sorted((read, written) for written, read in enumerate(order)))
        return Pair(source=source, target=" ".join(letters[i] for i in order), alignment=links)
