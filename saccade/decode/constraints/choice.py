"""The choice among continuations of a sentence that has constraints.

A beam's places are shared out by how much is left to be written, after Hokamp 2017 and Post 2018: the best of each
number of pieces left, then the second best, and so on. So what is costly to say is not crowded out by what puts it off,
and one place always goes to a hypothesis that can still meet everything within the longest length.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from torch import Tensor

from saccade.decode.constraints.rules import Rules, State
from saccade.text.tokeniser import EOS

_NEVER = float("-inf")


class Pick(NamedTuple):
    score: float
    row: int
    token: int
    state: State


class ConstrainedChoice:
    """Of one sentence, with the states of its hypotheses."""

    def __init__(self, rules: Rules, rows: int, longest: int) -> None:
        self.rules, self._longest = rules, longest
        self.states = [rules.start] * rows
        self.before = self.states  # of the last step
        self._due = [False] * rows  # it would have ended before now, but for what is left

    def begin(self, log_probs: Tensor, raw: Tensor) -> None:
        """A step. In place, (N, V): a hypothesis in the middle of what the text begins with may write nothing else,
        and that whatever the rules of form say."""
        self.before = [*self.states]
        for row, state in enumerate(self.states):
            if state.allowed is not None:
                allowed = raw[row, list(state.allowed)]
                log_probs[row] = _NEVER
                log_probs[row, list(state.allowed)] = allowed

    def choose(self, free: Tensor, every: Tensor, first: int, places: int, length: int) -> list[Pick]:
        """The best continuations of the rows from `first` on, ranked by scores (K, V): `free` are those that are to be
        chosen, `every` those that can be, where a constraint needs one. `length` is theirs then.

        To choose from are the best of all, the best of each row, and those that leave less to be written."""
        pool: list[Pick] = []
        tried: set[tuple[int, int]] = set()
        due = self._due[first : first + every.shape[0]]

        def offer(score: float, row: int, token: int) -> None:
            if (row, token) in tried:
                return
            tried.add((row, token))
            state = self.rules.after(self.states[first + row], token, last=length == self._longest)
            if state is not None:
                pool.append(Pick(score, row, token, state))
            elif token == EOS and all(pick.row != row for pick in pool):  # nothing is better
                due[row] = True

        for candidate in chain(_falling(free), _falling(every) if every is not free else ()):
            if len(pool) >= places:
                break
            offer(*candidate)
        if self.rules.asks and places:
            for row in range(every.shape[0]):
                for score, _, token in _falling(free[row : row + 1]):
                    if any(pick.row == row for pick in pool):
                        break
                    offer(score, row, token)
                ways = list(self.states[first + row].ways)
                for score, token in zip(every[row, ways].tolist(), ways, strict=True):
                    if score > _NEVER:
                        offer(score, row, token)
        picks = _shared_out(pool, places, self._longest - length, due) if self.rules.asks else pool
        self.states[first : first + len(picks)] = [pick.state for pick in picks]
        self._due[first : first + len(picks)] = [due[pick.row] and pick.state.left > 0 for pick in picks]
        return picks


def _shared_out(pool: list[Pick], places: int, room: int, due: list[bool]) -> list[Pick]:
    """`room` is for the pieces after these. The best comes first, unless it goes on where it should have ended: then
    what has the least left does."""

    def late(pick: Pick) -> bool:
        return pick.token != EOS and pick.state.left + 1 > room

    ranks: dict[float, int] = {}
    order: list[tuple[bool, int, float, float, Pick]] = []
    for pick in sorted(pool, key=lambda pick: -pick.score):
        rank = ranks[pick.state.left] = ranks.get(pick.state.left, -1) + 1
        order.append((late(pick), rank, pick.state.left, -pick.score, pick))
    order.sort(key=lambda entry: entry[:-1])
    shared = [entry[-1] for entry in order]
    lead = max((pick for pick in pool if not late(pick)), key=lambda pick: pick.score, default=None)
    if lead is not None and not due[lead.row]:
        shared.sort(key=lambda pick: pick is not lead)
    return shared[:places]


def _falling(scores: Tensor) -> Iterator[tuple[float, int, int]]:
    """(score, row, token) from the best on; seldom are many asked for."""
    flat, vocabulary = scores.flatten(), scores.shape[-1]
    few = min(flat.shape[0], 4 * scores.shape[0] + 16)
    seen = set()
    for look in (lambda: flat.topk(few), lambda: flat.sort(descending=True, stable=True)):
        values, where = look()
        for score, place in zip(values.tolist(), where.tolist(), strict=True):
            if score == _NEVER:
                return
            if place not in seen:
                seen.add(place)
                yield score, place // vocabulary, place % vocabulary
