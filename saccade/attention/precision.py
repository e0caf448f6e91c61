"""Half precision: attention computes in float32 where its digits or its range do not suffice."""

import torch
from torch import Tensor

from saccade.attention.heads import grouped_matmul


def widen(tensor: Tensor) -> Tensor:
    """Convert half precision to float32."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def matmul_in_range(by_head: Tensor, by_group: Tensor) -> Tensor:
    """`grouped_matmul`, but in float32 where float16 would be used: a product of two large vectors easily exceeds its
    largest number, 65504. bfloat16 has the range of float32.
    """
    device = by_head.device.type
    autocast = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16
    if not autocast and torch.float16 not in (by_head.dtype, by_group.dtype):
        return grouped_matmul(by_head, by_group)
    with torch.autocast(device, enabled=False):
        return grouped_matmul(widen(by_head), widen(by_group))
