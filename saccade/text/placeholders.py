"""Placeholders: what must come through a translation as it is (URLs, markup, numbers) is a symbol to the model.

In training, a span that stands alike in the source and in the target is the same symbol on both sides. In translation
every span of the source is one, and each symbol that the model writes is replaced by what it stands for; one that it
made up is left out. A symbol is one character of a private-use area, so that a text with symbols is still a text; where
a text holds such a character itself, that is a span, too, and comes through like any other.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from saccade.errors import UserError
from saccade.names import nearest
from saccade.text.regex import Expression

SYMBOLS = tuple(chr(0xF0000 + number) for number in range(16))  # spans of a text beyond these stay as they are
KINDS = {
    "markup": r"</?[A-Za-z][^<>]*>",
    "url": r"(?:https?://|www\.)[^\s<>\"]*[\w/]",
    "email": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "number": r"\d+(?:[.,:]\d+)*",
}


class Masked(NamedTuple):
    """A text with symbols, and what each of them stands for; None: the vocabulary has no placeholders."""

    text: str
    shown: Mapping[str, str] | None = None

    def restore(self, written: str) -> str:
        """What was `written` of it, with every symbol replaced."""
        return written if self.shown is None else written.translate(symbol_replacements(self.shown))

    def notes(self, written: str) -> tuple[str, ...]:
        """What became of the symbols otherwise than it should."""
        if self.shown is None:
            return ()
        lost = [f"{span!r} is not in the translation" for symbol, span in self.shown.items() if symbol not in written]
        made_up = sum(written.count(symbol) for symbol in SYMBOLS if symbol not in self.shown)
        return (*lost, *([f"left out {made_up} placeholders that the source does not have"] if made_up else []))


def symbol_replacements(shown: Mapping[str, str]) -> dict[int, str]:
    """For str.translate: no symbol stays."""
    return {ord(symbol): shown.get(symbol, "") for symbol in SYMBOLS}


@dataclass(frozen=True)
class Placeholders:
    """`kinds` are names out of KINDS, or regular expressions; the first that matches at a place decides."""

    kinds: tuple[str, ...]

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind.isalpha() and kind not in KINDS:
                raise UserError(f"no placeholders are called {kind!r}; {nearest(kind, KINDS)}; or a regular expression")
            if Expression(KINDS.get(kind, kind)).matches_nothing():
                raise UserError(f"placeholders {kind!r}: matches where there is nothing; expected at least a character")

    @cached_property
    def _expression(self) -> Expression:
        symbols = f"[{SYMBOLS[0]}-{SYMBOLS[-1]}]"
        return Expression("|".join([symbols, *(f"(?:{KINDS.get(kind, kind)})" for kind in self.kinds)]))

    def mask(self, source: str, matched: Counter[str] | None = None) -> Masked:
        """As for translation every span is a symbol, or so many of each as are `matched`."""
        numbers = _numbers(source)
        shown: dict[str, str] = {}

        def replaced(span: str) -> str:
            if len(shown) == len(SYMBOLS) or (matched is not None and matched[span] == 0):
                return span
            if matched is not None:
                matched[span] -= 1
            symbol = numbers[len(shown)]
            shown[symbol] = span
            return symbol

        return Masked(self._replace(source, replaced), shown)

    def mask_pair(self, source: str, target: str) -> tuple[Masked, Masked]:
        """As for training: the spans that stand on both sides. One that comes several times is matched in order."""
        masked = self.mask(source, Counter(target[start:end] for start, end in self._expression.spans(target)))
        symbols = defaultdict(list)
        for symbol, span in (masked.shown or {}).items():
            symbols[span].append(symbol)

        def replaced(span: str) -> str:
            return symbols[span].pop(0) if symbols[span] else span

        return masked, Masked(self._replace(target, replaced), masked.shown)

    def _replace(self, text: str, replaced: Callable[[str], str]) -> str:
        """The text with every span of it replaced."""
        written, place = [], 0
        for start, end in self._expression.spans(text):
            written += [text[place:start], replaced(text[start:end])]
            place = end
        return "".join([*written, text[place:]])


def _numbers(source: str) -> tuple[str, ...]:
    """The symbols in the order in which a source uses them up. It begins anywhere, as the source decides, so that
    training sees all of them as often, not the first ones of a text alone."""
    first = zlib.crc32(source.encode("utf-8", "surrogatepass")) % len(SYMBOLS)
    return SYMBOLS[first:] + SYMBOLS[:first]
