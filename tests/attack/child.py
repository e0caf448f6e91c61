"""One command in a forked process: the real entry point, a working folder of its own, a watchdog, and bounded memory.

The parent has torch and the package imported and a single thread, so that a process costs a few hundredths of a second.
"""

import faulthandler
import importlib
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .watching import report_outside_writes

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from training_processes import KillPoint, kill_self_at

LONGEST = 20.0  # seconds; a command that takes longer hangs
MEMORY = 3 << 30  # bytes that a command may take beside those of the parent
LARGEST_FILE = 256 << 20
CRASHED = 70  # exit code of a process that ended by an exception


@dataclass(frozen=True)
class Ended:
    code: int | None  # negative: ended by that signal; None: had to be ended
    out: str
    err: str
    outside: tuple[str, ...]  # what was done outside the working folder
    pid: int
    seconds: float


class Process:
    """`saccade ARGUMENTS` in `place/folder`; what it says is kept in `place/said`."""

    def __init__(
        self, place: Path, arguments: list[str], *, stdin: bytes = b"", kill: KillPoint | None = None, name: str = ""
    ) -> None:
        """`kill` is the moment of a SIGKILL; `name` separates the outputs of commands in one folder."""
        self._said = {
            stream: place / "said" / f"{name}{stream}" for stream in ("in", "out", "err", "outside", "modules")
        }
        self._said["in"].parent.mkdir(exist_ok=True)
        (place / "tmp").mkdir(exist_ok=True)
        self._said["in"].write_bytes(stdin)
        self._began = time.monotonic()
        self._code: int | None = None
        self._seconds = 0.0
        self.pid = os.fork()
        if self.pid == 0:
            _live(place, arguments, self._said, kill)
        with suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(self.pid, self.pid)

    def running(self) -> bool:
        if self._seconds:
            return False
        found, status = os.waitpid(self.pid, os.WNOHANG)
        if found:
            self._seconds = time.monotonic() - self._began
            self._code = os.waitstatus_to_exitcode(status)
        return not found

    @property
    def seconds(self) -> float:
        return self._seconds or time.monotonic() - self._began

    def send(self, number: int) -> None:
        if self.running():
            os.killpg(self.pid, number)

    def end(self, longest: float = LONGEST) -> Ended:
        """Wait for it. One that hangs says where, and is killed."""
        while self.running():
            if self.seconds > longest:
                self._give_up()
                return self._ended(None)
            time.sleep(0.002)
        return self._ended(self._code)

    def _give_up(self) -> None:
        self.send(signal.SIGUSR1)  # faulthandler writes where it is
        time.sleep(0.3)
        self.send(signal.SIGKILL)
        while self.running():
            time.sleep(0.002)

    def _ended(self, code: int | None) -> Ended:
        texts = {stream: _text(path) for stream, path in self._said.items()}
        outside = tuple(texts["outside"].splitlines())
        return Ended(code, texts["out"], texts["err"], outside, self.pid, self._seconds)


def run(place: Path, arguments: list[str], *, stdin: bytes = b"", longest: float = LONGEST) -> Ended:
    return Process(place, arguments, stdin=stdin).end(longest)


def rehearse(place: Path, arguments: list[str]) -> None:
    """Run a command that must succeed, and import here what it imported: processes forked later then need not."""
    ended = run(place, arguments, longest=300)
    assert ended.code == 0, ended.err
    preload((place / "said" / "modules").read_text().split())
    assert threading.active_count() == 1, "a process with several threads cannot be forked safely"


def preload(modules: Iterable[str]) -> None:
    for name in modules:
        if name not in sys.modules and not name.startswith("canary"):
            with suppress(ImportError):
                importlib.import_module(name)
    import torch

    torch.set_num_threads(1)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def _live(place: Path, arguments: list[str], said: dict[str, Path], kill: KillPoint | None) -> None:
    """Never returns: whatever happens, the process ends here and does not go on as a second parent."""
    code = CRASHED
    try:
        os.setpgid(0, 0)
        _redirect(said)
        _bound()
        os.chdir(place / "folder")
        os.environ |= {"TMPDIR": str(place / "tmp"), "SACCADE_COMMIT": "attacked"}
        tempfile.tempdir = None
        sys.dont_write_bytecode = True
        report_outside_writes([place / "folder", place / "tmp", place / "said"], said["outside"])
        if kill is not None:
            kill_self_at(kill, Path("out"))
        known = set(sys.modules)
        code = _main(arguments)
        said["modules"].write_text("\n".join(name for name in sys.modules if name not in known))
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        with suppress(BaseException):
            traceback.print_exc()
            sys.stderr.flush()
        code = CRASHED
    finally:
        os._exit(code)


def _main(arguments: list[str]) -> int:
    from saccade.cli import main

    sys.argv = ["saccade", *arguments]
    try:
        main()
    except SystemExit as ending:
        if isinstance(ending.code, str):
            sys.stderr.write(ending.code + "\n")
            return 1
        return int(ending.code or 0)
    return 0


def _redirect(said: dict[str, Path]) -> None:
    for number, (stream, flags) in enumerate((("in", os.O_RDONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY))):
        opened = os.open(said[stream], flags | (os.O_CREAT | os.O_TRUNC if number else 0), 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    faulthandler.register(signal.SIGUSR1, file=sys.stderr)


def _bound() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
