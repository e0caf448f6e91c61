"""How many updates per second this machine makes: timed before a recipe is chosen for a limited time."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade.data.batching import Batch
from saccade.device import keep_freed_memory, wait_for
from saccade.models import Seq2Seq, build_model, capturing
from saccade.text import EOS
from saccade.train.distributed import Workers
from saccade.train.graphs import GradientGraphs
from saccade.train.learner import Learner, TrainingState, Validation
from saccade.train.log import SilentLog
from saccade.train.losses import Objective, batch_loss
from saccade.train.optimisation import Precision, build_optimiser
from saccade.train.resources import restore_thread_count
from saccade.train.run import TrainingRun
from saccade.train.training_options import Training
from saccade.train.update import PendingUpdate, settle, submit_update, updates_in_flight, why_not_captured


def updates_per_second(
    model: str, settings: Any, train: Training, *, device: torch.device, vocabulary: int, length: int, seconds: float
) -> float:
    """Time updates on batches of `train.tokens` random tokens, in texts of `length`, for about `seconds`.

    The first update, which allocates what later ones reuse and captures a CUDA graph, is not counted. On a CPU, one
    thread and all of them are timed in turns, because a run takes the faster (`choose_threads`). Neither the random
    state nor the number of threads changes.
    """
    keep_freed_memory()
    threads = torch.get_num_threads()
    turns = (1, threads, threads, 1) if device.type == "cpu" and threads > 1 else (threads,)
    with restore_thread_count(), torch.random.fork_rng([device] if device.type == "cuda" else []):
        net = build_model(model, settings, vocabulary, vocabulary).to(device).train()
        run = _trial_run(net, train, device)
        pairs = max(1, train.batch_tokens // length)
        sources, targets = torch.randint(EOS + 1, vocabulary, (2, pairs, max(1, length - 1))).tolist()  # and eos
        batch = Batch.of(sources, targets, range(pairs))
        pending, most_pending = deque[PendingUpdate](), updates_in_flight(run)

        def update() -> None:
            pending.append(submit_update(run, [batch]))
            while len(pending) > most_pending:
                settle(run, pending.popleft())

        def rate(threads: int) -> float:
            torch.set_num_threads(threads)
            start, count = time.perf_counter(), 0
            while count == 0 or time.perf_counter() - start < seconds / len(turns):
                update()
                count += 1
            wait_for(device)
            return count / (time.perf_counter() - start)

        update()
        wait_for(device)
        return max(map(rate, turns))


def _trial_run(net: Seq2Seq[Any, Any], train: Training, device: torch.device) -> TrainingRun:
    out, precision = Path(), Precision(train.precision, device)
    learner = TrialLearner(net, train)
    run = TrainingRun(
        learner=learner,
        training=train,
        tables={},
        out=out,
        device=device,
        workers=Workers(),
        model=net,
        optimiser=build_optimiser(train, net),
        precision=precision,
        average=None,
        log=SilentLog(out),
        state=TrainingState(),
    )
    if why_not_captured(run) is None:
        run = replace(run, graphs=GradientGraphs(net, device, precision))
    return run


class TrialLearner(Learner[Batch]):
    """The loss of translation, for updates that are timed and never validated or saved."""

    name = "trial"

    def __init__(self, model: Seq2Seq[Any, Any], training: Training) -> None:
        self.model, self.training = model, training

    def loss(self, model: nn.Module, batch: Batch, state: TrainingState) -> tuple[Tensor, Tensor]:
        assert isinstance(model, Seq2Seq)
        return batch_loss(model, batch, Objective.of(self.training))

    def why_not_captured(self) -> str | None:
        assert isinstance(self.model, Seq2Seq)
        return capturing.why_not_captured(self.model)

    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        raise RuntimeError("a trial run has nothing to validate on")

    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        raise RuntimeError("a trial run is not saved")
