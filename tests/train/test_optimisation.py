"""Optimisers of all or of some parameters, and averages of weights, against hand computations."""

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.models import MODELS, Seq2Seq
from saccade.train.optimisation import CombinedOptimiser, RunningAverage, build_optimiser, mean_weights
from saccade.train.recipe import Recipe
from saccade.train.training_options import Training
from saccade.train.translation import train

MakeRecipe = Callable[..., Recipe]
Untrained = Callable[..., Seq2Seq[Any, Any]]


def small_model() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))


def test_optimisers_decay_only_matrices() -> None:
    model = small_model()
    model[1].bias.requires_grad_(False)
    adamw = build_optimiser(Training(lr=0.1, betas=(0.8, 0.9), weight_decay=0.3), model)
    matrices, vectors = adamw.param_groups
    assert isinstance(adamw, torch.optim.AdamW)
    assert [p.dim() for p in matrices["params"]] == [2] and matrices["weight_decay"] == 0.3
    assert [p.dim() for p in vectors["params"]] == [1, 1] and vectors["weight_decay"] == 0.0
    assert adamw.defaults["betas"] == (0.8, 0.9) and adamw.defaults["lr"] == 0.1
    adadelta = build_optimiser(Training(optimiser="adadelta", lr=1.0, weight_decay=0.3), model)
    assert isinstance(adadelta, torch.optim.Adadelta)
    assert [group["weight_decay"] for group in adadelta.param_groups] == [0.3, 0.0]
    assert (adadelta.defaults["rho"], adadelta.defaults["eps"]) == (0.95, 1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_by_hand(nesterov: bool) -> None:
    """v ← μv + g, θ ← θ − η v; Nesterov: θ ← θ − η (g + μv)"""
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 2.0)
    training = Training(optimiser="sgd", lr=0.1, momentum=0.9, nesterov=nesterov, weight_decay=0.0)
    optimiser = build_optimiser(training, model)
    weight, velocity = 2.0, 0.0
    for gradient in (1.0, -0.5, 2.0):
        model.weight.grad = torch.full_like(model.weight, gradient)
        optimiser.step()
        velocity = 0.9 * velocity + gradient
        weight -= 0.1 * (gradient + 0.9 * velocity if nesterov else velocity)
        assert float(model.weight.detach()) == pytest.approx(weight)


def names_in(model: nn.Module, optimiser: torch.optim.Optimizer) -> set[str]:
    ids = {id(parameter) for group in optimiser.param_groups for parameter in group["params"]}
    return {name for name, parameter in model.named_parameters() if id(parameter) in ids}


@pytest.mark.parametrize("name", MODELS)
def test_muon_updates_hidden_matrices_and_adamw_the_rest(name: str, untrained: Untrained) -> None:
    model = untrained(name, tie="none")
    optimiser = build_optimiser(Training(optimiser="muon"), model)
    assert isinstance(optimiser, CombinedOptimiser)
    muon, adamw = optimiser.parts
    assert isinstance(muon, torch.optim.Muon) and isinstance(adamw, torch.optim.AdamW)
    moved = dict(model.named_parameters())
    by_muon, by_adamw = names_in(model, muon), names_in(model, adamw)
    assert by_muon | by_adamw == set(moved) and not by_muon & by_adamw and by_muon
    assert all(moved[name].dim() == 2 for name in by_muon)
    places = [at for at, module in model.named_modules() if isinstance(module, nn.Embedding) or at == "embeddings"]
    outer = {name for name in moved if name.startswith(tuple(f"{at}." for at in places))}
    assert outer and outer <= by_adamw
    assert all(min(moved[name].shape) == 1 or moved[name].dim() != 2 for name in by_adamw - outer)


def take_steps(model: nn.Module, optimiser: torch.optim.Optimizer, count: int, seed: int) -> list[Tensor]:
    random = torch.Generator().manual_seed(seed)
    for _ in range(count):
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=random)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return [parameter.detach().clone() for parameter in model.parameters()]


def test_combined_optimiser_steps_like_its_parts(untrained: Untrained) -> None:
    model = untrained("bahdanau2014")
    alone = copy.deepcopy(model)
    training = Training(optimiser="muon", lr=1e-2, weight_decay=0.1)
    together = build_optimiser(training, model)
    for group in together.param_groups:
        group["lr"] = 5e-3  # as the loop sets it
    apart = build_optimiser(training, alone)
    assert isinstance(apart, CombinedOptimiser)
    for part in apart.parts:
        for group in part.param_groups:
            group["lr"] = 5e-3
    for parameter, other in zip(model.parameters(), alone.parameters()):
        parameter.grad = torch.ones_like(parameter)
        other.grad = torch.ones_like(other)
    together.step()
    for part in apart.parts:
        part.step()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), alone.parameters()))


def test_combined_optimiser_is_saved_and_loaded_as_one(untrained: Untrained) -> None:
    training, model = Training(optimiser="muon", lr=1e-2), untrained("bahdanau2014")
    optimiser = build_optimiser(training, model)
    take_steps(model, optimiser, 3, seed=1)
    other = copy.deepcopy(model)
    restored = build_optimiser(training, other)
    restored.load_state_dict(copy.deepcopy(optimiser.state_dict()))
    for a, b in zip(take_steps(model, optimiser, 3, seed=2), take_steps(other, restored, 3, seed=2)):
        assert torch.equal(a, b)


@pytest.mark.parametrize("trained", ["embeddings", "decoder.of_state"])
def test_muon_without_hidden_matrices_or_others_has_one_part(trained: str, untrained: Untrained) -> None:
    model = untrained("bahdanau2014")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(trained) and parameter.dim() == 2)
    optimiser = build_optimiser(Training(optimiser="muon"), model)
    assert isinstance(optimiser, CombinedOptimiser) and len(optimiser.parts) == 1
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    take_steps(model, optimiser, 1, seed=1)
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_running_average_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    count_seen = torch.tensor(0)
    model.register_buffer("count_seen", count_seen)
    nn.init.constant_(model.weight, 1.0)
    mean = RunningAverage(model, 0.5)
    expected = 1.0
    for count, value in enumerate((3.0, 5.0, -1.0, 2.0, 8.0, 4.0, 7.0, 1.0, 1.0, 1.0), 1):
        nn.init.constant_(model.weight, value)
        count_seen.fill_(count)
        mean.update(model, torch.tensor(True))
        mean.update(model, torch.tensor(False))  # a skipped update changes nothing
        decay = min(0.5, (1 + count) / (10 + count))
        expected = decay * expected + (1 - decay) * value
        assert float(mean.weights["weight"]) == pytest.approx(expected)
    assert int(mean.weights["count_seen"]) == 10
    assert float(model.weight.detach()) == 1.0


def test_mean_of_weights() -> None:
    snapshots = [{"a": torch.full((2,), value), "n": torch.tensor(3)} for value in (1.0, 2.0, 6.0)]
    mean = mean_weights(snapshots)
    assert mean["a"].tolist() == [3.0, 3.0] and mean["n"].dtype == torch.int64 and int(mean["n"]) == 3


def test_mean_of_equal_weights_is_equal_to_the_bit() -> None:
    torch.manual_seed(1)
    weights = torch.randn(1000)
    assert torch.equal(mean_weights([{"w": weights}] * 3)["w"], weights)
    assert not torch.equal(torch.stack([weights] * 3).mean(0), weights)  # as a plain mean is not


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_run_does_not_need_the_compiler(
    optimiser: str, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # importing it fails
    recipe = make_recipe(**{"train.optimiser": optimiser, "train.max_steps": 2, "train.ema": 0.9})
    assert train(recipe, tmp_path / "run").step == 2
