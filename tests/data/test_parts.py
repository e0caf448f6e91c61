"""The parts of an input contain every line once, in order."""

import gzip
import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.parts import InputPart, cut_lines, cut_rows, read_part
from saccade.data.text_files import LONGEST_LINE, read_lines
from saccade.errors import UserError

LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=8))
ENDS = st.sampled_from(["\n", "\r\n"])


def cut(content: bytes, lines: int) -> list[InputPart]:
    return list(cut_lines(io.BytesIO(content), "corpus.txt", lines))


def read(content: bytes, parts: list[InputPart]) -> list[str]:
    return [line for part in parts for line in read_part(content[part.start : part.end], part, "corpus.txt")]


@given(lines=LINES, ends=st.data(), is_ended=st.booleans(), size=st.integers(1, 5))
def test_parts_cover_every_line_once(lines: list[str], ends: st.DataObject, is_ended: bool, size: int) -> None:
    content = "".join(line + ends.draw(ENDS) for line in lines)
    content = content if is_ended else content.removesuffix("\n").removesuffix("\r")
    data = content.encode()
    parts = cut(data, size)
    expected = [line.removesuffix("\n").removesuffix("\r") for line in io.StringIO(content, newline="\n")]
    if expected:
        expected[0] = expected[0].removeprefix("\ufeff")
    assert read(data, parts) == expected
    assert [part.number for part in parts] == list(range(len(parts)))
    assert [part.first for part in parts] == [size * place for place in range(len(parts))]
    assert parts[0].start == 0 and parts[-1].end == len(data)
    assert all(before.end == after.start for before, after in pairwise(parts))
    assert sum(part.lines for part in parts) == len(expected)


def test_parts_are_cut_where_the_lines_of_a_file_are(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    content = "\ufeffeins\r\n\nδύο\n\r\nthree".encode()
    file.write_bytes(content)
    for size in (1, 2, 3, 9):
        assert read(content, cut(content, size)) == list(read_lines(file)) == ["eins", "", "δύο", "", "three"]


def test_an_empty_file_has_one_part() -> None:
    (part,) = cut(b"", 3)
    assert part.lines == part.end == 0 and read(b"", [part]) == []


def test_errors_name_the_line_of_the_whole_file() -> None:
    content = b"one\ntwo\nthree\nl\xe4nge\n"
    _, second = cut(content, 2)
    with pytest.raises(UserError, match=r"corpus.txt:4: byte 2 of the line is 0xE4"):
        list(read_part(content[second.start :], second, "corpus.txt"))
    with pytest.raises(UserError, match="changed while it was read"):
        read_part(b"other\nlines\n", second, "corpus.txt")


def test_a_line_that_is_too_long_is_refused_with_its_number() -> None:
    content = b"one\n" + b"x" * (2 * LONGEST_LINE) + b"\nthree\n"
    parts = cut(content, 2)
    with pytest.raises(UserError, match=r"corpus.txt:2: more than"):
        read(content, parts)


def test_a_compressed_file_is_refused() -> None:
    with pytest.raises(UserError, match="compressed, so that no part of it can be read alone"):
        cut(gzip.compress(b"one\n"), 2)


@given(count=st.integers(0, 20), size=st.integers(1, 6))
def test_parts_of_a_table_cover_every_row_once(count: int, size: int) -> None:
    parts = list(cut_rows(io.BytesIO(b"a file"), count, size))
    assert [row for part in parts for row in range(part.start, part.end)] == list(range(count))
    assert len({part.digest for part in parts}) == len(parts) >= 1
    changed = cut_rows(io.BytesIO(b"another"), count, size)
    assert not {part.digest for part in changed} & {part.digest for part in parts}
