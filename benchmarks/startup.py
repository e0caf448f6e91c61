"""Measure the time of `saccade --help` as a share of that of `import torch`: the median of several interleaved runs.

python benchmarks/startup.py [--repeats 9] [--out benchmarks/results/startup.json]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from saccade.provenance import provenance

COMMANDS = {
    "saccade --help": [sys.executable, "-m", "saccade", "--help"],
    "import torch": [sys.executable, "-c", "import torch"],
    "python": [sys.executable, "-c", "pass"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/startup.json"))
    arguments = parser.parse_args()
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():  # warm the file cache
        seconds(command)
    for _ in range(arguments.repeats):
        for name, command in COMMANDS.items():
            taken[name].append(seconds(command))
    median = {name: statistics.median(times) for name, times in taken.items()}
    share = median["saccade --help"] / median["import torch"]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    result = {"median_seconds": median, "help_over_import_torch": share, "provenance": provenance(command=sys.argv[0])}
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for name, value in median.items():
        print(f"{name:16} {value:.3f} s")
    print(f"saccade --help takes {share:.2f} of import torch (at most 1/3 is wanted)")


if __name__ == "__main__":
    main()
