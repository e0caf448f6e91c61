"""An input in parts that can be read, checked and processed independently, on any machine."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from saccade.data.text_files import LONGEST_LINE, LoadedFile, marked_lines
from saccade.errors import UserError

_PACKED = (b"\x1f\x8b", b"\xfd7zXZ\0")
_BLOCK = 1 << 20  # bytes


@dataclass(frozen=True, kw_only=True)
class InputPart:
    """Consecutive lines of a text file, or rows of a table. The parts of a file contain every line exactly once."""

    number: int  # from 0
    first: int  # lines before it
    lines: int
    start: int  # its bytes in a text file: [start, end)
    end: int
    digest: str  # sha256 of its content


def cut_lines(stream: BinaryIO, name: str, lines: int) -> Iterator[InputPart]:
    """Cut a file after every so many `lines`. The last part may have fewer; an empty file has one part with none."""
    number = first = start = 0
    while True:
        digest, count, size = hashlib.sha256(), 0, 0
        # Lines are counted as `marked_lines` counts them, which reads a part later and refuses a line that is too long.
        while count < lines and (line := stream.readline(LONGEST_LINE + 2)):
            if start == size == 0 and line.startswith(_PACKED):
                raise UserError(f"{name}: compressed, so that no part of it can be read alone; unpack it first")
            digest.update(line)
            count, size = count + 1, size + len(line)
        if count or number == 0:
            yield InputPart(
                number=number, first=first, lines=count, start=start, end=start + size, digest=digest.hexdigest()
            )
        if count < lines:
            return
        number, first, start = number + 1, first + count, start + size


def read_part(content: bytes, part: InputPart, name: str) -> Iterator[str]:
    """The lines of a part whose bytes are `content`. Errors name the line's number in the whole file."""
    if hashlib.sha256(content).hexdigest() != part.digest:
        raise UserError(f"{name}: changed while it was read; restore it, and type the same command again")
    return (line for _, line in marked_lines(LoadedFile(name, content), (part.first + 1, 0)))


def cut_rows(stream: BinaryIO, count: int, rows: int) -> Iterator[InputPart]:
    """Cut a table with `count` rows, whose file is `stream`. An empty table has one part."""
    digest = hashlib.sha256()
    while block := stream.read(_BLOCK):
        digest.update(block)
    for number, first in enumerate(range(0, max(1, count), rows)):
        end = min(count, first + rows)
        part_digest = hashlib.sha256(f"{digest.hexdigest()} {first} {end}".encode()).hexdigest()
        yield InputPart(number=number, first=first, lines=end - first, start=first, end=end, digest=part_digest)
