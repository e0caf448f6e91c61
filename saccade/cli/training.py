"""`saccade train`: from pairs, or from a recipe, to a model folder."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.train.recipe import Recipe


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
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Train a model. Of pairs alone, model, vocabulary, size and schedule are picked, said, and written as a recipe.

    Example: [bold]saccade train pairs.tsv --out my-model --set train.max_minutes=30[/]
    """
    out = out or Path("runs") / ("stdin" if pairs == "-" else Path(pairs.removeprefix("task:")).name.split(".")[0])
    overrides = list(settings or [])
    if vocab_from is not None:
        overrides.append(f"data.vocab_from={json.dumps(str(vocab_from))}")
    if valid is not None:
        overrides.append(f"data.valid={json.dumps(valid)}")
    from saccade.train.loop import train as run
    from saccade.train.starting import leaving_no_false_start

    with leaving_no_false_start(out):
        recipe = _kept(out, overrides, model) if resume else _recipe(pairs, targets, model, overrides, out)
        outcome = run(recipe, out, resume=resume)
    if as_json:
        best = outcome.best
        typer.echo(json.dumps({"folder": str(out), "reason": outcome.reason, "step": outcome.step, "best": best}))
    if not outcome.finished:
        raise typer.Exit(1)


def _kept(out: Path, overrides: list[str], model: str | None) -> "Recipe":
    """A resumed run keeps its recipe; only its budget may be changed."""
    from saccade.train.recipe import load_recipe

    if model is not None:
        raise UserError("--resume goes on with the model that the run has; leave --model out")
    wrong = [one for one in overrides if not one.startswith("train.max_") and not one.startswith("train.patience")]
    if wrong:
        raise UserError(
            f"--set {wrong[0]}: a resumed run keeps its recipe; only train.max_* and train.patience may change"
        )
    if not (out / "recipe.toml").exists():
        raise UserError(f"{out}: there is no run to resume; leave --resume out to start one")
    return load_recipe(out / "recipe.toml", overrides)


def _recipe(pairs: str, targets: str | None, model: str | None, overrides: list[str], out: Path) -> "Recipe":
    from saccade import config
    from saccade.data import PairFiles
    from saccade.tasks import task
    from saccade.train.picking import Facts, pick
    from saccade.train.recipe import Data, load_recipe, recipe_of
    from saccade.train.starting import refuse_used

    if pairs.endswith(".toml"):
        if targets is not None:
            raise UserError(f"{pairs} is a recipe, which names its own files; leave {targets} out")
        name = [f'model.name="{model}"'] if model else []
        return load_recipe(Path(pairs), [*name, *overrides])
    refuse_used(out)
    own = [one for one in overrides if one.startswith("data.")]
    given = {"pairs": pairs, "targets": targets}
    data = config.from_dict(Data, config.override({"data": given}, own)["data"], "--set", "data")
    if data.task is not None:
        drawn = task(data.task).pairs(min(2000, data.count), seed=1, words=data.words)
        facts = replace(Facts.of(drawn), pairs=data.count)
    else:
        out.mkdir(parents=True, exist_ok=True)
        files = PairFiles(data.pairs, data.targets).kept_in(out)
        data = replace(data, pairs=str(files.source), targets=None if files.target is None else str(files.target))
        facts = Facts.of(files)
    asked = config.override({}, overrides).get("model")
    asked = asked if isinstance(asked, dict) else {}
    named = asked.get("name")
    picked = pick(data, facts, model or (named if isinstance(named, str) else None))
    for reason in picked.reasons:
        typer.echo(reason, err=True)
    mapping = picked.recipe.to_dict()
    if "preset" in asked:  # in place of the picked size
        mapping["model"] = {"name": picked.recipe.model}
    return recipe_of(config.override(mapping, overrides), "--set")
