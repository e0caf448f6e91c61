"""Small trainings of studies, on the training loop of all models: quiet, on one CPU thread, in a temporary folder."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from saccade.decode.loading import load
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.files import write_atomically
from saccade.train.distributed import Workers
from saccade.train.learner import Judge, Learner, TensorBatch, TensorBatches, TrainingState, Validation
from saccade.train.log import SilentLog
from saccade.train.loop import Observer, Outcome, train_learner
from saccade.train.recipe import recipe_of
from saccade.train.training_options import Training
from saccade.train.translation import train

# For small models on data without noise, in few updates. The last validation is the only one.
DATA: Mapping[str, Any] = {"vocabulary": {"kind": "word", "size": 4000}, "joint": False, "valid_most": 100}
TRAIN: Mapping[str, Any] = {
    "lr": 4e-3,
    "schedule": "cosine",
    "warmup": 50,
    "tokens": 600,
    "smoothing": 0.0,
    "weight_decay": 0.0,
    "judge": "loss",
    "device": "cpu",
    "threads": 1,
}


def train_translator(
    model: Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    updates: int,
    seed: int,
    train_settings: Mapping[str, Any] | None = None,
    observe: Observer | None = None,
) -> Translator:
    """Train a model of the zoo on pairs. `model` and `data` are the tables of a recipe: `{"name": "cho2014",
    "preset": "tiny"}`, `{"pairs": "task:reverse", "words": [3, 20]}`."""
    schedule = {"max_steps": updates, "check_every": updates, "seed": seed}
    tables = {"model": model, "data": {**DATA, **data}, "train": {**TRAIN, **schedule, **(train_settings or {})}}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        _check(train(recipe_of(tables, "study"), out, log=SilentLog(out), observe=observe))
        return load(out, device="cpu")


Loss = Callable[[nn.Module, tuple[Tensor, ...]], Tensor]


def train_on_tensors(
    model: nn.Module,
    loss: Loss,
    tensors: tuple[Tensor, ...],
    *,
    rows: int,
    updates: int,
    seed: int,
    lr: float = 3e-3,
    observe: Callable[[int], None] | None = None,
    every: int | None = None,
) -> nn.Module:
    """Train any module on rows of tensors, and return it. `loss(model, rows of the tensors)` is summed over the rows;
    the rows are shuffled in every epoch. `observe` is called with the number of updates so far, after `every` so many
    of them."""

    class TensorLearner(Learner[TensorBatch]):
        name, judge, is_likelihood = "study", Judge("loss", "loss", higher_is_better=False), False

        def __init__(self) -> None:
            self.model, self.batches = model, TensorBatches(*tensors, rows=rows, seed=seed)

        def loss(self, model: nn.Module, batch: TensorBatch, state: TrainingState) -> tuple[Tensor, Tensor]:
            summed = loss(model, batch.tensors)
            return summed, summed.detach()

        def validate(self, model: nn.Module, workers: Workers) -> Validation:
            return Validation(scores={"loss": 0.0})

        def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
            write_atomically(folder / "README.md", card)

    training = Training(
        lr=lr,
        schedule="cosine",
        warmup=min(50, updates // 10),
        smoothing=0.0,
        weight_decay=0.0,
        max_steps=updates,
        check_every=every or updates,
        tokens=rows,
        judge="loss",
        device="cpu",
        threads=1,
        seed=seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        watch = None if observe is None else lambda state, _: observe(state.step)
        _check(train_learner(lambda _: TensorLearner(), training, out, log=SilentLog(out), observe=watch))
    return model.eval()


def _check(outcome: Outcome) -> None:
    if outcome.diverged:
        raise UserError(f"a training of the study diverged: {outcome.reason}")
    if not outcome.finished:
        raise KeyboardInterrupt
