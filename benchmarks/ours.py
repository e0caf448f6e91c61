"""What is measured of Saccade: updates of the training loop, and a search."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from work import Work

from saccade import config
from saccade.data.batching import Batch, pad_sources
from saccade.decode.options import DEFAULT_SEARCH
from saccade.decode.search.loop import run_search
from saccade.models import MODELS, Seq2Seq, build_model
from saccade.train.learner import Judge
from saccade.train.log import Log
from saccade.train.loop import train_learner
from saccade.train.pace import TrialLearner
from saccade.train.training_options import Training

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
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


def train_on_one_batch(work: Work, out: Path, log: Log, **settings: Any) -> None:
    """Update by the training loop, on the same batch, until the log ends it. `settings` are those of [train]."""
    training = replace(training_of(work), **settings)
    train_learner(lambda training: OneBatch(work, training), training, out, log=log)


def training_of(work: Work) -> Training:
    return Training(
        precision=PRECISIONS[work.dtype],  # type: ignore[arg-type]
        device=work.device,
        threads=work.threads,
        tokens=work.rows * max(work.source, work.target),
        max_steps=10**6,
        check_every=10 * work.calls,  # the log has an entry per tenth of it
        judge="loss",
        seed=work.seed,
    )


class OneBatch(TrialLearner):
    """A learner of random pairs, for the training loop's update."""

    judge = Judge("loss", "loss", higher_is_better=False)

    def __init__(self, work: Work, training: Training) -> None:
        super().__init__(build(work), training)
        self.name, self.batches = work.model, SameBatch(batch_of(work).to(work.device))


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
    device = torch.device(work.device)
    model = build(work).to(device).eval()
    source, readable = (tensor.to(device) for tensor in pad_sources(work.pairs()[0]))
    lengths = {"shortest": work.target - 1, "longest": work.target}
    options = DEFAULT_SEARCH.with_options(beam=work.beam, precision=PRECISIONS[work.dtype], **lengths)
    return lambda: run_search(model, source, readable, options, most=options.n_best)
