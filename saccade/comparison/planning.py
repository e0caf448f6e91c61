"""Turn what a user names into systems: recipes to train with every seed, and folders of trained models.

    runs/mine                                 a model folder, evaluated as it is
    runs/mine-1,runs/mine-2                   the same system with other seeds
    recipe.toml                               a recipe
    luong2015                                 a model by name, with the recipe that suits the data
    luong2015:attention=luong2015-local-p-general,preset=small,as=local-p

Settings follow a colon, written as for `--set`: a key without a dot belongs to the model, one with a dot (`train.lr`)
to the recipe, and `as` names the system.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import config, files, model_folder
from saccade.comparison.options import CompareOptions
from saccade.errors import UserError
from saccade.models.table import find_model
from saccade.names import is_stdin
from saccade.train.automatic import choose_recipe
from saccade.train.data_options import Data
from saccade.train.facts import Facts
from saccade.train.recipe import Recipe, read_recipe
from saccade.train.sweep import Point, build_point, parse_seeds, split_at_commas

# The keys of [train] that decide how much a run may see and compute. What is tuned to a model, such as its learning
# rate, may differ.
BUDGET = (
    *("max_steps", "max_epochs", "max_minutes", "patience", "check_every", "judge", "judge_on"),
    *("tokens", "accumulate", "init_from", "device", "threads"),
)
_OPTIONS = re.compile(r"(?P<system>.+?):(?P<options>[A-Za-z_][\w.]*\s*=.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class PlannedSystem:
    """Either recipes to train, one per seed, or folders of trained models."""

    name: str
    points: tuple[Point, ...] = ()
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    systems: tuple[PlannedSystem, ...]
    unequal: tuple[str, ...]  # the keys of data and budget in which the recipes differ, one sentence each

    @property
    def points(self) -> list[Point]:
        """First every system with the first seed, then with the second: an interrupted comparison has equal numbers."""
        points = [point for system in self.systems for point in system.points]
        seeds = list(dict.fromkeys(point.seed for point in points))
        return sorted(points, key=lambda point: seeds.index(point.seed))

    @property
    def recipes(self) -> dict[str, Recipe]:
        return {system.name: system.points[0].recipe for system in self.systems if system.points}

    @property
    def task(self) -> tuple[str, tuple[int, int] | None] | None:
        """The task that all systems are trained on, if there is one, and the lengths of its sources."""
        tasks = {(recipe.data.task, recipe.data.words) for recipe in self.recipes.values()}
        (task, words), *others = tasks or {(None, None)}
        return None if task is None or others else (f"task:{task}", words)


def make_plan(systems: Sequence[str], options: CompareOptions) -> Plan:
    """Check all systems as far as is possible without training. Their data and budget must be equal, unless
    `options.unequal`."""
    seeds = choose_seeds(options)
    if len(systems) < 2:
        raise UserError("a comparison needs two systems or more: folders, recipes or names of models")
    facts: dict[str, Facts] = {}  # of each dataset, which is examined once
    planned = tuple(_plan_system(text, options, seeds, facts) for text in systems)
    names = [system.name for system in planned]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two systems are called {twice[0]!r}; rename one of them by adding :as=NAME")
    unequal = tuple(_find_unequal(Plan(systems=planned, unequal=()).recipes))
    if unequal and not options.unequal:
        raise UserError(f"{unequal[0]}; systems need equal data and budget: make them equal, or give --unequal")
    return Plan(systems=planned, unequal=unequal)


def choose_seeds(options: CompareOptions) -> list[int]:
    """A single number in `options.seeds` is how many; `options.seed` are the seeds themselves."""
    if options.seed:
        if options.seeds != CompareOptions.seeds:
            raise UserError(
                f"--seeds {options.seeds} and --seed {options.seed[0]} exclude each other; give one of them"
            )
        return parse_seeds(options.seed, "--seed")
    count = str(options.seeds).strip()
    if not count.isdecimal():
        return parse_seeds(count)
    if not re.fullmatch("[1-9][0-9]{0,2}", count):
        raise UserError(f"--seeds {count[:20]}: expected how many, from 1 to 999, or which, such as --seeds 1,2,3")
    return list(range(1, int(count) + 1))


def _plan_system(text: str, options: CompareOptions, seeds: Sequence[int], facts: dict[str, Facts]) -> PlannedSystem:
    system, settings = _split_settings(text)
    changes = [setting for setting in settings if not setting.startswith("as=")]
    name = next((setting.removeprefix("as=") for setting in settings if setting.startswith("as=")), None)
    paths, is_recipe = files.split_paths(system), system.endswith(".toml")
    are_folders = len(paths) > 1 or (paths and ("/" in system or paths[0].exists()))
    if are_folders and not is_recipe:
        if changes:
            raise UserError(f"{text}: {system} is trained already; only :as=NAME can follow it, not {changes[0]}")
        for folder in paths:
            model_folder.load_config(folder)
        return PlannedSystem(name=name or ",".join(folder.resolve().name for folder in paths), folders=tuple(paths))
    overrides = [change if "." in change.partition("=")[0] else f"model.{change}" for change in changes]
    if is_recipe:
        if options.data is not None:
            raise UserError(f"--data {options.data}: {system} is a recipe and names its own data; leave out --data")
        recipe, default_name = read_recipe(Path(system)), Path(system).stem
    else:
        find_model(system)
        recipe, default_name = _automatic_recipe(system, overrides, options, facts), system
    recipe = config.override(recipe, [*options.overrides, *overrides])
    name = name or " ".join([default_name, *changes])
    return PlannedSystem(name=name, points=tuple(build_point(recipe, text, {"system": name}, seed) for seed in seeds))


def _split_settings(text: str) -> tuple[str, list[str]]:
    match = None if Path(text).exists() else _OPTIONS.fullmatch(text)
    if match is None:
        return text, []
    settings = [re.sub(r"\s*=\s*", "=", setting, count=1) for setting in split_at_commas(match["options"])]
    if not all("=" in setting for setting in settings):
        raise UserError(f"{text}: expected KEY=VALUE,KEY=VALUE after the colon, such as cho2014:preset=tiny,as=tiny")
    return match["system"], settings


def _automatic_recipe(
    model: str, overrides: Sequence[str], options: CompareOptions, facts: dict[str, Facts]
) -> dict[str, Any]:
    """The recipe that suits the data. A preset, where one is given, replaces the automatic size."""
    if options.data is None or is_stdin(options.data):
        raise UserError(f"{model} has no training data; give --data pairs.tsv, or --data task:NAME")
    of_data = [change for change in options.settings if change.startswith("data.")]
    mapping = config.override({"data": {"pairs": options.data}}, of_data)
    data = config.from_dict(Data, mapping["data"], "--data", "data")
    if options.data not in facts:
        facts[options.data] = Facts.of_data(data)
    recipe = choose_recipe(data, facts[options.data], model).recipe.to_dict()
    default = choose_recipe(data, facts[options.data]).recipe.to_dict()  # whose budget all systems get
    recipe["train"] |= {key: default["train"][key] for key in BUDGET}
    if any(change.startswith("model.preset=") for change in (*options.settings, *overrides)):
        recipe["model"] = {"name": model}
    return recipe


def _find_unequal(recipes: Mapping[str, Recipe]) -> Iterator[str]:
    """One sentence for each key of data and budget in which a recipe differs from the first."""
    first: dict[str, Any] = {}
    for name, recipe in recipes.items():
        settings = {f"data.{key}": value for key, value in config.to_dict(recipe.data).items()}
        settings |= {f"train.{key}": getattr(recipe.train, key) for key in BUDGET}
        first = first or settings
        for key, value in settings.items():
            if value != first[key]:
                yield f"{key} is {first[key]!r} for {next(iter(recipes))} and {value!r} for {name}"
