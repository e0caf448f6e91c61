"""Outputs of a long run that is gone on with after any end: Ctrl-C, a kill, a full disk.

`OUT.unfinished` grows by chunks. After each, `OUT.unfinished.json` says how far it is whole, what command made it, and
of which lines: the same command cuts it back to there and goes on, and no other one does. Chunks are what is saved,
since what is translated together rounds together: a resumed run writes the same bytes as one that was never ended.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, TypeVar

import typer

from saccade import __version__
from saccade.cli.console import say
from saccade.errors import UserError
from saccade.files import locate, parse_json, remove_leftovers, sync, write_json
from saccade.locking import locked

AGAIN = "give --restart to begin again"
_MOST_NAMED = 3  # differences that an error names
Line = TypeVar("Line")


class Journal:
    """Files that are written together; the first of them is there only when all are whole."""

    def __init__(self, files: Mapping[str, Path], command: Mapping[str, Any], *, restart: bool = False) -> None:
        self._final = files
        self._files = {name: path.with_name(f"{path.name}.unfinished") for name, path in files.items()}
        self.first = next(iter(self._files.values()))
        self._record = self.first.with_name(f"{self.first.name}.json")
        self._command = {**command, "the version of Saccade": __version__}
        self.lines, self._sizes, self._expected = 0, dict.fromkeys(self._files, 0), ""
        self.state: Mapping[str, Any] = {}
        self._digest = hashlib.sha256()
        if self.first.exists() and not restart:
            self._recall()
        remove_leftovers(self._record)
        self._save(self.lines, self._expected, self._sizes, self.state)
        self._streams: dict[str, BinaryIO] = {}
        try:
            for name in self._files:
                self._streams[name] = self._opened(name)
        except BaseException:
            self._close()
            raise
        self._sync_folders()  # before a record speaks of files whose names a crash could lose

    def after_those_done(self, lines: Iterator[Line], mark: Callable[[Line], str]) -> Iterator[Line]:
        """The lines that are left. Those before them must be the ones that were done: they are told by their marks."""
        for line in islice(lines, self.lines):
            self.note(mark(line))
        if self.lines and self._digest.hexdigest() != self._expected:
            raise UserError(
                f"{self.first}: made of other lines: the first {self.lines:,} of the input, or their constraints, are "
                f"not the same now; give the same input to go on with it, or {AGAIN}"
            )
        return lines

    def note(self, mark: str) -> None:
        """Of each line, in order, when what was made of it is written."""
        self._digest.update(mark.encode("utf-8", "surrogatepass") + b"\n")

    def write(self, name: str, text: str) -> None:
        self._streams[name].write(text.encode() + b"\n")

    def commit(self, lines: int, state: Mapping[str, Any] = MappingProxyType({})) -> None:
        """All of so many lines is written, and shall outlive whatever comes, with the `state` that was reached."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        sizes, digest = {name: stream.tell() for name, stream in self._streams.items()}, self._digest.hexdigest()
        self._save(lines, digest, sizes, state)
        self.lines, self._sizes = lines, sizes  # only now: what is called done is what the same command finds done

    def finish(self) -> None:
        self._close()
        for name, path in reversed(self._files.items()):
            path.replace(self._final[name])
        self._sync_folders()  # before the record that a resumed run needs is gone
        self._record.unlink()

    def leave(self) -> None:
        """Keep what is whole; where nothing is, leave nothing behind."""
        self._close()
        if self.lines:
            for name, path in self._files.items():
                os.truncate(path, self._sizes[name])
            done = f"the {self.lines:,} lines that were done are in {self.first}; the same command goes on from there"
            say(f"saccade: {done}")
            return
        for path in (*self._files.values(), self._record):
            path.unlink(missing_ok=True)

    def _sync_folders(self) -> None:
        for folder in {path.parent for path in self._files.values()}:
            sync(folder)

    def _close(self) -> None:
        for stream in self._streams.values():
            with suppress(OSError):  # what a full disk did not take is not counted as done
                stream.close()

    def _save(self, lines: int, digest: str, sizes: Mapping[str, int], state: Mapping[str, Any]) -> None:
        known = {"command": self._command, "lines": lines, "digest": digest, "sizes": sizes, "state": {**state}}
        write_json(self._record, known)

    def _recall(self) -> None:
        try:
            known = parse_json(self._record.read_text(encoding="utf-8"))
            before, self.lines, self._expected = known["command"], known["lines"], known["digest"]
            self._sizes = {name: known["sizes"].get(name, 0) for name in self._files}
            self.state = {**known.get("state", {})}
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            raise UserError(
                f"{self.first}: there already, and nothing says what made it; move it away, or {AGAIN}"
            ) from None
        names = [name for name in {**before, **self._command} if before.get(name) != self._command.get(name)]
        if names:
            told = [f"{name} was {_said(before.get(name))}, is {_said(self._command.get(name))}" for name in names]
            more = f" (and {len(told) - _MOST_NAMED} more)" if len(told) > _MOST_NAMED else ""
            raise UserError(
                f"{self.first}: made by another command: {'; '.join(told[:_MOST_NAMED])}{more}; type the same one to "
                f"go on after its {self.lines:,} lines, or {AGAIN}"
            )
        say(f"saccade: going on after the {self.lines:,} lines in {self.first}")

    def _opened(self, name: str) -> BinaryIO:
        path, size = self._files[name], self._sizes[name]
        if size and not path.exists() and self._final[name].exists():  # ended between two renames
            self._final[name].replace(path)
        stream = path.open("r+b" if size and path.exists() else "wb")
        if stream.seek(0, os.SEEK_END) < size:
            stream.close()
            raise UserError(f"{path}: shorter than the {size:,} bytes that were written; put it back, or {AGAIN}")
        stream.truncate(size)
        stream.seek(size)
        return stream


class Passing:
    """In place of a journal, where output goes elsewhere, and there is nothing to go on with."""

    lines = 0
    state: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, places: Mapping[str, Callable[[str], None]]) -> None:
        self._places = places

    def after_those_done(self, lines: Iterator[Line], mark: Callable[[Line], str]) -> Iterator[Line]:
        return lines

    def note(self, mark: str) -> None: ...

    def write(self, name: str, text: str) -> None:
        self._places[name](text)

    def commit(self, lines: int, state: Mapping[str, Any] = MappingProxyType({})) -> None: ...


@contextmanager
def journal(files: Mapping[str, Path], command: Mapping[str, Any], *, restart: bool) -> Iterator[Journal]:
    """On leaving, the files are there; on any error, what was done is beside them, to go on with."""
    out = next(iter(files.values()))
    with ExitStack() as locks:
        for path in files.values():
            locks.enter_context(locked(path))
        try:
            opened = Journal(files, command, restart=restart)
        except OSError as error:
            raise UserError(f"{out}: cannot be written: {error.strerror}") from error
        try:
            yield opened
            opened.finish()
        except BaseException as error:
            opened.leave()
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise UserError(f"{out}: cannot be written: {error.strerror}") from error
            raise


def command_of(context: typer.Context, *, without: frozenset[str]) -> dict[str, Any]:
    """Every option as it was given; models and files by what is in them, too."""
    named = {option.name or "": option.opts[0] for option in context.command.params}
    given = {name: value for name, value in context.params.items() if name not in without}
    return {named.get(name, name): _told(value) for name, value in given.items()}


def _told(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_told(one) for one in value]
    if not isinstance(value, Path):
        return value
    described = locate(value, "config.json") if value.is_dir() else value
    if not described.is_file():
        return str(value)
    with described.open("rb") as stream:
        return f"{value} ({hashlib.file_digest(stream, 'sha256').hexdigest()[:12]})"


def _said(value: Any) -> str:
    return "not given" if value in (None, False, [], "") else "given" if value is True else str(value)
