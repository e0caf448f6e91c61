"""How the speed of training and decoding changes with length, batch, vocabulary and model size.

  python benchmarks/speed_growth.py --device cpu --out benchmarks/results/speed-growth-cpu.json
  python benchmarks/speed_growth.py --device cuda --models vaswani2017

One quantity changes at a time; the others stay at the middle of the grid.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from floors import measure_floors
from speed import RESULTS, measure_row, save
from speed_rows import Row, decoding, training
from work import Work

from saccade.provenance import provenance

KEPT = ("median", "share_of_matmul", "speeds", "skipped")
LAYERS = {"encoder_layers": 3, "decoder_layers": 3}
WIDTHS = {  # settings of the model by its width
    "vaswani2017": lambda width: {"width": width, "inner": 4 * width, "heads": width // 64, **LAYERS},
    "bahdanau2014": lambda width: {"preset": "base", "hidden": width, "align": width, "embedding": width // 2},
}


class Grid(NamedTuple):
    """The values of each quantity"""

    lengths: Sequence[int]
    batches: dict[str, Sequence[int]]  # pairs, by phase
    vocabularies: Sequence[int]
    widths: Sequence[int]


GRIDS = {
    "cpu": Grid(
        (10, 25, 50), {"training": (20, 80, 160), "decoding": (8, 32, 64)}, (4000, 8000, 16_000), (128, 256, 512)
    ),
    "cuda": Grid(
        (16, 32, 64, 128),
        {"training": (64, 256, 1024), "decoding": (64, 256, 1024)},
        (8000, 16_000, 32_000),
        (256, 512, 1024),
    ),
    "tiny": Grid((4, 5), {"training": (2, 3), "decoding": (2, 3)}, (40, 50), (64, 128)),
}


def works(model: str, phase: str, grid: Grid, device: str) -> Iterator[tuple[str, int, Work]]:
    """(quantity, value, work) of each cell"""

    def work(length: int, batch: int, vocabulary: int, width: int) -> Work:
        return Work(
            name=f"{model}, {phase}: {length} tokens, {batch} pairs, {vocabulary} words, width {width}",
            phase=phase,  # type: ignore[arg-type]
            model=model,
            settings=WIDTHS[model](width),
            vocabulary=vocabulary,
            rows=batch,
            source=length,
            target=length,
            dtype="bfloat16" if device == "cuda" else "float32",
            device=device,
            calls=25 if (device, phase) == ("cuda", "training") else 1,
        )

    quantities = {
        "length": grid.lengths,
        "batch": grid.batches[phase],
        "vocabulary": grid.vocabularies,
        "width": grid.widths,
    }
    middle = {name: values[len(values) // 2] for name, values in quantities.items()}
    for name, values in quantities.items():
        for value in values:
            yield name, value, work(**middle | {name: value})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(WIDTHS))
    parser.add_argument("--phases", type=lambda text: text.split(","), default=["training", "decoding"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="a tiny grid, to see that everything runs")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    options.only = ["Saccade"]
    device = torch.device(options.device)
    dtype = torch.bfloat16 if options.device == "cuda" else torch.float32
    floors = measure_floors(device, dtype, tiny=options.tiny)
    grid = GRIDS["tiny" if options.tiny else options.device]
    result: dict[str, Any] = {
        "table": "growth",
        "options": {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()},
        "provenance": provenance(seed=1),
        "floors": floors,
        "cells": [],
    }
    cells = [
        (model, phase, *cell)
        for model, phase in product(options.models, options.phases)
        for cell in works(model, phase, grid, options.device)
    ]
    measured: dict[str, dict[str, Any]] = {}  # the middle of the grid occurs once per quantity
    for model, phase, quantity, value, work in cells:
        if work.name not in measured:
            contestants = training() if phase == "training" else decoding()
            (measured[work.name],) = measure_row(Row(work, contestants), options, floors)["contestants"]
            print(f"{work.name}: {measured[work.name].get('median', 0):,.1f} {work.unit}", flush=True)
        kept = {key: value for key, value in measured[work.name].items() if key in KEPT}
        cell = {"model": model, "phase": phase, "quantity": quantity, "value": value, "unit": work.unit}
        result["cells"].append(cell | kept)
        save(options.out or RESULTS / f"speed-growth-{options.device}.json", result)


if __name__ == "__main__":
    main()
