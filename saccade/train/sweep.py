"""Train every combination of settings, each run in its own folder, and tabulate the scores.

A finished run has a result.json in its folder and is not trained again; an interrupted one continues.
"""

import json
import os
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from saccade import config, files
from saccade.errors import Say, UserError, say
from saccade.files import parse_json
from saccade.locking import locked
from saccade.models import build_model
from saccade.provenance import recording_call
from saccade.train.learner import TrainingState
from saccade.train.log import Log
from saccade.train.recipe import RECIPE, Recipe, load_saved_recipe, read_recipe, recipe_of
from saccade.train.resume import differences
from saccade.train.translation import JUDGES, train

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
        """The settings, without characters that a file name cannot have."""
        name = str(self).replace(" ", ",")
        safe = re.sub(r"[^\w.=,+-]+", "-", name)
        if name == safe and len(name) <= _LONGEST_NAME:
            return name
        return f"{safe[:_LONGEST_NAME]}-{files.sha256(name.encode())[:8]}"


@dataclass(frozen=True, kw_only=True)
class Result:
    settings: dict[str, str]
    seed: int
    folder: str
    best: dict[str, Any] | None = None  # the scores of the best validation
    step: int = 0
    seconds: float = 0.0
    reason: str  # why the run ended or failed


@dataclass(frozen=True, kw_only=True)
class Row:
    """The score of one combination of settings, over its seeds."""

    settings: dict[str, str]
    score: float | None  # the mean of the judged score; None: no run has one
    deviation: float | None  # standard, of a sample; None: of a single run
    seeds: int
    loss: float | None
    minutes: float
    failed: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[Result], judge: str) -> "Row":
        bests = [run.best for run in runs if run.best is not None]
        scores = [float(best[judge]) for best in bests]
        return cls(
            settings=runs[0].settings,
            score=statistics.fmean(scores) if scores else None,
            deviation=statistics.stdev(scores) if len(scores) > 1 else None,
            seeds=len(scores),
            loss=statistics.fmean(best["loss"] for best in bests) if bests else None,
            minutes=statistics.fmean(run.seconds for run in runs) / 60,
            failed=tuple(f"seed {run.seed}: {run.reason}" for run in runs if run.best is None),
        )


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The finished runs of a sweep."""

    recipe: Path
    judge: str  # the metric that chooses
    results: tuple[Result, ...]

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if result.best is None]

    @property
    def rows(self) -> list[Row]:
        """One row per combination, the best first, those without a score last."""
        groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
        for result in self.results:
            groups.setdefault(tuple(result.settings.items()), []).append(result)
        sign = -1 if JUDGES[self.judge].higher_is_better else 1
        rows = [Row.of(runs, self.judge) for runs in groups.values()]
        return sorted(rows, key=lambda row: (row.score is None, sign * (row.score or 0.0)))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The columns and the rows, for people."""
        cells = []
        for row in self.rows:
            score = "failed" if row.score is None else f"{row.score:.4g}"
            score += "" if row.deviation is None else f" ± {row.deviation:.2g}"
            loss = {} if self.judge == "loss" else {"loss": "" if row.loss is None else f"{row.loss:.3f}"}
            counts = {"seeds": str(row.seeds), "minutes": f"{row.minutes:.1f}"}
            cells.append(row.settings | {JUDGES[self.judge].label: score} | loss | counts)
        return list(cells[0]), [list(row.values()) for row in cells]

    def to_dict(self) -> dict[str, Any]:
        rows, runs = map(asdict, self.rows), map(asdict, self.results)
        return {"recipe": str(self.recipe), "judge": self.judge, "table": list(rows), "runs": list(runs)}

    def save(self, out: Path) -> None:
        """Write results.json and results.md."""
        columns, rows = self.table()
        lines = "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows))
        failed = "".join(f"\n- {failure}" for row in self.rows for failure in row.failed)
        text = f"# {self.recipe.stem}\n\n{lines}\n" + (f"{failed}\n" if failed else "")
        out.mkdir(parents=True, exist_ok=True)
        files.write_json(out / "results.json", self.to_dict())
        files.write_atomically(out / "results.md", text)


@recording_call
def sweep(
    recipe: str | Path,
    out: str | Path,
    *,
    grid: Mapping[str, Sequence[Any]] | Sequence[str] = (),
    seeds: str | int | Sequence[int] = "1",
    settings: Sequence[str] = (),
    say: Say = say,
) -> Sweep:
    """Train every combination of `grid` with every seed. The same call continues an interrupted sweep.

    `grid` is ["train.lr=1e-3,3e-4"] or {"train.lr": [1e-3, 3e-4]}; `settings` apply to all runs.
    """
    recipe, out = Path(recipe), Path(out)
    if isinstance(grid, Mapping):
        grid = [f"{key}={','.join(json.dumps(value) for value in values)}" for key, values in grid.items()]
    points = plan_points(recipe, grid, parse_seeds(seeds), settings)
    results: list[Result] = []
    try:
        for result in train_points(points, out, say):
            results.append(result)
            finished = Sweep(recipe=recipe, judge=points[0].recipe.train.judge, results=tuple(results))
            finished.save(out)
    except KeyboardInterrupt:
        say(f"interrupted after {len(results)} of {len(points)} runs; the same command continues")
        raise
    return finished


def parse_seeds(seeds: str | int | Sequence[int], option: str = "--seeds") -> list[int]:
    text = ",".join(map(str, seeds)) if isinstance(seeds, Sequence) and not isinstance(seeds, str) else str(seeds)
    try:
        numbers = [int(seed) for seed in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or len(set(numbers)) < len(numbers):
        raise UserError(f"{option} {text}: expected different whole numbers, such as --seeds 1,2,3")
    return numbers


def plan_points(path: Path, grid: Sequence[str], seeds: Sequence[int], overrides: Iterable[str] = ()) -> list[Point]:
    """All runs, checked as far as can be without data: a mistake in the last is found before the first begins."""
    base = config.override(read_recipe(path), overrides)
    axes = dict(map(_axis, grid))
    if len(axes) < len(grid):
        raise UserError(f"--grid: a key is given twice ({', '.join(text.split('=')[0] for text in grid)})")
    points = []
    for values in product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        changed = config.override(base, (f"{key}={value}" for key, value in settings.items()))
        points += [build_point(changed, str(path), settings, seed) for seed in seeds]
    return points


def build_point(mapping: Mapping[str, Any], where: str, settings: Mapping[str, str], seed: int) -> Point:
    """One run of the recipe that `mapping` is; its names and sizes are checked, nothing is allocated."""
    recipe = recipe_of(config.override(mapping, [f"train.seed={seed}"]), where)
    with torch.device("meta"):
        build_model(recipe.model, recipe.settings, 300, 300)
    return Point(settings=settings, seed=seed, recipe=recipe)


def split_at_commas(text: str) -> list[str]:
    """The values between commas, except commas in brackets or quotes."""
    return [value.strip() for value in _VALUE.findall(text)]


def _axis(text: str) -> tuple[str, list[str]]:
    key, equals, values = (part.strip() for part in text.partition("="))
    choices = split_at_commas(values)
    mistakes = {
        "expected KEY=VALUE,VALUE such as --grid train.lr=1e-3,3e-4": not (equals and key and choices and all(choices)),
        "a value is given twice": len(set(choices)) < len(choices),
        "give --seeds 1,2": key == "train.seed",
        "scores of two kinds cannot be compared": key == "train.judge",
    }
    for mistake, is_made in mistakes.items():
        if is_made:
            raise UserError(f"--grid {text}: {mistake}")
    return key, choices


def train_points(points: Sequence[Point], out: Path, say: Say) -> Iterator[Result]:
    """Train one run after another. A UserError ends only its own run, as its result; an interruption ends them all."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError("several runs are trained one after another, in one process; start it without torchrun")
    with locked(out, folder=True):  # held while the caller saves each result
        for name in ("results.json", "results.md"):
            files.remove_leftovers(out / name)
        for number, point in enumerate(points, 1):
            folder, name = out / point.folder, f"{number} of {len(points)}: {point}"
            if any((folder / file).exists() for file in (RECIPE, _RESULT)):
                for _, difference in differences(load_saved_recipe(folder), point.recipe):
                    raise UserError(f"{folder}: {difference}; give another --out, or put the recipe back as it was")
            if (saved := folder / _RESULT).exists():
                say(f"{name}: finished already")
                yield config.from_dict(Result, parse_json(saved.read_bytes()), str(saved))
            else:
                say(name)
                yield _train_point(point, folder, name, say)


def _train_point(point: Point, folder: Path, name: str, say: Say) -> Result:
    judge, tensorboard = point.recipe.train.judge, point.recipe.train.tensorboard
    identity: dict[str, Any] = {"settings": dict(point.settings), "seed": point.seed, "folder": point.folder}

    def observe(state: TrainingState, _: object) -> None:
        if state.best is not None:
            say(f"{name}: step {state.step:,}, best {JUDGES[judge].label} {state.best[judge]:.4g} so far")

    try:
        log = Log(folder, Console(quiet=True), tensorboard=tensorboard)
        outcome = train(point.recipe, folder, resume=(folder / RECIPE).exists(), log=log, observe=observe)
    except UserError as mistake:
        say(f"{name}: {mistake}")
        return Result(**identity, reason=str(mistake))
    if not outcome.finished:
        raise KeyboardInterrupt
    if outcome.diverged:
        say(f"{name}: {outcome.reason}")
    result = Result(**identity, best=outcome.best, step=outcome.step, seconds=outcome.seconds, reason=outcome.reason)
    files.remove_leftovers(folder / _RESULT)
    files.write_json(folder / _RESULT, asdict(result))
    return result
