"""The calls of Saccade that are measured: a training step and a search, by the plain paths and as a user gets them."""

import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from work import Work

from saccade import config
from saccade.data.batching import Batch, pad_sources
from saccade.decode.options import DEFAULT_SEARCH
from saccade.decode.search.loop import run_search
from saccade.models import MODELS, Seq2Seq, build_model
from saccade.train.distributed import Workers
from saccade.train.learner import Judge, Learner, TrainingState, Validation
from saccade.train.log import SilentLog
from saccade.train.loop import start_run
from saccade.train.losses import Objective, batch_loss
from saccade.train.optimisation import Precision, build_optimiser
from saccade.train.recipe import Training
from saccade.train.run import update

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}
Call = Callable[[], object]


def build(work: Work) -> Seq2Seq[Any, Any]:
    """The model on the CPU; `preset` among its settings chooses where they start from."""
    kind = MODELS[work.model]
    settings = dict(work.settings)
    preset = config.to_dict(kind.PRESETS[settings.pop("preset", "base")])
    chosen = config.from_dict(kind.config_type, preset | settings, "the benchmark", "model")
    return build_model(work.model, chosen, work.vocabulary, work.vocabulary)


def batch_of(work: Work) -> Batch:
    sources, targets = work.pairs()
    return Batch.of(sources, targets, range(work.rows))


def plain_step(work: Work) -> Call:
    """Forward, backward and update, one operation after the other, without fast paths of the training loop."""
    training, device = training_of(work), torch.device(work.device)
    model, batch = build(work).to(device).train(), batch_of(work).to(device)
    optimiser, precision = build_optimiser(training, model), Precision(training.precision, device)

    def step() -> None:
        with precision.autocast():
            loss, _ = batch_loss(model, batch, Objective(smoothing=training.smoothing))
        precision.backward(loss / work.units)
        precision.step(optimiser, model.parameters(), training.clip, finite=True)
        optimiser.zero_grad(set_to_none=True)

    return step


def loop_step(work: Work) -> Call:
    """The update of the training loop, with the fast paths that it chooses."""
    folder = tempfile.TemporaryDirectory()
    out = Path(folder.name) / "run"
    run = start_run(lambda training: OneBatch(work, training), training_of(work), out, log=SilentLog(out))
    batch = batch_of(work)

    def step() -> None:
        assert folder is not None  # it lives as long as the run
        update(run, [batch])

    return step


def training_of(work: Work) -> Training:
    return Training(
        precision=PRECISIONS[work.dtype],  # type: ignore[arg-type]
        device=work.device,
        threads=work.threads,
        tokens=work.rows * max(work.source, work.target),
        seed=work.seed,
    )


class OneBatch(Learner[Batch]):
    """A learner of random pairs, for the training loop's update."""

    judge = Judge("loss", "loss", higher_is_better=False)

    def __init__(self, work: Work, training: Training) -> None:
        self.name, self.model, self.training = work.model, build(work), training
        self.batches = SameBatch(batch_of(work))

    def loss(self, model: nn.Module, batch: Batch, state: TrainingState) -> tuple[Tensor, Tensor]:
        assert isinstance(model, Seq2Seq)
        return batch_loss(model, batch, Objective(smoothing=self.training.smoothing))

    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        raise NotImplementedError("nothing is validated")

    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        raise NotImplementedError("nothing is saved")


class SameBatch:
    """One batch, again and again"""

    epoch, epochs = 1, 0.0

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def __iter__(self) -> Iterator[Batch]:
        while True:
            yield self.batch

    def state(self) -> dict[str, int]:
        return {}

    def restore(self, state: Any) -> None:
        pass


def search(work: Work) -> Call:
    """A beam search with the default options, in which every output has `target` tokens."""
    device, dtype = torch.device(work.device), getattr(torch, work.dtype)
    model = copy.deepcopy(build(work)).to(device, dtype).eval()
    source, readable = (tensor.to(device) for tensor in pad_sources(work.pairs()[0]))
    options = DEFAULT_SEARCH.with_options(beam=work.beam, shortest=work.target - 1, longest=work.target)
    return lambda: run_search(model, source, readable, options)
