"""What the machine can do at most: a large matrix product in the same number format, and a large copy."""

import os
import statistics
from collections.abc import Callable

import torch

from saccade.study.cost import timed

_REPEATS = 5
_COPIED = {"cpu": 2**28, "cuda": 2**32}  # bytes, beyond every cache
_SIZES = {"cpu": 2048, "cuda": 8192}  # of the matrices


def measure_floors(device: torch.device, dtype: torch.dtype, *, tiny: bool = False) -> dict[str, float]:
    """Operations per second of a matrix product (on a CPU: per CPU-second of one core, and with all cores), and bytes
    per second that a copy reads and writes."""
    size = 64 if tiny else _SIZES[device.type]
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    operations, copied = 2.0 * size**3, 2**16 if tiny else _COPIED[device.type]
    source = torch.empty(copied, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)

    def multiply() -> None:
        torch.mm(left, right)

    def copy() -> None:
        target.copy_(source)

    floors = {"copy_bytes": 2 * copied / _seconds(copy, device)}
    if device.type == "cuda":
        return floors | {"matmul_flops": operations / _seconds(multiply, device)}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    one_core = operations / _seconds(multiply, device, cpu=True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    all_cores = operations / _seconds(multiply, device)
    torch.set_num_threads(threads)
    return floors | {"matmul_flops": one_core, "matmul_flops_all_cores": all_cores}


def _seconds(call: Callable[[], None], device: torch.device, *, cpu: bool = False) -> float:
    """The median of several calls, after one that warms up"""
    timed(call, device)
    taken = [timed(call, device) for _ in range(_REPEATS)]
    return statistics.median(each.cpu if cpu else each.wall for each in taken)
