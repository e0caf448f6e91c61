"""Weights between tokens or words, one row per target and one column per source, and the links made from them.

A link is (source word, target word), both counted from 0; `saccade.text.words` defines a word.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from saccade.align.options import Symmetrisation
from saccade.errors import UserError

Matrix: TypeAlias = NDArray[np.float64]  # (T, S)
Span: TypeAlias = "int | tuple[int, int] | None"  # a token's word, or its words [first, end); None: no word
Links: TypeAlias = frozenset[tuple[int, int]]

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


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
    shares = positive / np.where(total > 0, total, 1)
    bits: NDArray[np.float64] = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1)
    return np.maximum(bits, 0.0)


@dataclass(frozen=True, kw_only=True)
class GoldLinks:
    """The sure and the possible links of a sentence; every sure link is also possible."""

    sure: Links
    possible: Links

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError(f"every sure link must be possible too; {sorted(self.sure - self.possible)} are not")

    @classmethod
    def all_sure(cls, links: Iterable[tuple[int, int]]) -> "GoldLinks":
        return cls.from_marked((link, True) for link in links)

    @classmethod
    def from_marked(cls, links: Iterable[tuple[tuple[int, int], bool]]) -> "GoldLinks":
        """Each link comes with whether it is sure."""
        marked = list(links)
        return cls(
            sure=frozenset(link for link, is_sure in marked if is_sure), possible=frozenset(link for link, _ in marked)
        )


def links_from_weights(weights: object, *, threshold: float = 0.0) -> Links:
    """Link each target word to the source word with its largest weight (the first of equals), given (T, S) weights.

    A target word whose largest weight is 0 or below `threshold` gets no link.
    """
    matrix = weight_matrix(weights)
    if not matrix.size:
        return frozenset()
    best = matrix.argmax(axis=1)
    return frozenset(
        (int(source), target)
        for target, source in enumerate(best)
        if matrix[target, source] > 0 and matrix[target, source] >= threshold
    )


def diagonal_links(source_words: int, target_words: int) -> Links:
    """Link each target word to the source word at the same relative position: a baseline that reads nothing."""
    if not source_words:
        return frozenset()
    # ⌊(j + ½) · S/T⌋, in whole numbers
    return frozenset(((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words))


def sort_links(links: Links) -> list[tuple[int, int]]:
    """Sort by target word, then by source word."""
    return sorted(links, key=lambda link: (link[1], link[0]))


def reverse_links(links: Links) -> Links:
    """Swap source and target: links of the reverse model become links of the model."""
    return frozenset((target, source) for source, target in links)


def symmetrise(forward: Links, backward: Links, method: Symmetrisation = "grow-diag-final") -> Links:
    """Combine the links of a model and of its reverse (Och and Ney 2003; Koehn, Och and Marcu 2003).

    Both are (source word, target word): pass the reverse model's links through `reverse_links` first. *grow-diag*
    starts with the intersection and repeatedly adds links of the union that touch a link (corners count) and contain a
    word without a link. *final* then adds links that contain a word without a link, forward links first; *final-and*
    adds only links whose two words have no link.

    *none* gives the forward links alone.

    intersection ⊆ grow-diag ⊆ grow-diag-final and grow-diag-final-and ⊆ union
    """
    if method not in get_args(Symmetrisation):
        raise UserError(f"unknown symmetrisation '{method}': choose one of {', '.join(get_args(Symmetrisation))}")
    union = forward | backward
    if method == "none":
        return forward
    if method == "intersection":
        return forward & backward
    if method == "union":
        return union
    links = set(forward & backward)
    sources, targets = {source for source, _ in links}, {target for _, target in links}

    def add_if_new(link: tuple[int, int], needed: Callable[[tuple[bool, bool]], bool] = any) -> None:
        """Add the link if any of its words, or if all of them, have no link yet."""
        if needed((link[0] not in sources, link[1] not in targets)):
            links.add(link)
            sources.add(link[0])
            targets.add(link[1])

    size = -1
    while len(links) > size:
        size = len(links)
        for link in [(i + down, j + along) for i, j in sorted(links) for down, along in _NEIGHBOURS]:
            if link in union:
                add_if_new(link)
    if method != "grow-diag":
        for link in (*sorted(forward), *sorted(backward)):
            add_if_new(link, all if method == "grow-diag-final-and" else any)
    return frozenset(links)
