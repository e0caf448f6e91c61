"""Word alignments: from attention weights, from files, and their error rate against gold.

With A the links found, S the sure and P ⊇ S the possible links of the gold, summed over the corpus (Och & Ney 2003):

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

Links are (source word, target word), both counted from 0; what a word is, `saccade.text.words` says.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from saccade.errors import UserError
from saccade.evaluate.scores import same_count
from saccade.evaluate.weights import weight_matrix

Links: TypeAlias = frozenset[tuple[int, int]]

_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")


@dataclass(frozen=True, kw_only=True)
class GoldLinks:
    """The sure links of a sentence and the possible ones, which contain them."""

    sure: Links
    possible: Links

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError(f"every sure link must be possible too; {sorted(self.sure - self.possible)} are not")

    @classmethod
    def all_sure(cls, links: Iterable[tuple[int, int]]) -> "GoldLinks":
        sure = frozenset(links)
        return cls(sure=sure, possible=sure)


@dataclass(frozen=True, kw_only=True)
class AlignmentScores:
    """Fractions from 0 to 1. Where nothing was found, precision is 1; where nothing was sure, recall is 1."""

    aer: float
    precision: float
    recall: float
    sentences: int

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def score_alignments(found: Sequence[Links], gold: Sequence[GoldLinks]) -> AlignmentScores:
    same_count(alignments=found, gold=gold)
    pairs = list(zip(found, gold, strict=True))
    return _scores(
        sure_hits=sum(len(links & truth.sure) for links, truth in pairs),
        possible_hits=sum(len(links & truth.possible) for links, truth in pairs),
        found=sum(map(len, found)),
        gold=gold,
    )


def score_uniform(gold: Sequence[GoldLinks], lengths: Sequence[tuple[int, int]]) -> AlignmentScores:
    """What linking each target word to a source word drawn uniformly is expected to score; `lengths` are (S, T) words.

    |A| is the number of target words whatever is drawn, so all three scores are linear in the hits and the expectation
    is exact: a gold link of a sentence with S source words is hit with probability 1/S.
    """
    same_count(gold=gold, lengths=lengths)
    pairs = [(truth, 1 / source) for truth, (source, _) in zip(gold, lengths, strict=True) if source]
    return _scores(
        sure_hits=sum(chance * len(truth.sure) for truth, chance in pairs),
        possible_hits=sum(chance * len(truth.possible) for truth, chance in pairs),
        found=sum(target for source, target in lengths if source),
        gold=gold,
    )


def _scores(*, sure_hits: float, possible_hits: float, found: int, gold: Sequence[GoldLinks]) -> AlignmentScores:
    sure = sum(len(truth.sure) for truth in gold)
    return AlignmentScores(
        aer=1 - (sure_hits + possible_hits) / (found + sure) if found + sure else 0.0,
        precision=possible_hits / found if found else 1.0,
        recall=sure_hits / sure if sure else 1.0,
        sentences=len(gold),
    )


def links_from_weights(weights: object, *, threshold: float = 0.0) -> Links:
    """Each target word linked to the source word that it weighs most (the first of equals), in weights (T, S) of words.

    A target word whose largest weight is 0 or below `threshold` stays without a link.
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
    """Each target word linked to the source word at the same relative place: the aligner that reads nothing."""
    if not source_words:
        return frozenset()
    # ⌊(j + ½) · S/T⌋, in whole numbers
    return frozenset(((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words))


def format_links(links: Links) -> str:
    """One Pharaoh line, `i-j` a link, by target word."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links, key=lambda link: (link[1], link[0])))


def parse_gold(line: str, *, place: str, lengths: tuple[int, int] | None = None) -> GoldLinks:
    """One line of links from 0: `i-j` is sure, `ipj` possible only; with `lengths` (S, T) they must be in range."""
    links: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for token in line.split():
        match = _LINK.fullmatch(token)
        if not match:
            raise UserError(f"{place}: '{token}' is not a link; expected i-j (sure) or ipj (possible), counted from 0")
        source, target = int(match[1]), int(match[3])
        if lengths and (source >= lengths[0] or target >= lengths[1]):
            raise UserError(
                f"{place}: link {token} is out of range; the pair has {lengths[0]} source and {lengths[1]} target "
                "words, counted from 0"
            )
        links[match[2]].add((source, target))
    return GoldLinks(sure=frozenset(links["-"]), possible=frozenset(links["-"] | links["p"]))


def read_gold(path: str | Path, *, lengths: Sequence[tuple[int, int]] | None = None) -> tuple[GoldLinks, ...]:
    """A file of links, a line a pair (Pharaoh, or with `p` for possible); a blank line is a pair without links."""
    try:
        # A byte that is no UTF-8 becomes a character that is no link, and is reported with its line.
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UserError(f"{path}: cannot read the alignments: {error.strerror}") from None
    if lengths is not None and len(lines) != len(lengths):
        raise UserError(f"{path}: {len(lines)} lines of alignments for {len(lengths)} pairs; expected one line a pair")
    sizes: Sequence[tuple[int, int] | None] = [None] * len(lines) if lengths is None else lengths
    return tuple(
        parse_gold(line, place=f"{path}:{number}", lengths=size)
        for number, (line, size) in enumerate(zip(lines, sizes, strict=True), start=1)
    )
