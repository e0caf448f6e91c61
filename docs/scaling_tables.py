"""The tables of docs/scaling.md, from benchmarks/results/distributed.json and ray-translation.json."""

import json
from typing import Any

from measured import RESULTS, table


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def ray_translation() -> str:
    """Lines per second with one and two replicas on one machine."""
    return table(
        ["replicas, one CPU core each", "lines/s", "lines per CPU-second", "seconds to the first part"],
        [
            [
                str(row["replicas"]),
                f"{row['lines_per_second']:.1f}",
                f"{row['lines_per_cpu_second']:.1f}",
                f"{row['seconds_to_the_first_part']:.0f}",
            ]
            for row in _read("ray-translation.json")["measured"]
        ],
        right=True,
    )


def workers() -> str:
    """Training with one and two processes on one machine."""
    return table(
        ["processes", "pairs per batch", "tokens/s", "tokens per CPU-second", "time in the exchange"],
        [
            [
                str(row["processes"]),
                str(row["pairs"]),
                f"{row['tokens_per_second']:,.0f}",
                f"{row['tokens_per_cpu_second']:,.0f}",
                f"{row['share_of_exchange']:.0%}",
            ]
            for row in _read("distributed.json")["measured"]
        ],
        right=True,
    )


def estimate() -> str:
    """What one update takes on several GPUs, and what limits it."""
    return table(
        [
            "model",
            "GPUs",
            "gradients",
            "computing",
            "exchanging",
            "confirming",
            "efficiency",
            "tokens/s",
            "largest overhead",
        ],
        [
            [
                row["model"],
                row["network"],
                f"{row['gradient_bytes'] / 1e6:.0f} MB",
                *(f"{1000 * row['seconds'][part]:.1f} ms" for part in ("computing", "exchanging", "confirming")),
                f"{row['efficiency']:.0%}",
                f"{row['tokens_per_second'] / 1e6:.1f} M",
                row["limit"],
            ]
            for row in _read("distributed.json")["estimated"]
        ],
    )
