"""Where a model runs: the fastest device that there is, or the one that was asked for; and what fits there at once."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import nn

from saccade.errors import UserError

_GAINS_BY_THREADS = 5_000_000  # parameters; smaller ones spend more time waiting for other threads than they save

Whole = TypeVar("Whole")
Done = TypeVar("Done")


def find_device(name: str | torch.device = "auto") -> torch.device:
    """`"auto"` is CUDA, then Apple MPS, then the CPU; any other name must be one that this machine has."""
    if name == "auto":
        there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
        return torch.device(next(kind for kind, found in there.items() if found))
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
    """Let this process compute with one thread from now on, where a model on the CPU is too small to gain by more.

    A rule, not a measurement: sums may differ in their last bits with the number of threads, and a score must not
    depend on how busy the machine is.
    """
    parameters = list(model.parameters())
    on_cpu = all(parameter.device.type == "cpu" for parameter in parameters)
    if on_cpu and sum(parameter.numel() for parameter in parameters) < _GAINS_BY_THREADS:
        torch.set_num_threads(1)


def is_out_of_memory(error: RuntimeError) -> bool:
    """CUDA has an exception of its own; the CPU and MPS say it in words."""
    told = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in told or "DefaultCPUAllocator" in told


def release_unused(device: torch.device) -> None:
    """What the allocator holds back is given to whoever asks next: it may be in pieces that are too small."""
    if device.type != "cpu":
        torch.get_device_module(device).empty_cache()


def run_in_halves(
    whole: Whole, work: Callable[[Whole], Done], halve: Callable[[Whole], Sequence[Whole]], device: torch.device
) -> list[tuple[Whole, Done]]:
    """`[(whole, work(whole))]`; where that does not fit in memory, of both halves, and so on.

    `halve` gives nothing for what is not divisible: then the error stands."""
    try:
        return [(whole, work(whole))]
    except RuntimeError as error:
        parts = halve(whole) if is_out_of_memory(error) else ()
        if not parts:
            raise
    # Outside of `except`: the error's frames hold on to the very tensors that did not fit.
    release_unused(device)
    return [done for part in parts for done in run_in_halves(part, work, halve, device)]


def split_in_half(chosen: list[int]) -> list[list[int]]:
    middle = len(chosen) // 2
    return [chosen[:middle], chosen[middle:]] if middle else []
