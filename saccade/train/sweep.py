"""Every combination of some settings, each a run in a folder of its own, and a table of what came of them.

A sweep is its folder: a run that is finished has a result.json, and is not trained again; one that was stopped goes on.
"""

import hashlib
import json
import os
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from saccade import config, files
from saccade.errors import UserError
from saccade.files import parse_json
from saccade.locking import locked
from saccade.models import build_model
from saccade.train.log import Log
from saccade.train.loop import train
from saccade.train.recipe import Recipe, load_kept_recipe, read_recipe, recipe_of
from saccade.train.resumption import differences
from saccade.train.run import Standing

Say = Callable[[str], None]

_RESULT = "result.json"
_VALUE = re.compile(r"""(?:\[[^\]]*\]|"[^"]*"|'[^']*'|[^,\[\]"'])+""")
_LONGEST_NAME = 150


@dataclass(frozen=True, kw_only=True)
class Point:
    """One run: a combination of settings, and a seed."""

    settings: Mapping[str, str]  # key → value, as they were given
    seed: int
    recipe: Recipe

    def __str__(self) -> str:
        return " ".join([*(f"{key}={value}" for key, value in self.settings.items()), f"seed={self.seed}"])

    @property
    def folder(self) -> str:
        """The settings, as far as a file may be called so."""
        name = str(self).replace(" ", ",")
        safe = re.sub(r"[^\w.=,+-]+", "-", name)
        if name == safe and len(name) <= _LONGEST_NAME:
            return name
        return f"{safe[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, kw_only=True)
class Result:
    settings: dict[str, str]
    seed: int
    folder: str
    best: dict[str, Any] | None  # the best check's numbers
    step: int
    seconds: float
    reason: str  # why the run ended; of one that failed, what went wrong


@dataclass(frozen=True, kw_only=True)
class Row:
    """What came of one combination, over its seeds."""

    settings: dict[str, str]
    score: float | None  # the mean of the judged score; None: no run has one
    deviation: float | None  # standard, of a sample; None: of a single run
    seeds: int
    loss: float | None
    minutes: float
    failed: tuple[str, ...]


def points(path: Path, grid: Sequence[str], seeds: Sequence[int], overrides: Iterable[str] = ()) -> list[Point]:
    """All runs, checked as far as can be without data: a mistake in the last is found before the first begins."""
    base = config.override(read_recipe(path), overrides)
    axes = dict(map(_axis, grid))
    if len(axes) < len(grid):
        raise UserError(f"--grid: a key is given twice ({', '.join(one.split('=')[0] for one in grid)})")
    found = []
    for values in product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        for seed in seeds:
            changed = config.override(base, (f"{key}={value}" for key, value in settings.items()))
            found.append(point_of(changed, str(path), settings, seed))
    return found


def point_of(mapping: Mapping[str, Any], where: str, settings: Mapping[str, str], seed: int) -> Point:
    """One run of the recipe that `mapping` is; its names and sizes are checked, nothing is allocated."""
    recipe = recipe_of(config.override(mapping, [f"train.seed={seed}"]), where)
    with torch.device("meta"):
        build_model(recipe.model, recipe.settings, 300, 300)
    return Point(settings=settings, seed=seed, recipe=recipe)


def parts(text: str) -> list[str]:
    """What commas part; one inside brackets or quotes parts nothing."""
    return [value.strip() for value in _VALUE.findall(text)]


def _axis(text: str) -> tuple[str, list[str]]:
    key, equals, values = (part.strip() for part in text.partition("="))
    found = parts(values)
    if not equals or not key or not all(found) or not found:
        raise UserError(f"--grid {text}: expected KEY=VALUE,VALUE such as --grid train.lr=1e-3,3e-4")
    if len(set(found)) < len(found):
        raise UserError(f"--grid {text}: a value is given twice")
    if key in ("train.seed", "train.judge"):
        instead = "give --seeds 1,2" if key == "train.seed" else "scores of two kinds cannot be compared"
        raise UserError(f"--grid {text}: {instead}")
    return key, found


def sweep(runs: Sequence[Point], out: Path, say: Say) -> Iterator[Result]:
    """Run after run, in order. A mistake that one of them meets is its result, and the others go on; one that is
    interrupted is the last.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError("several runs are trained one after another, in one process; start it without torchrun")
    with locked(out, folder=True):  # held while the caller keeps each result
        for name in ("results.json", "results.md"):
            files.remove_leftovers(out / name)
        for number, point in enumerate(runs, 1):
            folder = out / point.folder
            kept = folder / _RESULT
            name = f"{number} of {len(runs)}: {point}"
            if kept.exists():
                result = config.from_dict(Result, parse_json(kept.read_bytes()), str(kept))
                _refuse_other(folder, point)
                say(f"{name}: is there already")
            else:
                say(name)
                result = _run(point, folder, name, say)
            yield result


def _run(point: Point, folder: Path, name: str, say: Say) -> Result:
    def observe(standing: Standing, _: object) -> None:
        if standing.best is not None:
            say(f"{name}: step {standing.step:,}, best {standing.best[point.recipe.train.judge]:.4g} so far")

    def result(best: dict[str, Any] | None, step: int, seconds: float, reason: str) -> Result:
        settings = dict(point.settings)
        return Result(
            settings=settings,
            seed=point.seed,
            folder=point.folder,
            best=best,
            step=step,
            seconds=seconds,
            reason=reason,
        )

    resume = (folder / "recipe.toml").exists()
    if resume:
        _refuse_other(folder, point)
    try:
        log = Log(folder, Console(quiet=True), tensorboard=point.recipe.train.tensorboard)
        outcome = train(point.recipe, folder, resume=resume, log=log, observe=observe)
    except UserError as mistake:
        say(f"{name}: {mistake}")
        return result(None, 0, 0.0, str(mistake))
    if not outcome.finished:
        raise KeyboardInterrupt
    if outcome.diverged:
        say(f"{name}: {outcome.reason}")
    found = result(outcome.best, outcome.step, outcome.seconds, outcome.reason)
    files.remove_leftovers(folder / _RESULT)
    files.write_atomically(folder / _RESULT, json.dumps(asdict(found), indent=2) + "\n")
    return found


def _refuse_other(folder: Path, point: Point) -> None:
    """A folder is gone on with only if it is of the same recipe."""
    for _, difference in differences(load_kept_recipe(folder), point.recipe):
        raise UserError(f"{folder}: {difference}; give another --out, or put the recipe back as it was")


def table(results: Iterable[Result], judge: str) -> list[Row]:
    """A row a combination, the best first, those without any score last."""
    groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
    for result in results:
        groups.setdefault(tuple(result.settings.items()), []).append(result)
    rows = []
    for settings, runs in groups.items():
        judged = [run.best for run in runs if run.best is not None]
        scores = [float(best[judge]) for best in judged]
        rows.append(
            Row(
                settings=dict(settings),
                score=statistics.fmean(scores) if scores else None,
                deviation=statistics.stdev(scores) if len(scores) > 1 else None,
                seeds=len(scores),
                loss=statistics.fmean(best["loss"] for best in judged) if judged else None,
                minutes=statistics.fmean(run.seconds for run in runs) / 60,
                failed=tuple(f"seed {run.seed}: {run.reason}" for run in runs if run.best is None),
            )
        )
    better = 1 if judge == "loss" else -1
    return sorted(rows, key=lambda row: (row.score is None, better * (row.score or 0.0)))


def lines_of(rows: Sequence[Row], judge: str) -> tuple[list[str], list[list[str]]]:
    """The head of the table, and its rows, for people."""
    keys = list(rows[0].settings) if rows else []
    scored = {"bleu": "BLEU", "loss": "loss"}[judge]
    others = [] if judge == "loss" else ["loss"]
    body = []
    for row in rows:
        score = "failed" if row.score is None else f"{row.score:.4g}"
        score += "" if row.deviation is None else f" ± {row.deviation:.2g}"
        loss = [] if judge == "loss" else ["" if row.loss is None else f"{row.loss:.3f}"]
        body.append([*row.settings.values(), score, *loss, str(row.seeds), f"{row.minutes:.1f}"])
    return [*keys, scored, *others, "seeds", "minutes"], body


def keep_results(out: Path, recipe: Path, results: Sequence[Result], judge: str) -> dict[str, Any]:
    """results.json and results.md, of all that is there so far."""
    rows = table(results, judge)
    head, body = lines_of(rows, judge)
    found = {
        "recipe": str(recipe),
        "judge": judge,
        "table": [asdict(row) for row in rows],
        "runs": [asdict(result) for result in results],
    }
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *body))
    failed = "".join(f"\n- {failure}" for row in rows for failure in row.failed)
    out.mkdir(parents=True, exist_ok=True)
    files.write_atomically(out / "results.json", json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    files.write_atomically(out / "results.md", f"# {recipe.stem}\n\n{text}\n" + (f"{failed}\n" if failed else ""))
    return found
