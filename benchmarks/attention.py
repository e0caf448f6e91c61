"""Time and peak memory of self-attention by sentence length, for every named attention and, for comparison, SDPA alone,
torch.nn.MultiheadAttention and a loop over queries; and the exponents with which they grow.

  python benchmarks/attention.py                                       # everything, on the CPU
  python benchmarks/attention.py --device cuda --width 512 --heads 8 --gib-per-cell 32
  python benchmarks/attention.py --only vaswani2017,beltagy2020 --lengths 256,512,1024,2048
  python benchmarks/attention.py --table benchmarks/results/attention-cpu.json    # the exponents, as Markdown
  python benchmarks/attention.py --page docs/benchmarks.md                        # refresh the tables of a page

Ctrl-C keeps what was measured so far.
"""

import argparse
import json
import math
import os
import shlex
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from contenders import NAMES, SDPA, Contender, contenders
from cost_tables import Progress, markdown, refresh, show
from torch import Tensor

from saccade.provenance import provenance
from saccade.study.cost import growth, peak_bytes, seconds

RESULTS = Path(__file__).resolve().parent / "results"
DIRECTIONS = ("forward", "forward+backward")
PROBE = 64  # the length from which the first cell's memory is predicted
LONG_ENOUGH = 0.004  # seconds: a shorter call is repeated within one sample


@dataclass(kw_only=True)
class Cell:
    """One contender, one direction, one length."""

    contender: Contender
    direction: str
    length: int
    call: Callable[[], object]
    peak: int = 0
    calls: int = 1  # per sample
    samples: list[float] = field(default_factory=list)
    skipped: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def sample(self, device: torch.device) -> None:
        taken = seconds(self.call, device, self.calls)
        if not self.samples and taken < LONG_ENOUGH:
            self.calls = min(math.ceil(LONG_ENOUGH / taken), 50)
            taken = seconds(self.call, device, self.calls)
        self.samples.append(taken)

    def as_json(self, sdpa: float | None) -> dict[str, object]:
        of = {"mechanism": self.contender.name, "weights": self.contender.weights, "label": self.contender.label}
        place = of | {"direction": self.direction, "length": self.length}
        if self.skipped is not None:
            return place | {"skipped": self.skipped}
        ratio = None if sdpa is None else self.median / sdpa
        samples = [float(f"{taken:.4g}") for taken in self.samples]
        timed: dict[str, object] = {"seconds": self.median, "samples": samples, "calls_a_sample": self.calls}
        return place | timed | {"peak_bytes": self.peak, "ratio_to_sdpa": ratio}


class Run:
    """All cells in the order of length; the contenders of one length and direction take turns, so that a machine that
    slows down slows all alike.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.device = torch.device(options.device)
        self.dtype: torch.dtype = getattr(torch, options.dtype)
        torch.manual_seed(options.seed)
        self.contenders = list(contenders(options.width, options.heads, options.only))
        for contender in self.contenders:
            contender.module.to(self.device, self.dtype)
        self.cells: list[Cell] = []
        self.complete = False
        self.load = os.getloadavg()[0]  # how busy the machine was with other work
        self.made = provenance(seed=options.seed, command=options.command)  # before the results make the tree dirty

    def measure(self, keep: Callable[[], None]) -> None:
        """`keep` is called after each length."""
        turns = len(self.options.lengths) * len(DIRECTIONS) * (1 + self.options.repeats) * len(self.contenders)
        with Progress(turns) as progress:
            for length in self.options.lengths:
                for direction in DIRECTIONS:
                    self._measure(length, direction, progress)
                keep()
        self.complete = True

    def _measure(self, length: int, direction: str, progress: Progress) -> None:
        opened = []
        for contender in self.contenders:
            opened.append(self._open(contender, direction, length))
            progress.advance(f"{direction} of {length}: memory of {contender.label}")
        for _ in range(self.options.repeats):
            for cell in opened:
                spent = sum(cell.samples) * cell.calls
                if cell.skipped is None and spent < self.options.seconds_per_cell:
                    cell.sample(self.device)
                progress.advance(f"{direction} of {length}: time of {cell.contender.label}")

    def _open(self, contender: Contender, direction: str, length: int) -> Cell:
        """A cell with its peak memory and a warmed-up call, or with the reason why it is not measured."""
        previous = next((c for c in reversed(self.cells) if (c.contender, c.direction) == (contender, direction)), None)
        cell = self._cell(contender, direction, length)
        try:
            if previous is None and length > PROBE:
                previous = self._cell(contender, direction, PROBE)
                previous.peak = peak_bytes(previous.call, self.device)
            cell.skipped = None if previous is None else self._why_skip(previous, length)
            if cell.skipped is None and self.device.type == "cuda":
                cell.call()  # compiles and chooses kernels, which must not count
            if cell.skipped is None:
                cell.peak = peak_bytes(cell.call, self.device)
        except ModuleNotFoundError as missing:
            cell.skipped = f"needs the package {missing.name}, which is not installed"
        except RuntimeError as failure:  # out of memory, or a kernel that does not exist here
            cell.skipped = f"{type(failure).__name__}: {str(failure).partition(chr(10))[0]}"
        self.cells.append(cell)
        return cell

    def _why_skip(self, previous: Cell, length: int) -> str | None:
        """Predict from the last length: a slow one ends the row, and memory grows at most with n²."""
        most_seconds, most_gib = self.options.seconds_per_cell, self.options.gib_per_cell
        if previous.skipped is not None:
            return previous.skipped
        if previous.samples and previous.median > most_seconds:
            return f"length {previous.length} took {previous.median:.1f} s, more than the {most_seconds:g} s of a cell"
        gib = previous.peak * (length / previous.length) ** 2 / 2**30
        if gib > most_gib:
            return (
                f"length {length} would need about {gib:.1f} GiB, (n/{previous.length})² times what "
                f"{previous.length} needed; a cell may have {most_gib:g}"
            )
        return None

    def _cell(self, contender: Contender, direction: str, length: int) -> Cell:
        options = self.options
        training = direction != "forward"
        noise = torch.Generator().manual_seed(options.seed)
        sentence = torch.randn(options.batch, length, options.width, generator=noise).to(self.device, self.dtype)
        contender.module.train(training)

        def forward() -> None:
            with torch.no_grad():
                contender.read(sentence)

        def both() -> tuple[Tensor | None, ...]:
            # As inside a deeper model: the gradient goes to the sentence, too.
            wanted = [sentence, *(p for p in contender.module.parameters() if p.requires_grad)]
            made = contender.read(sentence)
            return torch.autograd.grad(made, wanted, [torch.ones_like(out) for out in made], allow_unused=True)

        sentence.requires_grad_(training)
        return Cell(contender=contender, direction=direction, length=length, call=both if training else forward)

    def as_json(self) -> dict[str, Any]:
        measured = [cell for cell in self.cells if cell.skipped is not None or cell.samples]
        sdpa = {(c.direction, c.length): c.median for c in measured if c.contender.name == SDPA and c.samples}
        fitted = []
        for contender in self.contenders:
            for direction in DIRECTIONS:
                of = [c for c in measured if (c.contender, c.direction) == (contender, direction) and c.samples]
                lengths = [c.length for c in of]
                fitted.append(
                    {
                        "label": contender.label,
                        "direction": direction,
                        "time": growth(lengths, [c.median for c in of]),
                        "memory": growth(lengths, [c.peak for c in of]),
                    }
                )
        plain = {key: str(value) if isinstance(value, Path) else value for key, value in vars(self.options).items()}
        return {
            "benchmark": "attention",
            "complete": self.complete,
            "load": self.load,
            "options": {key: value for key, value in plain.items() if key not in ("command", "table", "page", "out")}
            | {"threads": torch.get_num_threads()},
            "growth": fitted,
            "cells": [cell.as_json(sdpa.get((cell.direction, cell.length))) for cell in measured],
            "provenance": self.made,
        }


def write(path: Path, result: dict[str, Any]) -> None:
    """Write atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--lengths", default="64,128,256,512,1024,2048,4096")
    parser.add_argument("--only", default="", help=f"comma-separated list of: {', '.join(NAMES)}")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4, help="number of heads, for attentions with several")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--repeats", type=int, default=5, help="samples per cell; their median is reported")
    parser.add_argument("--seconds-per-cell", type=float, default=2.0, help="skip longer lengths after such a call")
    parser.add_argument("--gib-per-cell", type=float, default=4.0, help="skip a cell that would need more memory")
    parser.add_argument("--threads", type=int, help="number of CPU threads (default: torch's)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="default: benchmarks/results/attention-DEVICE.json")
    parser.add_argument("--table", type=Path, metavar="RESULTS", help="print the exponents in RESULTS as Markdown")
    parser.add_argument("--page", type=Path, help="refresh the tables of this Markdown page")
    options = parser.parse_args(arguments)
    options.command = shlex.join(["python", "benchmarks/attention.py", *arguments])
    try:
        options.lengths = sorted({int(n) for n in options.lengths.split(",")})
    except ValueError:
        parser.error(f"--lengths takes whole numbers with commas between, such as 64,128; got {options.lengths!r}")
    options.only = tuple(filter(None, options.only.split(",")))
    if unknown := [name for name in options.only if name not in NAMES]:
        parser.error(f"--only: no attention is named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if min(options.lengths[0], options.batch, options.repeats, options.heads) < 1 or options.width % options.heads:
        parser.error("lengths, batch, repeats and heads must be at least 1, and heads must divide the width")
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no CUDA device; leave --device out to measure on the CPU")
    options.out = options.out or RESULTS / f"attention-{torch.device(options.device).type}.json"
    return options


def main(arguments: Sequence[str]) -> int:
    options = parse_options(arguments)
    if options.table or options.page:
        if options.table:
            print(markdown(json.loads(options.table.read_text(encoding="utf-8"))))
        if options.page:
            options.page.write_text(refresh(options.page.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")
        return 0
    if options.threads:
        torch.set_num_threads(options.threads)
    run = Run(options)
    try:
        run.measure(keep=lambda: write(options.out, run.as_json()))
    except KeyboardInterrupt:
        print("stopped; what was measured is kept", file=sys.stderr)
    result = run.as_json()
    write(options.out, result)
    show(result)
    print(f"written to {options.out}")
    return 0 if run.complete else 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
