"""The costs of a system: parameters, speed of training and of translation, and peak memory.

Each system works in its own process, so that its memory can be measured, and the systems take turns: in every round
each does the same work, one at a time. Other load on the machine can only slow a round down, so the fastest counts.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from saccade import model_folder
from saccade.data.batching import Batch, batch_by_length
from saccade.decode import Search, load
from saccade.errors import UserError
from saccade.train.log import peak_memory
from saccade.train.losses import Objective, batch_loss
from saccade.train.optimisation import build_optimiser
from saccade.train.training_options import Training

SENTENCES = 64  # of the test set, spread over its lengths


@dataclass(frozen=True)
class Workload:
    """The work that every system does while it is measured."""

    pairs: tuple[tuple[str, str], ...]
    search: Search
    tokens: int  # of a training batch
    device: str
    threads: int

    @classmethod
    def sample(cls, pairs: Sequence[tuple[str, str]], *options: Any) -> "Workload":
        """A part of the test set, from short sentences to long ones."""
        by_length = sorted(pairs, key=lambda pair: len(pair[0]))
        return cls(tuple(by_length[:: max(1, len(pairs) // SENTENCES)][:SENTENCES]), *options)


@dataclass(frozen=True)
class Cost:
    parameters: int
    trained: float  # target tokens per second: forward, backward and the update
    translated: float  # sentences per second
    memory: int  # peak in bytes: of the GPU if one is used, else resident
    memory_before: int  # bytes that PyTorch takes before the model is loaded
    device: str


def measure_costs(
    folders: Mapping[str, Path], workload: Workload, *, rounds: int, progress: Callable[[int], None] = lambda _: None
) -> dict[str, Cost]:
    """The cost of the model in each folder, by name. A first round warms up and does not count."""
    for folder in folders.values():
        model_folder.load_config(folder)  # refuses code that is not trusted, so that the processes need not ask again
    server = get_context("forkserver")  # a plain fork could inherit locks held by other threads
    server.set_forkserver_preload([__name__])
    measured: dict[str, list[Cost]] = {name: [] for name in folders}
    with ExitStack() as stack:
        pools = {name: stack.enter_context(ProcessPoolExecutor(1, mp_context=server)) for name in folders}
        for _ in range(rounds + 1):
            for name, pool in pools.items():
                measured[name].append(_result(name, pool.submit(_measure_round, folders[name], workload)))
                progress(1)
    fastest = {}
    for name, (_, *costs) in measured.items():
        trained, translated = max(cost.trained for cost in costs), max(cost.translated for cost in costs)
        fastest[name] = replace(costs[-1], trained=trained, translated=translated)
    return fastest


def _result(name: str, future: "Future[Cost]") -> Cost:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise UserError(
            f"measuring {name}: its process was killed, perhaps because memory ran out; everything else is saved: "
            "continue with --rounds 0, or with fewer systems"
        ) from error


class CostBench:
    """One system, ready to train and to translate the workload."""

    def __init__(self, folder: Path, workload: Workload) -> None:
        torch.set_num_threads(workload.threads)
        self.memory_before = peak_memory()
        self.workload, self.translator = workload, load(folder, device=workload.device, trust_code=True)
        self.model = self.translator.model.train()
        self.optimiser = build_optimiser(Training(lr=1e-30), self.model)  # changes no weight
        sides = self.translator.vocabularies
        pairs = [(sides.source.encode(source), sides.target.encode(target)) for source, target in workload.pairs]
        self.batches = []
        for places in batch_by_length([max(map(len, pair)) + 1 for pair in pairs], workload.tokens):
            sources, targets = zip(*(pairs[place] for place in places), strict=True)
            self.batches.append(Batch.of(sources, targets, places).to(self.translator.device))

    def training_speed(self) -> float:
        """Target tokens per second."""
        return sum(int(batch.target_readable.sum()) for batch in self.batches) / self._seconds(self._train)

    def translation_speed(self) -> float:
        """Sentences per second."""
        sources, _ = zip(*self.workload.pairs, strict=True)
        return len(sources) / self._seconds(lambda: self.translator.translate(sources, self.workload.search))

    def _train(self) -> None:
        for batch in self.batches:
            self.optimiser.zero_grad(set_to_none=True)
            loss, _ = batch_loss(self.model, batch, Objective())
            torch.autograd.backward(loss)
            self.optimiser.step()

    def _seconds(self, work: Callable[[], object]) -> float:
        began = time.perf_counter()
        work()
        if self.translator.device.type == "cuda":
            torch.cuda.synchronize(self.translator.device)
        return time.perf_counter() - began


_prepare = cache(CostBench)  # each process has one


def _measure_round(folder: Path, workload: Workload) -> Cost:
    bench = _prepare(folder, workload)
    parameters = sum(p.numel() for p in bench.model.parameters())
    speeds = bench.training_speed(), bench.translation_speed()
    return Cost(parameters, *speeds, peak_memory(), bench.memory_before, str(bench.translator.device))
