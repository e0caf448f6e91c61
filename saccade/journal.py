"""Output files of a long command that can be resumed after any end: Ctrl-C, a kill, a full disk.

`OUT.unfinished` grows by chunks. After each chunk `OUT.unfinished.json` records how much of it is complete, the command
and a digest of the input: only the same command on the same input truncates the file to that point and continues. A
chunk is saved as a whole because texts that are translated together round together: a resumed command writes the same
bytes as one that was never interrupted.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, TypeVar, cast

from saccade import __version__
from saccade.errors import UserError, plural, say
from saccade.files import explain_unwritable, locate, parse_json, remove_leftovers, sync, write_json
from saccade.locking import locked

AGAIN = "give --restart to begin again"
_MOST_NAMED = 3  # differences that an error names
Line = TypeVar("Line")


class Journal:
    """Files that are written together; the first of them exists only when all are complete."""

    def __init__(self, files: Mapping[str, Path], command: Mapping[str, Any], *, restart: bool = False) -> None:
        self._final = files
        self._files = {name: path.with_name(f"{path.name}.unfinished") for name, path in files.items()}
        self.first = next(iter(self._files.values()))
        self._record = self.first.with_name(f"{self.first.name}.json")
        self._command = dict(command)
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

    def skip_finished(self, lines: Iterator[Line], mark: Callable[[Line], str]) -> Iterator[Line]:
        """The lines that are left. The lines before them must have the marks of those that are finished."""
        for line in islice(lines, self.lines):
            self.note(mark(line))
        if self.lines and self._digest.hexdigest() != self._expected:
            raise UserError(
                f"{self.first}: made from other lines: the first {self.lines:,} of the input, or their constraints, "
                f"have changed; give the same input to continue, or {AGAIN}"
            )
        return lines

    def note(self, mark: str) -> None:
        """Add a line to the digest of the input, in order, once its output is written."""
        self._digest.update(mark.encode("utf-8", "surrogatepass") + b"\n")

    def write(self, name: str, text: str) -> None:
        self._streams[name].write(text.encode() + b"\n")

    def commit(self, lines: int, state: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Save durably that the output of the first `lines` lines is complete, with the caller's `state`."""
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        sizes, digest = {name: stream.tell() for name, stream in self._streams.items()}, self._digest.hexdigest()
        self._save(lines, digest, sizes, state)
        self.lines, self._sizes = lines, sizes  # only now: finished is what the same command would find

    def finish(self) -> None:
        self._close()
        for name, path in reversed(self._files.items()):
            path.replace(self._final[name])
        self._sync_folders()  # before the record that a resumed run needs is gone
        self._record.unlink()

    def leave(self) -> None:
        """Keep the complete chunks; if there are none, leave no file behind."""
        self._close()
        if self.lines:
            for name, path in self._files.items():
                os.truncate(path, self._sizes[name])
            lines = plural(self.lines, "line")
            say(f"saccade: {lines} finished and saved in {self.first}; the same command continues from there")
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
                f"{self.first}: exists already, and there is no record of its command; move it away, or {AGAIN}"
            ) from None
        if (changes := explain_changes(before, self._command)) is not None:
            raise UserError(
                f"{self.first}: made by another command: {changes}; type the same "
                f"command to continue after its {plural(self.lines, 'line')}, or {AGAIN}"
            )
        say(f"saccade: continuing after {plural(self.lines, 'line')} in {self.first}")

    def _opened(self, name: str) -> BinaryIO:
        path, size = self._files[name], self._sizes[name]
        if size and not path.exists() and self._final[name].exists():  # stopped between two renames
            self._final[name].replace(path)
        stream = path.open("r+b" if size and path.exists() else "wb")
        if stream.seek(0, os.SEEK_END) < size:
            stream.close()
            raise UserError(f"{path}: shorter than the {size:,} bytes that were written; restore it, or {AGAIN}")
        stream.truncate(size)
        stream.seek(size)
        return stream


class DirectOutput:
    """In place of a journal where output goes to a stream and cannot be resumed."""

    state: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, places: Mapping[str, Callable[[str], None]], lines: int = 0) -> None:
        self._places, self.lines = places, lines  # `lines` of the input come before

    def skip_finished(self, lines: Iterator[Line], mark: Callable[[Line], str]) -> Iterator[Line]:
        return lines

    def note(self, mark: str) -> None: ...

    def write(self, name: str, text: str) -> None:
        self._places[name](text)

    def commit(self, lines: int, state: Mapping[str, Any] = MappingProxyType({})) -> None: ...


@contextmanager
def open_journal(files: Mapping[str, Path], command: Mapping[str, Any], *, restart: bool) -> Iterator[Journal]:
    """On leaving, the files exist; after an error the finished part stays beside them, ready to be resumed."""
    with ExitStack() as locks, explain_unwritable(next(iter(files.values()))):
        for path in files.values():
            locks.enter_context(locked(path))
        journal = Journal(files, command, restart=restart)
        try:
            yield journal
            journal.finish()
        except BaseException:
            journal.leave()
            raise


@contextmanager
def open_output(
    out: Path | None,
    command: Mapping[str, Any],
    *,
    write: Callable[[str], None],
    tree: Path | None = None,
    restart: bool = False,
) -> Iterator[Journal | DirectOutput]:
    """The files of a command that can be resumed; without `out`, lines go to `write`."""
    for name, path in (("out", out), ("tree", tree)):
        refuse_folder(name, path)
    if out is not None:
        files = {"out": out} | ({} if tree is None else {"tree": tree})
        with open_journal(files, describe_command(command), restart=restart) as journal:
            yield journal
        return
    with nullcontext(write) if tree is None else write_file(tree) as write_tree:
        yield DirectOutput({"out": write, "tree": write_tree})


def refuse_folder(option: str, path: Path | None) -> None:
    if path is not None and path.is_dir():
        raise UserError(f"--{option} {path}: a folder; expected the name of a file")


@contextmanager
def write_file(out: Path) -> Iterator[Callable[[str], None]]:
    """Write lines to `out`, which exists only when complete; an interrupted command leaves its lines beside it."""
    unfinished = out.with_name(f"{out.name}.unfinished")
    with locked(out), explain_unwritable(out):
        try:
            with unfinished.open("w", encoding="utf-8", newline="\n") as stream:
                yield lambda line: cast("None", stream.write(line + "\n"))
            unfinished.replace(out)
        except BaseException:
            if lines := _keep_complete_lines(unfinished):
                say(f"saccade: {plural(lines, 'line')} finished and saved in {unfinished}")
            else:
                unfinished.unlink(missing_ok=True)
            raise


def _keep_complete_lines(path: Path) -> int:
    """How many lines reached the disk; an incomplete last one is cut off."""
    try:
        with path.open("r+b") as stream:
            count, end = 0, 0
            for line in stream:
                if line.endswith(b"\n"):
                    count, end = count + 1, end + len(line)
            stream.truncate(end)
        return count
    except OSError:
        return 0


def describe_command(command: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as JSON has them, and the version of Saccade."""
    return {**{name: _described(value) for name, value in command.items()}, "the version of Saccade": __version__}


def explain_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Which options of two described commands differ; None if none do."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    changes = [f"{name} was {_shown(before.get(name))}, is {_shown(now.get(name))}" for name in names]
    more = f" (and {len(changes) - _MOST_NAMED} more)" if len(changes) > _MOST_NAMED else ""
    return f"{'; '.join(changes[:_MOST_NAMED])}{more}" if changes else None


def _described(value: Any) -> Any:
    """An option as JSON has it; a file or a model folder with a digest of its content."""
    if isinstance(value, list | tuple):
        return [_described(item) for item in value]
    if not isinstance(value, Path):
        return value
    content = locate(value, "config.json") if value.is_dir() else value
    if not content.is_file():
        return str(value)
    with content.open("rb") as stream:
        return f"{value} ({hashlib.file_digest(stream, 'sha256').hexdigest()[:12]})"


def _shown(value: Any) -> str:
    return "not given" if value in (None, False, [], "") else "given" if value is True else str(value)
