"""The recipe of a run to resume, compared with what the command requests.

The command that began a run also resumes it. What it sets must equal the recipe, apart from the budget; what it leaves
out stays as it was.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from saccade import config
from saccade.data.text_files import is_read_once
from saccade.errors import UserError
from saccade.train.data_options import Data
from saccade.train.recipe import Recipe, load_saved_recipe, recipe_of
from saccade.train.training_options import Training

_PATHS = {"data.pairs", "data.targets", "data.valid", "data.valid_targets", "data.vocab_from", "train.init_from"}
_ONE_CORPUS = ("pairs", "targets", "fields")  # keys that data.corpora replaces
_MOST_NAMED = 3  # differences that an error names


def recipe_to_resume(
    out: Path, requested: Mapping[str, Any], where: str, mix: tuple[str, float] | None = None
) -> Recipe:
    """The recipe of the run in `out`, with the requested budget; refuses anything else that differs.

    `requested` has the tables of a recipe with the keys that were given; `where` names it in errors. `mix`: other
    pairs, and their share.
    """
    if not (out / "recipe.toml").exists():
        raise UserError(f"{out}: there is no run to resume; leave --resume out to start one")
    saved = load_saved_recipe(out)
    tables, data, model = saved.to_dict(), requested.get("data"), requested.get("model")
    if isinstance(data, Mapping):
        data = _data_as_saved(data, saved, out, where, mix)
        requested = {**requested, "data": data}
        replaced = _ONE_CORPUS if "corpora" in data else ("targets", "corpora") if "pairs" in data else ()
        tables["data"] = {key: value for key, value in tables["data"].items() if key not in replaced}
    if isinstance(model, Mapping) and ("preset" in model or model.get("name", saved.model) != saved.model):
        tables["model"] = {"name": saved.model}  # the requested one has settings of its own
    wanted = recipe_of(merge(tables, requested), where)
    data = replace(saved.data, processes=wanted.data.processes)
    return replace(refuse_changes(out, saved, wanted), data=data)


class RunRecipe(Protocol):
    """The recipe of any learner."""

    @property
    def train(self) -> Training: ...
    def to_dict(self) -> dict[str, Any]: ...


AnyRecipe = TypeVar("AnyRecipe", bound=RunRecipe)


def refuse_changes(out: Path, saved: AnyRecipe, wanted: AnyRecipe) -> AnyRecipe:
    """The saved recipe with the wanted budget; anything else that differs is refused."""
    conflicts = [text for key, text in differences(saved, wanted) if not _may_change(key)]
    if conflicts:
        more = f" (and {len(conflicts) - _MOST_NAMED} more)" if len(conflicts) > _MOST_NAMED else ""
        raise UserError(
            f"{out}: a resumed run keeps its recipe, except train.max_*, train.patience and data.processes: "
            f"{'; '.join(conflicts[:_MOST_NAMED])}{more}; type the command that began the run, or give another --out"
        )
    changes = {key: value for key, value in vars(wanted.train).items() if _may_change(f"train.{key}")}
    changed: Any = replace(cast(Any, saved), train=replace(saved.train, **changes))
    return cast(AnyRecipe, changed)


def _may_change(key: str) -> bool:
    """Whether a resumed run may change this key: its budget, and what decides the speed alone."""
    return key.startswith("train.max_") or key in ("train.patience", "data.processes")


def differences(saved: RunRecipe, wanted: RunRecipe) -> Iterator[tuple[str, str]]:
    """The dotted keys that differ, each with a text that names both values. What "auto" decided is no difference."""
    before, after = flatten(saved.to_dict()), flatten(wanted.to_dict())
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old != new and new != "auto" and not (key in _PATHS and _same_place(old, new)):
            yield key, f"{key} was {_shown(old)}, is {_shown(new)}"


def _data_as_saved(
    table: Mapping[str, Any], saved: Recipe, out: Path, where: str, mix: tuple[str, float] | None
) -> dict[str, Any]:
    """The data table as the run saved it: a pipe is its copy, and mixed pairs are corpora."""
    data = dict(table)
    for name in ("pairs", "targets"):
        copy = getattr(saved.data.all_corpora[0], name)
        if isinstance(data.get(name), str) and is_read_once(data[name]) and copy and Path(copy).parent == out:
            data[name] = copy
    if mix is not None:
        corpora = config.to_dict(config.from_dict(Data, data, where, "data").mixed_with(*mix))["corpora"]
        data = {key: value for key, value in data.items() if key not in _ONE_CORPUS} | {"corpora": corpora}
    return data


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        merged[key] = merge(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return merged


def flatten(table: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Dotted keys; a list is one value."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= flatten(value, f"{at}{key}.") if isinstance(value, Mapping) else {f"{at}{key}": value}
    return flat


def _same_place(old: Any, new: Any) -> bool:
    return isinstance(old, str) and isinstance(new, str) and Path(old).resolve() == Path(new).resolve()


def _shown(value: Any) -> str:
    text = "none" if value is None else str(value) or "not given"
    return text if len(text) <= 60 else text[:57] + "…"
