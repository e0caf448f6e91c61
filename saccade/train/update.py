"""One update, from several batches; what does not fit in memory is tried again in halves."""

import math

import torch
from torch import nn

from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.train.log import Log
from saccade.train.run import Run
from saccade.train.steps import batch_loss, uses_bf16


def update(run: Run, batches: list[Batch]) -> tuple[float, int]:
    """Normalised by all the batches' tokens → the plain loss, summed, and the tokens.

    A loss or gradient that is not finite changes nothing.
    """
    model, optimiser, how = run.model, run.optimiser, run.recipe.train
    tokens = sum(int(batch.target_readable.sum()) for batch in batches)
    total = 0.0
    full: Exception | None = None
    try:
        for batch in batches:
            with torch.autocast(run.device.type, torch.bfloat16, enabled=uses_bf16(how.precision, run.device)):
                smoothed, plain = batch_loss(model, batch, how.smoothing)
            torch.autograd.backward(smoothed / tokens)
            total += float(plain)
    except RuntimeError as error:
        if not is_of_memory(error):
            raise
        full = error.with_traceback(None)  # whose frames would hold on to the very tensors that did not fit
    if full is not None:
        optimiser.zero_grad(set_to_none=True)
        return update(run, _halved(batches, full, run.log))
    norm = nn.utils.clip_grad_norm_(model.parameters(), how.clip or math.inf)
    if math.isfinite(total) and torch.isfinite(norm):
        optimiser.step()
    else:
        total = math.nan
    optimiser.zero_grad(set_to_none=True)
    return total, tokens


def is_of_memory(error: RuntimeError) -> bool:
    """CUDA has an exception of its own; the CPU and MPS say it in words."""
    told = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in told or "DefaultCPUAllocator" in told


def _halved(batches: list[Batch], error: Exception, log: Log) -> list[Batch]:
    largest = max(len(batch) for batch in batches)
    if largest == 1:
        sides = max((batch.source.shape[1], batch.target_in.shape[1]) for batch in batches)
        raise UserError(
            f"a single pair of {sides[0]} source and {sides[1]} target pieces does not fit in memory; "
            "--resume goes on without it; else lower data.longest, or train a smaller model"
        ) from error
    log.say(f"a batch of {largest} pairs does not fit in memory; it is split in halves (lower train.tokens)")
    return [half for batch in batches for half in (batch.halves() if len(batch) > 1 else (batch,))]
