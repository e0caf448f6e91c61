"""What changes in the course of a run: the learning rate, and how often the decoder reads the truth."""

import math

from saccade.train.recipe import Training


def learning_rate(how: Training, step: int, progress: float, epochs: float = 0.0, falls: int = 0) -> float:
    """Of the update after `step` updates and `epochs` epochs, when `progress` (0 … 1) of the run's budget is spent.

    `falls` is how often a plateau has lowered it.
    """
    rising = min(1.0, (step + 1) / max(1, how.warmup))
    if how.schedule == "inverse-sqrt":
        return how.lr * min(rising, math.sqrt(max(1, how.warmup) / (step + 1)))
    if how.schedule == "cosine":
        return how.lr * min(rising, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
    if how.schedule == "staircase":
        falls = 1 + math.floor((epochs - how.decay_after) / how.decay_every) if epochs >= how.decay_after else 0
    return how.lr * rising * how.decay**falls


def truth_share(how: Training, step: int) -> float:
    """ε: with which probability the decoder reads a true word at its input, and not its own (Bengio 2015).

    All three fall from (nearly) 1 to ½ at `sampling_half` = h. The paper's slope c of the linear one is 1/2h, its k of
    the exponential one 2^(−1/h), and its k of the inverse sigmoid one solves k·ln k = h.
    """
    half = how.sampling_half
    if how.sampling is None:
        return 1.0
    if how.sampling == "linear":
        share = 1 - step / (2 * half)
    elif how.sampling == "exponential":
        share = 0.5 ** (step / half)
    else:
        k = _solved(half)
        share = 1 / (1 + math.exp(min(700.0, step / k - math.log(k))))  # k / (k + exp(step/k))
    return max(how.sampling_least, share)


def _solved(half: int) -> float:
    """k with k·ln k = half, by Newton's method."""
    k = half + 1.0
    for _ in range(50):
        k -= (k * math.log(k) - half) / (math.log(k) + 1)
    return k
