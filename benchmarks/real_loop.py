"""Training through the real loop, from pairs of text, beside a peer that trains on the same batches."""

import io
import json
import tempfile
import time
from collections.abc import Iterator
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
from saccade.train.translation import start, train

WARMING_ENTRIES = 3  # of the log


def recipe_for(work: Work, pairs: dict[str, Any], tokens: int, updates: int) -> Recipe:
    training: dict[str, Any] = {
        "tokens": tokens,
        "device": work.device,
        "precision": ours.PRECISIONS[work.dtype],
        "threads": work.threads,
        "max_steps": 10**6,
        "check_every": 10 * max(1, updates // 10),  # the log has an entry per tenth of it
        "judge": "loss",
    }
    vocabulary = {"kind": "bpe", "size": work.vocabulary}
    data = {**pairs, "vocabulary": vocabulary}
    model = {"name": work.model, "preset": "tiny", **work.settings}
    return recipe_of({"data": data, "model": model, "train": training}, "the benchmark")


def prepare(work: Work, recipe: Recipe, folder: Path, count: int) -> Work:
    """The work with the first `count` batches of the run in a file, and with their mean lengths."""
    run = start(recipe, folder / "batches", log=quiet_log(folder / "batches"))
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
    """Collects the speeds that the run reports, and ends it after `entries` of them."""

    def __init__(self, folder: Path, entries: int) -> None:
        super().__init__(folder, Console(file=io.StringIO()))
        self.entries, self.reported = entries, list[tuple[float, float, float]]()

    def progress(
        self, state: TrainingState, *, epoch: int, loss: float, rate: float, speed: float, done: float
    ) -> None:
        self.reported.append((time.perf_counter(), time.process_time(), speed))
        if len(self.reported) == self.entries:
            raise Enough

    def round(self) -> Round:
        """Between the last warming entry and the last entry"""
        kept = self.reported[WARMING_ENTRIES - 1 :]
        spans = [(after[0] - before[0], after[2]) for before, after in pairwise(kept)]
        return {
            "units": sum(seconds * speed for seconds, speed in spans),
            "seconds": kept[-1][0] - kept[0][0],
            "cpu_seconds": kept[-1][1] - kept[0][1],
        }


def quiet_log(folder: Path) -> Log:
    return Log(folder, Console(file=io.StringIO()))


class RealLoop:
    """Each round is a run of its own, from the first update to the last entry of its log that is measured."""

    name, is_peer = "Saccade, the real loop", False
    skipped: str | None = None
    versions: dict[str, str] = {}

    def __init__(self, recipe: Recipe, entries: int) -> None:
        self.recipe, self.entries = recipe, entries
        self.folder = tempfile.TemporaryDirectory()
        self.outs: Iterator[Path] = (Path(self.folder.name) / str(number) for number in range(10**6))

    def warm_up(self) -> None:
        pass  # each run warms up by itself

    def round(self) -> Round:
        out = next(self.outs)
        log = MeasuringLog(out, WARMING_ENTRIES + self.entries)
        try:
            train(self.recipe, out, log=log)
        except Enough:
            return log.round()
        raise RuntimeError(f"the run ended after {len(log.reported)} entries of its log; lower --updates")

    def close(self) -> None:
        self.folder.cleanup()
