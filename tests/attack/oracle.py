"""What may not happen, whatever the input: each failure has a kind, a place that groups alike ones, and a text.

An exit code is 0, or 2 after a user's mistake; 1 means interrupted, and nothing interrupts here. With 2, the last line
of standard error begins with "saccade: ", no other line says what went wrong, and no control character reaches the
terminal. A command that fails leaves the folder as it was; one that succeeds changes nothing that it was given.
"""

import hashlib
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .child import Ended

KINDS = (
    "tracebacks",
    "hangs",
    "wrong acceptances",
    "bytes lost",
    "outside files touched",
    "unclear messages",
    "left behind",
)
MARKER = "EXECUTED"  # the file that the canary module writes when it is imported
_FRAME = re.compile(r'File "[^"]*?(saccade/[^"]+)", line \d+,? in (\w+)')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LONGEST_MESSAGE = 1500  # characters: more is no line that anybody reads

Tree = dict[str, str]
Accepted = Callable[[Ended, Path], str | None]


@dataclass(frozen=True)
class Failure:
    kind: str
    where: str
    detail: str


@dataclass(kw_only=True)
class Case:
    """A command, and what must hold if it accepts its input."""

    arguments: list[str]
    accepted: Accepted  # what is wrong with an exit code 0, if anything is
    outputs: tuple[str, ...] = ()  # the files and folders that it writes when it succeeds
    stdin: bytes = b""
    about: str = ""  # what was done to the input
    names_code: bool = False  # the user names a module of their own, which may be imported then
    notes: list[str] = field(default_factory=list)


def tree(folder: Path) -> Tree:
    """What every path below holds; links are not followed."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(mode):
            found[name] = f"link to {path.readlink()}"
        elif stat.S_ISREG(mode):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder" if stat.S_ISDIR(mode) else "other"
    return found


def judge(case: Case, ended: Ended, place: Path, before: tuple[Tree, Tree]) -> list[Failure]:
    """`before`: the trees of the working folder and of the canary folder when the command began."""
    failures = [*_ending(ended), *_outside(case, ended, place, before[1])]
    if ended.code == 2:
        failures += [*_message(ended), *_left_behind(case, place, before[0])]
    elif ended.code == 0:
        try:
            wrong = case.accepted(ended, place / "folder")
        except Exception as error:
            wrong = f"the answer cannot be read: {error!r}"
        if wrong is not None:
            failures.append(Failure("wrong acceptances", f"{case.about}: {wrong.partition(':')[0]}", wrong))
        failures += _changed_inputs(case, place, before[0])
    return failures


def _ending(ended: Ended) -> list[Failure]:
    if ended.code is None:
        return [Failure("hangs", _last_frame(ended.err, first=True), f"not ended after {ended.seconds:.0f} s")]
    if "Traceback (most recent call last)" in ended.err or ended.code not in (0, 2):
        said = next((line for line in reversed(ended.err.splitlines()) if line.strip(" ^~")), "")
        return [Failure("tracebacks", f"{_last_frame(ended.err)} {said[:60]}", f"exit code {ended.code}: {said[:200]}")]
    return []


def _outside(case: Case, ended: Ended, place: Path, canaries: Tree) -> list[Failure]:
    failures = [Failure("outside files touched", line.split(" ")[0], line) for line in ended.outside]
    now = tree(place / "canary")
    changed = [name for name in {**canaries, **now} if canaries.get(name) != now.get(name)]
    failures += [Failure("outside files touched", "canary", f"{name} changed") for name in changed]
    if not case.names_code and list((place / "folder").rglob(MARKER)):
        failures.append(Failure("outside files touched", "code", "a module of the folder was imported and run"))
    return failures[:3]


def _message(ended: Ended) -> list[Failure]:
    lines = ended.err.removesuffix("\n").split("\n")
    reason = None
    if ended.err.startswith("Usage: saccade"):  # an option's value, which typer explains in its own way
        reason = None
    elif not lines[-1].startswith("saccade: "):
        reason = "the last line is not the message"
    elif not ended.err.endswith("\n"):
        reason = "the line has no end"
    elif len(lines[-1]) > _LONGEST_MESSAGE:
        reason = "the message is too long to read"
    elif sum(line.startswith("saccade: ") for line in lines) > 1 and not _notes_only(lines[:-1]):
        reason = "more than one message"
    if reason is None and _CONTROL.search(ended.err):
        reason = "a control character reaches the terminal"
    if reason is None and "�" not in ended.err and any("\ud800" <= letter <= "\udfff" for letter in ended.err):
        reason = "not Unicode"
    return [] if reason is None else [Failure("unclear messages", f"{reason}: {lines[-1][:50]!r}", ended.err[-300:])]


def _notes_only(lines: list[str]) -> bool:
    """Beside the message there may be notes of lines that were translated, and of what is kept for going on."""
    said = [line for line in lines if line.startswith("saccade: ")]
    return all(re.match(r"saccade: (line \d+: |continuing after |[\d,]+ lines? finished )", line) for line in said)


def _left_behind(case: Case, place: Path, before: Tree) -> list[Failure]:
    now = tree(place / "folder")
    if "out/metrics.jsonl" in now:  # a run that had begun keeps all
        return []
    changed = _changed(case, before, now)
    failures = [Failure("left behind", Path(name).name, f"after an error: {changed[:5]}") for name in changed[:1]]
    temporary = sorted(tree(place / "tmp"))
    return [*failures, *(Failure("left behind", "temporary folder", f"{temporary[:5]}") for _ in temporary[:1])]


def _changed_inputs(case: Case, place: Path, before: Tree) -> list[Failure]:
    changed = [
        name
        for name in _changed(case, before, tree(place / "folder"))
        if not any(name == one or name.startswith(f"{one}/") for one in case.outputs)
    ]
    return [Failure("left behind", f"changed {Path(name).name}", f"{changed[:5]}") for name in changed[:1]]


def _changed(case: Case, before: Tree, now: Tree) -> list[str]:
    changed = (name for name in {**before, **now} if before.get(name) != now.get(name))
    return sorted(name for name in changed if not (case.names_code and name == MARKER))


def _last_frame(err: str, *, first: bool = False) -> str:
    """The innermost line of the package; faulthandler writes that one first, a traceback last."""
    frames = [f"{path}:{function}" for path, function in _FRAME.findall(err)]
    return frames[0 if first else -1] if frames else "no frame of the package"
