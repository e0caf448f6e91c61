"""What a file system may hold after a crash, given what a program did to it.

A recording is a list of operations on nodes (files and folders by identity, as inodes are), not on names. An operation
is durable when a later fsync covers it: a write by an fsync of its file, a new, moved or removed name by an fsync of
the folder that holds it. After a crash, durable operations hold, and any of the others may be lost, also out of order;
a write that is not durable may be cut short or leave zeros. A rename is atomic. This is weaker than what ext4, XFS and
APFS promise, so that what survives here survives there.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOT = 0
Kind = Literal["create", "mkdir", "write", "truncate", "fsync", "rename", "unlink", "rmdir"]
Fate = Literal["kept", "lost", "torn", "zeros"]


@dataclass(frozen=True, kw_only=True)
class Operation:
    kind: Kind
    node: int  # the file or folder itself
    folder: int = ROOT  # that holds its name; of a rename, the new one
    name: str = ""
    old_folder: int = ROOT  # of a rename
    old_name: str = ""
    offset: int = 0  # of a write; of a truncate, the new size
    data: bytes = b""

    @property
    def is_data(self) -> bool:
        return self.kind in ("write", "truncate")

    def __str__(self) -> str:
        return f"{self.kind} {self.old_name + ' -> ' if self.old_name else ''}{self.name or self.node}"


@dataclass
class Disk:
    """Folders by node: name to node; files by node: content."""

    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    contents: dict[int, bytes] = field(default_factory=dict)

    def copy(self) -> "Disk":
        return Disk({node: dict(names) for node, names in self.folders.items()}, dict(self.contents))

    def apply(self, operation: Operation, fate: Fate = "kept", cut: float = 0.5) -> None:
        """A node exists from its creation on; whether a name leads to it is another matter."""
        match operation.kind:
            case "create":
                self.contents.setdefault(operation.node, b"")
            case "mkdir":
                self.folders.setdefault(operation.node, {})
        if fate == "lost" or operation.kind == "fsync":
            return
        names = self.folders.setdefault(operation.folder, {})
        match operation.kind:
            case "create" | "mkdir":
                names[operation.name] = operation.node
            case "write":
                data = operation.data
                if fate == "torn":
                    data = data[: int(cut * len(data))]
                before = self.contents.get(operation.node, b"").ljust(operation.offset, b"\0")
                written = bytes(len(data)) if fate == "zeros" else data
                self.contents[operation.node] = (
                    before[: operation.offset] + written + before[operation.offset + len(data) :]
                )
            case "truncate":
                old = self.contents.get(operation.node, b"")
                self.contents[operation.node] = old[: operation.offset].ljust(operation.offset, b"\0")
            case "rename":
                old_names = self.folders.setdefault(operation.old_folder, {})
                if old_names.get(operation.old_name) == operation.node:
                    del old_names[operation.old_name]
                names[operation.name] = operation.node
            case "unlink" | "rmdir":
                if names.get(operation.name) == operation.node:
                    del names[operation.name]

    def tree(self, node: int = ROOT, at: str = "") -> dict[str, bytes | None]:
        """Everything that names lead to: relative path to content, None for a folder."""
        found: dict[str, bytes | None] = {}
        for name, child in self.folders[node].items():
            if child in self.folders:
                found |= {f"{at}{name}": None, **self.tree(child, f"{at}{name}/")}
            else:
                found[f"{at}{name}"] = self.contents[child]
        return found

    def write_to(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        for name, content in self.tree().items():
            (folder / name).mkdir() if content is None else (folder / name).write_bytes(content)


@dataclass(frozen=True)
class State:
    """What a crash may leave."""

    disk: Disk
    after: int  # operations that the program had done
    lost: tuple[str, ...]  # those of them that did not reach the disk as they were

    @property
    def digest(self) -> str:
        tree = sorted((name, content is None, content or b"") for name, content in self.disk.tree().items())
        return hashlib.sha256(repr(tree).encode()).hexdigest()


def crash_states(before: Disk, operations: list[Operation], *, samples: int, seed: int) -> Iterator[State]:
    """After every prefix of the operations: all of it done; and of what is not durable, all lost, each lost alone, each
    kept alone, each prefix of the names kept with and without the data, and so many `samples` of anything."""
    chance = random.Random(seed)
    for after in range(len(operations) + 1):
        pending = [place for place in range(after) if not _durable(operations, place, after)]
        fates: list[dict[int, Fate]] = [{}, dict.fromkeys(pending, "lost")]
        if pending:
            names = [place for place in pending if not operations[place].is_data]
            data = [place for place in pending if operations[place].is_data]
            fates += [{place: "lost"} for place in pending]
            fates += [{other: "lost" for other in pending if other != place} for place in pending]
            for kept in range(len(names)):
                no_names: dict[int, Fate] = dict.fromkeys(names[kept:], "lost")
                fates += [no_names, no_names | dict.fromkeys(data, "lost"), no_names | dict.fromkeys(data, "zeros")]
            fates += [{place: "torn"} for place in data]
            choices: tuple[Fate, ...] = ("kept", "lost", "torn", "zeros")
            for _ in range(samples):
                fates.append({p: chance.choice(choices if operations[p].is_data else choices[:2]) for p in pending})
        for fate in fates:
            yield _state(before, operations, after, fate, chance.random())


def _state(before: Disk, operations: list[Operation], after: int, fates: dict[int, Fate], cut: float) -> State:
    disk = before.copy()
    for place in range(after):
        disk.apply(operations[place], fates.get(place, "kept"), cut)
    changed = tuple(f"{place}: {operations[place]} {fate}" for place, fate in fates.items() if fate != "kept")
    return State(disk, after, changed)


def _durable(operations: list[Operation], place: int, after: int) -> bool:
    done = operations[place]
    if done.kind == "fsync":
        return True
    covers = done.node if done.is_data else done.folder
    return any(later.kind == "fsync" and later.node == covers for later in operations[place + 1 : after])


def distinct(states: Iterable[State]) -> Iterator[State]:
    """Each only once: many orders end in the same files. The latest of them says most about what was promised."""
    seen: set[tuple[str, int]] = set()
    for state in states:
        key = (state.digest, state.after)
        if key not in seen:
            seen.add(key)
            yield state
