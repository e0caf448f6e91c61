"""Measure how long commands take to start: the median of several interleaved runs, each in a new process.

    python benchmarks/startup.py [--pairs pairs.tsv] [--device auto] [--repeats 9]

"first update" is the time from the start of `saccade train PAIRS` until its first update is finished, with the recipe
that the command chooses by itself. Without --pairs, it trains on --count pairs of a built-in task.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from saccade.provenance import provenance
from saccade.tasks import task

FIRST_UPDATE = """
import os
from saccade.cli import main
from saccade.train import loop

submit = loop.submit_update

def submit_first(run, batches):
    submit(run, batches).loss()
    os._exit(0)

loop.submit_update = submit_first
main()
"""


def train_command(pairs: Path, out: Path, device: str) -> list[str]:
    return [
        sys.executable,
        "-c",
        FIRST_UPDATE,
        "train",
        str(pairs),
        "--out",
        str(out),
        "--set",
        f"train.device={device}",
    ]


def seconds(command: list[str]) -> tuple[float, float]:
    """Wall-clock time and CPU time; the latter hardly depends on what else the machine does."""
    start, cpu = time.perf_counter(), children_cpu()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start, children_cpu() - cpu


def children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def draw_pairs(file: Path, count: int) -> Path:
    pairs = task("phrasebook-en-fr").pairs(count, seed=1)
    file.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return file


def measure(pairs: Path, device: str, repeats: int, folder: Path) -> list[dict[str, float]]:
    """→ the median of the wall-clock times and of the CPU times, by command, and the times of the first round, which
    fills the caches: of files and, on a GPU, of compiled kernels"""
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "import torch": [sys.executable, "-c", "import torch"],
        "saccade --help": [sys.executable, "-m", "saccade", "--help"],
        "first update": [],
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for repeat in range(repeats + 1):
        commands["first update"] = train_command(pairs, folder / f"run-{repeat}", device)
        for name, command in commands.items():
            taken[name].append(seconds(command))
    medians = [
        {name: statistics.median(both[clock] for both in times[1:]) for name, times in taken.items()}
        for clock in (0, 1)
    ]
    return [*medians, {name: times[0][0] for name, times in taken.items()}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, help="a file of pairs")
    parser.add_argument("--count", type=int, default=800, help="number of pairs from the task")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/startup.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        pairs = arguments.pairs or draw_pairs(Path(name) / "pairs.tsv", arguments.count)
        median, cpu, first = measure(pairs, arguments.device, arguments.repeats, Path(name))
        count = len(pairs.read_text(encoding="utf-8").splitlines())
    result = {
        "device": arguments.device,
        "pairs": count,
        "repeats": arguments.repeats,
        "median_seconds": median,
        "median_cpu_seconds": cpu,
        "first_round_seconds": first,
        "help_over_import_torch": median["saccade --help"] / median["import torch"],
        "first_update_beyond_import_torch": median["first update"] - median["import torch"],
        "provenance": provenance(command=sys.argv[0]),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, value in median.items():
        print(f"{name:16} {value:.3f} s, {cpu[name]:.3f} CPU seconds")
    print(f"saccade --help takes {result['help_over_import_torch']:.2f} of import torch (at most 1/3 is wanted)")
    print(f"in the first round, the first update came after {first['first update']:.1f} s")
    print(f"the first update comes {result['first_update_beyond_import_torch']:.1f} s later (at most 6 s are wanted)")


if __name__ == "__main__":
    main()
