"""The loop trains any learner: a bigram language model gets budgets, an average, exact resume, logs and its model."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from test_resume import assert_same_run
from torch import Tensor, nn
from training_processes import metrics

from saccade.train.distributed import Workers
from saccade.train.learner import Judge, Learner, TensorBatch, TensorBatches, TrainingState, Validation
from saccade.train.loop import Outcome, train_learner
from saccade.train.training_options import Training

TEXT = torch.tensor([list(b"the cat sees the dog and the dog sees the cat . " * 40)]).view(-1, 16)
TRAINING = Training(max_steps=30, check_every=10, warmup=5, lr=0.5, ema=0.5, average=2, seed=3, device="cpu", threads=1)


class BigramLearner(Learner[TensorBatch]):
    name, unit = "bigram", "line"
    judge = Judge("accuracy", "accuracy")

    def __init__(self, training: Training) -> None:
        self.model = nn.Sequential(nn.Embedding(256, 256), nn.Dropout(0.1))
        self.batches = TensorBatches(TEXT[:100], rows=8, seed=training.seed)

    def loss(self, model: nn.Module, batch: TensorBatch, state: TrainingState) -> tuple[Tensor, Tensor]:
        (ids,) = batch.tensors
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), reduction="sum")
        return loss, loss.detach()

    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        with torch.inference_mode():
            logits, ids = model.eval()(TEXT[100:, :-1]), TEXT[100:, 1:]
        model.train()
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten()).item()
        accuracy = (logits.argmax(-1) == ids).float().mean().item()
        sample = bytes(logits[0].argmax(-1).tolist()).decode("latin-1")
        return Validation(scores={"loss": loss, "accuracy": 100 * accuracy}, sample=sample)

    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        save_file(model.state_dict(), folder / "model.safetensors")
        (folder / "README.md").write_text(card)


def train(out: Path, training: Training = TRAINING, **options: Any) -> Outcome:
    return train_learner(BigramLearner, training, out, tables={"model": {"name": "bigram"}}, **options)


def test_second_learner_is_trained_by_the_same_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []
    outcome = train(tmp_path / "run", observe=lambda state, model: seen.append(state.step))
    assert (outcome.finished, outcome.step, outcome.reason, seen) == (True, 30, "the budget is spent", [10, 20, 30])
    assert outcome.best is not None and outcome.best["accuracy"] > 60
    entries = metrics(tmp_path / "run")
    assert entries[0]["loss"] > 2 * entries[-3]["loss"] and entries[-1]["averaged"] == 2
    log = capsys.readouterr().err
    assert "bigram: 65,536 parameters, on cpu" in log and "(best so far)" in log and "best accuracy" in log
    assert "# bigram\n" in (tmp_path / "run" / "README.md").read_text()
    saved = load_file(tmp_path / "run" / "model.safetensors")
    learner = BigramLearner(TRAINING)
    learner.model.load_state_dict(saved)
    scores = learner.validate(learner.model, Workers()).scores
    assert scores == pytest.approx({name: outcome.best[name] for name in scores})
    assert "max_steps = 30" in (tmp_path / "run" / "recipe.toml").read_text()


def test_second_learner_resumes_to_the_bit(tmp_path: Path) -> None:
    def interrupt(state: TrainingState, model: nn.Module) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    whole = train(tmp_path / "whole")
    first = train(tmp_path / "cut", observe=interrupt)
    assert not first.finished and first.reason == "interrupted by SIGTERM at step 10"
    assert train(tmp_path / "cut", resume=True).best == whole.best
    assert_same_run(tmp_path / "cut", tmp_path / "whole")
