"""Every way to write a given text in pieces: which piece may come next, and how few can finish it.

All is in the order of writing. A model that writes from right to left writes each piece's bytes, and the pieces, from
the last to the first; a *line* is the text in that order, character by character.
"""

import math
from bisect import bisect_left
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache

from saccade.text import EOS, UNK, Tokeniser
from saccade.text.placeholders import SYMBOLS
from saccade.text.policy import FROM_SENTENCEPIECE, TO_SENTENCEPIECE, normalise_text, text_prefix

_CONTINUATION = bytes(range(0x80, 0xC0))  # of a character in UTF-8


class TokenBytes:
    """What each piece of a vocabulary writes, and which pieces write given bytes."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._policy, self.turned = tokeniser.policy, tokeniser.right_to_left
        self.before = text_prefix(tokeniser.policy)  # what decoding takes off the front of a text
        # A space is written by ▁ and by the byte of a space alike.
        self.surfaces = [self._turn(surface.replace("▁".encode(), b" ")) for surface in tokeniser.surfaces]
        self._pieces: dict[bytes, list[int]] = {}
        not_written = {UNK, *tokeniser.tags.values()}
        for piece, surface in enumerate(self.surfaces):
            if piece not in not_written:
                self._pieces.setdefault(surface, []).append(piece)
        self._look_up()

    def showing(self, shown: Mapping[str, str] | None) -> "TokenBytes":
        """The same where a symbol writes what is `shown` for it, and nothing if nothing is."""
        if shown is None:
            return self
        other = copy(self)
        other.surfaces, other._pieces = [*self.surfaces], dict(self._pieces)
        for symbol in SYMBOLS:
            text = self._turn(shown.get(symbol, "").translate(TO_SENTENCEPIECE).encode())
            for space in ("", " "):  # a vocabulary of words has it twice
                before = self.written(symbol + space if self.turned else space + symbol)
                after = before.replace(self.written(symbol), text)
                for piece in other._pieces.pop(before, ()):
                    other.surfaces[piece] = after
                    other._pieces[after] = [*other._pieces.get(after, ()), piece]
        other._look_up()
        return other

    def _look_up(self) -> None:
        self._pieces.pop(b"", None)  # what writes nothing
        self._sorted = sorted(self._pieces)
        self.longest = max(map(len, self._sorted), default=0)
        self.spelling = lru_cache(1 << 12)(self._spelling)

    def line(self, text: str) -> str:
        text = normalise_text(text, self._policy)
        return text[::-1] if self.turned else text

    def written(self, line: str) -> bytes:
        return self._turn((line[::-1] if self.turned else line).translate(TO_SENTENCEPIECE).encode())

    def read(self, written: bytes, *, whole: bool) -> str:
        """The line that `Tokeniser.decode` would give; where not `whole`, there may be more to come."""
        in_order = self._turn(written)
        if not whole and self.turned:  # a character may lack its first bytes, or else its last
            in_order = in_order.lstrip(_CONTINUATION)
        text = getincrementaldecoder("utf-8")("replace").decode(in_order, final=whole).translate(FROM_SENTENCEPIECE)
        if whole or not self.turned:
            text = text.removeprefix(self.before)
        return text[::-1] if self.turned else text

    def exactly(self, written: bytes) -> Sequence[int]:
        return self._pieces.get(written, ())

    def beyond(self, written: bytes) -> list[int]:
        """The pieces that write this and more."""
        found: list[int] = []
        for place in range(bisect_left(self._sorted, written), len(self._sorted)):
            surface = self._sorted[place]
            if not surface.startswith(written):
                break
            if surface != written:
                found += self._pieces[surface]
        return found

    def _turn(self, written: bytes) -> bytes:
        return written[::-1] if self.turned else written

    def _spelling(self, target: bytes) -> "Segmentations":
        return Segmentations(target, self)


class Segmentations:
    """The ways to write `target`. `least[i]` pieces write what is left of it after i bytes; ∞ where none can."""

    def __init__(self, target: bytes, lexicon: TokenBytes) -> None:
        self.target, self._lexicon = target, lexicon
        self.least = [math.inf] * len(target) + [0.0]
        for start in reversed(range(len(target))):
            self.least[start] = min((1 + self.least[end] for end, _ in self._on(start)), default=math.inf)

    def soonest(self, start: int) -> list[int]:
        """The pieces from here on by which the fewest finish it."""
        return [piece for end, pieces in self._on(start) if self.least[end] < self.least[start] for piece in pieces]

    def every(self, start: int) -> list[int]:
        """All pieces that go on from here, those that go on beyond the end, too; at the end, the end symbol."""
        if start == len(self.target):
            return [EOS]
        within = [piece for end, pieces in self._on(start) if self.least[end] < math.inf for piece in pieces]
        return within + self._lexicon.beyond(self.target[start:])

    def _on(self, start: int) -> list[tuple[int, Sequence[int]]]:
        ends = range(start + 1, min(len(self.target), start + self._lexicon.longest) + 1)
        return [(end, pieces) for end in ends if (pieces := self._lexicon.exactly(self.target[start:end]))]
