"""Measure the speed of training and decoding beside peers, one table per command.

  python benchmarks/speed.py cpu-training --out benchmarks/results/speed-cpu-training.json
  python benchmarks/speed.py gpu-decoding --rows 'base-*,bahdanau2014-float16-256' --rounds 5
  python benchmarks/speed.py cpu-decoding --tiny        # sizes of a test

Tables: cpu-training, cpu-decoding, gpu-training, gpu-decoding. The contestants of a row take turns for `--rounds`
rounds, after one that warms up; the median counts. Each figure is shown with the share that it reaches of what the
machine can do: of a large matrix product and, in decoding, of a large copy. `benchmarks/peers.py` installs the peers.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import speed_rows
import torch
from arithmetic import decoding_bytes, flops_per_unit
from contest import compete
from floors import measure_floors
from ours import build
from speed_rows import Row

from saccade.provenance import provenance

RESULTS = Path(__file__).resolve().parent / "results"
FEWEST_ROUNDS = 3


def main(arguments: Sequence[str] | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measure_table(*parse(arguments, Path(folder)))


def measure_table(options: argparse.Namespace, rows: speed_rows.Rows) -> None:
    torch.set_num_threads(options.threads)
    result: dict[str, Any] = {
        "table": options.table,
        "options": {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()},
        "provenance": provenance(seed=1),
        "floors": {},
        "rows": [],
    }
    for prepare in rows.values():
        row = prepare()
        device, dtype = torch.device(row.work.device), row.work.dtype
        if dtype not in result["floors"]:
            result["floors"][dtype] = measure_floors(device, getattr(torch, dtype), tiny=options.tiny)
        result["rows"].append(measure_row(row, options, result["floors"][dtype]))
        show(result["rows"][-1])
        save(options.out, result)  # after each row: a run that is cut off keeps those before


def parse(arguments: Sequence[str] | None, folder: Path) -> tuple[argparse.Namespace, speed_rows.Rows]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=speed_rows.TABLES)
    parser.add_argument("--rows", type=lambda text: text.split(","), default=[], help="names or patterns, by commas")
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="contestants to measure")
    parser.add_argument("--rounds", type=int, default=FEWEST_ROUNDS)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of every contestant")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes on the CPU, to see that everything runs")
    parser.add_argument("--pairs", nargs="+", default=[], metavar="FILE", help="sources and targets of the real loop")
    parser.add_argument("--tokens", type=int, default=4096, help="batch size of the real loop")
    parser.add_argument("--updates", type=int, default=600, help="of the real loop, measured in each round")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    options.out = options.out or RESULTS / f"speed-{options.table}.json"
    if options.table.startswith("gpu") and not options.tiny and not torch.cuda.is_available():
        parser.error(f"{options.table} needs a CUDA GPU; --tiny runs it on the CPU")
    sizes = speed_rows.Options(tiny=options.tiny, tokens=options.tokens, updates=options.updates, folder=folder)
    if options.pairs:
        sizes = replace(sizes, pairs=dict(zip(("pairs", "targets"), options.pairs, strict=False)))
    rows = speed_rows.TABLES[options.table](sizes)
    for pattern in options.rows:
        if not any(fnmatchcase(name, pattern) for name in rows):
            parser.error(f"no row is named {pattern}; expected some of {', '.join(rows)}")
    chosen = options.rows or ["*"]
    return options, {name: row for name, row in rows.items() if any(fnmatchcase(name, each) for each in chosen)}


def measure_row(row: Row, options: argparse.Namespace, floors: dict[str, float]) -> dict[str, Any]:
    work = row.work.resized(threads=options.threads)
    contestants = [make(work) for name, make in row.contestants.items() if not options.only or name in options.only]
    per = "cpu_seconds" if work.device == "cpu" else "seconds"
    entries = compete(contestants, options.rounds, per=per)
    with torch.device("meta"):
        model = build(work)
    flops = flops_per_unit(model, work)
    needed = decoding_bytes(model, work) if work.phase == "decoding" else None
    for entry in entries:
        if "median" in entry:
            entry["share_of_matmul"] = entry["median"] * flops / floors["matmul_flops"]
            entry["share_of_copy"] = None if needed is None else entry["median"] * needed / floors["copy_bytes"]
    return {
        "row": work.name,
        "work": asdict(work),
        "unit": work.unit,
        "flops_per_unit": flops,
        "bytes_per_unit": needed,
        "contestants": entries,
        **compare(entries),
    }


def compare(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Saccade as users get it, and the best peer"""
    measured = [entry for entry in entries if "median" in entry]
    ours = next((entry for entry in measured if entry["name"] == "Saccade"), None)
    peer = max((entry for entry in measured if entry["peer"]), key=lambda entry: entry["median"], default=None)
    return {
        "best_peer": peer and peer["name"],
        "ratio_to_best_peer": ours["median"] / peer["median"] if ours and peer else None,
    }


def show(row: dict[str, Any]) -> None:
    print(f"{row['row']}: {row['unit']}; {row['flops_per_unit'] / 1e6:,.1f} MFLOP each")
    for entry in row["contestants"]:
        if "skipped" in entry:
            print(f"  {entry['name']:32} not measured: {entry['skipped']}")
        else:
            copied = "" if entry["share_of_copy"] is None else f", {entry['share_of_copy']:.1%} of a copy"
            share = f"{entry['share_of_matmul']:.1%} of a matrix product{copied}"
            print(f"  {entry['name']:32} {entry['median']:12,.1f}   {share}")
    sys.stdout.flush()


def save(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
