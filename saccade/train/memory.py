"""How much is read at once: tried, or reckoned, before the first update, so that memory does not run out hours later.

A batch that is too large is read in parts whose gradients add up to its own: memory decides how fast a run is, not what
it learns. Only `train.tokens = "auto"` lets it decide how large a batch is.

On a GPU the longest batches that can come are tried, forwards and backwards, while what the optimiser will need, and a
tenth of the memory against fragmentation, is held back. A CPU's memory is not tried, since a process that asks for too
much is killed: what a pair keeps for the backward pass is counted, and half of the memory that is free is planned for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_parameter_registration_hook

from saccade.data.batching import Batch
from saccade.device import is_out_of_memory
from saccade.errors import UserError
from saccade.train.losses import batch_loss
from saccade.train.run import TrainingRun
from saccade.train.run_folder import save_recipe
from saccade.train.update import try_gradients

Model = TypeVar("Model", bound=nn.Module)

_MOST = {"cpu": 4096, "cuda": 32_768}  # pieces of a worker's batch by `auto`: more make it neither faster nor better
_UPDATES = 100  # of an epoch by `auto`, at least, unless their batches would be of fewer pieces than …
_LEAST = 512
_SPARE = 0.1  # of a GPU's memory
_PLANNED = 0.5  # of a CPU's
_AT_ITS_HEIGHT = 2  # what a backward pass needs, over what was kept for it
_OPTIMISER = 2  # numbers that it keeps for a weight, at most


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Of a pair: pieces, bos or eos counted."""

    source: int
    target: int

    @property
    def longest(self) -> int:
        return max(self.source, self.target)


def build_within_memory(build: Callable[[], Model]) -> Model:
    """The model, unless its weights alone need more than the free memory: Linux would grant it, and kill the process.

    Tensors are counted when they are allocated and nothing is written to them yet, so that they cost nothing so far.
    """
    free, sizes = available(), dict[int, int]()

    def count(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
        sizes[id(parameter)] = parameter.nbytes  # once for each, however many names it has
        if sum(sizes.values()) > free:
            raise _too_large(free)

    hook = register_module_parameter_registration_hook(count)
    try:
        return build()
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise _too_large(free) from error
        raise
    finally:
        hook.remove()


def _too_large(free: int) -> UserError:
    return UserError(
        f"the weights of this model need more than the {free / 1e9:.3g} GB of free memory: set smaller sizes"
    )


def fit_to_memory(run: TrainingRun) -> TrainingRun:
    """With `train.tokens` a number, and in its state how much a worker reads at once; all workers agree on it."""
    workers, asked = run.workers, run.recipe.train.tokens
    tokens = _most(run) * workers.count if asked == "auto" else asked
    wanted = {shape: -(-max(1, tokens // shape.longest) // workers.count) for shape in shapes(run)}  # rows of a worker
    mistake: UserError | None = None
    fitting = wanted
    try:
        with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
            fitting = _reckoned(run, wanted) if run.device.type == "cpu" else _tried(run, wanted)
    except UserError as error:
        mistake = error
    workers.agree(mistake)
    everybody = workers.gather(fitting)
    least = {shape: min(one[shape] for one in everybody) for shape in wanted}
    room = min((rows * shape.longest for shape, rows in least.items() if rows < wanted[shape]), default=None)
    longest = next(iter(wanted))
    said = f"memory: the longest batch, {wanted[longest]} pairs of {longest.source} and {longest.target} pieces, "
    if asked == "auto":
        tokens = tokens if room is None else room * workers.count
        run = run.with_tokens(tokens)
        workers.broadcast(lambda: save_recipe(run.out, run.recipe))
        run.log.say(f"memory: train.tokens = {tokens:,}, " + ("which fits" if room is None else "the most that fits"))
    elif room is None:
        run.log.say(said + "fits")
    else:
        run.state.room = room
        run.log.say(said + f"does not fit; batches are read in parts of at most {room:,} pieces, which add up to them")
    return run


def _most(run: TrainingRun) -> int:
    """Of a worker's batch, where memory is no concern."""
    wanted = max(_LEAST, run.dataset.corpus.tokens // _UPDATES) // run.workers.count
    return max(shapes(run)[0].longest, min(wanted, _MOST.get(run.device.type, 4096)))


def shapes(run: TrainingRun) -> list[Shape]:
    """Of the pairs in the batches that need most: those of the longest texts and, where one side is always the shorter,
    those that are long on both, of which a batch has more."""
    source, target = run.dataset.corpus.longest
    longest = Shape(source=source + 1, target=target + 1)
    both = min(longest.source, longest.target)
    return [longest] if both == longest.longest else [longest, Shape(source=both, target=both)]


def trial_batch(run: TrainingRun, shape: Shape, rows: int) -> Batch:
    corpus = run.dataset.valid_corpus
    source, target = (
        np.resize(side(0), size - 1) for side, size in ((corpus.source, shape.source), (corpus.target, shape.target))
    )
    return Batch.of([source] * rows, [target] * rows, [0] * rows).to(run.device)


def _tried(run: TrainingRun, wanted: dict[Shape, int]) -> dict[Shape, int]:
    """Rows of each shape that were read and gone back through; halved until they fitted."""
    fitting = dict(wanted)
    with _holding_back(run):
        for shape in wanted:
            while try_gradients(run, [trial_batch(run, shape, fitting[shape])], tokens=1) is None:
                if fitting[shape] == 1:
                    raise UserError(
                        f"a pair of {shape.source} source and {shape.target} target pieces does not fit in the memory "
                        f"of {run.device}; lower data.longest, or train a smaller model"
                    )
                fitting[shape] //= 2
            run.optimiser.zero_grad(set_to_none=True)
    return fitting


@contextmanager
def _holding_back(run: TrainingRun) -> Iterator[None]:
    """What will be needed besides: by the optimiser from its first step on, and by an allocator with holes."""
    if run.device.type != "cuda":
        yield
        return
    with torch.cuda.device(run.device):
        free, total = torch.cuda.mem_get_info()
        allowed = torch.cuda.get_per_process_memory_fraction() * total - torch.cuda.memory_reserved()
        spare = int(max(0, min(free, allowed)) * _SPARE)
        try:
            held = torch.empty(_OPTIMISER * _weights(run) + spare, dtype=torch.uint8, device=run.device)
        except torch.OutOfMemoryError:
            raise UserError(f"{run.device} has no memory left for the optimiser; train a smaller model") from None
        try:
            yield
        finally:
            del held
            torch.cuda.reset_peak_memory_stats()


def _reckoned(run: TrainingRun, wanted: dict[Shape, int]) -> dict[Shape, int]:
    """Rows of each shape for which the memory will do."""
    free = available() * _PLANNED / run.workers.neighbours - (1 + _OPTIMISER) * _weights(run)  # 1: the gradients
    return {
        shape: max(1, min(rows, int(free / (_AT_ITS_HEIGHT * max(1, _kept(run, shape, 2) - _kept(run, shape, 1))))))
        for shape, rows in wanted.items()
    }


def _kept(run: TrainingRun, shape: Shape, rows: int) -> int:
    """Bytes that a forward pass keeps for the backward pass."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor), run.precision.autocast():
        loss = batch_loss(run.model, trial_batch(run, shape, rows), run.objective())
    total = sum(kept.values())
    del loss  # until here it holds on to all of them, so that no two have had the same place
    return total


def _weights(run: TrainingRun) -> int:
    return sum(parameter.nbytes for parameter in run.model.parameters() if parameter.requires_grad)


def available() -> int:
    """Bytes of main memory that may still be asked for: of the machine, and of the container where there is one."""
    import psutil

    free = int(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    try:
        most = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text()) - _figures(group / "memory.stat").get("inactive_file", 0)
    except (OSError, ValueError):  # not in a container, or one without a limit
        return free
    return min(free, max(0, most - used))


def _figures(path: Path) -> dict[str, int]:
    """Lines of `name number`, as the kernel writes them."""
    return {name: int(number) for name, number, *_ in map(str.split, path.read_text().splitlines())}
