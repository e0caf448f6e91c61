"""The choice among the continuations of a sentence that has constraints.

The places of a beam are divided by the number of tokens that the constraints still need (Hokamp 2017, Post 2018): the
best hypothesis of each number, then the second best, and so on. So a hypothesis that pays for a required phrase is not
crowded out by those that put it off, and one place always goes to a hypothesis that can still meet every constraint
within the maximum length.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from torch import Tensor

from saccade.decode.constraints.rules import ConstraintState, Rules
from saccade.text import EOS

_NEVER = float("-inf")


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
        self.before = self.states  # of the last step
        self._overdue = [False] * rows  # only unmet constraints keep the hypothesis from ending

    def restrict(self, log_probs: Tensor, unmasked: Tensor) -> Tensor:
        """(N, V) in which a hypothesis within the required beginning of the text can only write that beginning, even
        where a mask forbids it. Called once per step."""
        self.before = [*self.states]
        restricted = log_probs.clone()
        for row, state in enumerate(self.states):
            if state.allowed is not None:
                allowed = list(state.allowed)
                restricted[row] = _NEVER
                restricted[row, allowed] = unmasked[row, allowed]
        return restricted

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
                    if score > _NEVER:
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
            if score == _NEVER:
                return
            if place not in seen:
                seen.add(place)
                yield score, place // vocabulary, place % vocabulary
