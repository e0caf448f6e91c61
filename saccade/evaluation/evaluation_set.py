"""The pairs that systems are evaluated on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from saccade.align import GoldLinks
from saccade.align.gold import find_gold
from saccade.data import read_lines
from saccade.data.inputs import NamedPairs
from saccade.errors import Say, UserError, plural
from saccade.text import words

Line = TypeVar("Line")


@dataclass(frozen=True, kw_only=True)
class EvaluationSet:
    """The pairs whose two sides have text."""

    name: str
    sources: Sequence[str]  # empty if only references were given
    references: Sequence[Sequence[str]]  # one or more per pair
    places: Sequence[int] = ()  # of these pairs among all `total`
    total: int = 0

    @property
    def left_out(self) -> int:
        return self.total - len(self.places)

    def report_left_out(self, say: Say) -> None:
        if self.left_out:
            say(f"left out: {plural(self.left_out, 'pair')} with a blank side")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each source with its first reference."""
        return [(source, texts[0]) for source, texts in zip(self.sources, self.references, strict=True)]

    def select(self, lines: Sequence[Line], path: Path | str) -> list[Line]:
        """Select the lines of a file that has one line per pair."""
        if len(lines) != self.total:
            raise UserError(
                f"{path}: {len(lines)} lines for the {self.total} pairs of {self.name}; expected one line per pair"
            )
        return [lines[place] for place in self.places]

    def read_lines(self, path: Path | str) -> list[str]:
        return self.select(list(read_lines(path)), path)


def read_evaluation_set(pairs: NamedPairs | None, references: Sequence[Path] = ()) -> EvaluationSet:
    """Read the pairs, or only references, and further references from files."""
    if pairs is None:
        if not references:
            raise UserError("nothing to compare with; give PAIRS, or the references by --reference FILE")
        first, *references = references
        texts = [(line, line) for line in read_lines(first)]
    else:
        texts = [(pair.source, pair.target) for pair in pairs.pairs]
    places = [place for place, sides in enumerate(texts) if all(side.strip() for side in sides)]
    known = [[texts[place][1]] for place in places]
    data = EvaluationSet(
        name=str(first) if pairs is None else pairs.name,
        sources=[] if pairs is None else [texts[place][0] for place in places],
        references=known,
        places=places,
        total=len(texts),
    )
    if not places:
        raise UserError(f"{data.name}: every pair has a blank side; expected texts to translate and their references")
    for path in references:
        for alternatives, line in zip(known, data.read_lines(path), strict=True):
            alternatives += [line] if line.strip() else []
    return data


def read_evaluation_gold(
    pairs: NamedPairs | None, data: EvaluationSet, path: Path | None, base: int | None, *, tokenised: bool
) -> list[GoldLinks] | None:
    """Read the gold alignments of these pairs; a task brings its own."""
    if pairs is None:
        if path is not None:
            raise UserError(f"--gold {path}: links join sources to targets; give PAIRS")
        return None
    gold = find_gold(pairs, path, partial(count_words, tokenised=tokenised), base)
    return None if gold is None else data.select(gold, pairs.name)


def count_words(pairs: Iterable[tuple[str, str]], *, tokenised: bool) -> list[tuple[int, int]]:
    """The lengths of each source and target; `tokenised` words are separated by white space."""
    split = str.split if tokenised else words
    return [(len(split(source)), len(split(target))) for source, target in pairs]
