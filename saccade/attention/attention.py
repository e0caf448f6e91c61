"""Attention = score × window × normaliser × read, with heads outside: one composition, whose parts a paper chooses.

    memory  = attention.remember(source, readable)                       # keys are projected once per sentence
    reading = attention(queries, memory)                                 # many queries: a Transformer
    reading = attention(query, memory, at=t, history=reading.history)    # one query: a step of an RNN

Both ways give the same numbers: where a part needs the previous weights, many queries are read one by one.
"""

import copy
from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention import checks, fused, local, short
from saccade.attention.bias import Bias
from saccade.attention.heads import fold, fold_positions, grouped_matmul, merge, query_positions, split, unfold
from saccade.attention.memory import History, Memory, Reading, zero_unreadable
from saccade.attention.normalisers import Normaliser, Softmax
from saccade.attention.part import Law
from saccade.attention.positions import Rotary
from saccade.attention.scores import DotScore, Score
from saccade.attention.steps import find_steps
from saccade.attention.trace import record, tracing, tracing_weights
from saccade.attention.windows import Causal, Everywhere, Window

_SHORTEST_CHUNK = 64  # queries, where a band is read in chunks


class ScoredSlots(NamedTuple):
    """Scores before normalising, and the slots that the window allows."""

    scores: Tensor  # (B, H, Q, S)
    allowed: Tensor | None  # (B or 1, 1, Q, S) bool
    taper: Tensor | None  # (B, 1, Q, S)


class Attention(nn.Module):
    """One attention mechanism.

    `project` names the projected vectors: q(ueries) k(eys) v(alues) o(utput); by default the score chooses. `width` is
    the width of all heads' queries together. With fewer `memory_heads` than `heads`, several heads share each key and
    value head. `per_head` keeps the heads' contexts apart: (R, T, H, e).
    """

    def __init__(
        self,
        *,
        query_dim: int,
        memory_dim: int,
        score: Score,
        width: int | None = None,
        window: Window | None = None,
        normaliser: Normaliser | None = None,
        bias: Bias | None = None,
        positions: Rotary | None = None,
        heads: int = 1,
        memory_heads: int | None = None,
        project: str | None = None,
        value_dim: int | None = None,
        linear_bias: bool = False,
        per_head: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        project = score.projects if project is None else project
        self.score, self.bias, self.positions = score, bias, positions
        self.window = Everywhere() if window is None else window
        self.normaliser = Softmax() if normaliser is None else normaliser
        self.query_dim, self.memory_dim, self.value_dim = query_dim, memory_dim, value_dim or memory_dim
        self.heads, self.memory_heads = heads, memory_heads or heads
        self.per_head, self.dropout = per_head, dropout
        sizes = checks.compute_sizes(self, project, width)
        self.head_width, self.context_dim = sizes.head, sizes.context

        def linear(letter: str, into: int, out: int) -> nn.Module:
            return nn.Linear(into, out, bias=linear_bias) if letter in project else nn.Identity()

        self.of_queries = linear("q", query_dim, sizes.queries)
        self.of_keys = linear("k", memory_dim, sizes.keys)
        self.of_values = linear("v", self.value_dim, sizes.values)
        self.of_output = linear("o", sizes.read, query_dim)

    def with_parts(self, **parts: Any) -> "Attention":
        """A copy that shares all parameters, with another `window`, `positions` or `dropout`."""
        other = copy.copy(self)
        other._modules = dict(self._modules)
        for name, part in parts.items():
            setattr(other, name, part)
        return other

    @property
    def needs_history(self) -> bool:
        return self.score.needs_history or self.normaliser.needs_history

    @property
    def parts(self) -> dict[str, str]:
        """The name of each part, for listings."""
        named = {"score": self.score.name, "window": self.window.name, "normaliser": self.normaliser.name}
        if self.bias is not None:
            named["bias"] = self.bias.name
        if self.positions is not None:
            named["positions"] = self.positions.name
        groups = "" if self.memory_heads == self.heads else f" over {self.memory_heads}"
        return named | {"heads": f"{self.heads}{groups}"}

    @property
    def exempt(self) -> Mapping[Law, str]:
        """The laws that a part of this composition cannot keep, with the reasons."""
        parts = (self.score, self.window, self.normaliser)
        return {law: reason for part in parts for law, reason in part.exempt.items()}

    def remember(
        self,
        source: Tensor,  # (B, S, memory_dim): keys are projected from it
        readable: Tensor | None = None,  # (B, S) bool, True = may be read; None: every slot
        *,
        values: Tensor | None = None,  # (B, S, value_dim): values are projected from them; None: the source
        at: int | Tensor | None = None,  # position of the first slot, for a growing cache
        is_zeroed: bool = False,  # whether the unreadable slots are zero already
    ) -> Memory:
        """Project the keys and values of a source, once. Unreadable slots are zeroed: a NaN there never leaks."""
        checks.check_source(self, source, readable, values)
        if not is_zeroed:
            source = zero_unreadable(source, readable)
            values = None if values is None else zero_unreadable(values, readable)
        where = query_positions(at, source.shape[0], source.shape[1], source.device)
        sides = short.project_memory(self, source, values)
        keys, projected_values = (split(side, self.memory_heads) for side in sides)
        if self.positions is not None:
            keys = self.positions(keys, where)
        return Memory(
            keys,
            projected_values,
            readable,
            None if at is None else where.expand(source.shape[0], -1),
            self.score.note(source),
        )

    def forward(
        self,
        queries: Tensor,  # (R, T, query_dim): R = sentences × memory.readers
        memory: Memory,
        *,
        at: int | Tensor | None = None,  # position of the first query: an int, or (R,); None: 0
        history: History | None = None,  # from the previous reading, when reading step by step
        weights: bool = False,  # whether to return the weights; then no fused kernel runs
    ) -> Reading:
        checks.check_call(self, queries, memory, history)
        if not tracing():
            return self._read_suitably(queries, memory, at, history, weights)
        reading = self._read_suitably(queries, memory, at, history, weights or tracing_weights())
        record(self, reading)
        return reading if weights else reading._replace(weights=None)

    def _read_suitably(
        self, queries: Tensor, memory: Memory, at: int | Tensor | None, history: History | None, weights: bool
    ) -> Reading:
        """Read in the way that fits: nothing, a loop's step, one by one, in chunks, fused, near a place, or plain."""
        rows, count = queries.shape[:2]
        if count == 0 or memory.length == 0:
            return self._read_nothing(queries, memory, history, weights)
        if not weights and (steps := find_steps(self, queries, memory)) is not None:
            context = steps(self.of_queries(queries).squeeze(1))
            return Reading(self._merge_heads(context[:, None, None], 1))
        if rows and not weights and short.can_read_short(self, queries, memory, at):
            return Reading(short.read_short(self, split(self.of_queries(queries), self.heads), memory))
        where = query_positions(at, rows, count, queries.device)
        if self.needs_history:
            return self._read_one_by_one(queries, memory, where, history, weights)
        plain_positions = at is None and memory.at is None and memory.readers == 1
        if rows == 0:  # some kernels cannot start on empty input
            return self._read(queries, memory, where, None, weights)
        if not weights and plain_positions and self.window.band is not None and not self._should_flex(queries, memory):
            return self._read_in_chunks(queries, memory, self.window.band)
        if self.why_not_fused(weights=weights) is None:
            return self._read_fused(queries, memory, where, plain_positions)
        bounded = self.window.span is not None and not weights and not self.normaliser.draws
        if bounded and local.is_worthwhile(self.score, self.window, memory):
            return local.read_near(self._read, self.window, queries, memory, where)
        return self._read(queries, memory, where, None, weights)

    def why_not_fused(self, *, weights: bool = False) -> str | None:
        """The reason why no fused kernel would run, or None if one does."""
        if weights:
            return "the weights are requested, and a fused kernel never stores them"
        if not isinstance(self.score, DotScore):
            return f"the score {self.score.name!r} is not an inner product of two vectors"
        if type(self.normaliser) is not Softmax:
            return f"the normaliser {self.normaliser.name!r} is not a softmax"
        if not self.window.by_position:
            return f"the window {self.window.name!r} depends on more than positions"
        return None

    def score_slots(self, queries: Tensor, memory: Memory, where: Tensor, history: Tensor | None = None) -> ScoredSlots:
        """Score every slot for queries (R, T, query_dim) at positions (R or 1, T)."""
        by_head, query_at = self._by_head(queries, memory, where)
        scores = self.score(by_head, memory, history)
        if self.bias is not None:
            scores = scores + self.bias(by_head, query_at, memory.positions)
        allowed, taper = self._view(queries, memory, query_at)
        return ScoredSlots(scores, allowed, taper)

    def _by_head(self, queries: Tensor, memory: Memory, where: Tensor) -> tuple[Tensor, Tensor]:
        """(B, H, Q, d) and their positions (B or 1, Q), Q = N·T"""
        by_head = split(self.of_queries(queries), self.heads)
        if self.positions is not None:
            by_head = self.positions(by_head, where)
        return fold(by_head, memory.readers), fold_positions(where, memory.readers)

    def _view(self, queries: Tensor, memory: Memory, query_at: Tensor) -> tuple[Tensor | None, Tensor | None]:
        per_sentence = memory.readers * queries.shape[1]
        flat = queries.reshape(memory.sentences, per_sentence, queries.shape[-1])  # (B, Q, query_dim)
        view = self.window(flat, query_at, memory)
        limits = memory.limits if view.allowed is None else [view.allowed, *memory.limits]
        if self.score.reach is not None:
            limits.append((memory.positions < self.score.reach)[:, None, :])
        allowed = reduce(torch.logical_and, limits)[:, None] if limits else None
        return allowed, None if view.taper is None else view.taper[:, None]

    def _read(
        self, queries: Tensor, memory: Memory, where: Tensor, history: History | None, keep_weights: bool
    ) -> Reading:
        """The plain read: every weight is computed and stored."""
        readers = memory.readers
        of_score = of_normaliser = None
        if history is not None:
            of_score, of_normaliser = (None if h is None else fold(h[:, :, None], readers) for h in history)
        scores, allowed, taper = self.score_slots(queries, memory, where, of_score)
        weights, draw = self.normaliser(scores, allowed, of_normaliser)
        if taper is not None:
            weights = weights * taper
            if self.window.renormalise:
                weights = weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
        if history is not None:
            new = (
                None if old is None else unfold(part.advance(old, weights, memory), readers).squeeze(2)
                for part, old in ((self.score, of_score), (self.normaliser, of_normaliser))
            )
            history = History(*new)
        dropped = nn.functional.dropout(weights, self.dropout, self.training) if self.dropout else weights
        context = grouped_matmul(dropped.to(memory.values.dtype), memory.values)
        return Reading(
            self._merge_heads(context, readers),
            unfold(weights, readers) if keep_weights else None,
            history,
            *(() if draw is None else (unfold(drawn[..., None], readers).squeeze(-1) for drawn in draw)),
        )

    def _read_one_by_one(
        self, queries: Tensor, memory: Memory, where: Tensor, history: History | None, keep_weights: bool
    ) -> Reading:
        history = self._history(queries, memory, history)
        readings = []
        for t in range(queries.shape[1]):
            reading = self._read(queries[:, t : t + 1], memory, where[:, t : t + 1], history, keep_weights)
            history = reading.history
            readings.append(reading)
        contexts, weights, _, *drawn = zip(*readings, strict=True)
        return Reading(
            torch.cat(contexts, 1),
            torch.cat(weights, 2) if keep_weights else None,
            history,
            *(None if steps[0] is None else torch.cat(steps, 2) for steps in drawn),
        )

    def _read_in_chunks(self, queries: Tensor, memory: Memory, band: tuple[int, int]) -> Reading:
        """A query near position i reads only slots near i: time and memory grow with T × band, not T × S."""
        before, after = band
        size = max(_SHORTEST_CHUNK, before + after + 1)
        runs = memory.split(size)  # a slice's gradient would be as long as the memory
        contexts = []
        for number, chunk in enumerate(torch.split(queries, size, 1)):
            start, nearby = number * size, runs[max(0, number - 1) : number + 2]
            if not nearby:  # the memory ends before
                contexts.append(self._read_nothing(chunk, memory, None, False).context)
                continue
            near = reduce(Memory.extend, nearby)
            first = max(0, number - 1) * size
            near = near.slots(max(0, start - before - first), start + chunk.shape[1] + after - first)
            where = torch.arange(start, start + chunk.shape[1], device=queries.device)[None]
            if near.length == 0:
                reading = self._read_nothing(chunk, near, None, False)
            elif self.why_not_fused() is None:
                reading = self._read_fused(chunk, near, where, False)
            else:
                reading = self._read(chunk, near, where, None, False)
            contexts.append(reading.context)
        return Reading(torch.cat(contexts, 1))

    def _read_fused(self, queries: Tensor, memory: Memory, where: Tensor, plain_positions: bool) -> Reading:
        assert isinstance(self.score, DotScore)
        by_head, query_at = self._by_head(queries, memory, where)
        sides = self.score.vectors(by_head, memory.keys)
        dropout = self.dropout if self.training else 0.0
        unlimited = plain_positions and memory.readable is None and self.bias is None
        causal = unlimited and type(self.window) is Causal and queries.shape[1] == memory.length
        if causal:
            context = fused.sdpa(*sides, memory.values, allowed=None, bias=None, causal=True, dropout=dropout)
        elif self._should_flex(queries, memory):
            context = fused.flex(*sides, memory, query_at, self.window, self.bias)
        else:
            bias = None if self.bias is None else self.bias(by_head, query_at, memory.positions)
            allowed, _ = self._view(queries, memory, query_at)
            context = fused.sdpa(*sides, memory.values, allowed=allowed, bias=bias, causal=False, dropout=dropout)
        return Reading(self._merge_heads(context, memory.readers))

    def _should_flex(self, queries: Tensor, memory: Memory) -> bool:
        """Whether FlexAttention pays: a window or bias by position, on CUDA, with sizes that it has kernels for."""
        plain = isinstance(self.window, Everywhere) and self.bias is None
        elementwise = self.bias is None or self.bias.elementwise
        dropped = self.dropout > 0 and self.training
        if plain or not elementwise or dropped or self.why_not_fused() is not None:
            return False
        assert isinstance(self.score, DotScore)
        key = memory.keys[:, :, :1]  # a score may widen its vectors
        _, widened = self.score.vectors(key, key)
        slots = min(queries.shape[1] * memory.readers, memory.length)
        return fused.flex_fits(slots, widened.shape[-1], memory.values)

    def _merge_heads(self, context: Tensor, readers: int) -> Tensor:
        """(B, H, Q, e) → (R, T, D)"""
        context = unfold(context, readers)
        if self.per_head:
            return context.transpose(1, 2)
        merged: Tensor = self.of_output(merge(context))
        return merged

    def _history(self, queries: Tensor, memory: Memory, history: History | None) -> History:
        """The history so far, padded to the memory's length: slots that are new have not been read."""
        nothing = queries.new_zeros((queries.shape[0], self.heads, memory.length))
        parts = (self.score, self.normaliser)
        if history is None:
            return History(*(part.begin(nothing) if part.needs_history else None for part in parts))
        return History(
            *(None if h is None else nn.functional.pad(h, (0, memory.length - h.shape[-1])) for h in history)
        )

    def _read_nothing(self, queries: Tensor, memory: Memory, history: History | None, keep_weights: bool) -> Reading:
        """Without a query or a slot, the context is zero."""
        rows, count = queries.shape[:2]
        read = memory.values.new_zeros((rows, self.heads, count, memory.values.shape[-1]))
        return Reading(
            self._merge_heads(read, 1),
            queries.new_zeros((rows, self.heads, count, memory.length)) if keep_weights else None,
            history,
        )
