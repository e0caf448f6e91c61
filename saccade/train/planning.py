"""From a request to a recipe and its run: `saccade train` and `saccade.fit` both call `fit`."""

from pathlib import Path
from typing import Any

from saccade import config, model_folder
from saccade.decode import load_vocabularies
from saccade.errors import Say, UserError
from saccade.train.automatic import Facts, choose_recipe
from saccade.train.distributed import join_workers
from saccade.train.log import Log
from saccade.train.loop import Outcome
from saccade.train.recipe import Data, Recipe, Training, load_recipe, read_recipe, recipe_of
from saccade.train.request import TrainingRequest
from saccade.train.resume import recipe_to_resume
from saccade.train.run import claim_folder, refuse_used_folder
from saccade.train.translation import Observer, train


def fit(
    request: TrainingRequest, *, say: Say = lambda reason: None, log: Log | None = None, observe: Observer | None = None
) -> Outcome:
    """Plan the recipe and train it. `say` gets the reasons for what was chosen automatically."""
    out = request.folder
    with join_workers() as workers, claim_folder(workers, out):
        recipe = workers.broadcast(lambda: plan_recipe(request, say))
        return train(recipe, out, resume=request.resume, log=log, observe=observe)


def plan_recipe(request: TrainingRequest, say: Say = lambda reason: None) -> Recipe:
    """The recipe of the file, or of the run to resume, or one chosen for the pairs; with the request's settings."""
    if request.is_recipe:
        _refuse_beside_recipe(request)
    settings = list(request.overrides())
    if request.resume:
        data = {"pairs": request.pairs, "targets": request.targets}
        tables = config.override(read_recipe(Path(request.pairs)) if request.is_recipe else {"data": data}, settings)
        where = request.pairs if request.is_recipe else "--set"
        return recipe_to_resume(request.folder, tables, where, request.mixture)
    if request.is_recipe:
        return load_recipe(Path(request.pairs), settings)
    return _choose(request, settings, say)


def _refuse_beside_recipe(request: TrainingRequest) -> None:
    recipe = request.pairs
    if request.targets is not None:
        raise UserError(f"{recipe} is a recipe, which names its own files; leave {request.targets} out")
    if request.mix is not None:
        raise UserError(f"--mix {request.mix}: {recipe} is a recipe; list what it is to mix in [[data.corpora]]")


def _choose(request: TrainingRequest, settings: list[str], say: Say) -> Recipe:
    """The recipe for these pairs, or for training a model further on them."""
    out = request.folder
    refuse_used_folder(out)
    tables = config.override({}, settings)
    model = tables["model"] if isinstance(tables.get("model"), dict) else {}
    initial = None if request.init_from is None else model_folder.load_config(request.init_from)
    if initial is not None and ("preset" in model or model.get("name", initial.model) != initial.model):
        raise UserError(
            f"--init-from {request.init_from} continues its {initial.model}; leave --model and its preset out"
        )
    data = _data(request, settings)
    limits = _limits(settings)
    cuda = None if limits.device == "auto" else limits.device.startswith("cuda")
    if data.task is not None:
        facts = Facts.of_task(data, cuda=cuda)
    else:
        out.mkdir(parents=True, exist_ok=True)
        data = data.copied_to(out)
        facts = Facts.of(data.all_corpora[0].open(), cuda=cuda)
    if request.mixture is not None:
        try:
            data = data.mixed_with(*request.mixture)
        except ValueError as error:
            raise UserError(f"--mix {request.mix}: {error}") from None
    name = model.get("name")
    chosen = choose_recipe(data, facts, name if isinstance(name, str) else None, initial, minutes=limits.max_minutes)
    for reason in chosen.reasons:
        say(reason)
    mapping = chosen.recipe.to_dict()
    if "preset" in model:  # instead of the chosen size
        mapping["model"] = {"name": chosen.recipe.model}
    return recipe_of(config.override(mapping, settings), "--set")


def _data(request: TrainingRequest, settings: list[str]) -> Data:
    table: dict[str, Any] = {"pairs": request.pairs, "targets": request.targets}
    if request.init_from is not None:
        vocabularies = load_vocabularies(request.init_from)
        table["vocab_from"] = str(request.init_from)
        table |= {"joint": vocabularies.joint, "right_to_left": vocabularies.target.right_to_left}
    settings = [setting for setting in settings if setting.startswith("data.")]
    return config.from_dict(Data, config.override({"data": table}, settings)["data"], "--set", "data")


def _limits(settings: list[str]) -> Training:
    """The device and the time that the recipe is chosen for."""
    limits = [setting for setting in settings if setting.startswith(("train.device", "train.max_minutes"))]
    return config.from_dict(Training, config.override({}, limits).get("train", {}), "--set", "train")
