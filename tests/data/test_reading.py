import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.data.reading import LONGEST_LINE, marked_lines, read_lines


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_the_longest_line_is_still_read(tmp_path: Path) -> None:
    line = "x" * LONGEST_LINE
    for end in ("", "\n", "\r\n"):
        assert list(read_lines(write(tmp_path / "long", (line + end).encode()))) == [line]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_lines_are_read_from_a_mark(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "lines", pack("\ufeffeins\r\n\nδύο\nthree".encode()))
    marked = list(marked_lines(path))
    assert [line for _, line in marked] == list(read_lines(path)) == ["eins", "", "δύο", "three"]
    assert [number for (number, _), _ in marked] == [1, 2, 3, 4]
    for place, (mark, _) in enumerate(marked):
        assert list(marked_lines(path, mark)) == marked[place:]
