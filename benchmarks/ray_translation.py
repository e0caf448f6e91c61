"""Measure `saccade translate --ray` with 1 and 2 replicas on this machine, one CPU core each.

python benchmarks/ray_translation.py [--lines 1024] [--repeats 3] [--out benchmarks/results/ray-translation.json]

The model has random weights and writes texts of a fixed length. The time runs from the first finished part to the last,
so that it contains neither the start of Ray nor the loading of the model; the start is recorded separately.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import torch

import saccade
from saccade.decode import save
from saccade.models import MODELS
from saccade.provenance import provenance
from saccade.tasks import task
from saccade.text import Policy, Vocabularies

TASK = "phrasebook-en-fr"
PART = 32  # lines
LENGTH = 20  # tokens per translation


def save_model(folder: Path) -> None:
    vocabularies = Vocabularies.train(list(task(TASK).pairs(2000, seed=1)), Policy(kind="bpe", size=1000))
    torch.manual_seed(1)
    kind = MODELS["vaswani2017"]
    save(folder, kind(kind.PRESETS["small"], len(vocabularies.source), len(vocabularies.target)), vocabularies)


def cpu_seconds() -> dict[int, float]:
    """The CPU time of each replica, by process."""
    processes = psutil.process_iter(["cmdline", "cpu_times"])
    return {
        process.pid: process.info["cpu_times"].user + process.info["cpu_times"].system
        for process in processes
        if "Replica" in str(process.info["cmdline"])
    }


def measure(folder: Path, source: Path, replicas: int) -> dict[str, Any]:
    reports: list[tuple[float, int, dict[int, float]]] = []
    used: dict[int, float] = {}  # a replica that has nothing left to do ends before the others

    def report(finished: int, _: int | None) -> None:
        used.update(cpu_seconds())
        reports.append((time.perf_counter(), finished, dict(used)))

    started = time.perf_counter()
    saccade.load(folder, device="cpu").translate_corpus(
        source,
        out=folder.with_name(f"out-{replicas}.txt"),
        device="cpu",
        replicas=replicas,
        part=PART,
        chunk=PART,
        shortest=LENGTH,
        longest=LENGTH + 1,
        progress=report,
    )
    # The first report is before the first part. The first part of each replica contains the loading of the model.
    (begin, before, used_before), (end, after, used_after) = reports[replicas], reports[-1]
    return {
        "replicas": replicas,
        "lines_per_second": (after - before) / (end - begin),
        "lines_per_cpu_second": (after - before) / (sum(used_after.values()) - sum(used_before.values())),
        "seconds_to_the_first_part": reports[1][0] - started,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/ray-translation.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, source = Path(temporary, "model"), Path(temporary, "in.txt")
        save_model(folder)
        texts = [pair.source for pair in task(TASK).pairs(arguments.lines, seed=2)]
        source.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        rows = [measure(folder, source, replicas) for _ in range(arguments.repeats) for replicas in (1, 2)]
    names = ("lines_per_second", "lines_per_cpu_second", "seconds_to_the_first_part")
    medians = [
        {"replicas": replicas}
        | {name: statistics.median(row[name] for row in rows if row["replicas"] == replicas) for name in names}
        for replicas in (1, 2)
    ]
    result = {"measured": medians, "runs": rows, "provenance": provenance(seed=1)}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for row in medians:
        print(
            f"{row['replicas']} replicas: {row['lines_per_second']:.1f} lines/s, "
            f"{row['lines_per_cpu_second']:.1f} per CPU-second"
        )


if __name__ == "__main__":
    main()
