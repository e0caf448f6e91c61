"""The constraints of one sentence during a search. They apply to the text, word for word, in whatever tokens it is
written. A constraint is met, or reported in `Hypothesis.unmet` with the reason."""

import math
from typing import NamedTuple

from saccade.decode.constraints.outline import Outline, contains_phrase
from saccade.decode.constraints.segmentations import TokenBytes
from saccade.decode.search.options import GAP, Constraints
from saccade.text import EOS


class ConstraintState(NamedTuple):
    """How far one hypothesis meets the constraints."""

    written: bytes
    left: float  # number of tokens that suffice to meet the constraints
    is_met: bool  # whether the text meets all of them if it ends here
    next_tokens: tuple[int, ...]  # the tokens after which fewer are left; the end symbol if all are met
    allowed: tuple[int, ...] | None  # the only tokens that may come next; None: any


class Rules:
    """The constraints of one sentence, for one search."""

    def __init__(self, constraints: Constraints, tokens: TokenBytes) -> None:
        self._tokens = tokens
        self._excluded = {tokens.line(phrase.strip()): phrase for phrase in constraints.exclude}
        self._outlines: list[Outline] = []
        self._impossible: list[tuple[Outline, str]] = []  # with the reason
        for outline in _build_outlines(constraints, tokens):
            if (reason := self._why_impossible(outline)) is None:
                self._outlines.append(outline)
            else:
                self._impossible.append((outline, reason))
        self.start = self._state(b"")

    @property
    def has_requirements(self) -> bool:
        """Whether some text must be written; otherwise phrases are only excluded."""
        return bool(self._outlines)

    def advance(self, state: ConstraintState, token: int, *, is_last: bool) -> ConstraintState | None:
        """The state after one more token, or None if the token is not allowed. Nothing can follow the last token."""
        if token == EOS:
            return state if state.is_met else None
        written = state.written + self._tokens.surfaces[token]
        if self._has_excluded(written, whole=is_last) or any(outline.is_broken(written) for outline in self._outlines):
            return None
        return self._state(written)

    def unmet(self, state: ConstraintState, reason: str) -> tuple[str, ...]:
        """The constraints that a finished text does not meet, with the reason: the one known from the start, or else
        `reason`."""
        required = [*self._impossible, *((outline, reason) for outline in self._outlines)]
        missing = [f"{o.label!r}: {why}" for o, why in required if not o.progress(state.written).is_met]
        line = self._tokens.decode(state.written, whole=True)
        contained = [
            f"{phrase!r}, which is excluded: {reason}"
            for excluded, phrase in self._excluded.items()
            if self._contains(line, excluded)
        ]
        return (*missing, *contained)

    def _state(self, written: bytes) -> ConstraintState:
        outlines = [outline.progress(written) for outline in self._outlines]
        unmet = [progress for progress in outlines if not progress.is_met]
        active = [progress for progress in outlines if len(unmet) == 1 or not progress.must_wait]
        # Several outlines may have begun at the end of the text, but only one of them can continue there.
        left = sum(progress.needed for progress in outlines) - max((progress.begun for progress in active), default=0.0)
        allowed = [tokens for outline in self._outlines if (tokens := outline.allowed(written)) is not None]
        # A text that ends in an excluded phrase cannot end here, but one more token may change its last word.
        excluded = self._has_excluded(written, whole=True)
        following = (token for progress in active for way, start in progress.ways for token in way.shortest(start))
        return ConstraintState(
            written,
            (left if unmet else 0.0) + excluded,
            not unmet and not excluded,
            tuple(dict.fromkeys(following)) if unmet else (EOS,),
            tuple(allowed[0]) if allowed else None,
        )

    def _has_excluded(self, written: bytes, *, whole: bool) -> bool:
        if not self._excluded:
            return False
        line = self._tokens.decode(written, whole=whole)
        return any(self._contains(line, phrase, whole=whole) for phrase in self._excluded)

    def _contains(self, line: str, phrase: str, *, whole: bool = True) -> bool:
        return contains_phrase(line, phrase, reverse=self._tokens.reverse, whole=whole)

    def _why_impossible(self, outline: Outline) -> str | None:
        if outline.fewest == math.inf:
            return "the vocabulary has no tokens to write it with"
        for segment in outline.segments:
            left, right = ("x" if joins else " " for joins in segment.joins)
            for excluded, phrase in self._excluded.items():
                if self._contains(left + segment.line + right, excluded):
                    return f"it contains {phrase!r}, which is excluded"
        return None


def _build_outlines(constraints: Constraints, tokens: TokenBytes) -> list[Outline]:
    outlines = []
    if constraints.prefix:
        outlines.append(Outline.from_parts(constraints.prefix, [constraints.prefix, ""], tokens, exact=True))
    if constraints.outline:
        outlines.append(Outline.from_parts(constraints.outline, constraints.outline.split(GAP), tokens))
    for phrase in dict.fromkeys(constraints.include):
        outlines.append(Outline.from_parts(phrase, ["", f" {phrase.strip()} ", ""], tokens))
    return outlines
