"""Files of word2vec: a line with the numbers of words and of dimensions, then each word and its vector.

Text has one line per word, with decimal numbers; binary has the bytes of 32-bit floats after each word and a space. A
file may come from anywhere: its sizes are checked against its length before memory is taken.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from saccade import files
from saccade.data.text_files import line_error, read_lines
from saccade.errors import UserError

_BINARY = ".bin"
_LONGEST_WORD = 10_000  # bytes
_LONGEST_HEADER = 100
_LEAST_NUMBER = 2  # bytes of a number in text, with its space

Matrix = NDArray[np.float32]


def write_vectors(path: Path, words: Sequence[str], matrix: Matrix) -> None:
    for word in words:
        if not word or any(character.isspace() for character in word):
            raise UserError(f"{path}: the word {word!r} has white space, which separates words from numbers there")
    with files.explain_unwritable(path), files.atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for word, vector in zip(words, matrix, strict=True):
            numbers = vector.astype("<f4").tobytes() if path.suffix == _BINARY else _as_text(vector)
            file.write(word.encode() + b" " + numbers + b"\n")


def _as_text(vector: Matrix) -> bytes:
    return " ".join(np.format_float_positional(number, unique=True, trim="-") for number in vector).encode()


def read_vectors(path: Path) -> tuple[list[str], Matrix]:
    """The words and their vectors. A file whose name ends in .bin is binary."""
    words, matrix = (_read_binary if path.suffix == _BINARY else _read_text)(path)
    if not np.isfinite(matrix).all():
        raise UserError(f"{path}: a number is not finite (nan or inf)")
    if len(set(words)) != len(words):
        raise UserError(f"{path}: a word is listed twice; expected one vector per word")
    return words, matrix


def _read_text(path: Path) -> tuple[list[str], Matrix]:
    lines = read_lines(path)
    count, size = _sizes(path, next(lines, ""))
    is_packed = path.suffix in (".gz", ".xz")
    _check_length(path, count * (1 + _LEAST_NUMBER * size), None if is_packed else path.stat().st_size)
    words, rows = list[str](), list[Matrix]()
    for number, line in enumerate(lines, 2):
        word, *numbers = line.rstrip().split(" ")
        if len(words) == count or len(numbers) != size or not word:
            expected = f"a word and {size} numbers, {count} times"
            raise line_error(path, number, f"{len(numbers)} numbers; expected {expected}, as the first line says")
        try:
            rows.append(np.array(numbers, np.float32))
        except ValueError:
            raise line_error(path, number, f"the vector of {word!r} has something that is not a number") from None
        words.append(word)
    if len(words) != count:
        raise UserError(f"{path}: the first line says {count:,} words, but there are {len(words):,}; is it cut off?")
    return words, np.stack(rows) if rows else np.zeros((0, size), np.float32)


def _read_binary(path: Path) -> tuple[list[str], Matrix]:
    try:
        with path.open("rb") as file:
            count, size = _sizes(path, file.readline(_LONGEST_HEADER).decode("utf-8", "replace"))
            _check_length(path, count * (1 + 4 * size), path.stat().st_size)
            words, matrix = list[str](), np.empty((count, size), np.float32)
            for row, (word, vector) in enumerate(_entries(path, file, count, 4 * size)):
                words.append(word)
                matrix[row] = np.frombuffer(vector, "<f4")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return words, matrix


def _entries(path: Path, file: BinaryIO, count: int, length: int) -> Iterator[tuple[str, bytes]]:
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := file.read(1)) != b" ":
            if not byte or len(word) > _LONGEST_WORD:
                raise UserError(f"{path}: word {number:,} does not end; is the file cut off, or not binary?")
            word += byte
        vector = file.read(length)
        if len(vector) < length:
            raise UserError(f"{path}: the vector of word {number:,} is cut off")
        try:
            yield word.lstrip(b"\n").decode(), vector
        except UnicodeDecodeError:
            raise UserError(f"{path}: word {number:,} is not UTF-8; is the file cut off, or not binary?") from None


def _sizes(path: Path, header: str) -> tuple[int, int]:
    numbers = header.split()
    if len(numbers) != 2 or not all(number.isdecimal() and len(number) < 10 for number in numbers):
        raise UserError(f"{path}: the first line is not the numbers of words and of dimensions, as in word2vec's files")
    count, size = map(int, numbers)
    if not size:
        raise UserError(f"{path}: vectors of 0 numbers")
    return count, size


def _check_length(path: Path, least: int, length: int | None) -> None:
    if length is not None and length < least:
        raise UserError(
            f"{path}: {length:,} bytes, but what the first line says needs at least {least:,}; is it cut off?"
        )
