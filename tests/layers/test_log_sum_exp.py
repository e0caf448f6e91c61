"""The log of the sum of exponentials equals torch's."""

import os

import pytest
import torch

from saccade.layers.log_sum_exp import log_sum_exp

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
on_gpu = pytest.mark.skipif(False, reason="interpreted") if IS_INTERPRETED else pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_log_sum_exp_equals_that_of_torch(dtype: torch.dtype) -> None:
    rows = torch.randn(5, 7).to(dtype)
    found = log_sum_exp(rows)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.logsumexp(rows.double(), -1).float())


@on_gpu
@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")  # by the interpreter
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("width", [1, 7, 2048, 10_001])
def test_fused_equals_plain(width: int, dtype: torch.dtype) -> None:
    from saccade.layers.log_sum_exp_triton import fused_log_sum_exp

    rows = (9 * torch.randn(6, width)).to("cpu" if IS_INTERPRETED else "cuda", dtype)
    rows[1] = float("-inf")
    rows[2, 0] = float("-inf")
    torch.testing.assert_close(fused_log_sum_exp(rows), torch.logsumexp(rows.double(), -1).float())
    assert fused_log_sum_exp(rows[:0]).shape == (0,)
