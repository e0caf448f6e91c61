"""One alignment of the two that a model and its reverse give (Och and Ney 2003; Koehn, Och and Marcu 2003).

intersection ⊆ grow-diag ⊆ grow-diag-final and grow-diag-final-and ⊆ union
"""

from collections.abc import Iterable
from typing import Literal, get_args

from saccade.errors import UserError
from saccade.evaluate.alignment import Links

Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]

_AROUND = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Links, backward: Links, how: Symmetrisation = "grow-diag-final") -> Links:
    """Both are links (source word, target word); `backward` are those of the reverse model, turned round.

    *grow-diag* begins with what both have and adds, again and again, those of the union that touch a link, corners too,
    and bring a word that has none. *final* then adds any that bring a word that has none, first the forward ones;
    *final-and* only those whose words both have none.
    """
    if how not in get_args(Symmetrisation):
        raise UserError(f"unknown symmetrisation '{how}': choose one of {', '.join(get_args(Symmetrisation))}")
    if how == "intersection":
        return forward & backward
    union = forward | backward
    if how == "union":
        return union
    grown = _Grown(forward & backward)
    growing = True
    while growing:
        growing = False
        for link in grown.around():
            growing |= link in union and grown.add_if_new(link)
    if how != "grow-diag":
        for link in (*sorted(forward), *sorted(backward)):
            grown.add_if_new(link, both=how == "grow-diag-final-and")
    return frozenset(grown.links)


class _Grown:
    def __init__(self, links: Links) -> None:
        self.links = set(links)
        self.sources = {source for source, _ in links}
        self.targets = {target for _, target in links}

    def around(self) -> Iterable[tuple[int, int]]:
        """The neighbours of every link, in order."""
        return [(i + down, j + along) for i, j in sorted(self.links) for down, along in _AROUND]

    def add_if_new(self, link: tuple[int, int], *, both: bool = False) -> bool:
        """Whether it was added: one of its words, or both, had no link."""
        new = (link[0] not in self.sources, link[1] not in self.targets)
        if not (all(new) if both else any(new)):
            return False
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])
        return True
