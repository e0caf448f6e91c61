"""What commands judge a model on: pairs of files or of a task, with more references and with gold alignments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from saccade.errors import UserError
from saccade.locations import task_name

if TYPE_CHECKING:
    from saccade.align import GoldLinks
    from saccade.data import TextPair

Line = TypeVar("Line")

Pairs = Annotated[str, typer.Argument(help="A TSV file, the sources of two files, or task:NAME.", show_default=False)]
Count = Annotated[int, typer.Option(help="Pairs of a task's test split.", min=1)]
Seed = Annotated[int, typer.Option(help="Of a task's pairs.")]
Gold = Annotated[Path | None, typer.Option(help="Gold word alignments: Pharaoh (0-0 1?2 …) or NAACL (0001 1 1 S).")]
GoldBase = Annotated[
    int | None, typer.Option(help="The number of the first word in --gold: 0 in Pharaoh, 1 in NAACL unless said.")
]
Tokenised = Annotated[bool, typer.Option("--tokenised", help="Words are what blanks separate, in the gold as well.")]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where pairs come from; gone through as often as need be, a line at a time."""

    name: str
    pairs: "Iterable[TextPair]"
    gold: "Sequence[GoldLinks] | None"  # that a task brings


def pairs_of(
    given: str,
    targets: Path | None,
    *,
    count: int,
    seed: int,
    words: tuple[int, int] | None = None,
    gold: Path | None = None,
    kept: Path | None = None,
) -> Source:
    """`words` are the lengths of a task's sources, where they are not the usual ones.

    What can be read only once (standard input, a pipe) is put into the folder `kept`, where it is given."""
    from saccade.align import GoldLinks
    from saccade.data import PairFiles, TextPair
    from saccade.tasks import task

    name = task_name(given)
    if name is None:
        if words is not None:
            raise UserError(f"--words {words[0]}-{words[1]} is for a task; {given} has the lengths that it has")
        files = PairFiles(given, targets)
        return Source(name=str(files), pairs=files if kept is None else files.buffered_in(kept), gold=None)
    if targets is not None or gold is not None:
        raise UserError(f"{given} brings its own targets and gold alignments; leave out {targets or gold}")
    lengths = {} if words is None else {"words": words}
    drawn = list(task(name).pairs(count, seed, split="test", **lengths))
    aligned = [GoldLinks.all_sure(pair.alignment) for pair in drawn if pair.alignment is not None]
    return Source(
        name=f"{given}, test split, seed {seed}" + ("" if words is None else f", {words[0]} to {words[1]} words"),
        pairs=[TextPair(pair.source, pair.target) for pair in drawn],
        gold=aligned if len(aligned) == len(drawn) else None,
    )


@dataclass(frozen=True, kw_only=True)
class Material:
    """The pairs of a source that have both sides."""

    name: str
    sources: list[str] | None  # None: only references were given
    references: list[list[str]]
    kept: list[int]  # places of these pairs among all
    total: int

    @property
    def left_out(self) -> int:
        return self.total - len(self.kept)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """With the first reference of each."""
        return [(source, some[0]) for source, some in zip(self.sources or [], self.references, strict=True)]

    def lines_of(self, path: Path | str) -> list[str]:
        """The lines of a file that belong to these pairs."""
        from saccade.data import read_lines

        return self.of_lines(list(read_lines(path)), path)

    def of_lines(self, lines: Sequence[Line], path: Path | str) -> list[Line]:
        """Those that belong to these pairs, of what has a line for each of all."""
        if len(lines) != self.total:
            raise UserError(
                f"{path}: {len(lines)} lines for the {self.total} pairs of {self.name}; expected a line each"
            )
        return self.of_all(lines)

    def of_all(self, lines: Sequence[Line]) -> list[Line]:
        return [lines[place] for place in self.kept]


def material_of(source: Source | None, references: Sequence[Path]) -> Material:
    from saccade.data import read_lines

    if source is None:
        if not references:
            raise UserError("nothing to compare with; give PAIRS, or the references by --reference FILE")
        first, *references = references
        lines = list(read_lines(first))
        kept = [place for place, line in enumerate(lines) if line.strip()]
        found = Material(
            name=str(first), sources=None, references=[[lines[place]] for place in kept], kept=kept, total=len(lines)
        )
    else:
        every = list(source.pairs)
        kept = [place for place, pair in enumerate(every) if pair.source.strip() and pair.target.strip()]
        found = Material(
            name=source.name,
            sources=[every[place].source for place in kept],
            references=[[every[place].target] for place in kept],
            kept=kept,
            total=len(every),
        )
    if not found.kept:
        raise UserError(f"{found.name}: every pair has a blank side; expected texts to translate and their references")
    for path in references:
        for known, line in zip(found.references, found.lines_of(path), strict=True):
            known += [line] if line.strip() else []
    return found
