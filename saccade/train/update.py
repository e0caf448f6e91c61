"""One update, from several batches; what does not fit in memory is tried again in halves.

Each worker makes the gradients of its rows by itself and only then says how that went: one that had to split is late,
and the others need not know why.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.data.batching import Batch
from saccade.device import is_out_of_memory, release_unused
from saccade.errors import UserError
from saccade.train.losses import batch_loss
from saccade.train.reinforce import has_sampled_attention, next_baseline
from saccade.train.run import TrainingRun

_ENOUGH_SPLITS = 3  # after so many updates that were split, all are


@dataclass(frozen=True, kw_only=True)
class _Report:
    """How a worker's share went."""

    loss: float = 0.0
    pairs: int | None = None  # of the batch that had to be split, if any …
    pieces: int | None = None  # … and of its largest part that fitted
    mistake: str | None = None


def update(run: TrainingRun, batches: Sequence[Batch]) -> tuple[float, int]:
    """Of all workers' batches, normalised by all their tokens → the plain loss, summed, and the tokens.

    A loss or gradient that is not finite changes nothing.
    """
    workers, optimiser = run.workers, run.optimiser
    tokens = sum(int(batch.target_readable.sum()) for batch in batches)
    mine = [rows.to(run.device) for batch in batches if (rows := workers.rows(batch)) is not None]
    mistake: UserError | None = None
    try:
        report = _share(run, mine, tokens)
    except UserError as error:
        mistake, report = error, _Report(mistake=str(error))
    reports = workers.gather(report)
    if any(report.mistake is not None for report in reports):
        workers.agree(mistake)
    _note_splits(run, reports)
    workers.sum_gradients(run.model.parameters())
    total = sum(report.loss for report in reports)
    finite = math.isfinite(total)
    if not run.precision.step(optimiser, run.model.parameters(), run.recipe.train.clip, finite=finite):
        total = math.nan
    if math.isfinite(total) and has_sampled_attention(run.model):
        run.state.baseline = next_baseline(run.state.baseline, -total / tokens)
    optimiser.zero_grad(set_to_none=True)
    return total, tokens


def _share(run: TrainingRun, batches: list[Batch], tokens: int) -> _Report:
    parts = [part for batch in batches for part in parts_of(batch, run.state.room)]
    pairs: int | None = None
    while (loss := try_gradients(run, parts, tokens)) is None:
        pairs = pairs or max(map(len, parts))
        parts = _halved(parts)
    return _Report(loss=loss, pairs=pairs, pieces=None if pairs is None else max(map(pieces, parts)))


def try_gradients(run: TrainingRun, parts: Sequence[Batch], tokens: int) -> float | None:
    """Adds those of the parts, each normalised by `tokens`, to the parameters' → the plain loss, summed.

    None: they do not fit in memory, and all gradients are as after an update: none.
    """
    try:
        return _gradients(run, parts, tokens)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        error.with_traceback(None)  # whose frames hold on to the very tensors that did not fit
    run.optimiser.zero_grad(set_to_none=True)
    release_unused(run.device)
    return None


def _gradients(run: TrainingRun, parts: Sequence[Batch], tokens: int) -> float:
    objective, total = run.objective(), 0.0
    for part in parts:
        with run.precision.autocast():
            lowered, plain = batch_loss(run.model, part, objective)
        run.precision.backward(lowered / tokens)
        total += float(plain)
    return total


def pieces(batch: Batch) -> int:
    """Pairs × the longest side, padding included."""
    return len(batch) * max(batch.source.shape[1], batch.target_in.shape[1])


def parts_of(batch: Batch, room: int | None) -> list[Batch]:
    """As few as can be, each of at most `room` pieces, or of one pair."""
    rows = len(batch) if room is None else max(1, room * len(batch) // pieces(batch))
    return [batch.rows(slice(start, start + rows)) for start in range(0, len(batch), rows)]


def _halved(parts: list[Batch]) -> list[Batch]:
    if max(map(len, parts)) == 1:
        sides = max((part.source.shape[1], part.target_in.shape[1]) for part in parts)
        raise UserError(
            f"a single pair of {sides[0]} source and {sides[1]} target pieces does not fit in memory; "
            "--resume goes on without it; else lower data.longest, or train a smaller model"
        )
    return [half for part in parts for half in (part.halves() if len(part) > 1 else (part,))]


def _note_splits(run: TrainingRun, reports: Sequence[_Report]) -> None:
    """That is rare at first, and slow: where it comes again, no batch is tried whole any more."""
    split = [(report.pieces, report.pairs) for report in reports if report.pieces is not None]
    if not split:
        return
    state = run.state
    state.splits += 1
    least, pairs = min(split)
    run.log.say(f"a batch of {pairs} pairs does not fit in memory; it was read in parts of at most {least:,} pieces")
    if state.splits >= _ENOUGH_SPLITS:
        state.splits, state.room = 0, min(least, state.room or least)
        run.log.say(f"from now on, all batches are read in parts of at most {state.room:,} pieces (train.tokens)")
