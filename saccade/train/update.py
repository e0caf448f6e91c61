"""One update of the weights: gradients of all parts of the batches, then the optimiser.

On a GPU an update is only submitted: the host prepares the next ones while the device computes, and reads the loss
later. A loss or gradient that is not finite then skips the update on the device itself.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.device import is_out_of_memory, release_unused
from saccade.errors import UserError
from saccade.fast_paths import FastPath
from saccade.train.learner import B
from saccade.train.run import TrainingRun

_MOST_SPLITS = 3  # after so many updates that were split, all are
IN_FLIGHT = 2  # updates that a GPU may still have to finish when the next one is submitted


@dataclass(frozen=True)
class PendingUpdate:
    """An update that was submitted to the device."""

    step: int  # its number, from 1
    tokens: int
    went_well: Tensor  # False if the update was skipped; on the device
    total: Tensor  # the plain loss, summed over the tokens; NaN if the update was skipped
    done: torch.cuda.Event | None  # when `total` can be read; None: now

    def loss(self) -> float:
        """Wait for the update → `total`."""
        if self.done is not None:
            self.done.synchronize()
        return float(self.total)


def update(run: TrainingRun, batches: Sequence[Any]) -> tuple[float, int]:
    """Submit an update and wait for it → the plain loss, summed, and the tokens."""
    submitted = submit_update(run, batches)
    return settle(run, submitted), submitted.tokens


def submit_update(run: TrainingRun, batches: Sequence[Any]) -> PendingUpdate:
    """Update the weights by all workers' batches, normalised by all their tokens. A loss or gradient that is not finite
    changes nothing.

    Each worker computes the gradients of its rows alone and reports afterwards: a worker that had to split its batch
    is late, and the others need not know why.
    """
    workers, parameters = run.workers, list(run.model.parameters())
    tokens = sum(batch.tokens for batch in batches)
    share = [rows.to(run.device) for batch in batches if (rows := workers.rows(batch)) is not None]
    if workers.count == 1:
        total, split = _learn_share(run, share, tokens)
        splits = [split]
    else:
        reports = workers.gather_results(lambda: _as_number(_learn_share(run, share, tokens)))
        total, splits = torch.tensor(sum(loss for loss, _ in reports)), [split for _, split in reports]
    _note_splits(run, [split for split in splits if split is not None])
    workers.sum_gradients(parameters)
    went_well = run.precision.step(run.optimiser, parameters, run.training.clip, total)
    run.optimiser.zero_grad(set_to_none=True)
    return PendingUpdate(
        run.state.step + 1, tokens, went_well.to(run.device), *_read_later(torch.where(went_well, total, math.nan))
    )


def settle(run: TrainingRun, submitted: PendingUpdate) -> float:
    """Wait for an update and tell the learner its loss → the plain loss, summed; NaN: it was skipped."""
    loss = submitted.loss()
    if math.isfinite(loss):
        run.learner.after_update(run.state, loss / submitted.tokens)
    return loss


def updates_in_flight(run: TrainingRun) -> int:
    """How many updates may be unfinished when the next one is submitted."""
    return 0 if why_not_ahead(run) is not None else IN_FLIGHT


def why_not_ahead(run: TrainingRun) -> str | None:
    """Why the host must wait for each update before it submits the next one, or None."""
    if not run.training.fast_paths:
        return "train.fast_paths is false"
    if run.learner.needs_each_loss:
        return "the next update needs the loss of this one"
    if run.workers.count > 1:
        return "the workers report after each update"
    return run.precision.why_not_asynchronous(run.optimiser)


def why_not_captured(run: TrainingRun) -> str | None:
    """Why no CUDA graph can compute the gradients, or None."""
    if run.device.type != "cuda":
        return f"the run is on {run.device.type}"
    if not run.training.fast_paths:
        return "train.fast_paths is false"
    if run.precision.dtype is torch.float16:
        return "fp16 scales each loss"
    return run.learner.why_not_captured()


def fast_paths(run: TrainingRun) -> list[FastPath]:
    """The fast paths of the run's updates, with the reason where one is not taken."""
    fused = None if isinstance(run.optimiser, torch.optim.AdamW) else f"{run.training.optimiser} has no fused kernel"
    compiled = None if run.training.compile else "train.compile is false"
    failure = None if run.graphs is None else run.graphs.failure
    with run.precision.autocast():
        of_learner = run.learner.fast_paths()
    return [
        FastPath("CUDA graphs of gradients", why_not_captured(run) or failure),
        FastPath("updates submitted ahead", why_not_ahead(run)),
        FastPath("fused optimiser", fused),
        FastPath("compiled forward pass", compiled),
        *of_learner,
    ]


def _as_number(report: tuple[Tensor, tuple[int, int] | None]) -> tuple[float, tuple[int, int] | None]:
    return float(report[0]), report[1]


def _read_later(total: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
    """Copy a number to the host without waiting for it."""
    if not total.is_cuda:
        return total, None
    copied = torch.empty_like(total, device="cpu", pin_memory=True)
    copied.copy_(total, non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    return copied, done


def _learn_share(run: TrainingRun, batches: list[Any], tokens: int) -> tuple[Tensor, tuple[int, int] | None]:
    """→ the plain loss and, if a batch had to be split, the size of the largest part and the rows of the batch."""
    parts = [part for batch in batches for part in split_batch(batch, run.state.room)]
    rows = whole = max(map(len, parts), default=0)
    while (loss := try_gradients(run, parts, tokens)) is None:
        if rows == 1:
            raise UserError(
                f"a single {run.learner.unit} of {max(part.size for part in parts):,} tokens does not fit in memory; "
                "--resume continues without it; else lower data.longest, or train a smaller model"
            )
        parts = [half for part in parts for half in _split_rows(part, (len(part) + 1) // 2)]
        rows = max(map(len, parts))
    return loss, (max(part.size for part in parts), whole) if rows < whole else None


def try_gradients(run: TrainingRun, parts: Sequence[Any], tokens: int) -> Tensor | None:
    """Add the gradients of the parts, each normalised by `tokens`, to the parameters' → the plain loss, summed.

    None: they do not fit in memory, and no parameter has a gradient.
    """
    try:
        return sum((_add_gradients(run, part, tokens) for part in parts), torch.zeros((), device=run.device))
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        error.with_traceback(None)  # its frames keep the tensors that did not fit
    run.optimiser.zero_grad(set_to_none=True)
    release_unused(run.device)
    return None


def _add_gradients(run: TrainingRun, part: Any, tokens: int) -> Tensor:
    if run.graphs is not None and (replayed := run.graphs.replay(run, part, tokens)) is not None:
        return replayed
    with run.precision.autocast():
        loss, plain = run.learner.loss(run.model, part, run.state)
    run.precision.backward(loss * (1 / tokens))
    return plain


def split_batch(batch: B, room: int | None) -> list[B]:
    """As few parts as possible, each of at most `room` tokens with padding, or of one row."""
    return _split_rows(batch, len(batch) if room is None else max(1, room * len(batch) // batch.size))


def _split_rows(batch: B, rows: int) -> list[B]:
    if rows >= len(batch):
        return [batch]
    return [batch.rows(slice(start, start + rows)) for start in range(0, len(batch), rows)]


def _note_splits(run: TrainingRun, splits: Sequence[tuple[int, int]]) -> None:
    """Splitting is rare at first, and slow: when it repeats, no batch is tried whole any more."""
    if not splits:
        return
    state, unit = run.state, run.learner.unit
    state.splits += 1
    size, rows = min(splits)
    run.log.say(f"a batch of {rows} {unit}s does not fit in memory; it was read in parts of at most {size:,} tokens")
    if state.splits >= _MOST_SPLITS:
        state.splits, state.room = 0, min(size, state.room or size)
        run.log.say(f"from now on, all batches are read in parts of at most {state.room:,} tokens (train.tokens)")
