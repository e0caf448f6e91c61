"""Reshapes for heads, groups of heads, and several readers of one memory; none of them copies a memory. And products of
heads in float32, where the digits or the range of half precision do not suffice.
"""

import torch
from torch import Tensor


def split(flat: Tensor, heads: int) -> Tensor:
    """(R, T, H·d) → (R, H, T, d)"""
    return torch.unflatten(flat, -1, (heads, -1)).transpose(1, 2)


def merge(by_head: Tensor) -> Tensor:
    """(R, H, T, e) → (R, T, H·e)"""
    return by_head.transpose(1, 2).flatten(2)


def fold(rows: Tensor, readers: int) -> Tensor:
    """(B·N, H, T, ·) → (B, H, N·T, ·): the readers of a sentence become more queries of it."""
    return rows if readers == 1 else torch.unflatten(rows, 0, (-1, readers)).transpose(1, 2).flatten(2, 3)


def unfold(folded: Tensor, readers: int) -> Tensor:
    """(B, H, N·T, ·) → (B·N, H, T, ·)"""
    return folded if readers == 1 else torch.unflatten(folded, 2, (readers, -1)).transpose(1, 2).flatten(0, 1)


def share(keys: Tensor, heads: int) -> Tensor:
    """(B, G, S, d) → (B, H, S, d): each group's keys for every head of the group."""
    groups = keys.shape[1]
    return keys if groups == heads else keys.repeat_interleave(heads // groups, dim=1)


def grouped_matmul(by_head: Tensor, by_group: Tensor) -> Tensor:
    """(B, H, Q, x) · (B, G, x, y) → (B, H, Q, y); the heads of a group become more rows of one product."""
    heads, groups = by_head.shape[1], by_group.shape[1]
    if heads == groups:
        return by_head @ by_group
    stacked = torch.unflatten(by_head, 1, (groups, -1)).flatten(2, 3)  # (B, G, (H/G)·Q, x)
    return torch.unflatten(stacked @ by_group, 2, (heads // groups, -1)).flatten(1, 2)


def fold_positions(at: Tensor, readers: int) -> Tensor:
    """(R or 1, T) → (B or 1, N·T)"""
    if readers == 1:
        return at
    return at.repeat(1, readers) if at.shape[0] == 1 else at.reshape(-1, readers * at.shape[1])


def query_positions(at: int | Tensor | None, rows: int, queries: int, device: torch.device) -> Tensor:
    """(R or 1, T): `at` is the position of the first query of every row (an int) or of each row (a tensor)."""
    if isinstance(at, Tensor) and at.shape == (rows,) and queries == 1 and at.dtype == torch.long:
        return at[:, None]  # a step of a search: as few kernels as possible
    steps = torch.arange(queries, device=device)[None]
    if at is None:
        return steps
    if isinstance(at, int):
        return steps + at
    if at.shape != (rows,) or at.is_floating_point() or at.dtype == torch.bool:
        raise ValueError(
            f"at must be an int or an integer tensor of shape ({rows},), one position per row of queries; "
            f"got {at.dtype} of shape {tuple(at.shape)}"
        )
    return steps + at[:, None]


def widen(tensor: Tensor) -> Tensor:
    """Convert half precision to float32."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def matmul_in_range(by_head: Tensor, by_group: Tensor) -> Tensor:
    """`grouped_matmul`, but in float32 where float16 would be used: a product of two large vectors easily exceeds its
    largest number, 65504. bfloat16 has the range of float32.
    """
    device = by_head.device.type
    if not _is_autocast_to_float16(device) and torch.float16 not in (by_head.dtype, by_group.dtype):
        return grouped_matmul(by_head, by_group)
    with torch.autocast(device, enabled=False):
        return grouped_matmul(widen(by_head), widen(by_group))


def _is_autocast_to_float16(device: str) -> bool:
    if not torch.amp.is_autocast_available(device):
        return False
    return torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16
