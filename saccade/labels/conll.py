"""CoNLL files: one token per line, with its tag in the last column, and a blank line between sentences.

Columns are separated by tabs, or else by spaces. `-DOCSTART-` and comments (lines that begin with # before the first
token of a sentence, and have not the columns of a token) are skipped. A sentence becomes a pair of its words and its
tags, each separated by spaces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from saccade.data.formats import PairFiles
from saccade.data.sources import Mark, MarkedPairs, TextPair
from saccade.data.text_files import File, line_error, marked_lines, read_lines
from saccade.errors import plural

_DOCUMENT = "-DOCSTART-"
_LOOKED_AT = 1_000  # lines of a file whose form is to be found


@dataclass(frozen=True)
class ConllFiles(PairFiles):
    unit: ClassVar[str] = "sentence"
    _contents: ClassVar[str] = "one token and its tag per line, and a blank line between sentences"

    def _read(self, files: Sequence[File], mark: Mark | None) -> MarkedPairs:
        for first, rows in _sentences(files[0], mark or (1, 0)):
            words, tags = zip(*rows, strict=True)
            yield first, TextPair(" ".join(words), " ".join(tags))


def is_conll(file: File) -> bool:
    """Whether no line is a sentence, a tab, and one tag per word."""
    return not any(_has_tags_of_sentence(line) for line in islice(read_lines(file), _LOOKED_AT))


def _has_tags_of_sentence(line: str) -> bool:
    cells = [cell.split() for cell in line.split("\t")]
    return len(cells) == 2 and len(cells[0]) == len(cells[1]) > 1


def _sentences(file: File, mark: Mark) -> Iterator[tuple[Mark, list[tuple[str, str]]]]:
    """Rows of words and tags, with their mark: its third number is that of the columns."""
    rows, first, columns = list[tuple[str, str]](), mark, mark[2] if len(mark) > 2 else 0
    for place, line in marked_lines(file, mark[:2]):
        cells = line.rstrip().split("\t") if "\t" in line.strip() else line.split()
        if not line.strip() or cells[0] == _DOCUMENT:
            if rows:
                yield first, rows
            rows = []
        elif rows or not line.startswith("#") or len(cells) == columns:
            columns = columns or len(cells)
            if len(cells) < 2 or len(cells) != columns or len(cells[-1].split()) != 1 or not cells[0].strip():
                raise line_error(file, place[0], _explain(cells, columns))
            first = first if rows else (*place, columns)
            rows.append(("_".join(cells[0].split()), cells[-1].strip()))
    if rows:
        yield first, rows


def _explain(cells: Sequence[str], columns: int) -> str:
    expected = "a token and its tag per line, or a sentence, a tab, and one tag per word"
    if len(cells) >= 2 and len(cells) != columns:
        expected = f"{columns}, as in the lines before"
    elif len(cells) >= 2:
        words, tags = (len(cell.split()) for cell in (cells[0], cells[-1]))
        return f"{plural(words, 'word')} and {plural(tags, 'tag')}; expected {expected}"
    return f"{plural(len(cells), 'column')}; expected {expected}"
