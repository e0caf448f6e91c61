"""A compiled forward pass gives equal numbers under equal names; if it is not compiled, a log line gives the reason."""

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_guidance import guided
from training_processes import metrics

import saccade
from saccade.data.batching import Batch
from saccade.models import Seq2Seq
from saccade.text import Vocabularies
from saccade.train import resources
from saccade.train.losses import Objective, batch_loss
from saccade.train.recipe import Recipe
from saccade.train.resources import compile_forward
from saccade.train.translation import train

CPU = torch.device("cpu")
Untrained = Callable[..., Seq2Seq[Any, Any]]
TINY = {"width": 16, "inner": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}


def test_a_recurrent_model_is_not_compiled(untrained: Untrained) -> None:
    model = untrained("bahdanau2014")
    reason = compile_forward(model, CPU)
    assert reason is not None and "compiled again for every length" in reason and model._compiled_call_impl is None


def test_a_missing_compiler_is_reported(untrained: Untrained, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(function: Any) -> Any:
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found\nand much more")

    monkeypatch.setattr(resources.torch, "compile", missing)
    model = untrained("vaswani2017")
    reason = compile_forward(model, CPU)
    assert reason == (
        "train.compile: no compiler works here (InvalidCxxCompiler: No working C++ compiler found); "
        "the model is trained uncompiled"
    )
    assert model._compiled_call_impl is None


@pytest.mark.slow
def test_training_works_without_a_compiler(write_recipe: Callable[..., Path], tmp_path: Path) -> None:
    short = {"train.compile": True, "train.max_steps": 2, "train.judge": "loss"}
    recipe = write_recipe("vaswani2017", **short)
    environment = {**os.environ, "CXX": "/nowhere/g++", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "saccade", "train", recipe, "--out", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("train.compile: no compiler works here (InvalidCxxCompiler") == 1
    assert "Traceback" not in done.stderr and "the budget is spent" in done.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch's own, when it loads its compiler
def test_a_compiled_run_trains(make_recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    whole = {"train.schedule": "constant", "train.judge": "loss", "model.dropout": 0.0, "train.compile": True}
    train(make_recipe("vaswani2017", **whole, **{"train.max_steps": 3}), tmp_path / "run")
    outcome = train(make_recipe("vaswani2017", **whole, **{"train.max_steps": 5}), tmp_path / "run", resume=True)
    assert outcome.finished and saccade.load(tmp_path / "run", device="cpu").translate(["the cook works."])
    plain = {**whole, "train.compile": False, "train.max_steps": 5}
    train(make_recipe("vaswani2017", **plain), tmp_path / "plain")
    losses = [[line["loss"] for line in metrics(tmp_path / name) if "loss" in line] for name in ("run", "plain")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4) and len(losses[0]) == 5


@pytest.fixture
def models(untrained: Untrained) -> tuple[Seq2Seq[Any, Any], Seq2Seq[Any, Any]]:
    """A model whose forward pass is captured but not compiled to machine code, and the same model uncompiled."""
    model = untrained("vaswani2017", **TINY).train()
    plain = copy.deepcopy(model)
    model.compile(dynamic=True, backend="aot_eager")
    assert list(model.state_dict()) == list(plain.state_dict())
    assert copy.deepcopy(model)._compiled_call_impl is None  # the weights that are validated are not compiled again
    return model, plain


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_compiled_and_plain_models_give_equal_numbers(models: tuple[Seq2Seq[Any, Any], Seq2Seq[Any, Any]]) -> None:
    for rows in ([[5, 6, 7], [8]], [[5, 6], [7, 8, 9, 10, 11], [12]], [[5, 6, 7, 8], [9]]):
        batch = Batch.of(rows, rows[::-1], range(len(rows)))
        losses = [batch_loss(model, batch, Objective(smoothing=0.1))[0] for model in models]
        torch.testing.assert_close(*losses)
        torch.autograd.backward(losses)
        for (name, compiled), expected in zip(models[0].named_parameters(), models[1].parameters()):
            torch.testing.assert_close(compiled.grad, expected.grad, msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_can_be_guided(
    models: tuple[Seq2Seq[Any, Any], Seq2Seq[Any, Any]], vocabularies: Vocabularies
) -> None:
    guide, batch = guided(vocabularies, ("a dog eats", "un chien mange", [(0, 0), (1, 1), (2, 2)]))
    objective = Objective(guided=1.0, guide=guide)
    (compiled, _), (expected, _) = (batch_loss(model, batch, objective) for model in models)
    torch.testing.assert_close(compiled, expected)
    torch.autograd.backward([compiled, expected])
    for (name, compiled), plain in zip(models[0].named_parameters(), models[1].parameters()):
        torch.testing.assert_close(compiled.grad, plain.grad, msg=name)
