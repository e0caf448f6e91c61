"""Several workers for one run: `torchrun -m saccade train …`.

All workers read the same stream of batches, which depends on the seed and the position alone, and each takes every n-th
row. Each normalises its loss by the tokens of the whole batch, so that the sum of all gradients is the gradient of the
whole batch: a run can be resumed with another number of workers.

The gradients are exchanged after all workers have computed theirs and reported. DistributedDataParallel exchanges them
during the backward pass, which is faster, but a worker that runs out of memory then leaves the others waiting for ever;
here it splits its share and is only late. And only parameters matter: a model may be compiled, frozen in part, or
called step by step.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from saccade.device import find_device
from saccade.errors import UserError

T = TypeVar("T")

# Rank 0 may take long while the others wait (vocabulary, encoding). A worker that dies is noticed at once by its closed
# connections; only one whose machine is cut off is waited for.
_PATIENCE = timedelta(hours=24)


class WorkerLostError(UserError):
    code = 1


@dataclass
class Workers:
    """All workers, as one of them sees them. `Workers()` is a run in one process."""

    rank: int = 0
    count: int = 1
    place: int = 0  # its number among the workers on this machine …
    neighbours: int = 1  # … and how many there are
    store: Store | None = None
    exchange: dist.ProcessGroup | None = None  # for gradients; None: the default group

    @property
    def is_rank0(self) -> bool:
        """Rank 0 keeps the time and writes all files."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        return items[self.rank :: self.count]

    def rows(self, batch: Any) -> Any:
        """This worker's share of the rows, or None if there are fewer rows than workers."""
        return batch.rows(slice(self.rank, None, self.count)) if len(batch) > self.rank else None

    def gather(self, value: T) -> list[T]:
        """The values of all workers, by rank."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        with self._detect_losses():
            dist.all_gather_object(values, value)
        return values

    def gather_results(self, make: Callable[[], T]) -> list[T]:
        """Call `make` on every worker → its results, by rank. The first UserError is raised on all; one reports it."""
        result: Any = None
        mistake: UserError | None = None
        try:
            result = make()
        except UserError as error:
            mistake = error
        reports = self.gather((result, None if mistake is None else str(mistake)))
        for rank, (_, message) in enumerate(reports):
            if message is not None:
                raise mistake if mistake is not None and rank == self.rank else UserError(message, elsewhere=True)
        return [result for result, _ in reports]

    def broadcast(self, make: Callable[[], T]) -> T:
        """Call `make` on rank 0 → its result, on all workers."""
        return cast(T, self.gather_results(lambda: make() if self.is_rank0 else None)[0])

    def rank0_first(self, make: Callable[[], T]) -> T:
        """Call `make` on every worker, on rank 0 first: it writes what the others then only read."""
        results: list[T] = []
        self.gather_results(lambda: results.append(make()) if self.is_rank0 else None)
        self.gather_results(lambda: None if self.is_rank0 else results.append(make()))
        return results[0]

    def connect(self, name: str) -> torch.device:
        """One device per worker, all of one kind. GPUs exchange gradients by NCCL; everything else goes through the CPU
        by Gloo."""
        devices = self.gather_results(lambda: self._find_device(name))
        kinds = [device.type for device in devices]
        if len(set(kinds)) > 1:
            message = f"the workers found different devices ({', '.join(kinds)}); set train.device"
            raise UserError(message, elsewhere=not self.is_rank0)
        if self.count > 1 and kinds[0] == "cuda":
            self.exchange = dist.new_group(backend="nccl")
        return devices[self.rank]

    def _find_device(self, name: str) -> torch.device:
        device = find_device(name)
        if self.count == 1:
            return device
        if device.type not in ("cpu", "cuda"):
            raise UserError(f"{device} cannot be used by {self.count} workers; set train.device=cpu")
        if device.type == "cuda":
            if ":" in name:
                raise UserError(f"train.device is {name!r}, but there are {self.count} workers: set train.device=cuda")
            if self.place >= torch.cuda.device_count():
                raise UserError(
                    f"worker {self.place + 1} on a machine of {torch.cuda.device_count()} GPUs; start as many as there "
                    "are: --nproc-per-node gpu"
                )
            device = torch.device("cuda", self.place)
            torch.cuda.set_device(device)
        return device

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum over all workers, in one exchange of one vector. A parameter without any gradient gets none."""
        if self.count == 1:
            return
        trained = [p for p in parameters if p.requires_grad]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        present = torch.tensor([float(p.grad is not None) for p in trained], device=parts[0].device)
        together = torch.cat([present, *(part.flatten() for part in parts)])
        with self._detect_losses():
            dist.all_reduce(together, group=self.exchange)
        present, *sums = torch.split(together, [len(trained), *(p.numel() for p in trained)])
        for parameter, exists, total in zip(trained, present.tolist(), sums, strict=True):
            parameter.grad = total.view_as(parameter).to(parameter.dtype) if exists else None

    def share_weights(self, model: nn.Module) -> None:
        """Copy the weights of rank 0: another processor may have drawn others from the same seed."""
        if self.count > 1:
            with self._detect_losses():
                for tensor in model.state_dict().values():
                    dist.broadcast(tensor, src=0, group=self.exchange)

    @contextmanager
    def _detect_losses(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise WorkerLostError(
                "a worker is gone, so the run cannot continue; the saved run is intact: start it again with --resume, "
                "with any number of workers",
                elsewhere=not self.reports_first(),
            ) from error

    def reports_first(self) -> bool:
        """Whether this worker is the first to report an error."""
        assert self.store is not None
        try:
            return self.store.add("reported", 1) == 1
        except RuntimeError:  # the lost worker had the store
            return True


_joined: list[Workers] = []  # at most one


@contextmanager
def join_workers() -> Iterator[Workers]:
    """The workers that torchrun started, this process included; a nested context gets the same ones."""
    if _joined or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield _joined[0] if _joined else Workers()
        return
    try:
        store, rank, count = next(iter(rendezvous("env://", timeout=_PATIENCE)))
        dist.init_process_group(
            "gloo", store=PrefixStore("saccade", store), rank=rank, world_size=count, timeout=_PATIENCE
        )
    except (ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"WORLD_SIZE is set, but the other workers cannot be reached: {reason}; use torchrun"
        ) from error
    here = (int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    _joined.append(Workers(rank, count, *here, store))
    try:
        yield _joined[0]
    except UserError:
        _joined[0].reports_first()  # the others then only report that this one is gone
        raise
    finally:
        _joined.clear()
        dist.destroy_process_group()
