"""What changes in the course of a run: the learning rate, and how often the decoder reads the truth."""

import math

from saccade.train.recipe import Training


def learning_rate(training: Training, step: int, progress: float, epochs: float = 0.0, falls: int = 0) -> float:
    """Of the update after `step` updates and `epochs` epochs, when `progress` (0 … 1) of the run's budget is spent.

    `falls` is how often a plateau has lowered it.
    """
    rising = min(1.0, (step + 1) / max(1, training.warmup))
    if training.schedule == "inverse-sqrt":
        return training.lr * min(rising, math.sqrt(max(1, training.warmup) / (step + 1)))
    if training.schedule == "cosine":
        return training.lr * min(rising, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
    if training.schedule == "staircase":
        falls = max(0, 1 + math.floor((epochs - training.decay_after) / training.decay_every))
    return training.lr * rising * training.decay**falls


def truth_share(training: Training, step: int) -> float:
    """ε: with which probability the decoder reads a true word at its input, and not its own (Bengio 2015).

    All three fall from (nearly) 1 to ½ at `sampling_half` = h. The paper's slope c of the linear one is 1/2h, its k of
    the exponential one 2^(−1/h), and its k of the inverse sigmoid one solves k·ln k = h.
    """
    half = training.sampling_half
    if training.sampling is None:
        return 1.0
    if training.sampling == "linear":
        share = 1 - step / (2 * half)
    elif training.sampling == "exponential":
        share = 0.5 ** (step / half)
    else:
        k = _solved(half)
        share = 1 / (1 + math.exp(min(700.0, step / k - math.log(k))))  # k / (k + exp(step/k))
    return max(training.sampling_least, share)


def _solved(half: int) -> float:
    """k with k·ln k = half, by Newton's method."""
    k = half + 1.0
    for _ in range(50):
        k -= (k * math.log(k) - half) / (math.log(k) + 1)
    return k
