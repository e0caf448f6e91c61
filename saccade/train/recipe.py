"""A recipe: all that a run needs, in three tables. It is complete, and inherits nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from saccade import config
from saccade.errors import UserError
from saccade.models.table import MODELS, find_model
from saccade.text import Policy


@dataclass(frozen=True, kw_only=True)
class Data:
    pairs: str = ""  # a TSV file, the source side of two parallel files, "-" for standard input, or task:NAME
    targets: str | None = None  # the target side of two parallel files
    valid: str | None = None  # validation pairs; none: some of the training pairs are held out
    valid_targets: str | None = None
    valid_share: float = 0.05
    valid_most: int = 2000
    count: int = 100_000  # pairs drawn of a task
    words: tuple[int, int] = (3, 20)  # source words of a task's sentences
    longest: int = 256  # pieces on a side; longer pairs are left out and reported
    vocabulary: Policy = field(default_factory=Policy)
    joint: bool = True  # one vocabulary for both sides
    vocab_from: str | None = None  # a model folder whose vocabulary to use

    @property
    def task(self) -> str | None:
        return self.pairs.removeprefix("task:") if self.pairs.startswith("task:") else None


@dataclass(frozen=True, kw_only=True)
class Training:
    optimiser: Literal["adamw", "adadelta"] = "adamw"
    lr: float = 1e-3  # the highest; Adadelta's usual one is 1
    schedule: Literal["constant", "inverse-sqrt", "cosine"] = "cosine"
    warmup: int = 200  # steps in which the rate rises to lr
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 1e-4
    clip: float | None = 1.0  # of the gradient's norm
    smoothing: float = 0.1  # of labels
    tokens: int = 4096  # of a batch: pairs × the longest side
    accumulate: int = 1  # batches an update
    ema: float | None = None  # decay of a running mean of the weights, which is then what is judged and kept
    average: int = 0  # of so many last checks, the mean of the weights is tried at the end
    max_steps: int | None = None  # the run ends at whichever of the three comes first
    max_epochs: int | None = None
    max_minutes: float | None = None
    check_every: int = 500  # steps between validations; each also saves
    patience: int = 10  # checks without a better score before the run ends
    judge: Literal["bleu", "loss"] = "bleu"
    judge_on: int = 200  # validation sentences translated for BLEU
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    device: str = "auto"
    threads: int | None = None  # of the CPU; none: all
    seed: int = 1

    def __post_init__(self) -> None:
        if self.max_steps is None and self.max_epochs is None and self.max_minutes is None:
            object.__setattr__(self, "max_epochs", 30)
        positive = ("lr", "tokens", "accumulate", "check_every", "patience", "judge_on")
        for name in positive:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("max_steps", "max_epochs", "max_minutes", "average", "warmup"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"ema must be between 0 and 1, got {self.ema}")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    data: Data
    model: str
    settings: Any  # the model's own Config
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
    """From plain values. `[model]` has a `name`, perhaps a `preset` to start from, and the model's own settings."""
    tables = config.from_dict(_Tables, mapping, where)
    if not tables.data.pairs:
        raise UserError(f"{where}: data.pairs: missing; expected a file of pairs, or task:NAME")
    own = dict(tables.model)
    name, preset = own.pop("name", None), own.pop("preset", None)
    if not isinstance(name, str):
        raise UserError(f"{where}: model.name: missing; expected one of {', '.join(MODELS)}")
    kind = find_model(name)
    if preset is not None:
        if preset not in kind.PRESETS:
            raise UserError(f"{where}: model.preset: {preset!r} given, expected one of {', '.join(kind.PRESETS)}")
        own = config.to_dict(kind.PRESETS[preset]) | own
    settings = config.from_dict(kind.config_type, own, where, "model")
    return Recipe(data=tables.data, model=name, settings=settings, train=tables.train)


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    return recipe_of(config.override(config.load_toml(path), overrides), str(path))
