"""How widely a head reads: the entropy of its weights."""

import numpy as np
from numpy.typing import NDArray


def entropy(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """In bits, along the last axis: 0 for one place alone, log₂ n for n places alike; 2 to its power is a number of
    places. Weights that do not sum to 1 are scaled; a row of zeros, which read nothing, has 0.
    """
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    total = positive.sum(axis=-1, keepdims=True)
    shares = np.divide(positive, total, out=np.zeros_like(positive), where=total > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: NDArray[np.float64] = np.maximum(-(shares * logs).sum(axis=-1), 0.0)
    return bits
