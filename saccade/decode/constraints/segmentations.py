"""Every way to write a text in tokens: which token may come next, and how few tokens complete the text.

Bytes and lines are in the order of writing. A model that writes from right to left writes the tokens, and the bytes of
each token, from the last to the first. A *line* is a text in that order, character by character.
"""

import math
from bisect import bisect_left
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache

from saccade.text import EOS, UNK, Tokeniser
from saccade.text.subwords import FROM_SENTENCEPIECE, TO_SENTENCEPIECE, normalise_text, text_prefix
from saccade.text.tokeniser import SYMBOLS

_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))  # of a character in UTF-8


class TokenBytes:
    """The bytes that each token of a vocabulary writes, and the tokens that write given bytes."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._policy, self.reverse = tokeniser.policy, tokeniser.right_to_left
        self.text_prefix = text_prefix(tokeniser.policy)  # removed from the front of a text by decoding
        # Both ▁ and the byte of a space write a space.
        self.surfaces = [self._in_order(surface.replace("▁".encode(), b" ")) for surface in tokeniser.surfaces]
        self._tokens: dict[bytes, list[int]] = {}
        never_written = {UNK, *tokeniser.tags.values()}
        for token, surface in enumerate(self.surfaces):
            if token not in never_written:
                self._tokens.setdefault(surface, []).append(token)
        self._index()

    def with_placeholders(self, shown: Mapping[str, str] | None) -> "TokenBytes":
        """A copy in which each placeholder symbol writes its text in `shown`, and nothing if it has none there."""
        if shown is None:
            return self
        other = copy(self)
        other.surfaces, other._tokens = [*self.surfaces], dict(self._tokens)
        for symbol in SYMBOLS:
            text = self._in_order(shown.get(symbol, "").translate(TO_SENTENCEPIECE).encode())
            for space in ("", " "):  # a vocabulary of words has the symbol with and without a space
                before = self.encode(symbol + space if self.reverse else space + symbol)
                after = before.replace(self.encode(symbol), text)
                for token in other._tokens.pop(before, ()):
                    other.surfaces[token] = after
                    other._tokens[after] = [*other._tokens.get(after, ()), token]
        other._index()
        return other

    def _index(self) -> None:
        self._tokens.pop(b"", None)
        self._sorted = sorted(self._tokens)
        self.longest = max(map(len, self._sorted), default=0)
        self.segmentations = lru_cache(1 << 12)(self._segmentations)

    def line(self, text: str) -> str:
        text = normalise_text(text, self._policy)
        return text[::-1] if self.reverse else text

    def encode(self, line: str) -> bytes:
        return self._in_order((line[::-1] if self.reverse else line).translate(TO_SENTENCEPIECE).encode())

    def decode(self, written: bytes, *, whole: bool) -> str:
        """The line that `Tokeniser.decode` returns for these bytes; unless `whole`, more may follow."""
        left_to_right = self._in_order(written)
        if not whole and self.reverse:  # a character may lack its first bytes, rather than its last
            left_to_right = left_to_right.lstrip(_CONTINUATION_BYTES)
        decoder = getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(left_to_right, final=whole).translate(FROM_SENTENCEPIECE)
        if whole or not self.reverse:
            text = text.removeprefix(self.text_prefix)
        return text[::-1] if self.reverse else text

    def tokens_of(self, written: bytes) -> Sequence[int]:
        """The tokens that write exactly these bytes."""
        return self._tokens.get(written, ())

    def tokens_beyond(self, written: bytes) -> list[int]:
        """The tokens that write these bytes and more."""
        tokens: list[int] = []
        for place in range(bisect_left(self._sorted, written), len(self._sorted)):
            surface = self._sorted[place]
            if not surface.startswith(written):
                break
            if surface != written:
                tokens += self._tokens[surface]
        return tokens

    def _in_order(self, written: bytes) -> bytes:
        return written[::-1] if self.reverse else written

    def _segmentations(self, target: bytes) -> "Segmentations":
        return Segmentations(target, self)


class Segmentations:
    """The ways to write `target` in tokens. `fewest[i]` tokens write the rest of it after i bytes; ∞ if none can."""

    def __init__(self, target: bytes, tokens: TokenBytes) -> None:
        self.target, self._tokens = target, tokens
        self.fewest = [math.inf] * len(target) + [0.0]
        for start in reversed(range(len(target))):
            self.fewest[start] = min((1 + self.fewest[end] for end, _ in self._continue(start)), default=math.inf)

    def shortest(self, start: int) -> list[int]:
        """The next tokens of the ways that need the fewest."""
        return [
            token for end, tokens in self._continue(start) if self.fewest[end] < self.fewest[start] for token in tokens
        ]

    def all_next(self, start: int) -> list[int]:
        """All tokens that can come next, including those that write beyond the end; at the end, the end symbol."""
        if start == len(self.target):
            return [EOS]
        within = [token for end, tokens in self._continue(start) if self.fewest[end] < math.inf for token in tokens]
        return within + self._tokens.tokens_beyond(self.target[start:])

    def _continue(self, start: int) -> list[tuple[int, Sequence[int]]]:
        ends = range(start + 1, min(len(self.target), start + self._tokens.longest) + 1)
        return [(end, tokens) for end in ends if (tokens := self._tokens.tokens_of(self.target[start:end]))]
