"""The kernel for few queries reads what SDPA reads. Its tests run on a GPU, or anywhere by Triton's interpreter
(TRITON_INTERPRET=1), which cannot multiply in bf16."""

import os

import pytest
import torch
from torch import Tensor

from saccade.attention import fused

pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")  # by the interpreter
IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if IS_INTERPRETED else "cuda"
on_gpu = pytest.mark.skipif(False, reason="interpreted") if IS_INTERPRETED else pytest.mark.gpu
TYPES = {torch.float32: 1e-5, torch.float16: 4e-3} | ({} if IS_INTERPRETED else {torch.bfloat16: 3e-2})


def draw(
    sentences: int, heads: int, groups: int, queries: int, slots: int, width: int, read: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(slots)
    shapes = ((heads, queries, width), (groups, slots + 9, width), (groups, slots + 9, read))
    q, k, v = (torch.randn(sentences, *shape).to(DEVICE, dtype) for shape in shapes)
    return q, k[:, :, :slots], v[:, :, :slots]  # parts of a larger cache


def masks(sentences: int, queries: int, slots: int) -> list[Tensor | None]:
    by_reader = torch.rand(sentences, 1, queries, slots) < 0.3
    by_reader[0, 0, 0] = False  # a query that may read nothing
    by_reader[..., 32:64] = False  # and slots that no query may read
    of_sentence = torch.rand(sentences, 1, 1, slots) < 0.5
    of_sentence[-1] = False
    return [None, of_sentence.to(DEVICE), by_reader.to(DEVICE), (of_sentence & by_reader).to(DEVICE)]


@on_gpu
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "sizes",
    [
        *((2, 2, 2, readers, 70, 16, 16) for readers in range(1, 9)),
        (1, 1, 1, 1, 1, 64, 64),
        (3, 4, 2, 3, 33, 8, 24),  # groups of heads, and widths that differ
        (2, 8, 1, 2, 32, 128, 20),
    ],
    ids=str,
)
def test_few_queries_read_what_sdpa_reads(sizes: tuple[int, ...], dtype: torch.dtype) -> None:
    from saccade.attention.few_queries_triton import attend

    q, k, v = draw(*sizes, dtype=dtype)
    for allowed in masks(sizes[0], sizes[3], sizes[4]):
        wide = (x.double() for x in (q, k, v))
        expected = fused.sdpa(*wide, allowed=allowed, bias=None, causal=False, dropout=0.0)
        found = attend(q, k, v, allowed)
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), expected, rtol=TYPES[dtype], atol=TYPES[dtype])
        if allowed is not None:
            assert not found.masked_select(~allowed.any(-1, keepdim=True)).any()


@on_gpu
def test_queries_whose_memory_is_in_another_order() -> None:
    from saccade.attention.few_queries_triton import attend

    q, k, v = draw(3, 2, 2, 5, 40, 16, 16, torch.float32)
    expected = attend(q, k, v, None)
    shuffled = (x.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0) for x in (q, k, v))
    torch.testing.assert_close(attend(*shuffled, None), expected)


def test_a_read_with_a_gradient_or_on_a_cpu_is_plain() -> None:
    q, k, v = (torch.randn(1, 2, 3, 8) for _ in range(3))
    with torch.inference_mode():
        assert not fused.few_fit(q, k, v)


@pytest.mark.gpu
def test_what_the_kernel_reads() -> None:
    q, k, v = (torch.randn(2, 4, count, 16, device="cuda") for count in (5, 40, 40))
    assert not fused.few_fit(q, k, v)  # it has no gradient
    with torch.no_grad():
        assert fused.few_fit(q, k, v)
        assert not fused.few_fit(q.double(), k.double(), v.double())
        assert not fused.few_fit(k, k, v)


@on_gpu
@pytest.mark.parametrize("dtype", TYPES)
def test_slots_are_written_where_the_plain_path_writes_them(dtype: torch.dtype) -> None:
    from saccade.attention.few_queries_triton import write

    sentences, groups, readers, steps = 3, 2, 5, 4
    stored = [torch.zeros(sentences, groups, steps * readers, width).to(DEVICE, dtype) for width in (16, 6)]
    expected = [part.clone() for part in stored]
    for step in (0, 2):
        flat = [torch.randn(sentences * readers, 1, groups * width).to(DEVICE, dtype) for width in (16, 6)]
        added = [torch.unflatten(part, -1, (groups, -1)).transpose(1, 2) for part in flat]
        write((stored[0], added[0]), (stored[1], added[1]), torch.tensor([step], device=DEVICE))
        for part, new in zip(expected, added, strict=True):
            here = slice(step * readers, (step + 1) * readers)
            part[:, :, here] = torch.unflatten(new.squeeze(2), 0, (-1, readers)).transpose(1, 2)
    for found, part in zip(stored, expected, strict=True):
        assert torch.equal(found, part)
