"""From the files of a data set to pairs, and from pairs to files that `saccade train` reads."""

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from saccade.data.sources import TextPair
from saccade.data.text_files import LONGEST_LINE, line_error
from saccade.errors import UserError, plural
from saccade.public_data.download import WantedFile

Form = Literal["lines", "segments", "talks"]
_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_TRANSLATED = re.compile(r"<(title|description)>(.*)</\1>")  # of a talk; its other tags are about the talk
_LARGEST_SEGMENTS = 1 << 26  # bytes: a test set has a hundredth of it
_COMMAND = re.compile(r"IN: (.+?) OUT: (.+)")
_UNSAFE = re.compile("[\0\t\r\n]")  # what a line of a text or of a TSV file cannot hold


class TextFile(NamedTuple):
    """Texts of one language or of pairs: a downloaded file, or a member of a downloaded archive."""

    file: WantedFile
    member: str = ""
    form: Form = "lines"

    def texts(self, path: Path) -> Iterator[str]:
        """The texts of the unpacked file at `path`. Bytes that are not UTF-8 become �, which cleaning can leave out."""
        readers: Mapping[Form, Callable[[Path], Iterator[str]]] = {
            "lines": _read_lines,
            "segments": _read_segments,
            "talks": _read_talks,
        }
        return (_UNSAFE.sub(" ", text).strip() for text in readers[self.form](path))


Unpacked = Mapping[TextFile, Path]


class PairOrigin(ABC):
    """Where pairs come from."""

    files: tuple[TextFile, ...] = ()

    @abstractmethod
    def pairs(self, unpacked: Unpacked) -> Iterator[TextPair]: ...


class SideBySide(PairOrigin):
    """Line n of one file belongs to line n of the other."""

    def __init__(self, source: TextFile, target: TextFile) -> None:
        self.files = (source, target)

    def pairs(self, unpacked: Unpacked) -> Iterator[TextPair]:
        sides = (file.texts(unpacked[file]) for file in self.files)
        for number, (source, target) in enumerate(zip_longest(*sides), 1):
            if source is None or target is None:
                names = " and ".join(file.member or file.file.url for file in self.files)
                raise UserError(f"{names} differ in length: one ends after {plural(number - 1, 'line')}: not used")
            yield TextPair(source, target)


class Commands(PairOrigin):
    """SCAN: lines of `IN: command OUT: actions`."""

    def __init__(self, file: TextFile) -> None:
        self.files = (file,)

    def pairs(self, unpacked: Unpacked) -> Iterator[TextPair]:
        (file,) = self.files
        for number, line in enumerate(file.texts(unpacked[file]), 1):
            match = _COMMAND.fullmatch(line)
            if match is None:
                raise UserError(f"{file.file.url}: line {number} is {line[:80]!r}; expected IN: … OUT: …")
            yield TextPair(match[1], match[2])


class Listed(PairOrigin):
    """Pairs that need no file, because they come with a package."""

    def __init__(self, load: Callable[[], Iterable[TextPair]]) -> None:
        self._load = load

    def pairs(self, unpacked: Unpacked) -> Iterator[TextPair]:
        return iter(self._load())


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Two files per part, named after the languages, or one TSV file."""

    languages: tuple[str, str] | None = None
    stems: Mapping[str, str] = field(default_factory=dict)  # the usual names of parts in this data set: dev → val

    def names(self, part: str) -> tuple[str, ...]:
        stem = self.stems.get(part, part)
        return (f"{stem}.tsv",) if self.languages is None else tuple(f"{stem}.{name}" for name in self.languages)

    def write(self, folder: Path, pairs: Iterable[tuple[str, TextPair]], parts: Sequence[str]) -> dict[str, int]:
        """Write each pair to the files of its part; return the number of pairs by part."""
        counts = dict.fromkeys(parts, 0)
        with ExitStack() as opened:
            streams = {
                part: [
                    opened.enter_context((folder / name).open("x", encoding="utf-8", newline="\n")) for name in names
                ]
                for part, names in ((part, self.names(part)) for part in parts)
            }
            for part, pair in pairs:
                texts = ("\t".join(pair),) if self.languages is None else pair
                for stream, text in zip(streams[part], texts, strict=True):
                    stream.write(f"{text}\n")
                counts[part] += 1
        return counts


def read_part(files: Sequence[PairOrigin], unpacked: Unpacked) -> Iterator[TextPair]:
    for source in files:
        yield from source.pairs(unpacked)


def _read_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE + 2):
            number += 1
            if len(line.rstrip(b"\r\n")) > LONGEST_LINE:
                raise line_error(path, number, f"more than {LONGEST_LINE:,} bytes without a line end: not a text file")
            text = line.decode("utf-8", "replace")
            yield text.removeprefix("\ufeff") if number == 1 else text


def _read_segments(path: Path) -> Iterator[str]:
    """The segments of an SGML or XML test set."""
    if path.stat().st_size > _LARGEST_SEGMENTS:
        raise UserError(f"{path}: {path.stat().st_size:,} bytes; expected a test set")
    content = path.read_text(encoding="utf-8", errors="replace")
    return (" ".join(html.unescape(segment).split()) for segment in _SEGMENT.findall(content))


def _read_talks(path: Path) -> Iterator[str]:
    """The lines of talks, with titles and descriptions, which are translated, and without other tags."""
    for line in _read_lines(path):
        text = line.strip()
        if not text.startswith("<"):
            yield text
        elif match := _TRANSLATED.fullmatch(text):
            yield match[2]
