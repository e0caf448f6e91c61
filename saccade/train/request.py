"""What `saccade train` and `saccade.fit` are asked for. This module loads neither torch nor numpy."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from saccade.errors import UserError
from saccade.names import is_stdin, task_name
from saccade.ranges import BetweenZeroAndOne, Checked, Help

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_COUNTED = {"": "max_steps", "update": "max_steps", "step": "max_steps", "epoch": "max_epochs"}


@dataclass(frozen=True, kw_only=True)
class TrainingRequest(Checked):
    pairs: Annotated[
        str,
        Help(
            "A file of pairs, the sources of two parallel files, - for standard input, task:NAME, or a recipe.toml.",
            metavar="PAIRS|RECIPE",
            argument=True,
        ),
    ]
    targets: Annotated[str | None, Help("The target side of two parallel files.", argument=True)] = None
    model: Annotated[str | None, Help("A name that `saccade models` lists, or my_module:Class.")] = None
    out: Annotated[Path | None, Help("Folder for the model (default: runs/NAME).")] = None
    budget: Annotated[
        str | None, Help("When to stop: after a time (10m, 2h), a number of updates (5000) or of epochs (20 epochs).")
    ] = None
    settings: Annotated[
        tuple[str, ...],
        Help(
            "Change a setting of the recipe, such as train.lr=3e-4. Can be repeated.",
            metavar="KEY=VALUE",
            flags=("--set",),
        ),
    ] = ()
    resume: Annotated[bool, Help("Continue the interrupted run in the --out folder.")] = False
    vocab_from: Annotated[Path | None, Help("Use the vocabulary of this model folder.")] = None
    valid: Annotated[str | None, Help("Validation pairs as TSV; by default, some of the pairs are held out.")] = None
    init_from: Annotated[Path | None, Help("Continue training this model on the new pairs.")] = None
    mix: Annotated[str | None, Help("Further pairs to mix in, such as those that --init-from has seen.")] = None
    mix_share: Annotated[BetweenZeroAndOne, Help("Proportion of --mix pairs in the training data.")] = 0.3

    @property
    def folder(self) -> Path:
        if self.out is not None:
            return self.out
        name = "stdin" if is_stdin(self.pairs) else Path(task_name(self.pairs) or self.pairs).name.split(".")[0]
        return Path("runs") / name

    @property
    def is_recipe(self) -> bool:
        return self.pairs.endswith(".toml")

    @property
    def mixture(self) -> tuple[str, float] | None:
        return None if self.mix is None else (self.mix, self.mix_share)

    def overrides(self) -> Iterator[str]:
        """The options as settings of a recipe, KEY=VALUE."""
        if self.model is not None:
            yield f"model.name={json.dumps(self.model)}"
        if self.is_recipe and not self.resume and self.init_from is not None:
            yield f"data.vocab_from={json.dumps(str(self.init_from))}"
        yield from self.settings
        options = {"data.vocab_from": self.vocab_from, "data.valid": self.valid, "train.init_from": self.init_from}
        yield from (f"{key}={json.dumps(str(value))}" for key, value in options.items() if value is not None)
        if self.budget is not None:
            yield from (f"train.{key}={value}" for key, value in parse_budget(self.budget).items())


def parse_budget(budget: str | int) -> dict[str, float]:
    """The settings of `[train]` for a budget: "10m", "1.5h", "90s"; 5000 or "5000 updates"; "20 epochs"."""
    match = _BUDGET.fullmatch(str(budget).strip().lower())
    number, unit = (match[1], match[2]) if match else ("", "?")
    if unit in _SECONDS:
        return {"max_minutes": float(number) * _SECONDS[unit] / 60}
    key = _COUNTED.get(unit.removesuffix("s") if len(unit) > 1 else unit)
    if key is None or "." in number:
        raise UserError(f"budget: {budget!r} given, expected a time (10m, 2h), updates (5000) or epochs (20 epochs)")
    return {key: int(number)}
