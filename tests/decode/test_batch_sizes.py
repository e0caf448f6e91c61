"""Batches suit the device and its free memory."""

import pytest
import torch

from saccade.decode.batch_sizes import choose_batch_tokens, choose_chunk

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
GIB = 1 << 30


def test_a_cpu_has_small_batches() -> None:
    assert (choose_batch_tokens(CPU), choose_chunk(CPU)) == (8192, 512)


@pytest.mark.parametrize(
    ("free", "tokens"), [(0, 8192), (GIB, 8192), (8 * GIB, 65_536), (15 * GIB, 65_536), (140 * GIB, 524_288)]
)
def test_a_gpu_has_batches_by_its_memory(free: int, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free // 2, 140 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: GIB + free - free // 2)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: GIB)
    assert choose_batch_tokens(CUDA) == tokens
    assert choose_chunk(CUDA) > choose_chunk(CPU)
