"""`numbers-XX`: figures to words; `figures-XX`: words to figures. See `spelling` for the languages."""

from collections.abc import Iterator
from dataclasses import dataclass

from saccade.tasks.drawing import asked, draw, generator, split_of, whole_number
from saccade.tasks.pair import Pair
from saccade.tasks.spelling import LIMIT, SPELLERS

DIGITS = (1, 9)  # of a number, unless asked otherwise


@dataclass(frozen=True, kw_only=True)
class Numbers:
    language: str
    to_figures: bool = False

    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = DIGITS) -> Iterator[Pair]:
        """`count` numbers of `words[0]` to `words[1]` digits, each length about equally often.

        A split owns a number, in every language and in both directions.
        """
        what = asked("numbers", words, "digits", longest=len(str(LIMIT - 1)))
        random = generator("numbers", seed, split, words, split=split).random
        spell = SPELLERS[self.language]

        def one() -> Pair | None:
            number = whole_number(random, words)
            figures = str(number)
            if split_of(figures) != split:
                return None
            spelled = spell(number)
            source, target = (spelled, figures) if self.to_figures else (figures, spelled)
            return Pair(source=source, target=target)

        return draw(one, count, split, what)
