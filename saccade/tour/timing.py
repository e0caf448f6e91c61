"""How long a contest will still take, by how fast it has been so far."""

from dataclasses import dataclass, field

QUIET_CORE = {"cho2014": 18.4, "bahdanau2014": 9.0}  # updates a second: benchmarks/results/try.json, 2.8 GHz Xeon
OTHER_SECONDS = 28.0  # of starting, reading the phrasebook and judging, there
SLOW = 1.5  # times as long as expected: from here on, people are told


@dataclass(kw_only=True)
class Pace:
    """Of one model's training, from when it was first seen and from the latest update that it noted."""

    model: str
    updates: int  # of the whole training
    began: float | None = None
    noted: float = field(default=0.0, init=False)
    step: int = field(default=0, init=False)

    def see(self, step: int, now: float) -> None:
        """`step` updates are made, 0 when training has just begun."""
        self.began = now if self.began is None else self.began
        if step > self.step:
            self.step, self.noted = step, now

    @property
    def expected(self) -> float:
        """Seconds of the whole training on a quiet core."""
        return self.updates / QUIET_CORE[self.model]

    @property
    def slowdown(self) -> float:
        """How many times as long as on a quiet core it takes; 1 while that is not known."""
        if self.began is None or self.step == 0:
            return 1.0
        return (self.noted - self.began) * self.updates / self.step / self.expected

    def left(self, now: float) -> float:
        """Seconds of training that are still to come."""
        since = now if self.began is None else self.began
        return max(0.0, self.expected * self.slowdown - (now - since))


def seconds_left(paces: list[Pace], now: float) -> float:
    """Until both models are trained and judged."""
    return max((pace.left(now) + OTHER_SECONDS * pace.slowdown for pace in paces), default=0.0)


def slow_machine(paces: list[Pace]) -> str | None:
    """One line, where the machine is slower than expected."""
    slowest = max(paces, key=lambda pace: pace.slowdown)
    if slowest.slowdown < SLOW:
        return None
    minutes = [seconds / 60 for seconds in (slowest.expected * slowest.slowdown, slowest.expected)]
    return (
        f"This machine is slow or busy: training takes about {minutes[0]:.0f} minutes instead of {minutes[1]:.0f}. "
        "The results do not depend on it."
    )
