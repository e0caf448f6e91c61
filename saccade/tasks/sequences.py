"""`copy`, `reverse` and `sort`: letters, written again in a certain order, with the alignment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase
from typing import Literal

from saccade.tasks.drawing import Lengths, RuleTask
from saccade.tasks.pair import Pair

Order = Literal["copy", "reverse", "sort"]

# From a sequence to the positions of its symbols in the order in which they are written.
_ORDERS: dict[Order, Callable[[Sequence[str]], Sequence[int]]] = {
    "copy": lambda symbols: range(len(symbols)),
    "reverse": lambda symbols: range(len(symbols) - 1, -1, -1),
    "sort": lambda symbols: sorted(range(len(symbols)), key=symbols.__getitem__),  # stable: equal ones keep their order
}


@dataclass(frozen=True, kw_only=True)
class Sequences(RuleTask):
    """Letters a to z, separated by spaces. Each length is about equally likely."""

    order: Order

    name, things, unit, lengths = "sequences", "sequences", "letters", (3, 12)

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        least, most = words
        length = least + int(random.random() * (most - least + 1))
        symbols = [ascii_lowercase[int(random.random() * len(ascii_lowercase))] for _ in range(length)]
        source = " ".join(symbols)
        if not belongs(source):
            return None
        order = _ORDERS[self.order](symbols)
        links = tuple(sorted((read, written) for written, read in enumerate(order)))
        return Pair(source=source, target=" ".join(symbols[i] for i in order), alignment=links)
