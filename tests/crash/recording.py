"""Records what a program does to the files of one folder: every write, fsync, rename, unlink, mkdir and rmdir."""

import builtins
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from disk import ROOT, Disk, Operation


@dataclass
class Recording:
    root: Path
    before: Disk = field(default_factory=Disk)
    operations: list[Operation] = field(default_factory=list)
    _now: Disk = field(default_factory=Disk)
    _nodes: int = 0

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        for path in sorted(self.root.rglob("*")):
            place = self.find(path.parent)
            assert place is not None
            node = self._new_node()
            kind = "mkdir" if path.is_dir() else "create"
            self.before.apply(Operation(kind=kind, node=node, folder=place, name=path.name))
            self._now = self.before
            if path.is_file():
                self.before.contents[node] = path.read_bytes()
        self._now = self.before.copy()

    def find(self, path: Path) -> int | None:
        """The node of a path inside the folder; None: not there, or not inside."""
        path = Path(os.path.abspath(path))  # noqa: PTH100  (links are not followed)
        if path == self.root:
            return ROOT
        if self.root not in path.parents:
            return None
        parent = self.find(path.parent)
        return None if parent is None else self._now.folders.get(parent, {}).get(path.name)

    def holds(self, path: Path) -> bool:
        return self.root in Path(os.path.abspath(path)).parents  # noqa: PTH100

    def note(self, operation: Operation) -> None:
        self.operations.append(operation)
        self._now.apply(operation)

    def new(self, kind: Any, path: Path) -> int:
        folder = self.find(path.parent)
        assert folder is not None, path
        node = self._new_node()
        self.note(Operation(kind=kind, node=node, folder=folder, name=path.name))
        return node

    def gone(self, kind: Any, path: Path) -> None:
        folder, node = self.find(path.parent), self.find(path)
        if folder is not None and node is not None:
            self.note(Operation(kind=kind, node=node, folder=folder, name=path.name))

    def moved(self, old: Path, new: Path) -> None:
        node, old_folder, folder = self.find(old), self.find(old.parent), self.find(new.parent)
        assert node is not None and old_folder is not None and folder is not None, (old, new)
        names = {"folder": folder, "name": new.name, "old_folder": old_folder, "old_name": old.name}
        self.note(Operation(kind="rename", node=node, **names))

    def _new_node(self) -> int:
        self._nodes += 1
        return self._nodes


@contextmanager
def recording(root: Path) -> Iterator[Recording]:
    """What is done to files below `root` in here. The program runs as ever, and its files are really written."""
    record = Recording(root)
    real_open = io.open

    class File(io.FileIO):
        """The lowest layer of an open file: whatever reaches the system passes here."""

        def __init__(self, path: Path, mode: str) -> None:
            existed = path.exists()
            super().__init__(str(path), mode)
            self.node = record.find(path)
            if self.node is None or not existed:
                self.node = record.new("create", path)
            elif "w" in mode:
                record.note(Operation(kind="truncate", node=self.node))

        def write(self, data: Any) -> int:
            if "a" in self.mode:
                self.seek(0, os.SEEK_END)
            offset, content = self.tell(), bytes(data)
            count = super().write(data)
            record.note(Operation(kind="write", node=self.node, offset=offset, data=content[:count]))
            return count

        def truncate(self, size: int | None = None) -> int:
            size = super().truncate(size)
            record.note(Operation(kind="truncate", node=self.node, offset=size))
            return size

    def opened(file: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> Any:
        writes = set(mode) & set("wax+")
        if not writes or not isinstance(file, str | os.PathLike) or not record.holds(Path(file)):
            return real_open(file, mode, buffering, *args, **kwargs)
        raw = File(Path(os.path.abspath(file)), mode.replace("b", "").replace("t", ""))  # noqa: PTH100
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **kwargs)

    def full(path: Any, folder: int | None) -> Path:
        """shutil.rmtree names files by the descriptor of their folder."""
        return Path(path) if folder is None else Path(os.readlink(f"/proc/self/fd/{folder}"), path)  # noqa: PTH115

    def noting(name: str, note: Any) -> Any:
        real = getattr(os, name)

        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            result = real(path, *args, **kwargs)
            note(path, *args, **kwargs)
            return result

        return mock.patch.object(os, name, call)

    def synced(handle: int) -> None:
        node = record.find(Path(os.readlink(f"/proc/self/fd/{handle}")))  # noqa: PTH115
        if node is not None:
            record.note(Operation(kind="fsync", node=node))

    def made(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if record.holds(full(path, dir_fd)):
            record.new("mkdir", full(path, dir_fd))

    def renamed(old: Any, new: Any) -> None:
        if record.holds(Path(old)):
            record.moved(Path(old), Path(new))

    def removed(kind: str) -> Any:
        return lambda path, *, dir_fd=None: record.gone(kind, full(path, dir_fd))

    def cut(path: Any, size: int) -> None:
        if (node := record.find(Path(path))) is not None:
            record.note(Operation(kind="truncate", node=node, offset=size))

    patches = [
        mock.patch.object(io, "open", opened),
        mock.patch.object(builtins, "open", opened),
        noting("fsync", synced),
        noting("mkdir", made),
        *(noting(name, renamed) for name in ("rename", "replace")),
        *(noting(name, removed("unlink")) for name in ("unlink", "remove")),
        noting("rmdir", removed("rmdir")),
        noting("truncate", cut),
    ]
    for patch in patches:
        patch.start()
    try:
        yield record
    finally:
        for patch in reversed(patches):
            patch.stop()
