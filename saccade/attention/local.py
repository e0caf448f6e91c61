"""Reading only the few slots around a place that each query predicts (Luong 2015 *local-p*).

Each query's slots are copied from the memory and read as a sentence of their own: time and memory grow with T × span,
not T × S. The plain read of the whole memory gives the same numbers.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from saccade.attention.memory import History, Memory, Reading
from saccade.attention.scores import Additive, Score
from saccade.attention.windows import Window

# Copying slots costs time: the memory must be this many times longer than the span (measured on a CPU).
_WORTH_A_PRODUCT = 16  # scores of all slots are one product of two matrices
_WORTH_A_NETWORK = 4  # each pair of query and key passes through a layer

_TOGETHER_ON_CPU = 512  # queries, so that their copied slots stay in the cache

PlainRead = Callable[[Tensor, Memory, Tensor, History | None, bool], Reading]


def is_worthwhile(score: Score, window: Window, memory: Memory) -> bool:
    """Whether copying slots is possible, and saves more time than it costs."""
    if window.span is None or window.by_sentence or memory.at is not None:
        return False
    times = _WORTH_A_NETWORK if isinstance(score, Additive) else _WORTH_A_PRODUCT
    return memory.length > times * window.span


def read_near(plain: PlainRead, window: Window, queries: Tensor, memory: Memory, where: Tensor) -> Reading:
    """For queries (R, T, query_dim) at positions (R or 1, T)."""
    rows, count = queries.shape[:2]
    together = count if queries.is_cuda else max(1, _TOGETHER_ON_CPU // rows)
    sides = zip(torch.split(queries, together, 1), torch.split(where, together, 1), strict=True)
    return Reading(torch.cat([_context(plain, window, part, memory, at) for part, at in sides], 1))


def _context(plain: PlainRead, window: Window, queries: Tensor, memory: Memory, where: Tensor) -> Tensor:
    assert window.span is not None
    rows, count, width = queries.shape
    by_sentence = queries.reshape(memory.sentences, memory.readers * count, width)  # (B, Q, query_dim)
    near = memory.runs_from(window.first_slot(by_sentence, memory), window.span)
    at = where.expand(rows, -1).reshape(rows * count, 1)
    context = plain(queries.reshape(rows * count, 1, width), near, at, None, False).context
    return context.reshape(rows, count, *context.shape[2:])
