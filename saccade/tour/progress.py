"""The progress of the tour, and how long it will still take at the speed so far."""

import time
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from saccade.files import parse_json

QUIET_CORE = {"cho2014": 18.4, "bahdanau2014": 9.0}  # updates per second: benchmarks/results/try.json, 2.8 GHz Xeon
OTHER_SECONDS = 28.0  # for the start, reading the phrasebook and the evaluation, on the same machine
SLOW = 1.5  # times the expected duration, from which on the user is warned


@dataclass(kw_only=True)
class Pace:
    """The speed of one model's training, from its start to the latest update in its log."""

    model: str
    updates: int  # of the whole training
    began: float | None = field(default=None, init=False)
    noted: float = field(default=0.0, init=False)
    step: int = field(default=0, init=False)

    def see(self, step: int, now: float) -> None:
        """Record that `step` updates are made; 0 when training has just begun."""
        self.began = now if self.began is None else self.began
        if step > self.step:
            self.step, self.noted = step, now

    @property
    def expected(self) -> float:
        """Seconds of the whole training on a quiet core."""
        return self.updates / QUIET_CORE[self.model]

    @property
    def slowdown(self) -> float:
        """The duration relative to a quiet core; 1 while it is unknown."""
        if self.began is None or self.step == 0:
            return 1.0
        return (self.noted - self.began) * self.updates / self.step / self.expected

    def left(self, now: float) -> float:
        """Seconds of training that remain."""
        since = now if self.began is None else self.began
        return max(0.0, self.expected * self.slowdown - (now - since))

    def read(self, folder: Path, now: float) -> str:
        """The state of a run from the last line of its log."""
        try:
            lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
            last = parse_json(lines[-1]) if lines else {"step": 0}
        except (OSError, ValueError):
            return "reading the phrasebook"
        self.see(last["step"], now)
        if "valid_loss" in last:
            return "being evaluated"
        return f"update {last['step']:,} of {self.updates:,}" + (f", loss {last['loss']:.2f}" if "loss" in last else "")


class TourProgress(NamedTuple):
    states: Mapping[str, str]  # by system
    seconds_left: float  # until all models are trained and evaluated
    warning: str | None  # one line if the machine is slower than expected


def read_progress(folders: Mapping[str, Path], paces: Mapping[str, Pace], finished: Set[str]) -> TourProgress:
    now = time.monotonic()
    states = {
        system: "evaluated" if system in finished else paces[system].read(folder, now)
        for system, folder in folders.items()
    }
    running = [pace for system, pace in paces.items() if system not in finished]
    return TourProgress(states, seconds_left(running, now), slow_machine(list(paces.values())))


def seconds_left(paces: list[Pace], now: float) -> float:
    return max((pace.left(now) + OTHER_SECONDS * pace.slowdown for pace in paces), default=0.0)


def slow_machine(paces: list[Pace]) -> str | None:
    slowest = max(paces, key=lambda pace: pace.slowdown)
    if slowest.slowdown < SLOW:
        return None
    minutes = slowest.expected / 60
    return (
        f"This machine is slow or busy: training takes about {minutes * slowest.slowdown:.0f} minutes instead of "
        f"{minutes:.0f}. The results do not depend on it."
    )


def clock(seconds: float) -> str:
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"
