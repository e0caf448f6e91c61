"""What a resumed run is asked for, compared with what it was begun with.

The command that began a run also resumes it. Whatever it sets must be as the run has it, apart from the budget; what
it leaves out stays as the run has it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade import config
from saccade.data.text_files import is_read_once
from saccade.errors import UserError
from saccade.train.recipe import Data, Recipe, load_saved_recipe, recipe_of

_PATHS = {"data.pairs", "data.targets", "data.valid", "data.valid_targets", "data.vocab_from", "train.init_from"}
_ONE_CORPUS = ("pairs", "targets", "fields")  # keys that data.corpora stands in place of
_MOST_NAMED = 3  # differences that an error names


def recipe_to_resume(out: Path, asked: Mapping[str, Any], where: str, mix: tuple[str, float] | None = None) -> Recipe:
    """The recipe of the run in `out`, with the budget that is `asked` for; refuses anything else that differs.

    `asked` has the tables of a recipe, with only those keys that were given; `where` names it in an error. `mix` are
    other pairs, and their share of what is seen.
    """
    if not (out / "recipe.toml").exists():
        raise UserError(f"{out}: there is no run to resume; leave --resume out to start one")
    kept = load_saved_recipe(out)
    if isinstance(asked.get("data"), Mapping):
        asked = {**asked, "data": _sources(asked["data"], kept, out, where, mix)}
    wanted = recipe_of(_merged(_base(kept, asked), asked), where)
    free = ("data.processes",)  # decides how fast batches come, not which
    found = [text for key, text in differences(kept, wanted) if not is_budget(key) and key not in free]
    if found:
        more = f" (and {len(found) - _MOST_NAMED} more)" if len(found) > _MOST_NAMED else ""
        raise UserError(
            f"{out}: a resumed run keeps its recipe, but for train.max_*, train.patience and data.processes: "
            f"{'; '.join(found[:_MOST_NAMED])}{more}; type the command that began the run, or give another --out"
        )
    budget = {key: value for key, value in vars(wanted.train).items() if is_budget(f"train.{key}")}
    data = replace(kept.data, processes=wanted.data.processes)
    return replace(kept, data=data, train=replace(kept.train, **budget))


def is_budget(key: str) -> bool:
    return key.startswith("train.max_") or key == "train.patience"


def differences(kept: Recipe, wanted: Recipe) -> Iterator[tuple[str, str]]:
    """Dotted keys that differ, each with a text that names both values. Whatever "auto" decided is no difference."""
    before, after = _flat(kept.to_dict()), _flat(wanted.to_dict())
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if old != new and new != "auto" and not (key in _PATHS and _same_place(old, new)):
            yield key, f"{key} was {_shown(old)}, is {_shown(new)}"


def _base(kept: Recipe, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The run's recipe, without what the keys that were given stand in place of."""
    tables = kept.to_dict()
    data, model = (asked[name] if isinstance(asked.get(name), Mapping) else {} for name in ("data", "model"))
    instead = _ONE_CORPUS if "corpora" in data else ("targets", "corpora") if "pairs" in data else ()
    tables["data"] = {key: value for key, value in tables["data"].items() if key not in instead}
    if "preset" in model or model.get("name", kept.model) != kept.model:  # settings of its own
        tables["model"] = {"name": kept.model}
    return tables


def _sources(
    given: Mapping[str, Any], kept: Recipe, out: Path, where: str, mix: tuple[str, float] | None
) -> dict[str, Any]:
    """The data table as the run keeps it: a pipe is the copy that was made of it, and what is mixed are corpora."""
    data = dict(given)
    for name in ("pairs", "targets"):
        copy = getattr(kept.data.ingredients[0], name)
        if isinstance(data.get(name), str) and is_read_once(data[name]) and copy and Path(copy).parent == out:
            data[name] = copy
    if mix is not None:
        corpora = config.to_dict(config.from_dict(Data, data, where, "data").mixed_with(*mix))["corpora"]
        data = {key: value for key, value in data.items() if key not in _ONE_CORPUS} | {"corpora": corpora}
    return data


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        merged[key] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return merged


def _flat(table: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Dotted keys; a list is one value."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{at}{key}.") if isinstance(value, Mapping) else {f"{at}{key}": value}
    return flat


def _same_place(old: Any, new: Any) -> bool:
    return isinstance(old, str) and isinstance(new, str) and Path(old).resolve() == Path(new).resolve()


def _shown(value: Any) -> str:
    text = "none" if value is None else str(value) or "not given"
    return text if len(text) <= 60 else text[:57] + "…"
