"""Measure training with 1 and 2 CPU processes, and estimate what limits it on 8 and 64 GPUs.

python benchmarks/distributed.py [--updates 8] [--repeats 3] [--out benchmarks/results/distributed.json]

The measurement starts this program again under torchrun, with one thread per process. Each process computes its share
of the same batches, sums the gradients with the others through `Workers`, and updates its weights. The estimate
uses the assumptions at the top of this file, the measured speed of one GPU, and no measurement of several.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from saccade.data.batching import Batch
from saccade.models import MODELS
from saccade.provenance import provenance
from saccade.text import PAD
from saccade.train.distributed import Workers, join_workers

VOCABULARY = 8000
WORDS = 25
# Global batches in pairs. With 2 processes, the second has as many pairs per process as the first has with 1.
BATCHES = (32, 64)

# The estimate. The bandwidth is that of the slowest link of a ring, in bytes per second and direction, as vendors state
# it: NVLink of one GPU, or all network ports of a machine of 8 GPUs together, over which NCCL spreads its rings. A
# collective reaches the stated share of it.
ASSUMPTIONS: dict[str, Any] = {
    "vocabulary": 10_000,
    "bytes_per_gradient": 4,  # fp32, also with bf16 autocast: the weights are fp32
    "reached_share_of_bandwidth": 0.8,
    "copy_bytes_per_second": 4.28e12,  # device memory, measured; gradients are copied to one vector and back
    "seconds_per_hop": {"NVLink": 3e-6, "InfiniBand": 8e-6},
    "seconds_per_hop_of_confirmation": 30e-6,  # Gloo over TCP, two all-gathers of n − 1 hops each
    "networks": {
        "8 GPUs, NVLink 4": {"gpus": 8, "hop": "NVLink", "bytes_per_second": 450e9},
        "64 GPUs, 8 InfiniBand ports of 400 Gb/s per machine": {
            "gpus": 64,
            "hop": "InfiniBand",
            "bytes_per_second": 400e9,
        },
        "64 GPUs, one port of 100 Gb/s per machine": {"gpus": 64, "hop": "InfiniBand", "bytes_per_second": 12.5e9},
    },
    "models": {  # the tokens per second of one GPU are those of a row of benchmarks/speed.py
        "vaswani2017 base": {"tokens_per_gpu": 16_384, "measured": ("gpu-training", "base")},
        "vaswani2017 tiny": {"tokens_per_gpu": 16_384, "measured": ("gpu-loop", "tiny-loop")},
        "bahdanau2014 paper": {"tokens_per_gpu": 3_840, "measured": ("gpu-training", "bahdanau2014")},
    },
}
RESULTS = Path(__file__).resolve().parent / "results"


def draw_batch(pairs: int, seed: int) -> Batch:
    draw = random.Random(seed)
    sides = [[[draw.randrange(4, VOCABULARY) for _ in range(WORDS)] for _ in range(pairs)] for _ in range(2)]
    return Batch.of(*sides, range(pairs))


def train(workers: Workers, pairs: int, updates: int) -> dict[str, float]:
    """The seconds of all updates and of their exchanges on this process, and the CPU seconds of all processes."""
    torch.manual_seed(1)
    kind = MODELS["vaswani2017"]
    model = kind(kind.PRESETS["small"], VOCABULARY, VOCABULARY)
    workers.share_weights(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    exchanging = started = computed = 0.0
    for number in range(-2, updates):  # two to warm up
        if number == 0:
            workers.gather(None)
            exchanging, started, computed = 0.0, time.perf_counter(), time.process_time()
        batch = draw_batch(pairs, seed=number)
        share = workers.rows(batch)
        optimiser.zero_grad()
        logits = model(share.source, share.source_readable, share.target_in)
        loss = cross_entropy(logits.flatten(0, 1), share.target_out.flatten(), ignore_index=PAD, reduction="sum")
        (loss / batch.target_out.ne(PAD).sum()).backward()
        waiting = time.perf_counter()
        workers.gather(None)  # the loop confirms that no worker failed
        workers.sum_gradients(model.parameters())
        exchanging += time.perf_counter() - waiting
        optimiser.step()
    cpu_seconds = sum(workers.gather(time.process_time() - computed))
    return {"seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds, "exchange_seconds": exchanging}


def work(pairs: int, updates: int) -> None:
    """One process of a measurement; rank 0 prints the result."""
    torch.set_num_threads(1)
    with join_workers() as workers:
        taken = train(workers, pairs, updates)
        if workers.is_rank0:
            print("RESULT", json.dumps(taken))


def measure(processes: int, pairs: int, updates: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command += [str(Path(__file__).resolve()), "--work", str(pairs), "--updates", str(updates)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    (line,) = [line for line in done.stdout.splitlines() if "RESULT" in line]
    taken = json.loads(line.partition("RESULT")[2])
    tokens = pairs * (WORDS + 1) * updates
    return {
        "processes": processes,
        "pairs": pairs,
        "tokens_per_second": tokens / taken["seconds"],
        "tokens_per_cpu_second": tokens / taken["cpu_seconds"],
        "share_of_exchange": taken["exchange_seconds"] / taken["seconds"],
    }


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The medians of the repetitions."""
    kinds = sorted({(row["processes"], row["pairs"]) for row in rows})
    return [
        {"processes": processes, "pairs": pairs}
        | {
            name: statistics.median(row[name] for row in rows if (row["processes"], row["pairs"]) == (processes, pairs))
            for name in ("tokens_per_second", "tokens_per_cpu_second", "share_of_exchange")
        }
        for processes, pairs in kinds
    ]


def estimate(assumed: dict[str, Any]) -> list[dict[str, Any]]:
    """For each model and network, with n GPUs, P parameters of b bytes, bandwidth w and latency l per hop:

    computing    = tokens per GPU / tokens per second of one GPU
    exchanging   = 2 (n − 1)/n · P·b / w + 2 (n − 1) · l           (a ring)
    copying      = 4 P·b / copy bandwidth                           (read and written twice)
    confirming   = 2 (n − 1) · l of the confirmation
    efficiency   = computing / (computing + exchanging + copying + confirming)
    """
    rows = []
    for name, model in assumed["models"].items():
        kind, preset = name.split()
        size = count_bytes(kind, preset, assumed)
        computing = model["tokens_per_gpu"] / model["tokens_per_second"]
        for network, facts in assumed["networks"].items():
            gpus, hop = facts["gpus"], assumed["seconds_per_hop"][facts["hop"]]
            speed = facts["bytes_per_second"] * assumed["reached_share_of_bandwidth"]
            hops = 2 * (gpus - 1)
            times = {
                "computing": computing,
                "exchanging": hops / gpus * size / speed + hops * hop,
                "copying": 4 * size / assumed["copy_bytes_per_second"],
                "confirming": hops * assumed["seconds_per_hop_of_confirmation"],
            }
            efficiency = computing / sum(times.values())
            rows.append(
                {
                    "model": name,
                    "network": network,
                    "gradient_bytes": size,
                    "seconds": times,
                    "efficiency": efficiency,
                    "tokens_per_second": gpus * model["tokens_per_second"] * efficiency,
                    "limit": max((part for part in times if part != "computing"), key=times.__getitem__),
                }
            )
    return rows


def with_speeds(assumed: dict[str, Any]) -> dict[str, Any]:
    """The same assumptions with the measured tokens per second of each model."""
    models = {
        name: {**model, "tokens_per_second": measured_speed(*model["measured"])}
        for name, model in assumed["models"].items()
    }
    return assumed | {"models": models}


def measured_speed(table: str, row: str) -> float:
    """Target tokens per second of Saccade on one GPU"""
    rows = json.loads((RESULTS / f"speed-{table}.json").read_text(encoding="utf-8"))["rows"]
    (found,) = (each for each in rows if each["row"] == row)
    return float(next(each["median"] for each in found["contestants"] if each["name"] == "Saccade"))


def count_bytes(kind: str, preset: str, assumed: dict[str, Any]) -> int:
    with torch.device("meta"):
        model = MODELS[kind](MODELS[kind].PRESETS[preset], assumed["vocabulary"], assumed["vocabulary"])
    return sum(weights.numel() for weights in model.parameters()) * int(assumed["bytes_per_gradient"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/distributed.json"))
    arguments = parser.parse_args()
    if arguments.work is not None:
        work(arguments.work, arguments.updates)
        return
    kinds = [(1, BATCHES[0]), (2, BATCHES[0]), (2, BATCHES[1])]
    rows = [measure(*kind, arguments.updates) for _ in range(arguments.repeats) for kind in kinds]
    assumed = with_speeds(ASSUMPTIONS)
    result = {
        "measured": summarise(rows),
        "runs": rows,
        "assumptions": assumed,
        "estimated": estimate(assumed),
        "provenance": provenance(seed=1),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    for row in summarise(rows):
        print(
            f"{row['processes']} processes, {row['pairs']} pairs: {row['tokens_per_second']:,.0f} tokens/s, "
            f"{row['share_of_exchange']:.0%} in the exchange"
        )


if __name__ == "__main__":
    main()
