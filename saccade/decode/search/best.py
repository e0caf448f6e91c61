"""The best few of many scores. `topk` of a whole vocabulary takes as long as a layer of a small model on a CPU; the
largest of each column of a table takes a twentieth of that, and leaves few candidates.
"""

import torch
from torch import Tensor

from saccade.decode.constraints.choice import NEVER

_HEIGHT = 16  # tokens per column


def find_best(scores: Tensor, totals: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` ≤ K best of totals (…, K) + scores (…, K, V): their values, rows and tokens, each (…, count)."""
    vocabulary = scores.shape[-1]
    columns = vocabulary // _HEIGHT
    rest = _HEIGHT * columns  # the tokens from here on are columns by themselves
    table = torch.unflatten(scores[..., :rest], -1, (_HEIGHT, columns))
    heads = torch.cat([table.amax(-2), scores[..., rest:]], -1) if rest < vocabulary else table.amax(-2)
    per_row = heads.shape[-1]
    best = (heads + totals[..., None]).flatten(-2).topk(count, -1).indices
    rows, column = best // per_row, best % per_row  # every one of the best is in one of these columns
    places = torch.arange(_HEIGHT, device=scores.device) * columns + column[..., None]  # (…, count, height)
    is_rest = column[..., None] >= columns
    places = torch.where(is_rest, column[..., None] + (rest - columns), places)
    rows, places = rows[..., None].expand_as(places).flatten(-2), places.flatten(-2)
    values = scores.flatten(-2).gather(-1, rows * vocabulary + places) + totals.gather(-1, rows)
    extra = is_rest & (torch.arange(_HEIGHT, device=scores.device) > 0)
    values, chosen = values.masked_fill(extra.flatten(-2), NEVER).topk(count, -1)
    return values, rows.gather(-1, chosen), places.gather(-1, chosen)
