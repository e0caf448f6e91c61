"""The shapes of batches that are searched by graphs. A graph is for one shape, so batches get one of few: they are
filled up with rows and positions that nothing reads."""

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.text import PAD

_POSITIONS = 8  # the length of a source is a multiple
_STEPS = 16  # the room for tokens is a multiple
_SIZES = 8  # numbers of sentences between a power of two and the next one


def round_sentences(count: int) -> int:
    """At most an eighth more."""
    step = max(1, (1 << max(0, count - 1).bit_length()) // (2 * _SIZES))
    return _round_up(count, step)


def round_steps(steps: int) -> int:
    return _round_up(steps, _STEPS)


def fill_up(source: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
    """A batch (B, S) in one of few shapes. Rows that are added repeat the first: a row without any token would be a
    special case in every model."""
    longer = _round_up(source.shape[1], _POSITIONS) - source.shape[1]
    source, readable = F.pad(source, (0, longer), value=PAD), F.pad(readable, (0, longer), value=False)
    more = round_sentences(len(source)) - len(source)
    return tuple(torch.cat([rows, rows[:1].expand(more, -1)]) for rows in (source, readable))  # type: ignore[return-value]


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step
