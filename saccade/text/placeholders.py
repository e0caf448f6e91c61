"""Placeholders: spans that a translation must not change (URLs, markup, numbers) are symbols to the model.

In training, a span that occurs in the source and in the target becomes the same symbol on both sides. In translation
every span of the source becomes a symbol, and each symbol that the model writes is replaced by its span; a symbol that
is not in the source is dropped. A symbol is one character of a private-use area, so that a text with symbols is still a
text. Where a text contains such a character itself, that is a span like any other.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from saccade.errors import UserError, plural
from saccade.names import nearest
from saccade.text.regex import Expression

SYMBOLS = tuple(chr(0xF0000 + number) for number in range(16))  # further spans of a text stay text
KINDS = {
    "markup": r"</?[A-Za-z][^<>]*>",
    "url": r"(?:https?://|www\.)[^\s<>\"]*[\w/]",
    "email": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "number": r"\d+(?:[.,:]\d+)*",
}


class Masked(NamedTuple):
    """A text with symbols, and the span of each symbol; None: the vocabulary has no placeholders."""

    text: str
    shown: Mapping[str, str] | None = None

    def restore(self, written: str) -> str:
        """Replace every symbol in a translation of it."""
        return written if self.shown is None else written.translate(symbol_replacements(self.shown))

    def notes(self, written: str) -> tuple[str, ...]:
        """Report symbols that are missing in a translation, or not in the source."""
        if self.shown is None:
            return ()
        lost = [f"{span!r} is not in the translation" for symbol, span in self.shown.items() if symbol not in written]
        unknown = sum(written.count(symbol) for symbol in SYMBOLS if symbol not in self.shown)
        dropped = [f"dropped {plural(unknown, 'placeholder')} that the source does not have"] if unknown else []
        return (*lost, *dropped)


def symbol_replacements(shown: Mapping[str, str]) -> dict[int, str]:
    """Return a table for str.translate, which removes symbols without a span."""
    return {ord(symbol): shown.get(symbol, "") for symbol in SYMBOLS}


@dataclass(frozen=True)
class Placeholders:
    """`kinds` are names from KINDS, or regular expressions; the first that matches at a place decides."""

    kinds: tuple[str, ...]

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind.isalpha() and kind not in KINDS:
                raise UserError(f"there are no placeholders {kind!r}; {nearest(kind, KINDS)}; or a regular expression")
            if Expression(KINDS.get(kind, kind)).matches_nothing():
                raise UserError(f"placeholders {kind!r}: matches the empty text; expected at least one character")

    @cached_property
    def _expression(self) -> Expression:
        symbols = f"[{SYMBOLS[0]}-{SYMBOLS[-1]}]"
        return Expression("|".join([symbols, *(f"(?:{KINDS.get(kind, kind)})" for kind in self.kinds)]))

    def mask(self, source: str, matched: Counter[str] | None = None) -> Masked:
        """Replace every span by a symbol, as for translation, or only as many of each span as are `matched`."""
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
        """Replace the spans that occur on both sides, as for training. Repeated spans are matched in order."""
        masked = self.mask(source, Counter(target[start:end] for start, end in self._expression.spans(target)))
        symbols = defaultdict(list)
        for symbol, span in (masked.shown or {}).items():
            symbols[span].append(symbol)

        def replaced(span: str) -> str:
            return symbols[span].pop(0) if symbols[span] else span

        return masked, Masked(self._replace(target, replaced), masked.shown)

    def _replace(self, text: str, replaced: Callable[[str], str]) -> str:
        """Replace every span of the text."""
        written, place = [], 0
        for start, end in self._expression.spans(text):
            written += [text[place:start], replaced(text[start:end])]
            place = end
        return "".join([*written, text[place:]])


def _numbers(source: str) -> tuple[str, ...]:
    """Return the symbols in the order in which a source uses them. The first one depends on the source, so that
    training sees all symbols equally often."""
    first = zlib.crc32(source.encode("utf-8", "surrogatepass")) % len(SYMBOLS)
    return SYMBOLS[first:] + SYMBOLS[:first]
