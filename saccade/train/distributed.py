"""Several workers, one run: how `torchrun -m saccade train …` shares the work out.

Every worker goes through the same stream of batches, which seed and position alone decide, and takes every n-th row of
each. Each normalises its loss by the tokens of the whole batch, so that the sum of all gradients is the gradient of the
whole batch, whatever the number of workers: a run can go on with another number.

The gradients are exchanged when all workers have made theirs, after a word about how that went. DistributedDataParallel
exchanges them during the backward pass, which is quicker by what it overlaps, but then a worker that runs out of memory
half way leaves the others waiting for good; here it splits its share and is only late. And nothing but parameters
matters: a model may be compiled, frozen in part, or called step by step.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from saccade.data.batching import Batch
from saccade.device import find_device
from saccade.errors import UserError

T = TypeVar("T")

# What one worker does while the others wait for it (vocabulary, encoding, a check) may take long. A worker that dies
# is noticed at once by its closed connections; only one whose machine is cut off is waited for.
_PATIENCE = timedelta(hours=24)


class WorkerLostError(UserError):
    code = 1


class Workers:
    """One worker's view of all of them. `Workers()` is a run in one process, which talks to nobody."""

    def __init__(
        self, rank: int = 0, count: int = 1, place: int = 0, neighbours: int = 1, store: Store | None = None
    ) -> None:
        self.rank, self.count = rank, count
        self.place, self.neighbours = place, neighbours  # among the workers of this machine, and how many those are
        self._store = store
        self._exchange: dist.ProcessGroup | None = None  # of gradients; None: the same as of words

    @property
    def is_rank0(self) -> bool:
        """The first worker decides what depends on the clock, and writes all files."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        return items[self.rank :: self.count]

    def rows(self, batch: Batch) -> Batch | None:
        """This worker's share, or None where there are fewer rows than workers."""
        return batch.rows(slice(self.rank, None, self.count)) if len(batch) > self.rank else None

    def gather(self, mine: T) -> list[T]:
        """Everybody's, in the order of the workers."""
        if self.count == 1:
            return [mine]
        everybody: list[Any] = [None] * self.count
        with self._noticing_losses():
            dist.all_gather_object(everybody, mine)
        return everybody

    def broadcast(self, make: Callable[[], T]) -> T:
        """What the leader makes, or the mistake that it finds, on all workers."""
        said: list[Any] = [None, None]
        mistake: UserError | None = None
        if self.is_rank0:
            try:
                said[0] = make()
            except UserError as error:
                mistake, said[1] = error, str(error)
        if self.count > 1:
            with self._noticing_losses():
                dist.broadcast_object_list(said, src=0)
        if said[1] is not None:
            _raise(said[1], mistake)
        made: T = said[0]
        return made

    def rank0_first(self, make: Callable[[], T]) -> T:
        """Made by every worker for itself, by the leader first: it writes what the others then only read."""
        made: list[T] = []
        for leader_now in (True, False):
            mistake: UserError | None = None
            if self.is_rank0 is leader_now:
                try:
                    made.append(make())
                except UserError as error:
                    mistake = error
            self.agree(mistake)
        return made[0]

    def agree(self, mistake: UserError | None) -> None:
        """Go on if no worker has found a mistake; else raise the first one on all. One of them says it."""
        for rank, text in enumerate(self.gather(None if mistake is None else str(mistake))):
            if text is not None:
                _raise(text, mistake if rank == self.rank else None)

    def device(self, name: str) -> torch.device:
        """One for each worker; all of one kind."""
        device = find_device(name)
        if self.count > 1 and device.type not in ("cpu", "cuda"):
            raise UserError(f"{device} cannot be used by {self.count} workers; set train.device=cpu")
        if self.count > 1 and device.type == "cuda":
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

    def connect(self, device: torch.device) -> None:
        """GPUs exchange gradients by NCCL; all else, and all words, go through the CPU by Gloo."""
        kinds = self.gather(device.type)
        if len(set(kinds)) > 1:
            self.agree(UserError(f"the workers found different devices ({', '.join(kinds)}); set train.device"))
        if self.count > 1 and device.type == "cuda":
            self._exchange = dist.new_group(backend="nccl")

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """One vector of all, so that there is one exchange. What no worker has a gradient for still has none."""
        if self.count == 1:
            return
        trained = [p for p in parameters if p.requires_grad]
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        made = torch.tensor([float(p.grad is not None) for p in trained], device=parts[0].device)
        together = torch.cat([made, *(part.flatten() for part in parts)])
        with self._noticing_losses():
            dist.all_reduce(together, group=self._exchange)
        made, *sums = torch.split(together, [len(trained), *(p.numel() for p in trained)])
        for parameter, somewhere, total in zip(trained, made.tolist(), sums, strict=True):
            parameter.grad = total.view_as(parameter).to(parameter.dtype) if somewhere else None

    def share_weights(self, model: nn.Module) -> None:
        """The leader's, to the bit: another processor may have drawn others from the same seed."""
        if self.count > 1:
            with self._noticing_losses():
                for tensor in model.state_dict().values():
                    dist.broadcast(tensor, src=0, group=self._exchange)

    @contextmanager
    def _noticing_losses(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            lost = WorkerLostError(
                "a worker is gone, so that the run cannot go on; what was saved is intact: start it again with "
                "--resume, with as many workers as you like"
            )
            lost.elsewhere = not self.reports_first()
            raise lost from error

    def reports_first(self) -> bool:
        """Why the run cannot go on."""
        assert self._store is not None
        try:
            return self._store.add("said", 1) == 1
        except RuntimeError:  # the store was the lost worker's
            return True


def _raise(text: str, mistake: UserError | None) -> NoReturn:
    if mistake is None:
        mistake = UserError(text)
        mistake.elsewhere = True
    raise mistake


_joined: list[Workers] = []  # at most one


@contextmanager
def join_workers() -> Iterator[Workers]:
    """All workers that torchrun has started, of which this process is one; inside another such context, the same."""
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
        raise UserError(f"WORLD_SIZE is set, but the other workers cannot be met: {reason}; use torchrun") from error
    here = (int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    _joined.append(Workers(rank, count, *here, store))
    try:
        yield _joined[0]
    except UserError:
        _joined[0].reports_first()  # the others then only notice that this one is gone
        raise
    finally:
        _joined.clear()
        dist.destroy_process_group()
