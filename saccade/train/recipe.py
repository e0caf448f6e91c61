"""A recipe: all that a run needs, in three tables. It is complete, and inherits nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from saccade import config, files, names
from saccade.errors import UserError
from saccade.models.table import MODELS, find_model
from saccade.ranges import (
    BetweenZeroAndOne,
    Checked,
    Count,
    CountOrZero,
    NotNegative,
    Positive,
    Range,
    Seed,
    Share,
    UpToOne,
)
from saccade.train.data_recipe import Data, Ingredient

__all__ = ["Data", "Ingredient", "Recipe", "Training", "load_saved_recipe", "load_recipe", "read_recipe", "recipe_of"]

RECIPE = "recipe.toml"  # in the folder of a run

_Place = Annotated[int, Range(least=-1_000, most=1_000)]  # in a list, from 0, or from its end by -1
_Threads = Annotated[int, Range(least=1, most=1_000)]

MEASURED = ("tokens", "threads")  # of Training: where they are "auto", the run decides when it begins, once


@dataclass(frozen=True, kw_only=True)
class Training(Checked):
    optimiser: Literal["adamw", "adadelta", "sgd", "muon"] = "adamw"
    lr: Positive = 1e-3  # the highest; Adadelta's usual one is 1, SGD's from 0.1 to 1
    momentum: Share | None = None  # none: 0 of SGD, 0.95 of Muon
    nesterov: bool = False  # of SGD's momentum; Muon's always is
    betas: tuple[Share, Share] = (0.9, 0.98)
    weight_decay: NotNegative = 1e-4
    schedule: Literal["constant", "inverse-sqrt", "cosine", "staircase", "plateau"] = "cosine"
    warmup: CountOrZero = 200  # steps in which the rate rises to lr
    decay: BetweenZeroAndOne = 0.5  # what a staircase or a plateau multiplies the rate by
    decay_after: NotNegative = 5.0  # epochs before the first step of a staircase
    decay_every: Annotated[float, Range(least=0.001)] = 1.0  # epochs of each further step
    decay_patience: Count = 1  # checks without a lower validation loss that make a plateau
    least_lr: Positive = 1e-5  # a plateau that leads below it ends the run
    clip: Positive | None = 1.0  # of the gradient's norm
    smoothing: Share = 0.1  # of labels
    sampling: Literal["linear", "exponential", "inverse-sigmoid"] | None = None  # the decoder reads its own words, too
    sampling_half: Count = 5000  # steps after which it reads as many of its own words as true ones
    sampling_least: Share = 0.0  # share of true words that stays
    guided: NotNegative = 0.0  # weight of the loss that draws the attention to data.alignments
    guided_decay: UpToOne = 1.0  # what that weight is multiplied by after each epoch
    guided_layer: _Place | None = None  # of the decoder's attentions, from 0; -1: the last; none: the mean of all
    guided_head: _Place | None = None  # likewise of its heads
    reinforce: NotNegative = 0.1  # weight of REINFORCE, by which a sampled attention learns what to read
    reinforce_entropy: NotNegative = 0.002  # weight of the entropy of what it draws from
    reinforce_expected: Share = 0.5  # share of the sentences that it reads by the expected value instead of drawing
    init_from: str | None = None  # a model folder whose weights to begin with
    freeze: tuple[str, ...] = ()  # names, or patterns such as "encoder.*", of parameters that stay as they are
    tokens: Count | Literal["auto"] = 4096  # of a batch, over all workers: pairs × the longest side; auto: what fits
    accumulate: Annotated[int, Range(least=1, most=10_000)] = 1  # batches an update
    ema: BetweenZeroAndOne | None = None  # decay of a running mean of the weights, which is then judged and kept
    average: CountOrZero = 0  # of so many last checks, the mean of the weights is tried at the end
    max_steps: CountOrZero | None = None  # the run ends at whichever of the three comes first
    max_epochs: CountOrZero | None = None
    max_minutes: NotNegative | None = None
    check_every: Count = 500  # steps between validations; each also saves
    patience: Count = 10  # checks without a better score before the run ends
    judge: Literal["bleu", "chrf", "exact", "loss"] = "bleu"  # the metric that chooses the best model
    judge_on: Count = 200  # validation sentences that are translated for it
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    compile: bool = False  # the model's forward pass, by torch.compile
    tensorboard: bool = False  # also writes what is measured for TensorBoard, in the folder tensorboard
    device: str = "auto"
    threads: _Threads | Literal["auto"] | None = "auto"  # of the CPU; auto: one or all, whichever is faster; none: all
    seed: Seed = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_steps is None and self.max_epochs is None and self.max_minutes is None:
            object.__setattr__(self, "max_epochs", 30)
        if self.nesterov and (self.optimiser != "sgd" or not self.momentum):
            raise ValueError("nesterov is of SGD's momentum: set optimiser = 'sgd' and momentum = 0.9")

    @property
    def batch_tokens(self) -> int:
        """`tokens` as a number, also while memory is still to decide."""
        return self.tokens if isinstance(self.tokens, int) else 4096


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
    if not tables.data.name:
        raise UserError(f"{where}: data.pairs: missing; expected a file of pairs, or task:NAME")
    own = dict(tables.model)
    name, preset = own.pop("name", None), own.pop("preset", None)
    if not isinstance(name, str):
        raise UserError(f"{where}: model.name: missing; expected one of {', '.join(MODELS)}")
    kind = find_model(name)
    if preset is not None:
        if not isinstance(preset, str) or preset not in kind.PRESETS:
            raise UserError(f"{where}: model.preset: {preset!r} given, expected one of {', '.join(kind.PRESETS)}")
        own = config.to_dict(kind.PRESETS[preset]) | own
    settings = config.from_dict(kind.config_type, own, where, "model")
    return Recipe(data=tables.data, model=name, settings=settings, train=tables.train)


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    return recipe_of(config.override(read_recipe(path), overrides), str(path))


def load_saved_recipe(folder: Path, overrides: Iterable[str] = ()) -> Recipe:
    """Of the run in that folder, which somebody else may have made: it names no code from outside unless trusted."""
    path = files.path_inside(folder, RECIPE)
    mapping = config.load_toml(path)
    names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return recipe_of(config.override(mapping, overrides), str(path))


def read_recipe(path: Path) -> dict[str, Any]:
    """The plain values of a recipe file. Beside a model it is a part of the model folder, and trusted no more."""
    mapping = config.load_toml(path)
    if (path.parent / "config.json").exists() or files.has_journal(path.parent):
        names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return mapping
