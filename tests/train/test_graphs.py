"""Updates by CUDA graphs and submitted ahead: equal to plain ones, for every model; and why some are not."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade import model_folder
from saccade.data.batching import Batches
from saccade.models import MODELS
from saccade.train.graphs import GradientGraphs, Substitutes
from saccade.train.optimisation import Precision, build_optimiser
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.training_options import Training
from saccade.train.translation import start, train
from saccade.train.update import fast_paths, submit_update, update, updates_in_flight

MakeRecipe = Callable[..., Recipe]


def tiny_recipe(name: str, pairs_file: Path, **training: Any) -> Recipe:
    settings: dict[str, Any] = {
        "lr": 1e-3,
        "schedule": "constant",
        "tokens": 150,
        "max_steps": 40,
        "check_every": 20,
        "judge": "loss",
    }
    mapping = {
        "data": {"pairs": str(pairs_file), "vocabulary": {"kind": "bpe", "size": 330}},
        "model": {"name": name, "preset": "tiny"},
        "train": settings | {"ema": 0.9} | training,
    }
    return recipe_of(mapping, "test")


def weights_after(recipe: Recipe, folder: Path) -> dict[str, Any]:
    outcome = train(recipe, folder)
    assert outcome.finished and not outcome.diverged
    saved = model_folder.load_training(folder)
    return {**saved["model"], **{f"mean {name}": value for name, value in saved["mean"]["weights"].items()}}


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", MODELS)
def test_graphs_learn_what_plain_updates_learn(name: str, precision: str, pairs_file: Path, tmp_path: Path) -> None:
    """With dropout, whose random numbers must be the same."""
    results = []
    for fast in (True, False):
        recipe = tiny_recipe(name, pairs_file, device="cuda", fast_paths=fast, precision=precision)
        if hasattr(recipe.settings, "dropout"):
            recipe = replace(recipe, settings=replace(recipe.settings, dropout=0.2))
        results.append(weights_after(recipe, tmp_path / str(fast)))
    close = {"rtol": 1e-4, "atol": 1e-5} if precision == "fp32" else {"rtol": 0.05, "atol": 5e-3}
    torch.testing.assert_close(results[0], results[1], **close)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017"])
def test_run_with_graphs_is_resumed_to_the_bit(name: str, pairs_file: Path, tmp_path: Path) -> None:
    whole = weights_after(tiny_recipe(name, pairs_file, device="cuda"), tmp_path / "whole")
    train(tiny_recipe(name, pairs_file, device="cuda", max_steps=20), tmp_path / "parts")
    outcome = train(tiny_recipe(name, pairs_file, device="cuda"), tmp_path / "parts", resume=True)
    assert outcome.step == 40
    parts = model_folder.load_training(tmp_path / "parts")["model"]
    assert all(torch.equal(value, whole[key]) for key, value in parts.items())


@pytest.mark.gpu
def test_replayed_gradients_are_those_of_the_plain_path(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(**{"train.device": "cuda", "model.dropout": 0.0}), tmp_path / "run")
    graphs = GradientGraphs(run.model, run.device, run.precision)
    batch = next(iter(Batches(run.learner.dataset.corpus, tokens=200))).to(run.device)
    with run.precision.autocast():
        loss, plain = run.learner.loss(run.model, batch, run.state)
    expected = torch.autograd.grad(loss / 7, list(run.model.parameters()))
    for parts in (1, 2):  # the gradients of a second part are added
        replayed = graphs.replay(run, batch, 7)
        assert graphs.failure is None and replayed is not None and float(replayed) == pytest.approx(float(plain))
        for parameter, gradient in zip(run.model.parameters(), expected, strict=True):
            assert parameter.grad is not None
            torch.testing.assert_close(parameter.grad, parts * gradient, rtol=1e-3, atol=1e-5)


@pytest.mark.gpu
def test_update_that_is_not_finite_is_skipped_on_the_device(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(**{"train.device": "cuda"}), tmp_path / "run")
    assert updates_in_flight(run) > 0
    batch = next(iter(Batches(run.learner.dataset.corpus)))
    update(run, [batch])
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    steps = [int(state["step"]) for state in run.optimiser.state.values()]
    hook = next(run.model.parameters()).register_hook(lambda gradient: gradient * math.inf)
    submitted = submit_update(run, [batch])
    assert not submitted.went_well and math.isnan(submitted.loss())
    assert all(torch.equal(value, before[name]) for name, value in run.model.state_dict().items())
    assert [int(state["step"]) for state in run.optimiser.state.values()] == steps
    hook.remove()
    assert math.isfinite(update(run, [batch])[0])


@pytest.mark.parametrize("name", MODELS)
def test_weights_converted_at_once_give_the_gradients_of_autocast(name: str, pairs_file: Path, tmp_path: Path) -> None:
    run = start(tiny_recipe(name, pairs_file, device="cpu", precision="bf16"), tmp_path / "run")
    run.model.eval()  # without dropout
    batch = next(iter(Batches(run.learner.dataset.corpus, tokens=150)))
    parameters, substitutes = dict(run.model.named_parameters()), Substitutes(run.model, torch.bfloat16)
    with run.precision.autocast():
        expected, _ = run.learner.loss(run.model, batch, run.state)
    loss, _ = substitutes.loss(run, batch)
    assert torch.equal(loss, expected) and any(tensor.dtype == torch.bfloat16 for tensor in substitutes.learnt)
    assert all(parameter is parameters[name] for name, parameter in run.model.named_parameters())
    gradients = torch.autograd.grad(loss, substitutes.learnt, allow_unused=True)
    plainly = torch.autograd.grad(expected, list(parameters.values()), allow_unused=True)
    for gradient, plain in zip(gradients, plainly, strict=True):
        assert (gradient is None) == (plain is None)
        if gradient is not None and plain is not None:
            torch.testing.assert_close(gradient.float(), plain, rtol=0.02, atol=1e-3)


def test_every_fast_path_gives_its_reason(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(), tmp_path / "run")
    paths = {path.name: path.reason for path in fast_paths(run)}
    assert paths["CUDA graphs of gradients"] == "the run is on cpu"
    assert paths["updates submitted ahead"] == "only a GPU computes beside the host, not cpu"
    assert paths["fused optimiser"] is None and updates_in_flight(run) == 0
    assert paths["recurrence as one operation"] is None  # of the model
    off = replace(run, training=replace(run.training, fast_paths=False))
    assert {path.name: path.reason for path in fast_paths(off)}[
        "updates submitted ahead"
    ] == "train.fast_paths is false"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, None),
        ({"sampling": "linear"}, "scheduled sampling changes with each update"),
    ],
)
def test_losses_that_change_from_update_to_update_are_not_captured(
    settings: dict[str, Any], reason: str | None, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    run = start(make_recipe(**{f"train.{name}": value for name, value in settings.items()}), tmp_path / "run")
    assert run.learner.why_not_captured() == reason


def test_only_adamw_skips_an_update_on_the_device() -> None:
    model, precision = torch.nn.Linear(2, 2), Precision("fp32", torch.device("cpu"))
    precision.device = torch.device("cuda")
    reasons = {
        name: precision.why_not_asynchronous(build_optimiser(Training(optimiser=name), model))
        for name in ("adamw", "sgd", "adadelta", "muon")
    }
    assert reasons.pop("adamw") is None
    assert set(reasons.values()) == {"only AdamW can skip an update on the device"}
