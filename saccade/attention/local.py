"""Reading only what each query may read, where that is a few slots around a place of its own (Luong 2015 *local-p*).

The slots are taken out of the memory, and each query reads its own as a sentence of its own: time and memory grow with
T × span, not T × S. The plain read, of the whole memory, gives the same numbers.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from saccade.attention.memory import History, Memory, Reading
from saccade.attention.scores import Additive, Score
from saccade.attention.windows import Window

# Taking slots out has its price: the memory must be this many times longer than the span (measured on a CPU).
_WORTH_A_PRODUCT = 16  # scores of all slots are one product of two matrices
_WORTH_A_NETWORK = 4  # each pair passes through a layer of its own

_TOGETHER_ON_CPU = 512  # queries, so that what is taken out for them stays in the cache

PlainRead = Callable[[Tensor, Memory, Tensor, History | None, bool], Reading]


def pays(score: Score, window: Window, memory: Memory) -> bool:
    """Taking slots out is possible, and saves more than it costs."""
    if window.span is None or window.by_sentence or memory.at is not None:
        return False
    times = _WORTH_A_NETWORK if isinstance(score, Additive) else _WORTH_A_PRODUCT
    return memory.length > times * window.span


def read(plain: PlainRead, window: Window, queries: Tensor, memory: Memory, where: Tensor) -> Reading:
    """For queries (R, T, query_dim) at positions (R or 1, T)."""
    rows, count = queries.shape[:2]
    together = count if queries.is_cuda else max(1, _TOGETHER_ON_CPU // rows)
    sides = zip(torch.split(queries, together, 1), torch.split(where, together, 1), strict=True)
    return Reading(torch.cat([_context(plain, window, some, memory, at) for some, at in sides], 1))


def _context(plain: PlainRead, window: Window, queries: Tensor, memory: Memory, where: Tensor) -> Tensor:
    assert window.span is not None
    rows, count, width = queries.shape
    by_sentence = queries.reshape(memory.sentences, memory.readers * count, width)  # (B, Q, query_dim)
    near = memory.runs_from(window.first_slot(by_sentence, memory), window.span)
    at = where.expand(rows, -1).reshape(rows * count, 1)
    context = plain(queries.reshape(rows * count, 1, width), near, at, None, False).context
    return context.reshape(rows, count, *context.shape[2:])
