"""Run studies: every trial in a process of its own thread, saved as soon as it is measured, so that nothing is lost."""

import json
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saccade.errors import Bar, Say, UserError, as_bar, say
from saccade.files import parse_json, write_json
from saccade.language import preferred_language
from saccade.locking import locked
from saccade.processes import single_threaded_processes
from saccade.provenance import provenance, recording_call
from saccade.ranges import change_options
from saccade.study.catalogue import find_study
from saccade.study.options import StudyOptions
from saccade.study.pages import describe_plan, write_page
from saccade.study.result import RESULT, StudyResult
from saccade.study.study import MeasuredTrial, Runs, StudyPlan, Trial

_TRIALS = "trials.json"  # what was measured so far, in the folder of a study
_MOST_JOBS = 8


@recording_call
def run(name: str, *, say: Say = say, bar: Bar | None = None, **options: Any) -> StudyResult:
    """Run a study and return its result. `options` are the options of `saccade study`: `quick=True, seeds=5`.

    The same call continues an interrupted study.
    """
    (result,) = run_studies([name], change_options(StudyOptions(), options), say=say, bar=bar)
    return result


def run_studies(
    names: Sequence[str], options: StudyOptions, *, say: Say = say, bar: Bar | None = None
) -> Iterator[StudyResult]:
    """Run studies side by side, and yield the result of each, in order. Results and pages are in `options.out`."""
    pending = [_PendingStudy(_plan(name, options), folder_of(name, options)) for name in names]
    jobs = options.jobs or min(_MOST_JOBS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    left = sum(len(study.left) for study in pending)
    with single_threaded_processes(min(jobs, max(left, 1))) as pool, (bar or as_bar(None))("studies", left) as advance:
        together = [study for study in pending if not study.plan.study.times]
        for study in together:
            study.submit(pool)
        for study in pending:
            for line in describe_plan(study.plan):
                say(line)
            with locked(study.folder, folder=True):
                if study.plan.study.times:  # nothing else may compute meanwhile
                    wait([future for other in together for future in other.running])
                study.finish(pool, advance)
                result = study.save()
                write_page(result, study.folder, options.lang or preferred_language())
            yield result


def _plan(name: str, options: StudyOptions) -> StudyPlan:
    study = find_study(name)
    return StudyPlan(study=study, quick=options.quick, seeds=options.seeds or (1 if options.quick else study.seeds))


def folder_of(name: str, options: StudyOptions) -> Path:
    return options.out / (f"{name}-quick" if options.quick else name)


def measure(name: str, trial: Trial, quick: bool) -> tuple[Mapping[str, Any], float]:
    """One trial and its seconds, in a process of its own."""
    import torch

    torch.set_num_threads(1)
    began = time.perf_counter()
    measured = find_study(name).measure(trial.settings, trial.seed, quick=quick)
    return measured, time.perf_counter() - began


@dataclass
class _PendingStudy:
    plan: StudyPlan
    folder: Path
    done: dict[str, dict[str, Any]] = field(init=False)
    running: dict[Future[Any], Trial] = field(default_factory=dict)
    left: deque[Trial] = field(init=False)

    def __post_init__(self) -> None:
        self.done = self._read()
        self.left = deque(trial for trial in self.plan.trials if _key(trial) not in self.done)

    def submit(self, pool: ProcessPoolExecutor) -> None:
        while self.left:
            trial = self.left.popleft()
            self.running[pool.submit(measure, self.plan.study.name, trial, self.plan.quick)] = trial

    def finish(self, pool: ProcessPoolExecutor, advance: Any) -> None:
        """Wait for the trials, and save each when it is measured."""
        while self.running or self.left:
            if not self.running:  # trials that measure time, one after the other
                trial = self.left.popleft()
                self.running[pool.submit(measure, self.plan.study.name, trial, self.plan.quick)] = trial
            finished, _ = wait(self.running, return_when=FIRST_COMPLETED)
            for future in finished:
                trial = self.running.pop(future)
                measured, seconds = future.result()
                self.done[_key(trial)] = {**trial._asdict(), "measured": measured, "seconds": round(seconds, 2)}
                advance(1)
            write_json(self.folder / _TRIALS, {**self._identity, "trials": [*self.done.values()]})

    def save(self) -> StudyResult:
        saved = [self.done[_key(trial)] for trial in self.plan.trials]
        result = StudyResult(
            study=self.plan.study,
            quick=self.plan.quick,
            runs=Runs([MeasuredTrial(run["settings"], run["seed"], run["measured"]) for run in saved]),
            seconds=sum(run["seconds"] for run in saved),
            provenance=provenance(command=f"saccade study {self.plan.study.name}{' --quick' * self.plan.quick}"),
        )
        result.save(self.folder / RESULT)
        return result

    @property
    def _identity(self) -> dict[str, Any]:
        return {"study": self.plan.study.name, "version": self.plan.study.version, "quick": self.plan.quick}

    def _read(self) -> dict[str, dict[str, Any]]:
        """What an earlier call measured; nothing if the study has changed since."""
        path = self.folder / _TRIALS
        try:
            saved = parse_json(path.read_bytes())
            if {name: saved[name] for name in self._identity} != self._identity:
                return {}
            return {_key(Trial(run["settings"], run["seed"])): run for run in saved["trials"]}
        except FileNotFoundError:
            return {}
        except NotADirectoryError:
            raise UserError(f"{self.folder.parent}: not a folder; give another --out") from None
        except (OSError, KeyError, TypeError, ValueError):
            raise UserError(f"{path}: not a file of `saccade study`; delete it, or give another --out") from None


def _key(trial: Trial) -> str:
    return json.dumps([trial.settings, trial.seed], sort_keys=True)
