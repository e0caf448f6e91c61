"""The campaign of mutated inputs: each try forks a process and asks the oracle."""

import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from . import alignments, constraints, corpora, folders, recipes
from .child import LONGEST, Process
from .oracle import Case, Tree, judge, tree
from .results import Result
from .samples import Samples, new_place

KINDS = {
    "corpus": corpora.build,
    "recipe": recipes.build,
    "model folder": folders.build,
    "constraints": constraints.build,
    "alignments": alignments.build,
}


def kind_of(number: int) -> str:
    """Recipes and model folders, which have the most parts, come twice as often."""
    return ("corpus", "recipe", "model folder", "constraints", "alignments", "recipe", "model folder", "corpus")[
        number % 8
    ]


class Try:
    """One that runs."""

    def __init__(self, seed: int, number: int, samples: Samples, work: Path) -> None:
        self.number, self.kind = number, kind_of(number)
        self.place = new_place(work / f"fuzz-{number}")
        self.case: Case = KINDS[self.kind](Random(f"{seed} fuzz {number}"), self.place / "folder", samples)
        self.before: tuple[Tree, Tree] = (tree(self.place / "folder"), tree(self.place / "canary"))
        self.process = Process(self.place, self.case.arguments, stdin=self.case.stdin)

    def done(self) -> bool:
        return not self.process.running() or self.process.seconds > LONGEST

    def result(self) -> Result:
        ended = self.process.end()
        failures = judge(self.case, ended, self.place, self.before)
        command = f"{self.case.about}: saccade {' '.join(self.case.arguments)}"
        return Result("fuzz", self.kind, self.number, failures, ended.seconds, command, ended.code)


def campaign(seed: int, numbers: Iterable[int], samples: Samples, work: Path, jobs: int) -> Iterator[Result]:
    """In the order in which they end; what did not fail leaves nothing behind."""
    waiting, running = iter(numbers), list[Try]()
    while True:
        while len(running) < jobs and (number := next(waiting, None)) is not None:
            running.append(Try(seed, number, samples, work))
        if not running:
            return
        ended = [one for one in running if one.done()]
        for one in ended:
            running.remove(one)
            result = one.result()
            if not result.failures:
                shutil.rmtree(one.place)
            yield result
        if not ended:
            time.sleep(0.002)
