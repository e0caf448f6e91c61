"""`saccade train`: from pairs, or from a recipe, to a model folder."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.console import put, say
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.train.recipe import Recipe, Training


Pairs = Annotated[
    str,
    typer.Argument(metavar="PAIRS|RECIPE", help="A TSV file, one of two files, -, task:NAME, or a recipe.toml."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Such as train.lr=3e-4; may come again.")
]


def train(
    pairs: Pairs,
    targets: Annotated[str | None, typer.Argument(help="The target side of two parallel files.")] = None,
    model: Annotated[str | None, typer.Option(help="A name from `saccade models`, or my_module:Class.")] = None,
    out: Annotated[Path | None, typer.Option(help="The model's folder; runs/NAME if not given.")] = None,
    settings: Settings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run in the folder stopped.")] = False,
    vocab_from: Annotated[Path | None, typer.Option(help="A model folder whose vocabulary to share.")] = None,
    valid: Annotated[str | None, typer.Option(help="Validation pairs, as TSV; else some pairs are held out.")] = None,
    init_from: Annotated[Path | None, typer.Option(help="A model folder to train further, on these pairs.")] = None,
    mix: Annotated[str | None, typer.Option(help="Other pairs to mix in, such as those trained on before.")] = None,
    mix_share: Annotated[float, typer.Option(help="Share of the pairs seen that are mixed in.")] = 0.3,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Train a model. Of pairs alone, model, vocabulary, size and schedule are picked, said, and written as a recipe.

    Example: [bold]saccade train pairs.tsv --out my-model --set train.max_minutes=30[/]
    """
    out = out or Path("runs") / ("stdin" if pairs == "-" else Path(pairs.removeprefix("task:")).name.split(".")[0])
    overrides, mixed = list(settings or []), None if mix is None else (mix, mix_share)
    if vocab_from is not None:
        overrides.append(f"data.vocab_from={json.dumps(str(vocab_from))}")
    if valid is not None:
        overrides.append(f"data.valid={json.dumps(valid)}")
    if init_from is not None:
        overrides.append(f"train.init_from={json.dumps(str(init_from))}")
    from saccade.train.distributed import join_workers
    from saccade.train.run_folder import clean_up_failed_start, hold_folder
    from saccade.train.translation import train as run

    def asked_for() -> "Recipe":
        if resume:
            return _resumed(out, pairs, targets, model, overrides, mixed)
        if pairs.endswith(".toml"):
            _refuse_beside_recipe(pairs, targets, mixed)
            return _given(pairs, model, overrides, init_from)
        return _picked(pairs, targets, model, overrides, out, init_from, mixed)

    with (
        join_workers() as workers,
        hold_folder(workers, out),
        clean_up_failed_start(out) if workers.is_rank0 else nullcontext(),
    ):
        outcome = run(workers.broadcast(asked_for), out, resume=resume)
    if as_json and workers.is_rank0:
        best = outcome.best
        put(json.dumps({"folder": str(out), "reason": outcome.reason, "step": outcome.step, "best": best}))
    if outcome.diverged:
        diverged = UserError(f"{out}: {outcome.reason}")
        diverged.elsewhere = not workers.is_rank0
        raise diverged
    if not outcome.finished:
        raise typer.Exit(1)


def _resumed(
    out: Path,
    pairs: str,
    targets: str | None,
    model: str | None,
    overrides: list[str],
    mix: tuple[str, float] | None,
) -> "Recipe":
    """The recipe of the run in `out`, if it is what the command asks for."""
    from saccade import config
    from saccade.train.recipe import read_recipe
    from saccade.train.resume import recipe_to_resume

    is_recipe = pairs.endswith(".toml")
    if is_recipe:
        _refuse_beside_recipe(pairs, targets, mix)
    given = read_recipe(Path(pairs)) if is_recipe else {"data": {"pairs": pairs, "targets": targets}}
    asked = config.override(given, [*_named(model), *overrides])
    return recipe_to_resume(out, asked, pairs if is_recipe else "--set", mix)


def _named(model: str | None) -> list[str]:
    return [] if model is None else [f"model.name={json.dumps(model)}"]


def _refuse_beside_recipe(recipe: str, targets: str | None, mix: tuple[str, float] | None) -> None:
    if targets is not None:
        raise UserError(f"{recipe} is a recipe, which names its own files; leave {targets} out")
    if mix is not None:
        raise UserError(f"--mix {mix[0]}: {recipe} is a recipe; list what it is to mix in [[data.corpora]]")


def _given(pairs: str, model: str | None, overrides: list[str], init_from: Path | None) -> "Recipe":
    """The recipe of a file."""
    from saccade.train.recipe import load_recipe

    borrowed = [] if init_from is None else [f"data.vocab_from={json.dumps(str(init_from))}"]
    return load_recipe(Path(pairs), [*_named(model), *borrowed, *overrides])


def _picked(
    pairs: str,
    targets: str | None,
    model: str | None,
    overrides: list[str],
    out: Path,
    init_from: Path | None,
    mix: tuple[str, float] | None,
) -> "Recipe":
    """The recipe that suits these pairs, or further training on them, changed as was asked for."""
    from saccade import config, model_folder
    from saccade.train.automatic import Facts, choose_recipe
    from saccade.train.recipe import Data, recipe_of
    from saccade.train.run_folder import refuse_used_folder

    refuse_used_folder(out)
    asked = config.override({}, overrides).get("model")
    asked = asked if isinstance(asked, dict) else {}
    named = model or asked.get("name")
    begun = None if init_from is None else model_folder.load_config(init_from)
    if begun is not None and ("preset" in asked or named not in (None, begun.model)):
        raise UserError(f"--init-from {init_from} goes on with its {begun.model}; leave --model and its preset out")
    given: dict[str, object] = {"pairs": pairs, "targets": targets}
    given |= {} if init_from is None else _vocabulary_of(init_from)
    own = [one for one in overrides if one.startswith("data.")]
    data = config.from_dict(Data, config.override({"data": given}, own)["data"], "--set", "data")
    limits = _limits(overrides)
    cuda = None if limits.device == "auto" else limits.device.startswith("cuda")
    if data.task is not None:
        facts = Facts.of_task(data, cuda=cuda)
    else:
        out.mkdir(parents=True, exist_ok=True)
        data = data.kept_in(out)
        facts = Facts.of(data.ingredients[0].open(), cuda=cuda)
    if mix is not None:
        try:
            data = data.mixed_with(*mix)
        except ValueError as error:
            raise UserError(f"--mix {mix[0]}: {error}") from None
    picked = choose_recipe(data, facts, named if isinstance(named, str) else None, begun, minutes=limits.max_minutes)
    for reason in picked.reasons:
        say(reason)
    mapping = picked.recipe.to_dict()
    if "preset" in asked:  # in place of the picked size
        mapping["model"] = {"name": picked.recipe.model}
    return recipe_of(config.override(mapping, overrides), "--set")


def _limits(overrides: list[str]) -> "Training":
    """What the command says of the device and the time, which a recipe is picked for."""
    from saccade import config
    from saccade.train.recipe import Training

    given = config.override({}, [one for one in overrides if one.startswith(("train.device", "train.max_minutes"))])
    return config.from_dict(Training, given.get("train", {}), "--set", "train")


def _vocabulary_of(folder: Path) -> dict[str, object]:
    """How a recipe says that pieces are those of a model's folder."""
    from saccade.decode import load_vocabularies

    found = load_vocabularies(folder)
    return {
        "vocab_from": str(folder),
        "joint": found.joint,
        "right_to_left": found.target.right_to_left,
    }
