"""Attention weights as a matrix, a row a target and a column a source: checked, and brought from pieces to words."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]  # (T, S)
Span: TypeAlias = "int | tuple[int, int] | None"  # the word, or the words [first, last), of a piece; None: no word


def weight_matrix(weights: object, *, targets: int | None = None, sources: int | None = None) -> Matrix:
    """`weights` (a torch tensor on any device, an array, or lists) as finite (T, S) numbers of the expected size."""
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
    """Weights between pieces (T, S) to weights between words, given which words each piece belongs to.

    A source word gets the sum over its pieces, a target word the mean over its own: a row that read only words still
    sums to 1. A source piece over several words gives each an equal share. A piece without a word (None or an empty
    span: the end of the sentence, a lone space) is left out, and nothing is scaled up to make good for it. The counts
    of words are only needed where the last words may have no piece.
    """
    pieces = weight_matrix(weights, targets=len(target_spans), sources=len(source_spans))
    source, target = _belongs(source_spans, source_words), _belongs(target_spans, target_words)
    share = source / np.maximum(source.sum(axis=1, keepdims=True), 1)  # (S, source words)
    mean = target / np.maximum(target.sum(axis=0, keepdims=True), 1)  # (T, target words)
    words: Matrix = mean.T @ pieces @ share
    return words


def _belongs(spans: Sequence[Span], count: int | None) -> Matrix:
    """(pieces, words): 1 where the piece belongs to the word."""
    ranges = [(0, 0) if span is None else (span, span + 1) if isinstance(span, int) else span for span in spans]
    needed = max((end for _, end in ranges), default=0)
    count = needed if count is None else count
    matrix = np.zeros((len(ranges), count))
    for piece, (first, end) in enumerate(ranges):
        if not 0 <= first <= end <= count:
            raise ValueError(f"piece {piece} has the word span {spans[piece]}; expected 0 ≤ first ≤ end ≤ {count}")
        matrix[piece, first:end] = 1
    return matrix
