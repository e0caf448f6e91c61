import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.data.text_files import LONGEST_LINE, marked_lines, read_lines
from saccade.errors import UserError


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_line_of_the_maximum_length_is_read(tmp_path: Path) -> None:
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


def claiming(packed: bytes, dictionary: int) -> bytes:
    """An xz file whose header asks for a dictionary of another size: byte 16, covered by a checksum."""
    end = 12 + 4 * (packed[12] + 1) - 4
    block = packed[12:16] + bytes([dictionary]) + packed[17:end]
    return packed[:12] + block + zlib.crc32(block).to_bytes(4, "little") + packed[end + 4 :]


def test_an_xz_file_that_asks_for_too_much_memory_is_refused(tmp_path: Path) -> None:
    packed = lzma.compress(b"one\n")
    assert list(read_lines(write(tmp_path / "own.xz", claiming(packed, packed[16])))) == ["one"]
    with pytest.raises(
        UserError, match=r"greedy\.xz:1: unpacking needs more than 256 MiB of memory; compress .* xz -9$"
    ):
        list(read_lines(write(tmp_path / "greedy.xz", claiming(packed, 37))))  # 1.5 GiB
    second = write(tmp_path / "second.xz", packed + claiming(packed, 37))
    with pytest.raises(UserError, match=r"second\.xz:2: unpacking needs more"):
        list(read_lines(second))


def test_xz_streams_one_after_another_are_one_file(tmp_path: Path) -> None:
    line = "word " * 5_000
    parts = [lzma.compress(f"{line}\n{number}\n".encode()) for number in range(3)]
    expected = [text for number in range(3) for text in (line, str(number))]
    assert list(read_lines(write(tmp_path / "several.xz", (b"\0" * 8).join(parts)))) == expected
    with pytest.raises(UserError, match="cut off or damaged"):
        list(read_lines(write(tmp_path / "cut.xz", parts[0][:-20])))
