"""From what a user names to systems: recipes to be trained with every seed, and folders of models that are trained.

    runs/mine                                 a model's folder, judged as it is
    runs/mine-1,runs/mine-2                   the same system with other seeds
    recipe.toml                               a recipe
    luong2015                                 a model of the table, in the recipe that suits the data
    luong2015:attention=luong2015-local-p-general,preset=small,as=local-p

After a colon come settings, as `--set` takes them: a bare key is the model's, a dotted one (`train.lr`) any of the
recipe's, and `as` is what the system is called.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import config, files, model_folder
from saccade.errors import UserError
from saccade.locations import is_stdin
from saccade.models.table import find_model
from saccade.train.picking import Facts, pick
from saccade.train.recipe import Data, Recipe, read_recipe
from saccade.train.sweep import Point, parts, point_of

# Of [train], what decides how much a run may see and compute. What is tuned to a model (its rate, say) may differ.
BUDGET = (
    *("max_steps", "max_epochs", "max_minutes", "patience", "check_every", "judge", "judge_on"),
    *("tokens", "accumulate", "init_from", "device", "threads"),
)
_OPTIONS = re.compile(r"(?P<what>.+?):(?P<options>[A-Za-z_][\w.]*\s*=.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class PlannedSystem:
    """Either points, to be trained, or folders, which are."""

    name: str
    points: tuple[Point, ...] = ()  # a seed each
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SharedSettings:
    """What all systems share."""

    data: str | None = None  # for models that are named: a file of pairs, or task:NAME
    seeds: tuple[int, ...] = (1,)
    minutes: float | None = None
    steps: int | None = None
    overrides: tuple[str, ...] = ()  # as --set takes them

    @property
    def changes(self) -> list[str]:
        """A budget that is asked for is the only one."""
        given = {"max_minutes": self.minutes, "max_steps": self.steps, "max_epochs": None}
        budget = [f"train.{key}={'none' if value is None else value}" for key, value in given.items()]
        return [*(budget if self.minutes is not None or self.steps is not None else ()), *self.overrides]


@dataclass(frozen=True, kw_only=True)
class Plan:
    systems: tuple[PlannedSystem, ...]
    unequal: tuple[str, ...]  # in which keys of data and budget the recipes differ, each said in a line

    @property
    def points(self) -> list[Point]:
        """All with the first seed, then all with the second: one that is cut short has as many of each."""
        found = [point for system in self.systems for point in system.points]
        seeds = list(dict.fromkeys(point.seed for point in found))
        return sorted(found, key=lambda point: seeds.index(point.seed))

    @property
    def recipes(self) -> dict[str, Recipe]:
        return {system.name: system.points[0].recipe for system in self.systems if system.points}

    @property
    def task(self) -> tuple[str, tuple[int, int] | None] | None:
        """The task that all are trained on, where there is one, and the lengths of its sources."""
        found = {(recipe.data.task, recipe.data.words) for recipe in self.recipes.values()}
        (task, words), *others = found or {(None, None)}
        return None if task is None or others else (f"task:{task}", words)


def make_plan(given: Sequence[str], asked: SharedSettings, *, unequal: bool = False) -> Plan:
    """All systems, checked as far as can be without training; unless `unequal` they share data and budget."""
    if len(given) < 2:
        raise UserError("one system is nothing to compare; give two or more: folders, recipes or names of models")
    facts: dict[str, Facts] = {}  # of data, looked at once
    systems = tuple(_system(one, asked, facts) for one in given)
    names = [system.name for system in systems]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two systems are called {twice[0]!r}; call one of them otherwise, by :as=NAME after it")
    found = Plan(systems=systems, unequal=())
    differing = tuple(_unequal(found.recipes))
    if differing and not unequal:
        raise UserError(f"{differing[0]}; a comparison is of equal data and budget: make them equal, or say --unequal")
    return Plan(systems=systems, unequal=differing)


def _system(given: str, asked: SharedSettings, facts: dict[str, Facts]) -> PlannedSystem:
    what, options = _parted(given)
    changes = [one for one in options if not one.startswith("as=")]
    name = next((one.removeprefix("as=") for one in options if one.startswith("as=")), None)
    if (folders := _folders(what)) is not None:
        if changes:
            raise UserError(f"{given}: {what} is trained; only :as=NAME can be said of it, not {changes[0]}")
        for folder in folders:
            model_folder.load_config(folder)
        return PlannedSystem(name=name or ",".join(folder.resolve().name for folder in folders), folders=folders)
    own = [one if "." in one.partition("=")[0] else f"model.{one}" for one in changes]
    if what.endswith(".toml"):
        if asked.data is not None:
            raise UserError(f"--data {asked.data}: {what} is a recipe, which names its own data; leave --data out")
        mapping, called = read_recipe(Path(what)), Path(what).stem
    else:
        find_model(what)
        mapping, called = _picked(what, own, asked, facts), what
    mapping = config.override(mapping, [*asked.changes, *own])
    name = name or " ".join([called, *changes])
    points = (point_of(mapping, given, {"system": name}, seed) for seed in asked.seeds)
    return PlannedSystem(name=name, points=tuple(points))


def _parted(given: str) -> tuple[str, list[str]]:
    found = None if Path(given).exists() else _OPTIONS.fullmatch(given)
    if found is None:
        return given, []
    options = [re.sub(r"\s*=\s*", "=", one, count=1) for one in parts(found["options"])]
    if not all("=" in one for one in options):
        raise UserError(f"{given}: expected KEY=VALUE,KEY=VALUE after the colon, such as cho2014:preset=tiny,as=tiny")
    return found["what"], options


def _folders(what: str) -> tuple[Path, ...] | None:
    """None: not meant as folders."""
    paths = files.listed(what)
    if not paths or what.endswith(".toml"):
        return None
    meant = any(path.exists() for path in paths) or "/" in what or len(paths) > 1
    return tuple(paths) if meant else None


def _picked(model: str, own: Sequence[str], asked: SharedSettings, facts: dict[str, Facts]) -> dict[str, Any]:
    """The recipe that suits the data; a preset, where one is asked for, is in place of the picked size."""
    if asked.data is None or is_stdin(asked.data):
        raise UserError(f"{model}: what is it to be trained on? Give --data pairs.tsv, or --data task:NAME")
    overrides = [one for one in asked.overrides if one.startswith("data.")]
    mapping = config.override({"data": {"pairs": asked.data}}, overrides)
    data = config.from_dict(Data, mapping["data"], "--data", "data")
    if asked.data not in facts:
        facts[asked.data] = Facts.of_task(data) if data.task else Facts.of(data.ingredients[0].open())
    recipe = pick(data, facts[asked.data], model).recipe.to_dict()
    usual = pick(data, facts[asked.data]).recipe.to_dict()  # whose budget all systems get
    recipe["train"] |= {key: usual["train"][key] for key in BUDGET}
    if any(one.startswith("model.preset=") for one in (*asked.overrides, *own)):
        recipe["model"] = {"name": model}
    return recipe


def _unequal(recipes: Mapping[str, Recipe]) -> Iterable[str]:
    """What every other recipe has otherwise than the first."""
    shared = {name: _shared(recipe) for name, recipe in recipes.items()}
    for name, settings in list(shared.items())[1:]:
        first = next(iter(shared))
        for key, value in settings.items():
            if value != shared[first][key]:
                yield f"{key} is {shared[first][key]!r} for {first} and {value!r} for {name}"


def _shared(recipe: Recipe) -> dict[str, Any]:
    """What is to be equal."""
    data = {f"data.{key}": value for key, value in config.to_dict(recipe.data).items()}
    return data | {f"train.{key}": getattr(recipe.train, key) for key in BUDGET}
