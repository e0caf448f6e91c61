"""The campaign of two writers: while one command is stopped at a random moment, another writes to the same place.

Exactly one may have the place at a time: the other ends with 2 and one line that names the process that has it. In the
end the output is, byte for byte, what the last of those that succeeded writes when it is alone.
"""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from .child import Ended
from .jobs import JOBS, LONGEST_JOB, Lone, differences, ended_badly, lone_runs, prepare, start
from .oracle import Failure
from .results import Result
from .samples import Samples

PAIRS = (
    *(("translate", "translate"), ("translate", "translate n-best"), ("translate n-best", "score")),
    *(("score", "score"), ("train", "train"), ("sweep", "sweep"), ("compare", "compare"), ("score", "translate")),
)


def campaign(seed: int, numbers: range, samples: Samples, work: Path) -> Iterator[Result]:
    met = {name for number in numbers for name in PAIRS[number % len(PAIRS)]}
    alone = lone_runs(sorted(met), samples, work / "writers-alone")
    for number in numbers:
        names = PAIRS[number % len(PAIRS)]
        place, began = prepare(work / f"writers-{number}", samples), time.monotonic()
        failures, about = _both(Random(f"{seed} writers {number}"), names, alone, place)
        if not failures:
            shutil.rmtree(place)
        yield Result("writers", " + ".join(names), number, failures, time.monotonic() - began, about)


def _both(random: Random, names: tuple[str, str], alone: dict[str, Lone], place: Path) -> tuple[list[Failure], str]:
    moment = random.uniform(0, alone[names[0]].seconds)
    first = start(JOBS[names[0]], place, name="first-")
    while first.running() and first.seconds < moment:
        time.sleep(0.001)
    first.send(signal.SIGSTOP)
    signed = first.running() and any(path.stat().st_size for path in place.rglob("*.lock.json"))
    second = start(JOBS[names[1]], place, name="second-").end(LONGEST_JOB)
    first.send(signal.SIGCONT)
    ended = first.end(2 * LONGEST_JOB)
    about = f"stopped after {moment:.2f} s; exit codes {ended.code} and {second.code}"
    failures = [*ended_badly(ended, (0, 2)), *ended_badly(second, (0, 2))]
    if not failures:
        failures = [*_refusal(ended, second, signed), *_output(names, (ended, second), alone, place)]
    return failures, about


def _refusal(first: Ended, second: Ended, signed: bool) -> list[Failure]:
    """A holder that was stopped just before it signed cannot be named."""
    if {first.code, second.code} == {2}:
        return [Failure("bytes lost", "both refused", f"{first.err[-200:]} / {second.err[-200:]}")]
    message = second.err.strip().splitlines()[-1:]
    if second.code == 2 and signed and str(first.pid) not in "".join(message):
        return [Failure("unclear messages", "the holder is not named", f"{first.pid}: {message}")]
    return []


def _output(names: tuple[str, str], ended: tuple[Ended, Ended], alone: dict[str, Lone], place: Path) -> list[Failure]:
    """Where both succeeded, one after the other, what either writes alone is right."""
    written = {path for name, one in zip(names, ended, strict=True) if one.code == 0 for path in alone[name].files}
    lists = [differences(alone[name], place, written) for name, one in zip(names, ended, strict=True) if one.code == 0]
    return min(lists, key=len, default=[])
