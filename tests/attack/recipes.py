"""Recipes that were spoilt: their bytes, their tables, or one setting, in the file or by --set."""

import dataclasses
import json
import math
import tomllib
from pathlib import Path
from random import Random
from typing import Any

from .child import Ended
from .mutating import VALUES, as_toml, spoil_bytes, spoil_value
from .oracle import Accepted, Case
from .samples import Samples, pairs_tsv, recipe, recipe_toml

# What would make a run long, or need what a machine may not have, and be right to do so.
_NOT_ATTACKED = {"train.max_steps", "train.compile", "train.tensorboard", "train.device"}
_LINEAR = {"train.judge_on", "train.patience"}


def build(random: Random, folder: Path, samples: Samples) -> Case:
    (folder / "pairs.tsv").write_bytes(pairs_tsv())
    settings = recipe(random.choice(("rnn", "transformer")))
    extra: list[str] = []
    key, value, change = "", None, random.random()
    if change < 0.2:
        content = spoil_bytes(random, recipe_toml(settings))
    elif change < 0.4:
        spoilt, key = spoil_value(random, settings)
        content = recipe_toml(spoilt) if isinstance(spoilt, dict) else b""
        key = ""
    else:
        key = random.choice(_keys(settings["model"]["name"]))
        value = random.choice(VALUES)
        content = recipe_toml(settings)
        if change < 0.7:
            extra = ["--set", f"{key}={as_toml(value)}"]
        else:
            table, _, name = key.partition(".")
            content = recipe_toml({**settings, table: {**settings[table], name: value}})
    (folder / "recipe.toml").write_bytes(content)
    arguments = [
        "train",
        "recipe.toml",
        "--out",
        "out",
        "--set",
        "train.max_steps=2",
        "--set",
        "train.device=cpu",
        *extra,
    ]
    if any("\0" in argument for argument in arguments):  # no program can be given one
        arguments = [argument.replace("\0", "") for argument in arguments]
    return Case(
        arguments=arguments,
        accepted=_trained(key, value),
        outputs=("out",),
        about=f"recipe {key}" if key else "recipe",
        names_code=b"canary_module:" in content or any("canary_module:" in argument for argument in extra),
    )


def _keys(model: str) -> list[str]:
    """Every setting that a recipe of this model may have, with its table."""
    from saccade.models import MODELS
    from saccade.train.data_options import Data
    from saccade.train.training_options import Training

    kinds = {"data": Data, "train": Training, "model": MODELS[model].config_type}
    found = [f"{table}.{field.name}" for table, kind in kinds.items() for field in dataclasses.fields(kind)]
    return sorted({*found, "model.name", "model.preset"} - _NOT_ATTACKED)


def _trained(key: str, value: Any) -> Accepted:
    """A run that was accepted kept the setting as it was given, and all its numbers are finite."""

    def accepted(ended: Ended, folder: Path) -> str | None:
        import safetensors.torch

        out = folder / "out"
        kept = tomllib.loads((out / "recipe.toml").read_text(encoding="utf-8"))
        if not _finite(kept):
            return "a setting that is not finite was kept"
        for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
            if not _finite(json.loads(line)):
                return "a measured number is not finite"
        if not (out / "model.safetensors").exists():
            return "no model was saved"
        tensors = safetensors.torch.load((out / "model.safetensors").read_bytes())
        if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
            return "weights that are not finite were saved"
        return _ignored(kept, key, value)

    return accepted


def _ignored(kept: dict[str, Any], key: str, value: Any) -> str | None:
    table, _, name = key.partition(".")
    if not key or name == "preset" or value in ("auto", "none", None, ""):
        return None
    found = kept.get(table, {}).get(name)
    if isinstance(found, dict) and isinstance(value, dict):
        found = {key: found.get(key) for key in value}
    return None if found == value else f"the setting was not kept: {key} is {found!r}, {str(value)[:30]!r} was given"


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)
