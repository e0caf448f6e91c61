"""The device of a model, its threads, and work that does not fit into its memory at once."""

import ctypes
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch
from torch import nn

from saccade.errors import UserError

_MALLOPT_TRIM_THRESHOLD, _MALLOPT_MMAP_THRESHOLD = -1, -3  # as in malloc.h
_NO_MEMORY = "out of memory", "DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED"  # in messages of torch
_GAINS_FROM_THREADS = 5_000_000  # parameters; a smaller model is faster with one thread

Whole = TypeVar("Whole")
Result = TypeVar("Result")


def find_device(name: str | torch.device = "auto") -> torch.device:
    """The device with this name; "auto" is CUDA, Apple MPS or the CPU, the first that this machine has."""
    if name == "auto":
        available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
        return torch.device(next(kind for kind, is_available in available.items() if is_available))
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"device {str(name)!r} cannot be used here: {reason}; expected auto, cpu, cuda or mps"
        ) from error
    return device


def limit_threads(model: nn.Module) -> None:
    """Use one thread in this process from now on if a model on the CPU is too small to gain from more.

    A rule, not a measurement: the last bits of a sum depend on the number of threads, and a score must not depend on
    how busy the machine is.
    """
    parameters = list(model.parameters())
    on_cpu = all(parameter.device.type == "cpu" for parameter in parameters)
    if on_cpu and sum(parameter.numel() for parameter in parameters) < _GAINS_FROM_THREADS:
        torch.set_num_threads(1)


def keep_freed_memory() -> None:
    """Let this process use the memory of freed tensors again, up to 1 GB of blocks below 32 MB, instead of returning it
    to the system.

    The allocator of glibc returns large blocks at once, and smaller ones in the end, and every page of the next tensor
    must then be mapped and cleared again: up to a sixth of the time of a small decoder. Other allocators have no such
    settings.
    """
    if sys.platform == "linux" and (change := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        change(_MALLOPT_MMAP_THRESHOLD, 32 << 20)
        change(_MALLOPT_TRIM_THRESHOLD, 1 << 30)


def is_out_of_memory(error: RuntimeError) -> bool:
    """CUDA has its own exception; cuBLAS, the CPU and MPS are recognised by their message."""
    return isinstance(error, torch.OutOfMemoryError) or any(message in str(error) for message in _NO_MEMORY)


_before_release: list[Callable[[torch.device], None]] = []


def before_release(drop: Callable[[torch.device], None]) -> Callable[[torch.device], None]:
    """A decorator of functions that drop what was only kept to save time; called whenever memory has run out."""
    _before_release.append(drop)
    return drop


def release_unused(device: torch.device) -> None:
    """Free the memory that the allocator keeps, which may be in blocks that are too small to use."""
    for drop in _before_release:
        drop(device)
    if device.type != "cpu":
        torch.get_device_module(device).empty_cache()


@cache
def has_triton() -> bool:
    """Whether kernels written in Triton can be compiled here."""
    return importlib.util.find_spec("triton") is not None


@contextmanager
def without_cudnn_attention() -> Iterator[None]:
    """While open, torch reads attention by its own kernels: cuDNN builds one for each new shape of a batch, which takes
    longer than many updates of a small model."""
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


def recover_random_state(device: torch.device) -> None:
    """After a failed capture of a CUDA graph, torch's generator still counts for the graph, and refuses to draw."""
    index = torch.cuda.current_device() if device.index is None else device.index
    generator = torch.cuda.default_generators[index]
    generator.graphsafe_set_state(generator.clone_state())


def wait_for(device: torch.device) -> None:
    """Wait until the device has finished what was submitted to it."""
    if device.type != "cpu":
        torch.get_device_module(device).synchronize(device)


def run_in_halves(
    whole: Whole, work: Callable[[Whole], Result], halve: Callable[[Whole], Sequence[Whole]], device: torch.device
) -> list[tuple[Whole, Result]]:
    """`[(whole, work(whole))]`, or the results of both halves if that does not fit into memory, and so on.

    `halve` returns nothing for work that cannot be divided: then the error is raised."""
    try:
        return [(whole, work(whole))]
    except RuntimeError as error:
        parts = halve(whole) if is_out_of_memory(error) else ()
        if not parts:
            raise
    # Outside of `except`, because the error's frames keep the tensors that did not fit.
    release_unused(device)
    return [result for part in parts for result in run_in_halves(part, work, halve, device)]


def split_in_half(items: list[int]) -> list[list[int]]:
    middle = len(items) // 2
    return [items[:middle], items[middle:]] if middle else []
