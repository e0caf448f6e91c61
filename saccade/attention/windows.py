"""Windows: which slots a query may read.

A window that depends on positions alone is one elementwise `rule`, which dense masks and FlexAttention both call.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention.heads import widen
from saccade.attention.memory import Memory
from saccade.attention.part import Part


class View(NamedTuple):
    """The slots that a window allows."""

    allowed: Tensor | None = None  # (B or 1, Q, S) bool; None: everything
    taper: Tensor | None = None  # (B, Q, S) factor on the weights after normalising


class Window(Part):
    by_position: bool = True  # the rule suffices: no taper, nothing learned from the query
    causal: bool = False  # no slot after the query is ever read
    band: tuple[int, int] | None = None  # how many slots before and after its position a query may read
    span: int | None = None  # how many consecutive slots a query may read, wherever they are; None: no limit
    by_sentence: bool = False  # the rule depends on the sentence
    renormalise: bool = False  # whether tapered weights are made to sum to 1 again

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        """Elementwise: may this query of this sentence read this slot?"""
        raise NotImplementedError(f"{type(self).__name__} must define rule(row, query_at, key_at)")

    def forward(self, queries: Tensor, query_at: Tensor, memory: Memory) -> View:
        """For queries (B, Q, query_dim) at positions (B or 1, Q)."""
        row = torch.arange(memory.sentences, device=query_at.device)[:, None, None]
        return View(self.rule(row, query_at[:, :, None], memory.positions[:, None, :]))

    def first_slot(self, queries: Tensor, memory: Memory) -> Tensor:
        """(B, Q): the first of the `span` slots that each of queries (B, Q, query_dim) may read."""
        raise NotImplementedError(f"{type(self).__name__} has no span")

    def __and__(self, other: "Window") -> "Window":
        return Intersection(self, other)


class Everywhere(Window):
    """Luong 2015 *global*."""

    name = "everywhere"
    formula = "every slot"

    def forward(self, queries: Tensor, query_at: Tensor, memory: Memory) -> View:
        return View()

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return key_at == key_at


class Causal(Window):
    name = "causal"
    formula = "j ≤ i"
    causal = True

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return key_at <= query_at


class Sliding(Window):
    """`left` slots before the query's position and `right` slots after it."""

    name = "sliding"
    formula = "i − left ≤ j ≤ i + right"

    def __init__(self, left: int, right: int) -> None:
        super().__init__()
        if left < 0 or right < 0:
            raise ValueError(f"left and right must not be negative, got {left} and {right}")
        self.band = (left, right)

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        assert self.band is not None
        left, right = self.band
        return (key_at >= query_at - left) & (key_at <= query_at + right)


class Near(Sliding):
    """Luong 2015 *local-m*: around the query's own position, as if source and target had the same order."""

    name = "near"
    formula = "|j − i| ≤ D"

    def __init__(self, radius: int = 10) -> None:
        super().__init__(radius, radius)


class Block(Window):
    """Positions are divided into blocks, and a query reads only its own block."""

    name = "block"
    formula = "⌊j/n⌋ = ⌊i/n⌋"

    def __init__(self, size: int) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        self.size = size
        self.band = (size - 1, size - 1)

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return key_at // self.size == query_at // self.size


class Graph(Window):
    """Any graph: adjacency[i, j] (or [sentence, i, j]) is True where query i may read slot j."""

    name = "graph"
    formula = "(i, j) is an edge"

    adjacency: Tensor

    def __init__(self, adjacency: Tensor) -> None:
        super().__init__()
        if adjacency.dtype != torch.bool or adjacency.dim() not in (2, 3):
            raise TypeError(
                f"adjacency must be bool of shape (T, S) or (B, T, S), True = may be read; "
                f"got {adjacency.dtype} of shape {tuple(adjacency.shape)}"
            )
        self.by_sentence = adjacency.dim() == 3
        self.register_buffer("adjacency", adjacency, persistent=False)

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        rows, columns = self.adjacency.shape[-2:]
        inside = (query_at < rows) & (key_at < columns)  # a position outside the graph has no edges
        query_at, key_at = query_at.clamp_max(rows - 1), key_at.clamp_max(columns - 1)
        graph = self.adjacency[query_at, key_at] if self.adjacency.dim() == 2 else self.adjacency[row, query_at, key_at]
        return graph & inside

    def forward(self, queries: Tensor, query_at: Tensor, memory: Memory) -> View:
        rows, columns = self.adjacency.shape[-2:]
        if columns < memory.length or rows < query_at.shape[1] // memory.readers:
            raise ValueError(
                f"adjacency has {rows} rows and {columns} columns, too few for "
                f"{query_at.shape[1] // memory.readers} queries and {memory.length} slots"
            )
        if self.adjacency.dim() == 3 and self.adjacency.shape[0] != memory.sentences:
            raise ValueError(f"adjacency has {self.adjacency.shape[0]} sentences, the memory {memory.sentences}")
        return super().forward(queries, query_at, memory)


class Predicted(Window):
    """Luong 2015 *local-p*: the query predicts where to read, p = S·sigmoid(v·tanh(W q)), and a Gaussian of σ = D/2
    around p multiplies the weights after the softmax over the window. The paper and the released code do not
    renormalise. S is the number of readable slots; slots are numbered from 0.
    """

    name = "predicted"
    by_position = False
    formula = "|j − p| ≤ D, × exp(−(j − p)² / 2σ²), p = S·sigmoid(v·tanh(W q))"

    def __init__(self, query_dim: int, width: int, *, radius: int = 10, renormalise: bool = False) -> None:
        super().__init__()
        if radius < 1:
            raise ValueError(f"radius must be at least 1, got {radius}")
        self.radius = radius
        self.span: int = 2 * radius + 3
        self.renormalise = renormalise
        self.hidden = nn.Linear(query_dim, width, bias=False)
        self.place = nn.Linear(width, 1, bias=False)
        self.exempt = {} if renormalise else {"sums to one": "the Gaussian is applied after the softmax"}

    def centre(self, queries: Tensor, memory: Memory) -> Tensor:
        """(B, Q), in float32 at least: half precision cannot count the slots of a long memory."""
        share: Tensor = torch.sigmoid(widen(self.place(torch.tanh(self.hidden(queries))))).squeeze(-1)
        return share * memory.readable_slots

    def first_slot(self, queries: Tensor, memory: Memory) -> Tensor:
        with torch.no_grad():  # a whole number has no derivative
            place = self.centre(queries, memory)
        # One more slot on each side: rounding at the edge may differ between batches.
        return (place - self.radius).ceil().long().sub(1).clamp(0, max(0, memory.length - self.span))

    def forward(self, queries: Tensor, query_at: Tensor, memory: Memory) -> View:
        away = memory.positions[:, None, :] - self.centre(queries, memory)[:, :, None]
        return View(away.abs() <= self.radius, torch.exp(-2.0 * (away / self.radius).square()))  # 2σ² = D²/2


class Intersection(Window):
    """The slots that two windows allow."""

    name = "intersection"
    formula = "in the first and in the second"

    def __init__(self, first: Window, second: Window) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.name = f"{first.name} and {second.name}"
        self.by_position = first.by_position and second.by_position
        # A predicted place depends on the length of the whole source, so a causal window does not make it causal.
        self.causal = self.by_position and (first.causal or second.causal)
        self.exempt = {**first.exempt, **second.exempt}
        self.renormalise = first.renormalise or second.renormalise
        bands = [window.band for window in (first, second) if window.band]
        # A window that is not by position must see the whole memory, so it cannot be read in chunks.
        by_band = bands and self.by_position
        after = [0] if self.causal else [right for _, right in bands]
        self.band = (min(left for left, _ in bands), min(after)) if by_band else None
        self.by_sentence = first.by_sentence or second.by_sentence
        self.span = min((window.span for window in (first, second) if window.span is not None), default=None)

    def rule(self, row: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return self.first.rule(row, query_at, key_at) & self.second.rule(row, query_at, key_at)

    def first_slot(self, queries: Tensor, memory: Memory) -> Tensor:
        narrow = self.first if self.first.span == self.span else self.second
        return narrow.first_slot(queries, memory)

    def forward(self, queries: Tensor, query_at: Tensor, memory: Memory) -> View:
        views = [window(queries, query_at, memory) for window in (self.first, self.second)]
        allowed = [view.allowed for view in views if view.allowed is not None]
        tapers = [view.taper for view in views if view.taper is not None]
        return View(
            allowed[0] & allowed[-1] if allowed else None,
            tapers[0] * tapers[1] if len(tapers) == 2 else tapers[0] if tapers else None,
        )
