"""From a request to a recipe and its run, for `saccade train` and `saccade.fit`.

Importing this module loads neither torch nor numpy, so that `saccade --help` is fast.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from saccade import config
from saccade.errors import Progress, Say, UserError, say
from saccade.names import is_stdin, task_name
from saccade.ranges import BetweenZeroAndOne, Checked, Help, OptionError

if TYPE_CHECKING:
    from saccade.train.loop import Outcome
    from saccade.train.recipe import Recipe

LabelKind = Literal["classify", "tag"]
TrainingKind = Literal["translate", "classify", "tag"]

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
    targets: Annotated[str | None, Help("The targets of two parallel files.", argument=True)] = None
    kind: Annotated[
        TrainingKind, Help("translate; classify: the target is a label of the source; tag: it is a tag for each word.")
    ] = "translate"
    model: Annotated[
        str | None, Help("A name that `saccade models` lists, my_module:Class, or, for labels, ENCODER+READER.")
    ] = None
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
    data_folder: Annotated[
        Path | None, Help("Folder of the files that a recipe names (default: the current folder).")
    ] = None
    init_from: Annotated[Path | None, Help("Continue training this model on the new pairs.")] = None
    mix: Annotated[str | None, Help("Further pairs to mix in, such as those that --init-from has seen.")] = None
    mix_share: Annotated[BetweenZeroAndOne, Help("Proportion of --mix pairs in the training data.")] = 0.3
    explain: Annotated[bool, Help("List the fast paths, and why one is not taken.")] = False

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
    def data(self) -> dict[str, Any]:
        """The pairs, as keys of `[data]`."""
        return {"pairs": self.pairs, "targets": self.targets}

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


def list_settings(settings: Mapping[str, Any] | Sequence[str]) -> Sequence[str]:
    """Settings as KEY=VALUE, which Python code may also give as a mapping."""
    if isinstance(settings, Mapping):
        return [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    return settings


def parse_budget(budget: str | int) -> dict[str, float]:
    """The settings of `[train]` for a budget: "10m", "1.5h", "90s"; 5000 or "5000 updates"; "20 epochs"."""
    match = _BUDGET.fullmatch(str(budget).strip().lower())
    number, unit = (match[1], match[2]) if match else ("", "?")
    if unit in _SECONDS:
        return {"max_minutes": float(number) * _SECONDS[unit] / 60}
    key = _COUNTED.get(unit.removesuffix("s") if len(unit) > 1 else unit)
    if key is None or "." in number:
        raise OptionError("budget", f"must be a time (10m, 2h), updates (5000) or epochs (20 epochs), got {budget!r}")
    return {key: int(number)}


def train_model(request: TrainingRequest, *, progress: Progress | None = None) -> "Outcome":
    """Plan the recipe, print the reasons for what was chosen automatically, and train it."""
    from saccade.train.distributed import join_workers
    from saccade.train.run import claim_folder
    from saccade.train.translation import train

    out = request.folder
    observe = None if progress is None else lambda state, translator: progress(state.step, None)
    with join_workers() as workers, claim_folder(workers, out):
        recipe = workers.broadcast(lambda: plan_recipe(request))
        return train(recipe, out, resume=request.resume, observe=observe, explain=request.explain)


def plan_recipe(request: TrainingRequest, say: Say = say) -> "Recipe":
    """The recipe of the file, or of the run to resume, or one chosen for the pairs; with the request's settings."""
    from saccade.train.recipe import load_recipe, read_recipe
    from saccade.train.recipe_files import find_files
    from saccade.train.resume import recipe_to_resume

    pairs, settings = request.pairs, list(request.overrides())
    if request.is_recipe and request.targets is not None:
        raise UserError(f"{pairs} is a recipe, which names its own files; leave {request.targets} out")
    if request.is_recipe and request.mix is not None:
        raise UserError(f"--mix {request.mix}: {pairs} is a recipe; list what it is to mix in [[data.corpora]]")
    if not request.is_recipe and request.data_folder is not None:
        raise UserError(f"--data-folder {request.data_folder}: only for a recipe; give the path of {pairs} instead")
    if request.resume:
        tables = read_recipe(Path(pairs)) if request.is_recipe else {"data": request.data}
        if request.data_folder is not None:
            tables = find_files(tables, request.data_folder)
        where = pairs if request.is_recipe else "--set"
        return recipe_to_resume(request.folder, config.override(tables, settings), where, request.mixture)
    if request.is_recipe:
        return load_recipe(Path(pairs), settings, request.data_folder)
    return _choose(request, settings, say)


def _choose(request: TrainingRequest, settings: list[str], say: Say) -> "Recipe":
    """The recipe for these pairs, or for training a model further on them."""
    from saccade.decode.loading import load_vocabularies
    from saccade.model_folder import load_config
    from saccade.train.automatic import choose_recipe
    from saccade.train.data_options import Data
    from saccade.train.facts import Facts
    from saccade.train.run import refuse_used_folder
    from saccade.train.training_options import Training

    out, folder, initial, table = request.folder, request.init_from, None, request.data
    refuse_used_folder(out)
    if folder is not None:
        initial, vocabularies = load_config(folder), load_vocabularies(folder)
        table |= {"vocab_from": str(folder), "joint": vocabularies.joint}
        table |= {"right_to_left": vocabularies.target.right_to_left}
    tables = config.override({"data": table}, settings)
    model = tables["model"] if isinstance(tables.get("model"), dict) else {}
    if initial is not None and ("preset" in model or model.get("name", initial.model) != initial.model):
        raise UserError(f"--init-from {folder} continues its {initial.model}; leave --model and its preset out")
    data = config.from_dict(Data, tables["data"], "--set", "data")
    limits = config.from_dict(Training, tables.get("train", {}), "--set", "train")
    if data.task is None:
        out.mkdir(parents=True, exist_ok=True)
        data = data.copied_to(out)
    cuda = None if limits.device == "auto" else limits.device.startswith("cuda")
    facts = Facts.of_data(data, seed=limits.seed, cuda=cuda)
    if request.mixture is not None:
        try:
            data = data.mixed_with(*request.mixture, facts.pairs)
        except ValueError as error:
            raise UserError(f"--mix {request.mix}: {error}") from None
    name = model.get("name") if isinstance(model.get("name"), str) else None
    recipe, reasons = choose_recipe(
        data, facts, name, initial, minutes=limits.max_minutes, updates=limits.max_steps, settings=settings
    )
    for reason in reasons:
        say(reason)
    return recipe
