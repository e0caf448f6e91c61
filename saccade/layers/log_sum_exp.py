"""log Σ exp of each row, without storing the row again."""

import torch
from torch import Tensor

from saccade.device import has_triton


def has_fast_log_sum_exp(values: Tensor) -> bool:
    """Whether it takes less time than `log_softmax` of the row; torch's own takes more."""
    return values.is_cuda and values.dtype != torch.float64 and has_triton()


def log_sum_exp(values: Tensor) -> Tensor:
    """(R, V) → (R,), in float32"""
    if not has_fast_log_sum_exp(values):
        return torch.logsumexp(values.float(), -1)
    from saccade.layers.log_sum_exp_triton import fused_log_sum_exp

    return fused_log_sum_exp(values)
