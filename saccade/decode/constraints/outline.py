"""A text with gaps, and how much of it is written: what must stand in a translation, in any pieces and word for word.

A gap is where the model may write anything, or nothing. All is in the order of writing (see `spelling`).
"""

import math
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from saccade.decode.constraints.segmentations import Segmentations, TokenBytes
from saccade.text import word_spans

_NEAR = 16  # characters on either side, of which the nearest few decide where a word ends
_JOINERS = {"Mn", "Mc", "Me", "Cf", "Cc"}


def apart(line: str, at: int, *, turned: bool) -> bool:
    """Whether a word may begin or end at this place: it is inside none."""
    start = max(0, at - _NEAR)
    near, at = line[start : at + _NEAR], at - start
    if turned:
        near, at = near[::-1], len(near) - at
    return not any(first < at < last for first, last in word_spans(near))


def settled(after: str) -> bool:
    """Whether what is still to be written cannot change what is apart before `after`: a hyphen or a point joins the
    words on its two sides, and a mark belongs to a letter that, from right to left, comes later."""
    rest = [character for character in after[:_NEAR] if unicodedata.category(character) not in _JOINERS]
    return len(rest) > 1 or (len(rest) == 1 and rest[0] not in "-.")


def stands(line: str, phrase: str, *, turned: bool, whole: bool) -> bool:
    """Whether a phrase stands in a line, word for word; of one that is not `whole`, whether it does for certain."""
    at = line.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        if (whole or settled(line[end:])) and all(apart(line, place, turned=turned) for place in (at, end)):
            return True
        at = line.find(phrase, at + 1)
    return False


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What stands between two gaps. It is a run of whole words, except where it joins a gap."""

    line: str
    joins: tuple[bool, bool]  # on its first and on its last side
    first: bool  # nothing may be written before it
    last: bool  # nothing may be written after it

    def found(self, line: str, start: int, *, turned: bool) -> int | None:
        """Where it ends in a line that is whole, at the first place where it is, from `start` on."""
        at = len(line) - len(self.line) if self.last else line.find(self.line, start)
        while at >= start and line.startswith(self.line, at) and not (self.first and at):
            end = at + len(self.line)
            sides = zip((at, end), self.joins, strict=True)
            if all(joins or apart(line, place, turned=turned) for place, joins in sides):
                return end
            if self.first or self.last:
                return None
            at = line.find(self.line, at + 1)
        return None


class OutlineProgress(NamedTuple):
    """Of one outline: how many pieces the rest of it needs, and how many fewer if what is begun is gone on with."""

    holds: bool
    needed: float
    begun: float
    ways: tuple[tuple[Segmentations, int], ...] = ()  # to go on: what to write, and how much of it is written
    waits: bool = False  # what comes next of it must stand last: all else goes before


class Outline:
    """One or more segments, in their order."""

    def __init__(self, label: str, segments: tuple[Segment, ...], lexicon: TokenBytes) -> None:
        self.label, self.segments, self._lexicon = label, segments, lexicon
        self._ways = [self._ways_of(segment) for segment in segments]
        self._needs = [_needed(ways) for ways in self._ways]

    @classmethod
    def of(cls, label: str, parts: list[str], lexicon: TokenBytes, *, exact: bool = False) -> "Outline":
        """`parts` are what stands between the gaps, the first and the last of them empty if it begins or ends with a
        gap. White space beside a gap means that whole words stand there; an `exact` part keeps it as it is."""
        segments = []
        for place, part in enumerate(parts):
            if not (part if exact else part.strip()):
                continue
            first, last = place == 0, place == len(parts) - 1
            joins = (not first and not part[:1].isspace(), not last and not part[-1:].isspace())
            line = lexicon.line(part if exact else part.strip())
            if lexicon.turned:
                joins, first, last = joins[::-1], last, first
            segments.append(Segment(line=line, joins=joins, first=first, last=last))
        return cls(label, tuple(segments[::-1] if lexicon.turned else segments), lexicon)

    @property
    def least(self) -> float:
        """The pieces that write all of it, wherever one is; ∞ if none can."""
        return sum(self._needs)

    def progress(self, written: bytes) -> OutlineProgress:
        line, turned = self._lexicon.read(written, whole=True), self._lexicon.turned
        at, done, begun = 0, 0, 0.0
        for segment in self.segments:
            end = segment.found(line, at, turned=turned)
            if end is None:
                break
            begun = 0.0 if settled(line[end:]) else self._needs[done]
            at, done = end, done + 1
        needed = sum(self._needs[done:])
        if done == len(self.segments):
            return OutlineProgress(True, begun, 0.0 if self.segments[-1].last else begun)
        ways = self._begun(written, done, at)
        fewest = min((spelling.least[start] for spelling, start in ways), default=self._needs[done])
        best = [(way, start) for way, start in ways if way.least[start] == fewest]
        if line.endswith(" "):  # a second space is not needed
            best = [(way, start) for way, start in best if start or not way.target.startswith(b" ")] or best
        gain = max(begun, self._needs[done] - fewest)
        return OutlineProgress(False, needed + begun, gain, tuple(best), self.segments[done].last)

    def allowed(self, written: bytes) -> list[int] | None:
        """The pieces that may come next where it begins the text and is not complete; None: any."""
        if not self.segments[0].first:
            return None
        alone, ways = self.segments[0].last, [spelling for spelling, _ in self._ways[0]]
        if not alone and any(written.startswith(spelling.target) for spelling in ways):
            return None
        open_ = [spelling for spelling in ways if spelling.target.startswith(written)]
        return [piece for spelling in open_ for piece in spelling.every(len(written))] or None

    def broken(self, written: bytes) -> bool:
        """Whether it begins the text, and what is written cannot become it any more."""
        segment, targets = self.segments[0], [spelling.target for spelling, _ in self._ways[0]]
        if not segment.first or any(target.startswith(written) for target in targets):
            return False
        if segment.last or not any(written.startswith(target) for target in targets):
            return True
        line, turned = self._lexicon.read(written, whole=False), self._lexicon.turned
        return not segment.joins[1] and not apart(line, len(segment.line), turned=turned)

    def _ways_of(self, segment: Segment) -> list[tuple[Segmentations, bool]]:
        """What may be written for a segment, and whether after anything: a space before it parts it from all."""
        lexicon, lines = self._lexicon, [segment.line]
        if segment.last if lexicon.turned else segment.first:  # at the front of the text, where decoding takes it off
            before = lexicon.before
            taken = segment.line.endswith(before) if lexicon.turned else segment.line.startswith(before)
            lines = [segment.line + before if lexicon.turned else before + segment.line] + ([] if taken else lines)
        ways = [(line, segment.first) for line in lines]
        if not segment.first:
            ways += [(" " + line, True) for line in lines]
        return [(lexicon.spelling(lexicon.written(line)), free) for line, free in ways]

    def _begun(self, written: bytes, which: int, start: int) -> list[tuple[Segmentations, int]]:
        """All ways to go on with a segment, which may not begin before `start`."""
        segment, lexicon, found = self.segments[which], self._lexicon, []
        for spelling, free in self._ways[which]:
            for size in range(len(spelling.target)):
                if not written.endswith(spelling.target[:size]) or spelling.least[size] == math.inf:
                    continue
                before = lexicon.read(written[: len(written) - size], whole=False)
                if len(before) < start or (segment.first and size < len(written)):
                    continue
                # To begin where it joins what stands there would undo that, which may be asked for, too.
                joined = segment.joins[0] and size > 0
                if free or joined or apart(before + segment.line, len(before), turned=lexicon.turned):
                    found.append((spelling, size))
        return found


def _needed(ways: list[tuple[Segmentations, bool]]) -> float:
    """Pieces, wherever one is."""
    free = min((spelling.least[0] for spelling, free in ways if free), default=math.inf)
    return free if free < math.inf else min(spelling.least[0] for spelling, _ in ways)
