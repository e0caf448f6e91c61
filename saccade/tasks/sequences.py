"""`copy`, `reverse` and `sort`: letters, written again in a certain order, with the alignment."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Literal

from saccade.tasks.drawing import asked, draw, generator, split_of
from saccade.tasks.pair import Pair

Order = Literal["copy", "reverse", "sort"]
SYMBOLS = (3, 12)  # of a sequence, unless asked otherwise

# From a sequence to the positions of its symbols in the order in which they are written.
_ORDERS: dict[Order, Callable[[Sequence[str]], Sequence[int]]] = {
    "copy": lambda symbols: range(len(symbols)),
    "reverse": lambda symbols: range(len(symbols) - 1, -1, -1),
    "sort": lambda symbols: sorted(range(len(symbols)), key=symbols.__getitem__),  # stable: equal ones keep their order
}


@dataclass(frozen=True, kw_only=True)
class Sequences:
    """Letters a to z, drawn one by one, with a space between two."""

    order: Order

    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = SYMBOLS) -> Iterator[Pair]:
        """`count` pairs of `words[0]` to `words[1]` letters, each length about equally often."""
        what, (least, most) = asked("sequences", words, "letters"), words
        random = generator("sequences", seed, split, words, split=split).random

        def one() -> Pair | None:
            length = least + int(random() * (most - least + 1))
            symbols = [ascii_lowercase[int(random() * len(ascii_lowercase))] for _ in range(length)]
            source = " ".join(symbols)
            if split_of(source) != split:
                return None
            order = _ORDERS[self.order](symbols)
            links = tuple(sorted((read, written) for written, read in enumerate(order)))
            return Pair(source=source, target=" ".join(symbols[i] for i in order), alignment=links)

        return draw(one, count, split, what)
