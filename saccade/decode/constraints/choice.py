"""The constraints of one sentence during a search, and the choice among its continuations.

Constraints apply to the text, word for word, in whatever tokens it is written. A constraint is met, or reported in
`Hypothesis.unmet` with the reason.

The places of a beam are divided by the number of tokens that the constraints still need (Hokamp 2017, Post 2018): the
best hypothesis of each number, then the second best, and so on. So a hypothesis that pays for a required phrase is not
crowded out by those that put it off, and one place always goes to a hypothesis that can still meet every constraint
within the maximum length.
"""

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from torch import Tensor

from saccade.decode.constraints.outline import Outline, TokenBytes, contains_phrase
from saccade.decode.options import GAP, Constraints
from saccade.text import EOS

NEVER = float("-inf")


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
        contained = self._find_excluded(self._tokens.decode(state.written, whole=True))
        return (*missing, *(f"{phrase!r}, which is excluded: {reason}" for phrase in contained))

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
        return bool(self._excluded) and any(self._find_excluded(self._tokens.decode(written, whole=whole), whole=whole))

    def _find_excluded(self, line: str, *, whole: bool = True) -> Iterator[str]:
        """The excluded phrases that a line contains."""
        contains = partial(contains_phrase, line, reverse=self._tokens.reverse, whole=whole)
        return (phrase for excluded, phrase in self._excluded.items() if contains(excluded))

    def _why_impossible(self, outline: Outline) -> str | None:
        if outline.fewest == math.inf:
            return "the vocabulary has no tokens to write it with"
        for segment in outline.segments:
            left, right = ("x" if joins else " " for joins in segment.joins)
            for phrase in self._find_excluded(left + segment.line + right):
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


class Continuation(NamedTuple):
    score: float
    row: int
    token: int
    state: ConstraintState


class ConstrainedChoice:
    """The choices for one sentence, with the states of its hypotheses."""

    def __init__(self, rules: Rules, rows: int, longest: int) -> None:
        self.rules, self._longest = rules, longest
        self.states = [rules.start] * rows
        self._before: list[list[ConstraintState]] = []  # `states` before each step
        self._overdue = [False] * rows  # only unmet constraints keep the hypothesis from ending

    def restrict(self, log_probs: Tensor, unmasked: Tensor) -> None:
        """Change log-probabilities (N, V): a hypothesis within the required beginning of the text can only write that
        beginning, even where a mask forbids it. Called once per step."""
        self._before.append([*self.states])
        for row, state in enumerate(self.states):
            if state.allowed is not None:
                allowed = list(state.allowed)
                log_probs[row] = NEVER
                log_probs[row, allowed] = unmasked[row, allowed]

    def state_at(self, length: int, row: int) -> ConstraintState:
        """The state of a hypothesis of this search when it had this many tokens."""
        return (self._before[length] if length < len(self._before) else self.states)[row]

    def choose(self, free: Tensor, possible: Tensor, first: int, places: int, length: int) -> list[Continuation]:
        """The best continuations of the rows from `first` on, by scores (K, V): `free` for ordinary choices, `possible`
        for tokens that a constraint needs. `length` is the hypotheses' length with the new token.

        Candidates are the best of all, the best of each row, and those after which fewer tokens are needed."""
        candidates: list[Continuation] = []
        tried: set[tuple[int, int]] = set()
        overdue = self._overdue[first : first + possible.shape[0]]

        def offer(score: float, row: int, token: int) -> None:
            if (row, token) in tried:
                return
            tried.add((row, token))
            state = self.rules.advance(self.states[first + row], token, is_last=length == self._longest)
            if state is not None:
                candidates.append(Continuation(score, row, token, state))
            elif token == EOS and all(candidate.row != row for candidate in candidates):  # the best is to end
                overdue[row] = True

        for best in chain(_by_score(free), _by_score(possible) if possible is not free else ()):
            if len(candidates) >= places:
                break
            offer(*best)
        if self.rules.has_requirements and places:
            for row in range(possible.shape[0]):
                for score, _, token in _by_score(free[row : row + 1]):
                    if any(candidate.row == row for candidate in candidates):
                        break
                    offer(score, row, token)
                needed = list(self.states[first + row].next_tokens)
                for score, token in zip(possible[row, needed].tolist(), needed, strict=True):
                    if score > NEVER:
                        offer(score, row, token)
            candidates = _divide_places(candidates, places, self._longest - length, overdue)
        self.states[first : first + len(candidates)] = [candidate.state for candidate in candidates]
        self._overdue[first : first + len(candidates)] = [overdue[c.row] and c.state.left > 0 for c in candidates]
        return candidates


def _divide_places(candidates: list[Continuation], places: int, room: int, overdue: list[bool]) -> list[Continuation]:
    """`room` is the number of tokens that may follow. The best candidate comes first, unless its hypothesis is overdue:
    then the one that needs the fewest tokens."""

    def is_late(candidate: Continuation) -> bool:
        return candidate.token != EOS and candidate.state.left + 1 > room

    ranks: dict[float, int] = {}
    order: list[tuple[bool, int, float, float, Continuation]] = []
    for candidate in sorted(candidates, key=lambda candidate: -candidate.score):
        left = candidate.state.left
        ranks[left] = ranks.get(left, -1) + 1
        order.append((is_late(candidate), ranks[left], left, -candidate.score, candidate))
    order.sort(key=lambda entry: entry[:-1])
    divided = [entry[-1] for entry in order]
    best = max((c for c in candidates if not is_late(c)), key=lambda candidate: candidate.score, default=None)
    if best is not None and not overdue[best.row]:
        divided.sort(key=lambda candidate: candidate is not best)
    return divided[:places]


def _by_score(scores: Tensor) -> Iterator[tuple[float, int, int]]:
    """(score, row, token), the highest score first. Usually only a few are needed, so not all are sorted at once."""
    flat, vocabulary = scores.flatten(), scores.shape[-1]
    few = min(flat.shape[0], 4 * scores.shape[0] + 16)
    seen = set()
    for rank in (lambda: flat.topk(few), lambda: flat.sort(descending=True, stable=True)):
        values, places = rank()
        for score, place in zip(values.tolist(), places.tolist(), strict=True):
            if score == NEVER:
                return
            if place not in seen:
                seen.add(place)
                yield score, place // vocabulary, place % vocabulary
