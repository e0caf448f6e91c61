import weakref
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from saccade import device
from saccade.decode import Translator, translator
from saccade.device import find_device, keep_freed_memory, limit_threads, run_in_halves, without_cudnn_attention
from saccade.errors import UserError


def test_auto_chooses_the_fastest_device(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, expected in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=cuda: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        assert find_device().type == expected


def test_missing_device_is_refused_in_one_line() -> None:
    assert find_device("cpu") == find_device(torch.device("cpu")) == torch.device("cpu")
    for name in ("gpu", "cuda:99"):
        with pytest.raises(UserError, match="expected auto, cpu, cuda or mps") as raised:
            find_device(name)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "device", "expected"), [(4_999_999, "cpu", 1), (5_000_000, "cpu", 2), (10, "meta", 2)]
)
def test_small_models_on_the_cpu_use_one_thread(parameters: int, device: str, expected: int) -> None:
    model = torch.nn.Module()
    model.weight = torch.nn.Parameter(torch.empty(parameters, device=device))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        limit_threads(model)
        assert torch.get_num_threads() == expected
    finally:
        torch.set_num_threads(before)


def halved(whole: Sequence[int]) -> list[Sequence[int]]:
    middle = len(whole) // 2
    return [whole[:middle], whole[middle:]] if middle else []


CUBLAS = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator"), RuntimeError(CUBLAS)],
)
def test_work_that_does_not_fit_is_halved(error: RuntimeError) -> None:
    def double(part: Sequence[int]) -> list[int]:
        if len(part) > 3:
            raise error
        return [2 * number for number in part]

    done = run_in_halves(range(10), double, halved, torch.device("cpu"))
    assert [number for part, _ in done for number in part] == list(range(10))
    assert [number for _, doubled in done for number in doubled] == list(range(0, 20, 2))
    assert max(len(part) for part, _ in done) <= 3


def test_memory_is_released_before_the_halves_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[torch.Tensor]] = []
    released: list[torch.device] = []

    def work(part: Sequence[int]) -> int:
        assert all(reference() is None for reference in made), "a failed attempt still holds its memory"
        assert bool(released) == bool(made)
        large = torch.zeros(3)
        made.append(weakref.ref(large))
        if len(part) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return len(part)

    monkeypatch.setattr(device, "release_unused", released.append)
    assert [done for _, done in run_in_halves(range(2), work, halved, torch.device("cpu"))] == [1, 1]
    assert released == [torch.device("cpu")] and len(made) == 3


def test_error_that_halving_cannot_solve_is_raised() -> None:
    for error in (torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("shapes differ")):

        def fail(part: Sequence[int], error: RuntimeError = error) -> None:
            raise error

        with pytest.raises(RuntimeError, match=str(error)):
            run_in_halves(range(2), fail, halved, torch.device("cpu"))


def test_translations_and_attention_are_the_same_in_halves(learnt: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sleeps", "a dog eats", "it sleeps", "I see the house", "", "a big dog eats an apple"]
    whole = learnt.translate(texts, weights=True)
    search, forward = translator.run_search, learnt.model.forward

    def scarce_search(model: Any, source: torch.Tensor, *others: Any, **options: Any) -> Any:
        if len(source) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return search(model, source, *others, **options)

    def scarce_forward(source: torch.Tensor, *others: Any) -> torch.Tensor:
        if len(source) > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(source, *others)

    most = 2
    monkeypatch.setattr(translator, "run_search", scarce_search)
    monkeypatch.setattr(learnt.model, "forward", scarce_forward)
    halves = learnt.translate(texts, weights=True)
    assert [one.text for one in halves] == [one.text for one in whole]
    assert [one.alignment for one in halves if one.source] == [one.alignment for one in whole if one.source]
    most = 0
    with pytest.raises(UserError, match="not have enough memory for a single text of this length"):
        learnt.translate(texts)


def test_attention_by_cudnn_is_off_only_inside() -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    with without_cudnn_attention():
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_freed_memory_is_kept_where_the_allocator_can(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    changed: list[int] = []
    libraries = {True: SimpleNamespace(mallopt=lambda name, value: changed.append(name)), False: SimpleNamespace()}
    for has_setting, library in libraries.items():
        changed.clear()
        monkeypatch.setattr(device, "sys", SimpleNamespace(platform=platform))
        monkeypatch.setattr(device, "ctypes", SimpleNamespace(CDLL=lambda name, library=library: library))
        keep_freed_memory()
        assert bool(changed) == (has_setting and platform == "linux")
