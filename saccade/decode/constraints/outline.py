"""A text with gaps that must stand in a translation, every way to write it in tokens, and how much of it is written.

In a gap the model may write anything, or nothing. Bytes and lines are in the order of writing. A model that writes from
right to left writes the tokens, and the bytes of each token, from the last to the first. A *line* is a text in that
order, character by character.
"""

import math
import unicodedata
from bisect import bisect_left
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import takewhile
from typing import NamedTuple

from saccade.text import EOS, UNK, Tokeniser, word_spans
from saccade.text.tokeniser import FROM_SENTENCEPIECE, SYMBOLS, TO_SENTENCEPIECE, normalise_text, text_prefix

_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))  # of a character in UTF-8
_CONTEXT = 16  # characters on either side that can decide whether a word ends at a place
_JOINERS = {"Mn", "Mc", "Me", "Cf", "Cc"}


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
        self.segmentations = lru_cache(1 << 12)(partial(Segmentations, tokens=self))

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
        start = bisect_left(self._sorted, written)
        surfaces = takewhile(lambda surface: surface.startswith(written), self._sorted[start:])
        return [token for surface in surfaces if surface != written for token in self._tokens[surface]]

    def _in_order(self, written: bytes) -> bytes:
        return written[::-1] if self.reverse else written


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


def is_word_boundary(line: str, place: int, *, reverse: bool) -> bool:
    """Whether a word may begin or end at this place: it is inside no word."""
    start = max(0, place - _CONTEXT)
    near, place = line[start : place + _CONTEXT], place - start
    if reverse:
        near, place = near[::-1], len(near) - place
    return not any(first < place < end for first, end in word_spans(near))


def is_settled(after: str) -> bool:
    """Whether no further token can change the word boundary before `after`. A hyphen, a point or an apostrophe joins
    the words on its two sides, and a combining mark belongs to a letter that comes later when writing from right to
    left. The word before an apostrophe decides whether it is elided: *l'homme* is two words, *chef-d'œuvre* is one."""
    rest = [character for character in after[:_CONTEXT] if unicodedata.category(character) not in _JOINERS]
    if rest and rest[0] in "'’":
        return any(not (character.isalnum() or character in "-.'’") for character in rest[1:])
    return len(rest) > 1 or (len(rest) == 1 and rest[0] not in "-.")


def find_phrase(
    line: str, phrase: str, start: int = 0, *, joins: tuple[bool, bool] = (False, False), reverse: bool
) -> Iterator[int]:
    """Where the occurrences of a phrase end. They are whole words, except where they join their neighbours."""
    while (start := line.find(phrase, start)) >= 0:
        end = start + len(phrase)
        sides = zip((start, end), joins, strict=True)
        if all(joined or is_word_boundary(line, side, reverse=reverse) for side, joined in sides):
            yield end
        start += 1


def contains_phrase(line: str, phrase: str, *, reverse: bool, whole: bool) -> bool:
    """Whether a line contains a phrase, word for word; unless the line is `whole`, whether it does for certain."""
    return any(whole or is_settled(line[end:]) for end in find_phrase(line, phrase, reverse=reverse))


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The words between two gaps. They are whole words, except where the segment joins a gap."""

    line: str
    joins: tuple[bool, bool]  # at its beginning and at its end
    first: bool  # nothing may be written before it
    last: bool  # nothing may be written after it

    def find_end(self, line: str, start: int, *, reverse: bool) -> int | None:
        """Where its first occurrence from `start` on ends, in a line that is whole."""
        for end in find_phrase(line, self.line, start, joins=self.joins, reverse=reverse):
            if (end == len(self.line) or not self.first) and (end == len(line) or not self.last):
                return end
        return None


class OutlineProgress(NamedTuple):
    """How much of an outline is written."""

    is_met: bool
    needed: float  # tokens that write the rest of it
    begun: float  # how many fewer are needed if the part that has begun at the end of the text is continued
    ways: tuple[tuple[Segmentations, int], ...] = ()  # to continue: the bytes to write, and how many are written
    must_wait: bool = False  # its next segment must stand last, after all other constraints


Ways = list[tuple[Segmentations, bool]]  # and whether each may follow any text


class Outline:
    """One or more segments, in order."""

    def __init__(self, label: str, segments: tuple[Segment, ...], tokens: TokenBytes) -> None:
        self.label, self.segments, self._tokens = label, segments, tokens
        self._ways = [self._ways_to_write(segment) for segment in segments]
        self._fewest = [_count_fewest(ways) for ways in self._ways]

    @classmethod
    def from_parts(cls, label: str, parts: list[str], tokens: TokenBytes, *, exact: bool = False) -> "Outline":
        """`parts` are the texts between the gaps; the first or the last is empty if the outline begins or ends with a
        gap. White space beside a gap means that whole words stand there; `exact` keeps it in the text."""
        segments = []
        for place, part in enumerate(parts):
            if not (part if exact else part.strip()):
                continue
            first, last = place == 0, place == len(parts) - 1
            joins = (not first and not part[:1].isspace(), not last and not part[-1:].isspace())
            line = tokens.line(part if exact else part.strip())
            if tokens.reverse:
                joins, first, last = joins[::-1], last, first
            segments.append(Segment(line=line, joins=joins, first=first, last=last))
        return cls(label, tuple(segments[::-1] if tokens.reverse else segments), tokens)

    @property
    def fewest(self) -> float:
        """The number of tokens that write all of it; ∞ if none can."""
        return sum(self._fewest)

    def progress(self, written: bytes) -> OutlineProgress:
        line, place, done, begun = self._tokens.decode(written, whole=True), 0, 0, 0.0
        for segment in self.segments:
            end = segment.find_end(line, place, reverse=self._tokens.reverse)
            if end is None:
                break
            begun = 0.0 if is_settled(line[end:]) else self._fewest[done]
            place, done = end, done + 1
        if done == len(self.segments):
            return OutlineProgress(True, begun, 0.0 if self.segments[-1].last else begun)
        ways = self._ways_to_continue(written, done, place)
        fewest = min((way.fewest[start] for way, start in ways), default=self._fewest[done])
        best = [(way, start) for way, start in ways if way.fewest[start] == fewest]
        if line.endswith(" "):  # a second space is not needed
            best = [(way, start) for way, start in best if start or not way.target.startswith(b" ")] or best
        gain = max(begun, self._fewest[done] - fewest)
        needed = sum(self._fewest[done:]) + begun
        return OutlineProgress(False, needed, gain, tuple(best), self.segments[done].last)

    def allowed(self, written: bytes) -> list[int] | None:
        """The tokens that may come next while the text is within the outline's beginning; None: any."""
        if not self.segments[0].first:
            return None
        ways = [way for way, _ in self._ways[0]]
        if not self.segments[0].last and any(written.startswith(way.target) for way in ways):
            return None
        possible = [way for way in ways if way.target.startswith(written)]
        return [token for way in possible for token in way.all_next(len(written))] or None

    def is_broken(self, written: bytes) -> bool:
        """Whether the text must begin with this outline and no longer can."""
        segment, targets = self.segments[0], [way.target for way, _ in self._ways[0]]
        if not segment.first or any(target.startswith(written) for target in targets):
            return False
        if segment.last or not any(written.startswith(target) for target in targets):
            return True
        line = self._tokens.decode(written, whole=False)
        return not segment.joins[1] and not is_word_boundary(line, len(segment.line), reverse=self._tokens.reverse)

    def _ways_to_write(self, segment: Segment) -> Ways:
        """The segmentations of a segment. With a space before it, it may follow any text."""
        tokens, lines = self._tokens, [segment.line]
        if segment.last if tokens.reverse else segment.first:  # at the front of the text, where decoding removes it
            prefix = tokens.text_prefix
            removed = segment.line.endswith(prefix) if tokens.reverse else segment.line.startswith(prefix)
            lines = [segment.line + prefix if tokens.reverse else prefix + segment.line] + ([] if removed else lines)
        ways = [(line, segment.first) for line in lines]
        if not segment.first:
            ways += [(" " + line, True) for line in lines]
        return [(tokens.segmentations(tokens.encode(line)), follows_any) for line, follows_any in ways]

    def _ways_to_continue(self, written: bytes, index: int, start: int) -> list[tuple[Segmentations, int]]:
        """All ways to continue with a segment, which may not begin before `start`."""
        segment, tokens, ways = self.segments[index], self._tokens, []
        for way, follows_any in self._ways[index]:
            for size in range(len(way.target)):
                if not written.endswith(way.target[:size]) or way.fewest[size] == math.inf:
                    continue
                before = tokens.decode(written[: len(written) - size], whole=False)
                if len(before) < start or (segment.first and size < len(written)):
                    continue
                # A segment that begins by joining a word would change that word, which may be required, too.
                follows = follows_any or (segment.joins[0] and size > 0)
                if follows or is_word_boundary(before + segment.line, len(before), reverse=tokens.reverse):
                    ways.append((way, size))
        return ways


def _count_fewest(ways: Ways) -> float:
    """The fewest tokens that write a segment after any text."""
    fewest = min((way.fewest[0] for way, follows_any in ways if follows_any), default=math.inf)
    return fewest if fewest < math.inf else min(way.fewest[0] for way, _ in ways)
