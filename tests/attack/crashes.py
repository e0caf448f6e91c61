"""The campaign of crashes, enumerated by tests/crash: what a file system may hold after each of a program's operations.

Every prefix of what is written, synced, renamed and removed, with unsynced writes kept, lost or torn, is a state; the
program goes on from it. Where there are more states than may be tried, the table names both numbers.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from .oracle import Failure
from .results import Result

sys.path.insert(0, str(Path(__file__).parents[1] / "crash"))
from programs import crash_save, crash_training, crash_translation

PROGRAMS: dict[str, Callable[..., Any]] = {
    "save": crash_save,
    "first save": partial(crash_save, first=True),
    "translation": crash_translation,
    "training": crash_training,
}


def campaign(seed: int, work: Path, most: int) -> Iterator[Result]:
    """A result for each state that was tried, at `most` so many of each program."""
    for name, program in PROGRAMS.items():
        found = _in_a_process(
            partial(program, work / f"crash-{name}", most=most, seed=seed), work / f"crash-{name}.json"
        )
        for number in range(found["tried"]):
            said = found["failures"][number : number + 1]
            failures = [Failure("bytes lost", f"{name}: {one.rpartition(': ')[2][:40]}", one) for one in said]
            kind = f"{name}, {found['tried']:,} of {found['states']:,} states"
            yield Result("crash", kind, number, failures, 0.0, "".join(said))


def _in_a_process(program: Callable[[], Any], report: Path) -> dict[str, Any]:
    """The parent, from which other campaigns fork, stays without threads."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            said = os.open(report.with_suffix(".said"), os.O_WRONLY | os.O_CREAT, 0o600)
            os.dup2(said, 1)
            os.dup2(said, 2)
            outcome = program()
            about = {"tried": outcome.tried, "states": outcome.states, "failures": outcome.failures}
            report.write_text(json.dumps(about), encoding="utf-8")
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, f"the campaign of crashes itself failed: see {report.with_suffix('.said')}"
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found
