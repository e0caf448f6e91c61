"""One update from several batches; what does not fit in memory is tried again in halves.

Each worker computes the gradients of its rows alone and reports afterwards: a worker that had to split its batch is
late, and the others need not know why.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from saccade.device import is_out_of_memory, release_unused
from saccade.errors import UserError
from saccade.train.learner import B
from saccade.train.run import TrainingRun

_MOST_SPLITS = 3  # after so many updates that were split, all are


@dataclass(frozen=True, kw_only=True)
class _Report:
    """How a worker's share went."""

    loss: float = 0.0
    rows: int | None = None  # of the batch that had to be split, if any …
    size: int | None = None  # … and the size of its largest part that fitted
    mistake: str | None = None


def update(run: TrainingRun, batches: Sequence[Any]) -> tuple[float, int]:
    """Update the weights by all workers' batches, normalised by all their tokens → the plain loss, summed, and the
    tokens. A loss or gradient that is not finite changes nothing."""
    workers, optimiser = run.workers, run.optimiser
    tokens = sum(batch.tokens for batch in batches)
    share = [rows.to(run.device) for batch in batches if (rows := workers.rows(batch)) is not None]
    mistake: UserError | None = None
    try:
        report = _learn_share(run, share, tokens)
    except UserError as error:
        mistake, report = error, _Report(mistake=str(error))
    reports = workers.gather(report)
    if any(report.mistake is not None for report in reports):
        workers.agree(mistake)
    _note_splits(run, reports)
    workers.sum_gradients(run.model.parameters())
    total = sum(report.loss for report in reports)
    finite = math.isfinite(total)
    if not run.precision.step(optimiser, run.model.parameters(), run.training.clip, finite=finite):
        total = math.nan
    if math.isfinite(total):
        run.learner.after_update(run.state, total / tokens)
    optimiser.zero_grad(set_to_none=True)
    return total, tokens


def _learn_share(run: TrainingRun, batches: list[Any], tokens: int) -> _Report:
    parts = [part for batch in batches for part in split_batch(batch, run.state.room)]
    rows: int | None = None
    while (loss := try_gradients(run, parts, tokens)) is None:
        rows = rows or max(map(len, parts))
        parts = _halve(run, parts)
    return _Report(loss=loss, rows=rows, size=None if rows is None else max(part.size for part in parts))


def try_gradients(run: TrainingRun, parts: Sequence[Any], tokens: int) -> float | None:
    """Add the gradients of the parts, each normalised by `tokens`, to the parameters' → the plain loss, summed.

    None: they do not fit in memory, and no parameter has a gradient.
    """
    try:
        return _add_gradients(run, parts, tokens)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        error.with_traceback(None)  # whose frames hold on to the very tensors that did not fit
    run.optimiser.zero_grad(set_to_none=True)
    release_unused(run.device)
    return None


def _add_gradients(run: TrainingRun, parts: Sequence[Any], tokens: int) -> float:
    total = 0.0
    for part in parts:
        with run.precision.autocast():
            loss, plain = part_loss(run, part)
        run.precision.backward(loss / tokens)
        total += float(plain)
    return total


def part_loss(run: TrainingRun, part: Any) -> tuple[Tensor, Tensor]:
    return run.learner.loss(run.model, part, run.state)


def split_batch(batch: B, room: int | None) -> list[B]:
    """As few parts as possible, each of at most `room` tokens with padding, or of one row."""
    rows = len(batch) if room is None else max(1, room * len(batch) // batch.size)
    return [batch.rows(slice(start, start + rows)) for start in range(0, len(batch), rows)]


def _halve(run: TrainingRun, parts: list[Any]) -> list[Any]:
    if max(map(len, parts)) == 1:
        raise UserError(
            f"a single {run.learner.unit} of {max(part.size for part in parts):,} tokens does not fit in memory; "
            "--resume continues without it; else lower data.longest, or train a smaller model"
        )
    middles = [(part, len(part) // 2) for part in parts]
    halves = [part.rows(rows) for part, middle in middles for rows in (slice(middle), slice(middle, None))]
    return [half for half in halves if len(half)]


def _note_splits(run: TrainingRun, reports: Sequence[_Report]) -> None:
    """Splitting is rare at first, and slow: when it repeats, no batch is tried whole any more."""
    splits = [(report.size, report.rows) for report in reports if report.size is not None]
    if not splits:
        return
    state, unit = run.state, run.learner.unit
    state.splits += 1
    size, rows = min(splits)
    run.log.say(f"a batch of {rows} {unit}s does not fit in memory; it was read in parts of at most {size:,} tokens")
    if state.splits >= _MOST_SPLITS:
        state.splits, state.room = 0, min(size, state.room or size)
        run.log.say(f"from now on, all batches are read in parts of at most {state.room:,} tokens (train.tokens)")
