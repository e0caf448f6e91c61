"""Attention weights as a matrix, one row per target unit and one column per source unit: checks, tokens to words,
entropy."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]  # (T, S)
Span: TypeAlias = "int | tuple[int, int] | None"  # a token's word, or its words [first, end); None: no word


def weight_matrix(weights: object, *, targets: int | None = None, sources: int | None = None) -> Matrix:
    """Convert `weights` (a torch tensor on any device, an array, or lists) to finite (T, S) numbers of that size."""
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu().double()  # NumPy knows neither gradients, nor devices, nor bfloat16
    try:
        matrix = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights are not a rectangle of numbers: {error}") from None
    expected = f"({'T' if targets is None else targets}, {'S' if sources is None else sources})"
    fits = matrix.ndim == 2 and targets in (None, matrix.shape[0]) and sources in (None, matrix.shape[1])
    if not fits:
        raise ValueError(f"weights must be (targets, sources) = {expected}, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"weights must be finite, got {matrix[row, column]} at target {row}, source {column}")
    return matrix


def to_words(
    weights: object,
    source_spans: Sequence[Span],
    target_spans: Sequence[Span],
    *,
    source_words: int | None = None,
    target_words: int | None = None,
) -> Matrix:
    """Turn weights between tokens (T, S) into weights between words, given the words that each token belongs to.

    A source word gets the sum over its tokens, a target word the mean over its own: a row that read only words still
    sums to 1. A source token over several words gives each an equal share. A token without a word (None or an empty
    span: the end of the sentence, a lone space) is left out, and the rest is not scaled up. The numbers of words are
    needed only where the last words may have no token.
    """
    tokens = weight_matrix(weights, targets=len(target_spans), sources=len(source_spans))
    source, target = _membership(source_spans, source_words), _membership(target_spans, target_words)
    share = source / np.maximum(source.sum(axis=1, keepdims=True), 1)  # (S, source words)
    mean = target / np.maximum(target.sum(axis=0, keepdims=True), 1)  # (T, target words)
    words: Matrix = mean.T @ tokens @ share
    return words


def _membership(spans: Sequence[Span], count: int | None) -> Matrix:
    """(tokens, words): 1 where the token belongs to the word."""
    ranges = [(0, 0) if span is None else (span, span + 1) if isinstance(span, int) else span for span in spans]
    if count is None:
        count = max((end for _, end in ranges), default=0)
    matrix = np.zeros((len(ranges), count))
    for token, (first, end) in enumerate(ranges):
        if not 0 <= first <= end <= count:
            raise ValueError(f"token {token} has the word span {spans[token]}; expected 0 ≤ first ≤ end ≤ {count}")
        matrix[token, first:end] = 1
    return matrix


def entropy(weights: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the entropy in bits along the last axis: 0 for a single place, log₂ n for n equal places.

    Weights that do not sum to 1 are scaled; a row of zeros has entropy 0.
    """
    positive = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    total = positive.sum(axis=-1, keepdims=True)
    shares = np.divide(positive, total, out=np.zeros_like(positive), where=total > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: NDArray[np.float64] = np.maximum(-(shares * logs).sum(axis=-1), 0.0)
    return bits
