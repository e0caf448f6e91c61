"""What a translation must and must not say, asked of its text: in whatever pieces it is written, word for word.

A constraint is met, or reported as impossible, with the reason, in `Hypothesis.unmet`.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from saccade.decode.outline import GAP, Outline, stands
from saccade.decode.spelling import Lexicon
from saccade.errors import UserError
from saccade.text import EOS


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """`outline` keeps its words in their order and lets the model write where … stands: "le … dort" is completed by
    whole words, "le cha…" goes on with the word. "le … dort" ends in *dort*; "le … dort …" may go on."""

    prefix: str = ""  # the text begins with exactly this
    outline: str = ""
    include: tuple[str, ...] = ()  # phrases that must stand in the text
    exclude: tuple[str, ...] = ()  # phrases that must not

    def __post_init__(self) -> None:
        if self.prefix and self.outline:
            raise UserError(
                f"a prefix and an outline were given; write {self.prefix + GAP!r} before the outline's rest"
            )
        if self.outline and not self.outline.replace(GAP, "").strip():
            raise UserError(f"an outline of gaps alone, {self.outline!r}, asks for nothing; give words to keep")
        for name in ("include", "exclude"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in given):
                raise UserError(f"{name} takes a list of phrases, each of at least one character; got {given!r}")

    @property
    def asked(self) -> tuple[str, ...]:
        """All that must be written."""
        return tuple(filter(None, (self.prefix, self.outline, *self.include)))

    @classmethod
    def of_dict(cls, given: Any) -> "Constraints":
        """From JSON."""
        known = {"prefix": str, "outline": str, "include": list, "exclude": list}
        if not isinstance(given, dict) or not given.keys() <= known.keys():
            raise UserError(f"expected an object with some of {', '.join(known)}; got {str(given)[:60]}")
        for name, value in given.items():
            if not isinstance(value, known[name]):
                raise UserError(
                    f"{name}: expected {'a text' if known[name] is str else 'a list of texts'}; got {value!r}"
                )
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        return cls(**fields)


class State(NamedTuple):
    """Of one hypothesis."""

    written: bytes
    left: float  # pieces that suffice to meet what is not met
    holds: bool  # all is met, if it ends here
    ways: tuple[int, ...]  # the pieces by which fewer are left; where none is, the end
    allowed: tuple[int, ...] | None  # the only pieces that may come next; None: any


class Rules:
    """The constraints of one sentence, for one search."""

    def __init__(self, constraints: Constraints, lexicon: Lexicon) -> None:
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
