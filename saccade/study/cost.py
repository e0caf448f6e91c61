"""The cost of a call in seconds and in bytes at its peak, and how both grow with length."""

import math
import os
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple, TypedDict

import torch
from torch.profiler import ProfilerActivity, profile

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler would log each start and stop

_LONG_ENOUGH = 0.01  # seconds: a shorter call is repeated within one measurement
FITTED = 4  # how many of the longest lengths an exponent is fitted to


class Seconds(NamedTuple):
    wall: float
    cpu: float  # of all threads of this process


class Growth(TypedDict):
    exponent: float
    lengths: list[int]


def timed(call: Callable[[], object], device: torch.device, calls: int = 1) -> Seconds:
    """The time of `calls` calls in a row."""
    _finish(device)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        call()
    _finish(device)
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def seconds(call: Callable[[], object], device: torch.device, calls: int = 1) -> float:
    """Wall-clock seconds per call, for `calls` calls in a row."""
    return timed(call, device, calls).wall / calls


def fastest(calls: Sequence[Callable[[], object]], device: torch.device, *, rounds: int) -> list[float]:
    """Seconds of the CPU per call, the fewest of some rounds in which all calls take turns: whatever else runs on the
    machine counts little. A first round warms up, and tells how often a short call has to be repeated."""
    times = [max(1, round(_LONG_ENOUGH / max(timed(call, device).cpu, 1e-6))) for call in calls]
    rows = [
        [timed(call, device, count).cpu / count for call, count in zip(calls, times, strict=True)]
        for _ in range(rounds)
    ]
    return [min(column) for column in zip(*rows, strict=True)]


def peak_bytes(call: Callable[[], object], device: torch.device) -> int:
    """The most bytes allocated at once during a call, above what was allocated before it.

    Both ways ask torch's allocator: temporary memory of a kernel counts, and memory allocated before the call
    (inputs, parameters) does not. On CUDA the allocator keeps its own peak, in blocks of 512 bytes. On the CPU the
    profiler records every allocation and release; a math library's own workspace is beyond torch's allocator.
    """
    if device.type == "cuda":
        _finish(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        call()
        _finish(device)
        return torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        call()
    changes = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    changes.sort(key=lambda event: event.start_ns())
    held = accumulate(event.nbytes() for event in changes)  # a release is negative
    return max(held, default=0)


def growth(lengths: Sequence[int], costs: Sequence[float]) -> Growth | None:
    """x of cost ≈ c·nˣ: the slope of least squares in log-log over the longest lengths; None for fewer than two."""
    points = [(n, cost) for n, cost in sorted(zip(lengths, costs, strict=True)) if cost > 0][-FITTED:]
    if len(points) < 2:
        return None
    xs, ys = ([math.log(p[i]) for p in points] for i in (0, 1))
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / sum((x - x_mean) ** 2 for x in xs)
    return {"exponent": slope, "lengths": [n for n, _ in points]}


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
