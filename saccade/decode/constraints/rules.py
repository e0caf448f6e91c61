"""What a translation must and must not say, asked of its text: in whatever pieces it is written, word for word.

A constraint is met, or reported as impossible, with the reason, in `Hypothesis.unmet`.
"""

import math
from typing import NamedTuple

from saccade.decode.constraints.options import GAP, Constraints
from saccade.decode.constraints.outline import Outline, stands
from saccade.decode.constraints.segmentations import TokenBytes
from saccade.text import EOS


class State(NamedTuple):
    """Of one hypothesis."""

    written: bytes
    left: float  # pieces that suffice to meet what is not met
    holds: bool  # all is met, if it ends here
    ways: tuple[int, ...]  # the pieces by which fewer are left; where none is, the end
    allowed: tuple[int, ...] | None  # the only pieces that may come next; None: any


class Rules:
    """The constraints of one sentence, for one search."""

    def __init__(self, constraints: Constraints, lexicon: TokenBytes) -> None:
        self._lexicon = lexicon
        self._barred = {lexicon.line(phrase.strip()): phrase for phrase in constraints.exclude}
        self._outlines: list[Outline] = []
        self._impossible: list[tuple[Outline, str]] = []  # not aimed at, for this reason
        for outline in self._asked(constraints):
            reason = self._why_not(outline)
            if reason is None:
                self._outlines.append(outline)
            else:
                self._impossible.append((outline, reason))
        self.start = self._state(b"")

    @property
    def asks(self) -> bool:
        """Whether anything must be written; otherwise some things must not, and that is all."""
        return bool(self._outlines)

    def after(self, state: State, piece: int, *, last: bool) -> State | None:
        """What a hypothesis is with one more piece; None: it may not have it. After the `last` nothing can come."""
        if piece == EOS:
            return state if state.holds else None
        written = state.written + self._lexicon.surfaces[piece]
        if self._says_barred(written, whole=last) or any(outline.broken(written) for outline in self._outlines):
            return None
        return self._state(written)

    def unmet(self, state: State, why: str) -> tuple[str, ...]:
        """What a text that is finished lacks, and why: as was known from the start, or as the search found out."""
        asked = [*self._impossible, *((outline, why) for outline in self._outlines)]
        # What is impossible may be said all the same: where nothing but what is barred could follow.
        missing = [f"{o.label!r}: {reason}" for o, reason in asked if not o.progress(state.written).holds]
        line = self._lexicon.read(state.written, whole=True)
        said = [
            f"{phrase!r}, which is barred: {why}" for barred, phrase in self._barred.items() if self._has(line, barred)
        ]
        return (*missing, *said)

    def _state(self, written: bytes) -> State:
        every = [outline.progress(written) for outline in self._outlines]
        open_ = [progress for progress in every if not progress.holds]
        going = [progress for progress in every if len(open_) == 1 or not progress.waits]
        # One text has one end: of all that is begun there, one can be gone on with.
        left = sum(progress.needed for progress in every) - max((progress.begun for progress in going), default=0.0)
        allowed = [pieces for outline in self._outlines if (pieces := outline.allowed(written)) is not None]
        barred = self._says_barred(written, whole=True)  # if it ended here: another piece may make it another word
        return State(
            written,
            (left if open_ else 0.0) + barred,
            not open_ and not barred,
            tuple(dict.fromkeys(piece for p in going for way, start in p.ways for piece in way.soonest(start)))
            if open_
            else (EOS,),
            tuple(allowed[0]) if allowed else None,
        )

    def _says_barred(self, written: bytes, *, whole: bool) -> bool:
        if not self._barred:
            return False
        line = self._lexicon.read(written, whole=whole)
        return any(self._has(line, phrase, whole=whole) for phrase in self._barred)

    def _has(self, line: str, phrase: str, *, whole: bool = True) -> bool:
        return stands(line, phrase, turned=self._lexicon.turned, whole=whole)

    def _asked(self, constraints: Constraints) -> list[Outline]:
        lexicon, asked = self._lexicon, []
        if constraints.prefix:
            asked.append(Outline.of(constraints.prefix, [constraints.prefix, ""], lexicon, exact=True))
        if constraints.outline:
            asked.append(Outline.of(constraints.outline, constraints.outline.split(GAP), lexicon))
        for phrase in dict.fromkeys(constraints.include):
            asked.append(Outline.of(phrase, ["", f" {phrase.strip()} ", ""], lexicon))
        return asked

    def _why_not(self, outline: Outline) -> str | None:
        if outline.least == math.inf:
            return "the vocabulary has no pieces to write it with"
        for segment in outline.segments:
            sides = ["x" if joins else " " for joins in segment.joins]
            for barred, phrase in self._barred.items():
                if self._has(sides[0] + segment.line + sides[1], barred):
                    return f"it says {phrase!r}, which is barred"
        return None
