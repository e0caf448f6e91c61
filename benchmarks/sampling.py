"""The cost of subword sampling: target tokens per second in training, without it, with it, and with prefetching.

    python benchmarks/sampling.py --pairs train.tsv --device cuda --set model.width=128
    python benchmarks/sampling.py --count 5000 --epochs 1 --kinds unigram

The same model is trained on the same pairs without sampling, with `data.sampling` and `data.processes = 0`, and with
`data.sampling` and `data.processes = "auto"`. Each run times whole epochs after its first, so that every timed epoch
draws its own pairs. The three settings take turns for `--rounds` rounds, and the median of each is reported.
"""

import argparse
import io
import json
import tempfile
import time
from itertools import chain, product, repeat
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from saccade import config
from saccade.data.prefetching import choose_processes, prefetch_windows
from saccade.provenance import provenance
from saccade.train.log import Log
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import start
from saccade.train.update import update

WAYS: dict[str, dict[str, Any]] = {
    "no sampling": {"sampling": 0.0, "streaming": False},
    "sampling, cut when needed": {"sampling": 0.1, "processes": 0},
    "sampling, cut ahead": {"sampling": 0.1, "processes": "auto"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", default="task:phrasebook-en-fr")
    parser.add_argument("--count", type=int, default=29_000, help="number of pairs from a task")
    parser.add_argument("--kinds", nargs="+", default=["unigram", "bpe"], choices=["unigram", "bpe"])
    parser.add_argument("--pieces", type=int, default=1000, help="maximum vocabulary size")
    parser.add_argument("--model", default="vaswani2017")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--epochs", type=int, default=1, help="timed epochs per run")
    parser.add_argument("--rounds", type=int, default=3, help="runs per setting")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/sampling.json"))
    arguments = parser.parse_args()
    rows = []
    for kind, _, (name, data) in product(arguments.kinds, range(arguments.rounds), WAYS.items()):
        with tempfile.TemporaryDirectory() as folder:
            row = measured(recipe(arguments, kind, data), Path(folder) / "run", arguments.epochs)
        rows.append({"pieces": kind, "way": name} | row)
        print(f"{kind:8} {name:26} {row['tokens_per_second']:10,.0f} target tokens/s, {row['processes']} processes")
    medians = {kind: {name: median_speed(rows, kind, name) for name in WAYS} for kind in arguments.kinds}
    options = {name: str(value) if isinstance(value, Path) else value for name, value in vars(arguments).items()}
    result = {
        "benchmark": "sampling",
        "options": options,
        "medians": medians,
        "rows": rows,
        "provenance": provenance(1),
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def median_speed(rows: list[dict[str, Any]], kind: str, way: str) -> float:
    return median(row["tokens_per_second"] for row in rows if (row["pieces"], row["way"]) == (kind, way))


def recipe(arguments: argparse.Namespace, kind: str, data: dict[str, Any]) -> Recipe:
    vocabulary = {"kind": kind, "size": arguments.pieces}
    mapping: dict[str, Any] = {
        "data": {"pairs": arguments.pairs, "count": arguments.count, "vocabulary": vocabulary, **data},
        "model": {"name": arguments.model},
        "train": {"tokens": arguments.tokens, "device": arguments.device, "max_epochs": 1000},
    }
    return recipe_of(config.override(mapping, arguments.set), "--set")


def measured(recipe: Recipe, folder: Path, epochs: int) -> dict[str, Any]:
    """Target tokens per second, and the numbers behind it."""
    run = start(recipe, folder, log=Log(folder, Console(file=io.StringIO())))
    processes = choose_processes(run.learner.dataset.corpus, recipe.data.processes)
    tokens, updates, began = 0, 0, 0.0
    with prefetch_windows(run.learner.batches, processes):
        for batch in chain.from_iterable(repeat(run.learner.batches)):
            _, seen = update(run, [batch])
            if began:
                tokens, updates = tokens + seen, updates + 1
            if not began and run.learner.batches.epochs >= 1:
                began = time.perf_counter()
            if run.learner.batches.epochs >= 1 + epochs:
                break
        seconds = time.perf_counter() - began
    return {
        "tokens_per_second": tokens / seconds,
        "tokens": tokens,
        "updates": updates,
        "seconds": seconds,
        "processes": processes,
        "device": str(run.device),
    }


if __name__ == "__main__":
    main()
