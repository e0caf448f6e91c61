"""Word links: from attention weights, and from the two directions of a pair of models.

A link is (source word, target word), both counted from 0; `saccade.text.words` defines a word.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, get_args

from saccade.align.options import Symmetrisation
from saccade.align.weights import weight_matrix
from saccade.errors import UserError

Links: TypeAlias = frozenset[tuple[int, int]]

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


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

    intersection ⊆ grow-diag ⊆ grow-diag-final and grow-diag-final-and ⊆ union
    """
    if method not in get_args(Symmetrisation):
        raise UserError(f"unknown symmetrisation '{method}': choose one of {', '.join(get_args(Symmetrisation))}")
    union = forward | backward
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
