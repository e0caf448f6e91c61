"""What a process does to files outside the folders that are its own, as Python's audit events tell it.

Only events of Python are seen; the canary files beside the working folder also tell of what C code did.
"""

import os
import sys
from pathlib import Path
from typing import Any

_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# event → which of its arguments are paths, and which argument (if any) is the folder that they are relative to
_EVENTS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.utime": ((0, 3),),
}
_RUNS_CODE = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect", "pickle.find_class")
_HARMLESS = ("/dev/null", "/dev/tty")
_PROGRAMS = ("git", "uname")  # that a record of where a figure comes from asks


def report_outside_writes(own: list[Path], report: Path) -> None:
    """From now on, in this process: a line in `report` for each change outside, and for code that is run."""
    descriptor = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    roots = tuple(os.path.realpath(path) for path in own)

    def tell(event: str, what: object) -> None:
        os.write(descriptor, f"{event} {what}\n".encode("utf-8", "backslashreplace"))

    def inside(path: Any, folder: Any) -> bool:
        if isinstance(path, int):
            return True  # opened before, and told then
        base = f"/proc/self/fd/{folder}" if isinstance(folder, int) and folder >= 0 else os.curdir
        found = os.path.realpath(Path(base) / os.fsdecode(path))
        return found in _HARMLESS or any(found == root or found.startswith(root + os.sep) for root in roots)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            changes = flags & _CHANGING if isinstance(flags, int) else set(str(mode)) & set("wax+")
            if changes and not inside(path, None):
                tell(event, path)
        elif event in _EVENTS:
            for place, relative_to in _EVENTS[event]:
                if not inside(arguments[place], None if relative_to is None else arguments[relative_to]):
                    tell(event, arguments[place])
        elif event in _RUNS_CODE and not (event == "subprocess.Popen" and arguments[0] in _PROGRAMS):
            tell(event, arguments[:2])

    sys.addaudithook(hook)
