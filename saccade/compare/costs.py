"""What a system costs: parameters, how fast it trains and translates, and how much memory that takes.

Each system works in a process of its own, so that its memory is its own, and they take turns: round after round each
does the same work, one at a time. What else the machine does can only slow a round down: the fastest counts.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from saccade import model_folder
from saccade.data.batching import Batch, find_batch_starts
from saccade.decode import Search, load
from saccade.errors import UserError
from saccade.train.log import peak_memory
from saccade.train.losses import Objective, batch_loss
from saccade.train.optimisers import make_optimiser
from saccade.train.recipe import Training

SENTENCES = 64  # of the test set, spread over it
Done = TypeVar("Done")


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What all do, on one device."""

    sources: Sequence[str]
    targets: Sequence[str]
    how: Search
    tokens: int  # of a batch, in training
    device: str
    threads: int

    @classmethod
    def of(
        cls, sources: Sequence[str], targets: Sequence[str], *, how: Search, tokens: int, device: str, threads: int
    ) -> "Workload":
        """Of a part of the test set."""
        order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
        some = order[:: max(1, len(order) // SENTENCES)][:SENTENCES]
        return cls(
            sources=[sources[place] for place in some],
            targets=[targets[place] for place in some],
            how=how,
            tokens=tokens,
            device=device,
            threads=threads,
        )


@dataclass(frozen=True, kw_only=True)
class Cost:
    parameters: int
    trained: float  # target pieces a second: forwards, backwards and the update
    translated: float  # sentences a second
    memory: int  # bytes at most, of the GPU where one is used, else resident
    memory_before: int  # bytes before the model was loaded: what PyTorch takes by itself
    device: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def costs(
    folders: Mapping[str, Path], work: Workload, *, rounds: int = 5, progress: Callable[[int], None] | None = None
) -> dict[str, Cost]:
    """Of the model in each folder, by name; a first round to warm up does not count."""
    for folder in folders.values():
        model_folder.load_config(folder)  # refuses code that is not trusted; the processes then need not ask again
    server = get_context("forkserver")  # a fork of this process could inherit locks of threads that it has not
    server.set_forkserver_preload([__name__])
    with ExitStack() as stack:
        pools = {name: stack.enter_context(ProcessPoolExecutor(1, mp_context=server)) for name in folders}
        facts = {name: _done(name, pools[name].submit(_prepare, folder, work)) for name, folder in folders.items()}
        found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in folders}
        for _ in range(rounds + 1):
            for name, pool in pools.items():
                found[name].append(_done(name, pool.submit(_round)))
                if progress is not None:
                    progress(1)
    return {
        name: Cost(
            parameters=facts[name][0],
            trained=max(one[0] for one in some[1:]),
            translated=max(one[1] for one in some[1:]),
            memory=some[-1][2],
            memory_before=facts[name][1],
            device=facts[name][2],
        )
        for name, some in found.items()
    }


def _done(name: str, asked: "Future[Done]") -> Done:
    try:
        return asked.result()
    except BrokenProcessPool as error:
        raise UserError(
            f"measuring {name}: its process was killed, perhaps for want of memory; all else is kept: "
            "go on with --rounds 0, or with fewer systems"
        ) from error


class CostBench:
    """One system at work."""

    def __init__(self, folder: Path, work: Workload) -> None:
        self.work, self.translator = work, load(folder, device=work.device, trust_code=True)
        self.model = self.translator.model.train()
        self.optimiser = make_optimiser(Training(lr=1e-30), self.model)  # as much work as any rate, and changes nothing
        sides = self.translator.vocabularies
        sources = [sides.source.encode(text) for text in work.sources]
        targets = [sides.target.encode(text) for text in work.targets]
        lengths = np.array([max(len(one), len(other)) + 1 for one, other in zip(sources, targets, strict=True)])
        order = np.argsort(lengths, kind="stable")
        cuts = find_batch_starts(lengths[order], work.tokens)
        self.batches = [
            Batch.of([sources[i] for i in order[a:b]], [targets[i] for i in order[a:b]], order[a:b].tolist()).to(
                self.translator.device
            )
            for a, b in pairwise(cuts)
        ]

    def trained(self) -> float:
        pieces = sum(int(batch.target_readable.sum()) for batch in self.batches)
        return pieces / self._seconds(self._train)

    def translated(self) -> float:
        return len(self.work.sources) / self._seconds(
            lambda: self.translator.translate(self.work.sources, self.work.how)
        )

    def _train(self) -> None:
        for batch in self.batches:
            self.optimiser.zero_grad(set_to_none=True)
            loss, _ = batch_loss(self.model, batch, Objective())
            torch.autograd.backward(loss)
            self.optimiser.step()

    def _seconds(self, what: Callable[[], object]) -> float:
        began = time.perf_counter()
        what()
        if self.translator.device.type == "cuda":
            torch.cuda.synchronize(self.translator.device)
        return time.perf_counter() - began


_bench: CostBench | None = None  # of this process


def _prepare(folder: Path, work: Workload) -> tuple[int, int, str]:
    global _bench
    torch.set_num_threads(work.threads)
    before = peak_memory()
    _bench = CostBench(folder, work)
    return sum(p.numel() for p in _bench.model.parameters()), before, str(_bench.translator.device)


def _round() -> tuple[float, float, int]:
    assert _bench is not None
    return _bench.trained(), _bench.translated(), peak_memory()
