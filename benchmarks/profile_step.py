"""What bounds a training step or a decoding batch: where the time goes, how long the device is idle, how many launches.

  python benchmarks/profile_step.py base --table gpu-training --out benchmarks/results/profile-base.json
  python benchmarks/profile_step.py rnn --table cpu-training

The work is a row of benchmarks/speed.py. Training is profiled inside the loop, after it has warmed up.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ours
import speed_rows
import torch
from real_loop import Enough, MeasuringLog
from speed import RESULTS, save
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from work import Work

from saccade.provenance import provenance
from saccade.study.cost import timed
from saccade.train.learner import TrainingState

TOP = 15


class ProfilingLog(MeasuringLog):
    """Profiles from the last but one to the last entry of the run."""

    def __init__(self, folder: Path, profiler: profile) -> None:
        super().__init__(folder, measured=1)
        self.profiler, self.open = profiler, ExitStack()

    def progress(self, state: TrainingState, **numbers: Any) -> None:
        self.open.close()
        super().progress(state, **numbers)
        if len(self.entries) == self.wanted - 1:
            self.open.enter_context(self.profiler)


def profile_training(work: Work, profiler: profile, settings: dict[str, Any]) -> int:
    """→ the number of updates that were profiled"""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        try:
            ours.train_on_one_batch(work, out, ProfilingLog(out, profiler), **settings)
        except Enough:
            return work.calls
    raise RuntimeError("the run ended before it was profiled")


def profile_decoding(work: Work, profiler: profile) -> int:
    call = ours.search(work)
    timed(call, torch.device(work.device))
    with profiler:
        timed(call, torch.device(work.device))
    return 1


def summarise(profiler: profile, steps: int) -> dict[str, Any]:
    """Seconds and launches per step, the idle share of the device, and the costliest kernels (on a CPU: operators)."""
    events = list(profiler.events() or [])
    spans = [(event.time_range.start, event.time_range.end) for event in events]
    whole = max(end for _, end in spans) - min(start for start, _ in spans)  # microseconds
    # Ranges that programs name are repeated on the device; they are no kernels.
    kernels = [event for event in events if event.device_type == DeviceType.CUDA and not event.is_user_annotation]
    times, counts = Counter[str](), Counter[str]()
    if kernels:
        for event in kernels:
            times[event.name] += event.time_range.end - event.time_range.start
            counts[event.name] += 1
    else:
        for event in events:
            times[event.name] += event.self_cpu_time_total
            counts[event.name] += 1
    total = sum(times.values())
    return {
        "milliseconds_per_step": whole / 1e3 / steps,
        "launches_per_step": len(kernels) / steps,
        "idle_share": 1 - busy([(event.time_range.start, event.time_range.end) for event in kernels]) / whole
        if kernels
        else None,
        "top": [
            {"name": name, "share": spent / total, "per_step": counts[name] / steps}
            for name, spent in times.most_common(TOP)
        ],
    }


def busy(spans: Sequence[tuple[float, float]]) -> float:
    """The length of the union of the spans"""
    covered, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", help="a row of the table")
    parser.add_argument("--table", choices=speed_rows.TABLES, default="cpu-training")
    parser.add_argument("--plain", action="store_true", help="without the fast paths of the training loop")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    rows = speed_rows.TABLES[options.table](speed_rows.Options(tiny=options.tiny))
    if options.row not in rows:
        parser.error(f"no row is named {options.row}; expected one of {', '.join(rows)}")
    work = rows[options.row]().work
    on_gpu = [ProfilerActivity.CUDA] if work.device == "cuda" else []
    profiler = profile(activities=[ProfilerActivity.CPU, *on_gpu])
    if work.phase == "training":
        steps = profile_training(work, profiler, {"fast_paths": False} if options.plain else {})
    else:
        steps = profile_decoding(work, profiler)
    result = {"table": options.table, "row": options.row, "plain": options.plain, **summarise(profiler, steps)}
    show(result)
    out = options.out or RESULTS / f"profile-{options.table}-{options.row}.json"
    save(out, result | {"provenance": provenance(seed=work.seed)})


def show(result: dict[str, Any]) -> None:
    idle = "" if result["idle_share"] is None else f", device idle {result['idle_share']:.0%}"
    print(f"{result['milliseconds_per_step']:.2f} ms per step, {result['launches_per_step']:.0f} launches{idle}")
    for entry in result["top"]:
        print(f"{entry['share']:6.1%} {entry['per_step']:9.1f} × {entry['name'][:90]}")


if __name__ == "__main__":
    main()
