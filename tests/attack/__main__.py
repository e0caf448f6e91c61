"""python -m tests.attack: run the campaigns, print the table, and end with 1 if anything failed."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from saccade.provenance import provenance

from . import crashes, fuzz, kills, writers
from .results import Result, alike, rows, show
from .samples import Samples, make_samples

EVERY = 250  # tries between two lines of progress


def main() -> int:
    options = _parse_arguments()
    console = Console(width=160, highlight=False, markup=False, emoji=False, soft_wrap=True)
    work = options.keep or Path(tempfile.mkdtemp(prefix="saccade-attack-"))
    work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    results: list[Result] = []
    for result in _campaigns(options, make_samples(work / "samples"), work):
        results.append(result)
        if result.failures or ":" in (options.only or ""):
            _report(result, console)
        if len(results) % EVERY == 0:
            console.print(f"{len(results):,} tries in {time.monotonic() - began:.0f} s")
    seconds = time.monotonic() - began
    _conclude(results, options.seed, seconds, console)
    if options.record is not None:
        record = {**provenance(options.seed), "seconds": round(seconds), "rows": rows(results)}
        options.record.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if any(result.failures for result in results):
        again = f"python -m tests.attack --seed {options.seed} --only {next(r.name for r in results if r.failures)}"
        console.print(f"the inputs and outputs of what failed are in {work}; one of them again: {again}")
        return 1
    if options.keep is None:
        shutil.rmtree(work)
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=5000, help="of the fuzz campaign")
    parser.add_argument("--kills", type=int, default=120, help="of the campaign of kills")
    parser.add_argument("--writers", type=int, default=64, help="of the campaign of two writers")
    parser.add_argument("--crashes", type=int, default=300, help="states of each program in the campaign of crashes")
    parser.add_argument("--first", type=int, default=0, help="the number of the first try of each")
    parser.add_argument("--only", help="one campaign, or one of its tries: fuzz, fuzz:1234")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--record", type=Path, help="write the figures here, as JSON")
    parser.add_argument("--keep", type=Path, help="the folder for inputs; else a temporary one")
    return parser.parse_args()


def _campaigns(options: argparse.Namespace, samples: Samples, work: Path) -> Iterator[Result]:
    only, _, number = (options.only or "").partition(":")
    if only in ("", "crash"):
        yield from crashes.campaign(options.seed, work, options.crashes)
    for name, count in {"fuzz": options.tries, "kill": options.kills, "writers": options.writers}.items():
        numbers = range(int(number), int(number) + 1) if number else range(options.first, options.first + count)
        if only not in ("", name):
            continue
        if name == "fuzz":
            yield from fuzz.campaign(options.seed, numbers, samples, work, options.jobs)
        else:
            yield from {"kill": kills, "writers": writers}[name].campaign(options.seed, numbers, samples, work)


def _report(result: Result, console: Console) -> None:
    console.print(f"{result.name} exit code {result.code}, {result.seconds:.1f} s, {result.command[:300]}")
    for failure in result.failures:
        console.print(f"    {failure.kind}: {failure.where}: {failure.detail[:300]!r}")


def _conclude(results: list[Result], seed: int, seconds: float, console: Console) -> None:
    show(results, console)
    for failure, met in alike(results):
        console.print(f"{len(met)} times {failure.kind}: {failure.where}: {' '.join(one.name for one in met[:6])}")
    console.print(f"seed {seed}: {len(results):,} tries in {seconds / 60:.1f} minutes")


if __name__ == "__main__":
    sys.exit(main())
