"""The campaign of kills: SIGKILL at random moments, the same command again, and the bytes of a run never killed."""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from .child import Ended, KillPoint
from .jobs import JOBS, LONGEST_JOB, Job, Lone, differences, ended_badly, lone_runs, prepare, start
from .oracle import Failure
from .results import Result
from .samples import Samples

MOST_KILLS = 3  # of one run
NAMES = tuple(JOBS)


def campaign(seed: int, numbers: range, samples: Samples, work: Path) -> Iterator[Result]:
    alone = lone_runs(sorted({NAMES[number % len(NAMES)] for number in numbers}), samples, work / "kills-alone")
    for number in numbers:
        name = NAMES[number % len(NAMES)]
        place, began = prepare(work / f"kill-{number}", samples), time.monotonic()
        failures, about = _killed(Random(f"{seed} kill {number}"), JOBS[name], alone[name], place)
        if not failures:
            shutil.rmtree(place)
        command = f"{about}: saccade {' '.join(JOBS[name].arguments)}"
        yield Result("kill", name, number, failures, time.monotonic() - began, command)


def _killed(random: Random, job: Job, lone: Lone, place: Path) -> tuple[list[Failure], str]:
    moments = []
    for turn in range(random.randint(1, MOST_KILLS)):
        moment = _moment(random, job, lone)
        moments.append(str(moment))
        ended = _until(moment, job, place, f"{turn}-")
        failures = ended_badly(ended, (0, -signal.SIGKILL))
        if failures or ended.code == 0:
            break
    else:
        failures = ended_badly(start(job, place, name="last-").end(LONGEST_JOB), (0,))
    return [*failures, *(differences(lone, place) if not failures else ())], f"killed at {'; '.join(moments)}"


def _moment(random: Random, job: Job, lone: Lone) -> KillPoint | float:
    """Before a file operation, in the middle of a file, or (a number) so many seconds after the start."""
    drawn = random.random()
    if drawn < 0.6:
        return KillPoint(operation=random.randint(1, job.operations))
    return KillPoint(torn=random.randint(1, 5)) if drawn < 0.75 else random.uniform(0, lone.seconds)


def _until(moment: KillPoint | float, job: Job, place: Path, name: str) -> Ended:
    if isinstance(moment, KillPoint):
        return start(job, place, kill=moment, name=name).end(LONGEST_JOB)
    process = start(job, place, name=name)
    while process.running() and process.seconds < moment:
        time.sleep(0.001)
    process.send(signal.SIGKILL)
    return process.end(LONGEST_JOB)
