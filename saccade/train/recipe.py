"""A recipe: everything that a run needs, in the tables [data], [model] and [train]. It inherits nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade import config, files, names
from saccade.errors import UserError
from saccade.models.table import LANGUAGE_MODELS, MODELS, find_model
from saccade.train.data_options import Data
from saccade.train.recipe_files import find_files
from saccade.train.training_options import Training

RECIPE = "recipe.toml"  # in the folder of a run


@dataclass(frozen=True, kw_only=True)
class Recipe:
    data: Data
    model: str
    settings: Any  # the model's Config
    train: Training

    def to_dict(self) -> dict[str, Any]:
        model = {"name": self.model, **config.to_dict(self.settings)}
        return {"data": config.to_dict(self.data), "model": model, "train": config.to_dict(self.train)}

    def to_toml(self) -> str:
        return config.dump_toml(self.to_dict())


@dataclass(frozen=True, kw_only=True)
class _Tables:
    data: Data = field(default_factory=Data)
    model: dict[str, Any] = field(default_factory=dict)
    train: Training = field(default_factory=Training)


def recipe_of(mapping: Mapping[str, Any], where: str) -> Recipe:
    """Read the tables. `[model]` has a `name`, perhaps a `preset` to start from, and settings of the model."""
    data = mapping.get("data")
    if isinstance(data, Mapping) and "kind" in data:
        raise UserError(f"{where}: a recipe for labels (data.kind = {data['kind']!r}): saccade train --kind reads it")
    tables = config.from_dict(_Tables, mapping, where)
    if not tables.data.name:
        raise UserError(f"{where}: data.pairs: missing; expected a file of pairs, or task:NAME")
    settings = dict(tables.model)
    name, preset = settings.pop("name", None), settings.pop("preset", None)
    if not isinstance(name, str):
        raise UserError(f"{where}: model.name: missing; expected one of {', '.join(MODELS)}")
    kind = find_model(name)
    if preset is not None:
        if not isinstance(preset, str) or preset not in kind.PRESETS:
            raise UserError(f"{where}: model.preset: {preset!r} given, expected one of {', '.join(kind.PRESETS)}")
        settings = config.to_dict(kind.PRESETS[preset]) | settings
    options = config.from_dict(kind.config_type, settings, where, "model")
    _check_contents(tables, name, reads_source=kind.reads_source)
    return Recipe(data=tables.data, model=name, settings=options, train=tables.train)


def _check_contents(tables: _Tables, model: str, *, reads_source: bool) -> None:
    """Pairs and corrupted texts are for models that read a source, and texts for language models."""
    if tables.train.judge in ("accuracy", "f1"):
        raise UserError(f"train.judge: {tables.train.judge} is for labels; expected bleu, chrf, exact or loss")
    is_text = tables.data.contents == "text"
    if tables.data.noise is not None and not reads_source:
        raise UserError(
            f"{model} is a language model, which reads no corrupted text: saccade lm train TEXT --model {model} trains "
            f"it; pre-training is for {', '.join(MODELS)}"
        )
    if not is_text and not reads_source:
        raise UserError(
            f"{model} is a language model, which reads no source: saccade lm train TEXT --model {model} trains it on a "
            "text"
        )
    if is_text and reads_source and tables.data.noise is None:
        raise UserError(
            f"{model} translates, so it needs pairs: saccade train PAIRS --model {model}; saccade pretrain TEXT "
            f"--model {model} prepares it for them; the models of texts are {', '.join(LANGUAGE_MODELS)}"
        )
    if is_text and tables.train.judge != "loss":
        raise UserError(f"train.judge: {tables.train.judge} compares with a reference; set it to loss for a text")


def load_recipe(path: Path, overrides: Iterable[str] = (), data_folder: Path | None = None) -> Recipe:
    """The recipe of a file; `data_folder` has the files that it names."""
    tables = read_recipe(path)
    if data_folder is not None:
        tables = find_files(tables, data_folder)
    return recipe_of(config.override(tables, overrides), str(path))


def load_saved_recipe(folder: Path) -> Recipe:
    """The recipe of the run in that folder. It may be somebody else's: it names no code of theirs unless trusted."""
    path = files.path_inside(folder, RECIPE)
    mapping = config.load_toml(path)
    names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return recipe_of(mapping, str(path))


def read_recipe(path: Path) -> dict[str, Any]:
    """The plain values of a recipe file. In a model folder, it is trusted no more than the folder."""
    mapping = config.load_toml(path)
    if (path.parent / "config.json").exists() or files.has_journal(path.parent):
        names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return mapping
