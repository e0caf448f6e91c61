"""Contestants that take turns at one piece of work: calls in this process, and programs with their own environment."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from work import Work

from saccade.study.cost import timed

Round = dict[str, float]  # units, seconds, cpu_seconds


class Contestant(Protocol):
    name: str
    is_peer: bool
    skipped: str | None  # why it is not measured
    versions: dict[str, str]

    def warm_up(self) -> None: ...
    def round(self) -> Round: ...
    def close(self) -> None: ...


class Local:
    """A call in this process, built when it warms up."""

    versions: dict[str, str] = {}

    def __init__(self, name: str, work: Work, build: Callable[[Work], Callable[[], object]], *, peer: bool) -> None:
        self.name, self.is_peer, self.work, self.build = name, peer, work, build
        self.call: Callable[[], object] | None = None
        self.skipped: str | None = None

    def warm_up(self) -> None:
        torch.manual_seed(self.work.seed)
        self.call = self.build(self.work)
        measure(self.call, self.work)

    def round(self) -> Round:
        assert self.call is not None
        return measure(self.call, self.work)

    def close(self) -> None:
        self.call = None


class Subprocess:
    """A program that prints one line of JSON when it is ready, and one more for each line that it reads."""

    def __init__(self, name: str, command: Sequence[str], *, missing: str | None = None) -> None:
        self.name, self.is_peer, self.command, self.skipped = name, True, command, missing
        self.versions: dict[str, str] = {}
        self.process: subprocess.Popen[str] | None = None

    def warm_up(self) -> None:
        if self.skipped is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            answer = self._answer()
            self.versions = answer.get("versions", {})
            self.skipped = answer.get("failed")

    def round(self) -> Round:
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        answer: Round = self._answer()
        self.skipped = str(answer["failed"]) if "failed" in answer else None
        return answer

    def _answer(self) -> Any:
        """The next line of JSON; programs print other lines, too."""
        assert self.process is not None and self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        return {"failed": f"the program ended with exit code {self.process.wait()}"}

    def close(self) -> None:
        if self.process is not None:
            self.process.communicate(timeout=60)  # the end of its input ends the program


def measure(call: Callable[[], object], work: Work) -> Round:
    taken = timed(call, torch.device(work.device), work.calls)
    return {"units": work.units * work.calls, "seconds": taken.wall, "cpu_seconds": taken.cpu}


def serve(build: Callable[[Work], Callable[[], object]], versions: dict[str, str]) -> None:
    """What a peer's program does: build its call from the work in its argument, warm up, and measure on demand."""
    work = Work.from_json(sys.argv[1])
    torch.manual_seed(work.seed)
    torch.set_num_threads(work.threads)
    try:
        call = build(work)
        measure(call, work)
    except Exception as error:  # whatever a peer raises is the reason why it is not measured
        print(json.dumps({"failed": failure(error)}), flush=True)
        return
    print(json.dumps({"versions": versions}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(measure(call, work)), flush=True)


def compete(contestants: Sequence[Contestant], rounds: int, *, per: str) -> list[dict[str, Any]]:
    """Rounds of all contestants in turn → one entry each, with units per second (`per`: of the wall or of the CPU)."""
    results: dict[str, list[Round]] = {contestant.name: [] for contestant in contestants}
    try:
        for contestant in contestants:
            with skipping_failures(contestant):
                contestant.warm_up()
        for _ in range(rounds):
            for contestant in contestants:
                with skipping_failures(contestant):
                    if contestant.skipped is None:
                        results[contestant.name].append(contestant.round())
    finally:
        for contestant in contestants:
            contestant.close()
    return [_entry(contestant, results[contestant.name], per) for contestant in contestants]


@contextmanager
def skipping_failures(contestant: Contestant) -> Iterator[None]:
    """One contestant that fails does not lose the figures of the others."""
    try:
        yield
    except Exception as error:
        contestant.skipped = failure(error)


def failure(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:300]


def _entry(contestant: Contestant, rounds: list[Round], per: str) -> dict[str, Any]:
    known = {"name": contestant.name, "peer": contestant.is_peer, "versions": contestant.versions}
    if contestant.skipped is not None:
        return known | {"skipped": contestant.skipped}
    speeds = [each["units"] / each[per] for each in rounds]
    return known | {"median": statistics.median(speeds), "speeds": speeds, "rounds": rounds}
