"""What a study is: a claim, thresholds that are stated before anything runs, and trials that decide about them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, ClassVar, NamedTuple

from saccade.inspect.chart import Chart, Interval
from saccade.language import Bilingual, Language, either_in
from saccade.language import Either as Either

Cell = str | float | None

# Of Student's t distribution: 95 % lie within ± this many standard errors, with 1, 2, … degrees of freedom.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def interval_of(values: Sequence[float]) -> Interval:
    """The mean of one value per seed with its 95 % interval by Student's t; a single value has no width."""
    mean = fmean(values)
    if len(values) == 1:
        return Interval(mean, mean, mean, values)
    half = _STUDENT[len(values) - 2] * stdev(values) / len(values) ** 0.5
    return Interval(mean, mean - half, mean + half, values)


class Trial(NamedTuple):
    """What is trained and measured at once: settings of the study's own, and a seed."""

    settings: Mapping[str, Any]
    seed: int


class MeasuredTrial(NamedTuple):
    settings: Mapping[str, Any]
    seed: int
    measured: Mapping[str, Any]


class Runs(Sequence[MeasuredTrial]):
    """The measured trials of a study, in order."""

    def __init__(self, trials: Sequence[MeasuredTrial]) -> None:
        self._trials = tuple(trials)

    def __len__(self) -> int:
        return len(self._trials)

    def __getitem__(self, index: Any) -> Any:
        return self._trials[index]

    def __iter__(self) -> Iterator[MeasuredTrial]:
        return iter(self._trials)

    def where(self, **settings: Any) -> "Runs":
        """The trials with these settings."""
        wanted = settings.items()
        found = [trial for trial in self if all(trial.settings.get(name) == value for name, value in wanted)]
        if not found:
            raise KeyError(f"no trial has {settings}")
        return Runs(found)

    def values(self, name: str, **settings: Any) -> list[float]:
        """The measured number `name` of the trials with these settings, one per seed."""
        return [float(trial.measured[name]) for trial in self.where(**settings)]

    def mean(self, name: str, **settings: Any) -> float:
        return fmean(self.values(name, **settings))

    def ratios(self, name: str, other: str, **settings: Any) -> list[float]:
        """One measured number divided by another, one per seed."""
        return [a / b for a, b in zip(self.values(name, **settings), self.values(other, **settings), strict=True)]

    def interval(self, name: str, **settings: Any) -> Interval:
        return interval_of(self.values(name, **settings))

    def settings(self, name: str) -> list[Any]:
        """The different values of a setting, in order."""
        return list(dict.fromkeys(trial.settings[name] for trial in self if name in trial.settings))


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A part of the claim as a number with a bound. It holds if the number of every seed is within the bound."""

    text: Bilingual  # with the bound in it: "with positions, at least 95 % are right"
    value: Callable[[Runs], Sequence[float]]  # one number per seed
    least: float | None = None
    most: float | None = None

    def met(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True, kw_only=True)
class StudyTable:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyFigure:
    title: str
    chart: Chart
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyHeatmap:
    title: str
    weights: Sequence[Sequence[float]]  # rows × columns
    columns: Sequence[str]
    rows: Sequence[str]
    note: str = ""


Shown = StudyTable | StudyFigure | StudyHeatmap


class Study(ABC):
    """A paper's claim and how it is tested here. The texts are for people who have read no code."""

    name: ClassVar[str]  # as on the command line
    paper: ClassVar[str]  # authors, year and place in the paper
    title: ClassVar[Bilingual]
    claim: ClassVar[Bilingual]  # what the paper says
    method: ClassVar[Bilingual]  # what is trained on what, and how it is measured
    limits: ClassVar[Bilingual]  # how this differs from the paper, and what it does not show
    thresholds: ClassVar[Sequence[Threshold]]
    seeds: ClassVar[int] = 3
    version: ClassVar[int] = 1  # add one when trials measure something else: earlier results are not reused then
    times: ClassVar[bool] = False  # whether trials measure time, and run one after the other

    @abstractmethod
    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        """The settings to measure, each with every seed; plain values, for JSON."""

    @abstractmethod
    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        """Train and measure one trial, in a process with one thread; plain values, for JSON."""

    @abstractmethod
    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        """Tables, figures and heatmaps, in the order in which they are read."""

    def shown_in(self, runs: Runs, language: Language) -> Sequence[Shown]:
        return self.shown(runs, either_in(language))


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """A study as it is about to run."""

    study: Study
    quick: bool
    seeds: int
    trials: Sequence[Trial] = field(init=False)

    def __post_init__(self) -> None:
        every = [
            Trial(settings, seed)
            for settings in self.study.trials(quick=self.quick)
            for seed in range(1, self.seeds + 1)
        ]
        object.__setattr__(self, "trials", every)
