"""Training starts with the weights of another model, and frozen weights do not change."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade import model_folder
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.train.optimisation import freeze
from saccade.train.recipe import Recipe
from saccade.train.translation import start, train

MakeRecipe = Callable[..., Recipe]
Untrained = Callable[..., Seq2Seq[Any, Any]]
SHORT = {"train.max_steps": 3, "train.judge": "loss"}


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("begun") / "model"


@pytest.fixture
def model(model_path: Path, make_recipe: MakeRecipe) -> Path:
    if not model_path.exists():
        train(make_recipe(**SHORT), model_path)
    return model_path


def continuing(model: Path) -> dict[str, Any]:
    return {**SHORT, "train.init_from": str(model), "data.vocab_from": str(model)}


def test_run_starts_with_the_weights_of_another_model(model: Path, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    saved, _ = model_folder.load_model(model)
    run = start(make_recipe(**continuing(model)), tmp_path / "run")
    assert (
        run.learner.dataset.vocabularies.hash
        == start(make_recipe(**SHORT), tmp_path / "other").learner.dataset.vocabularies.hash
    )
    assert all(torch.equal(tensor, saved[name]) for name, tensor in run.model.state_dict().items())


def test_resumed_run_keeps_its_own_weights(model: Path, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    changed = {**continuing(model), "train.schedule": "constant", "train.max_steps": 5}
    train(make_recipe(**changed), tmp_path / "whole")
    train(make_recipe(**{**changed, "train.max_steps": 3}), tmp_path / "cut")
    train(make_recipe(**{**changed, "train.init_from": str(tmp_path / "gone")}), tmp_path / "cut", resume=True)
    whole, cut = (model_folder.load_training(tmp_path / name)["model"] for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_run_stopped_before_its_first_save_starts_with_them_again(
    model: Path, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    start(make_recipe(**continuing(model)), tmp_path / "run")
    run = start(make_recipe(**continuing(model)), tmp_path / "run", resume=True)
    saved, _ = model_folder.load_model(model)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in run.model.state_dict().items())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"train.init_from": "nowhere"}, "nowhere: no such folder; expected a model folder"),
        ({"data.vocab_from": None, "data.longest": 250, "data.joint": False, "model.tie": "none"}, "vocabulary of"),
        (
            {"model.hidden": 8},
            r"the bahdanau2014 of .* does not fit .*is \(.*\) of .*, expected \(.*, and \d+ more",
        ),
    ],
)
def test_model_that_does_not_fit_is_refused(
    changed: dict[str, Any], message: str, model: Path, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        train(make_recipe(**{**continuing(model), **changed}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weights_of_another_type_are_refused(model: Path, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    tensors, described = model_folder.load_model(model)
    name = next(iter(tensors))
    model_folder.save_model(copy, {**tensors, name: tensors[name].to(torch.float16)}, described)
    with pytest.raises(UserError, match=rf"{name} is .* of torch.float16, expected .* of torch.float32"):
        train(make_recipe(**continuing(copy)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("optimiser", ["adamw", pytest.param("muon", marks=pytest.mark.slow)])
def test_frozen_parameters_stay_equal_to_the_bit(optimiser: str, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    frozen = {"train.freeze": ["encoder", "embeddings.*", "decoder.of_*.bias"], "train.optimiser": optimiser}
    recipe = make_recipe(**frozen, **{"train.average": 3, "train.check_every": 1, "train.judge": "loss"})
    first = {name: value.clone() for name, value in start(recipe, tmp_path / "a").model.state_dict().items()}
    train(recipe, tmp_path / "b")
    state = model_folder.load_training(tmp_path / "b")
    for weights in (state["model"], state["mean"]["weights"], model_folder.load_model(tmp_path / "b")[0]):
        moved = {name for name, value in weights.items() if not torch.equal(value, first[name])}
        assert moved and not any(name.startswith(("encoder.", "embeddings.")) for name in moved)
        assert "decoder.of_state.bias" not in moved and "decoder.of_state.weight" in moved


def test_tied_tensor_is_frozen_by_any_of_its_names(untrained: Untrained) -> None:
    model = untrained("bahdanau2014", tie="all")
    count = freeze(model, ("embeddings.output",))
    assert count == model.embeddings.target.weight.numel() and not model.embeddings.source.weight.requires_grad


def test_freezing_unknown_or_all_parameters_is_refused(untrained: Untrained) -> None:
    model = untrained("bahdanau2014")
    with pytest.raises(
        UserError, match=r"begins with or matches 'encodr'; there are embeddings\.target, .*decoder\.unit"
    ):
        freeze(model, ("encodr",))
    with pytest.raises(UserError, match="nothing is left to learn"):
        freeze(model, ("*",))
