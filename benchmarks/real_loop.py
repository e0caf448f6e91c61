"""Saccade's training loop as a contestant, on one batch or on pairs of text. A peer trains on the same batches."""

import io
import json
import tempfile
import time
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import ours
from contest import Round
from rich.console import Console
from work import Work

from saccade.train.learner import TrainingState
from saccade.train.log import Log
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import start

WARMING_ENTRIES = 2  # of the log, before those that are measured
MEASURED_ENTRIES = 2


def recipe_for(work: Work, pairs: dict[str, Any], tokens: int, updates: int) -> Recipe:
    training: dict[str, Any] = {
        "tokens": tokens,
        "device": work.device,
        "precision": ours.PRECISIONS[work.dtype],
        "threads": work.threads,
        "max_steps": 10**6,
        "check_every": 10 * max(1, updates // 4),  # the log has an entry per tenth of it; none is validated
        "judge": "loss",
    }
    vocabulary = {"kind": "bpe", "size": work.vocabulary}
    data = {**pairs, "vocabulary": vocabulary}
    model = {"name": work.model, "preset": "tiny", **work.settings}
    return recipe_of({"data": data, "model": model, "train": training}, "the benchmark")


def prepare(work: Work, recipe: Recipe, folder: Path, count: int) -> Work:
    """The work with the first `count` batches of the run in a file, and with their mean lengths."""
    out = folder / "run"
    run = start(recipe, out, log=Log(out, Console(file=io.StringIO())))
    batches = list(islice(run.learner.batches, count))
    rows = [
        (_without_end(batch.source, batch.source_readable), _without_end(batch.target_out, batch.target_readable))
        for batch in batches
    ]
    path = folder / "batches.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    pairs = sum(len(batch) for batch in batches)
    return work.resized(
        batches=str(path),
        calls=len(batches),
        vocabulary=run.learner.model.target_size,
        rows=pairs // len(batches),
        source=round(sum(int(batch.source_readable.sum()) for batch in batches) / pairs),
        target=round(sum(int(batch.target_readable.sum()) for batch in batches) / pairs),
    )


def _without_end(ids: Any, readable: Any) -> list[list[int]]:
    return [row[mask].tolist()[:-1] for row, mask in zip(ids, readable, strict=True)]


class Enough(Exception):  # noqa: N818  (it is no error)
    """The run has been measured for long enough."""


class MeasuringLog(Log):
    """Notes when the run makes an entry and at what speed, and ends the run when it has made enough of them."""

    def __init__(self, folder: Path, measured: int, warming: int = WARMING_ENTRIES) -> None:
        super().__init__(folder, Console(file=io.StringIO()))
        self.warming, self.wanted = warming, warming + measured
        self.entries: list[tuple[float, float, float]] = []  # wall clock, CPU clock, tokens per second

    def progress(self, state: TrainingState, *, speed: float, **numbers: Any) -> None:
        self.entries.append((time.perf_counter(), time.process_time(), speed))
        if len(self.entries) == self.wanted:
            raise Enough

    def round(self) -> Round:
        """From the last warming entry to the last one"""
        kept = self.entries[self.warming - 1 :]
        return {
            "units": sum((after[0] - before[0]) * after[2] for before, after in pairwise(kept)),
            "seconds": kept[-1][0] - kept[0][0],
            "cpu_seconds": kept[-1][1] - kept[0][1],
        }


class Loop:
    """Each round is a run of its own, which warms up by itself."""

    is_peer = False
    skipped: str | None = None
    versions: dict[str, str] = {}

    def __init__(
        self,
        name: str,
        run: Callable[[Path, Log], object],
        measured: int = MEASURED_ENTRIES,
        warming: int = WARMING_ENTRIES,
    ) -> None:
        self.name, self.run, self.measured, self.warming = name, run, measured, warming

    def warm_up(self) -> None:
        pass

    def round(self) -> Round:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            log = MeasuringLog(out, self.measured, self.warming)
            try:
                self.run(out, log)
            except Enough:
                return log.round()
        raise RuntimeError(f"the run ended after {len(log.entries)} entries of its log")

    def close(self) -> None:
        pass
