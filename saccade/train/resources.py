"""The memory and the threads of a run, chosen before its first update.

Memory is tried or estimated first, so that it does not run out hours later. A batch that is too large is read in parts
whose gradients add up to the gradients of the whole: memory decides how fast a run is, not what it learns. Only
`train.tokens = "auto"` lets memory decide the batch size.

On a GPU the longest possible batches are tried, forwards and backwards, while memory for the optimiser, and a tenth
against fragmentation, is reserved. On a CPU nothing is tried, since a process that needs too much memory is killed:
instead, the bytes that a row saves for the backward pass are counted, and half of the free memory is used.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, repeat
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_parameter_registration_hook

from saccade.device import is_out_of_memory
from saccade.errors import UserError
from saccade.layers.recurrent import RecurrentUnit
from saccade.train.learner import Shape
from saccade.train.log import SilentLog
from saccade.train.run import TrainingRun
from saccade.train.update import try_gradients, update

Model = TypeVar("Model", bound=nn.Module)

# `train.tokens = "auto"`: larger batches make a run neither faster nor better …
_MOST = {"cpu": 4096, "cuda": 32_768}  # tokens per worker
_UPDATES = 100  # … and an epoch has at least this many updates, unless their batches would be smaller than …
_LEAST = 512  # … tokens

_SPARE = 0.1  # share of a GPU's memory
_PLANNED = 0.5  # share of a CPU's memory
_PEAK = 2  # memory of a backward pass, relative to what was saved for it
_OPTIMISER = 2  # maximum numbers per weight that an optimiser stores
_MEASURED = 5  # updates …
_PATIENCE = 1.0  # … or as many as take so many seconds
_GAIN = 0.9  # all threads are used only if they need at most this share of the time: a single one disturbs nobody


def build_within_memory(build: Callable[[], Model]) -> Model:
    """Build the model, unless its weights alone exceed the free memory: Linux would grant it, then kill the process.

    Parameters are counted when they are allocated; nothing is written to them yet, so that they cost nothing so far.
    """
    free, sizes = available(), dict[int, int]()
    needed = f"the weights of this model need more than the {free / 1e9:.3g} GB of free memory"
    too_large = UserError(f"{needed}: set smaller sizes")

    def count(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
        sizes[id(parameter)] = parameter.nbytes  # once for each, however many names it has
        if sum(sizes.values()) > free:
            raise too_large

    hook = register_module_parameter_registration_hook(count)
    try:
        return build()
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise too_large from error
        raise
    finally:
        hook.remove()


def fit_to_memory(run: TrainingRun) -> TrainingRun:
    """The run with `train.tokens` as a number, and with the size that a worker reads at once in its state."""
    run = _fit_batches(run)
    if (description := run.learner.describe_batches()) is not None:
        run.log.say(f"batches: {description}")
    return run


def _fit_batches(run: TrainingRun) -> TrainingRun:
    workers, learner, requested = run.workers, run.learner, run.training.tokens
    shapes = learner.shapes()
    longest = max(shapes[0]) if shapes else 1
    usual = usual_tokens(learner.epoch_tokens, longest, run.device.type, workers.count)
    tokens = usual * workers.count if requested == "auto" else requested
    wanted = {shape: -(-max(1, tokens // max(shape)) // workers.count) for shape in shapes}  # rows of a worker
    find_rows = _estimate_rows if run.device.type == "cpu" else _try_rows
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        reports = workers.gather_results(lambda: find_rows(run, wanted))
    least = {shape: min(report[shape] for report in reports) for shape in wanted}
    room = min((rows * max(shape) for shape, rows in least.items() if rows < wanted[shape]), default=None)
    if requested == "auto":
        tokens = tokens if room is None else room * workers.count
        learner.set_batch_tokens(tokens)
        run.log.say(f"memory: train.tokens = {tokens:,}, " + ("which fits" if room is None else "the most that fits"))
        return run.with_training(tokens=tokens)
    if shapes:
        rows = f"{wanted[shapes[0]]} {learner.unit}s of {' and '.join(map(str, shapes[0]))} tokens"
        fits = "fits" if room is None else f"does not fit; batches are read in parts of at most {room:,} tokens"
        run.log.say(f"memory: the longest batch, {rows}, {fits}")
    run.state.room = room
    return run


def usual_tokens(epoch_tokens: int, longest: int, device: str, workers: int = 1) -> int:
    """The tokens of a worker's batch if memory is no concern."""
    wanted = max(_LEAST, epoch_tokens // _UPDATES) // workers
    return max(longest, min(wanted, _MOST.get(device, 4096)))


def _try_rows(run: TrainingRun, wanted: dict[Shape, int]) -> dict[Shape, int]:
    """Try the rows of each shape, forwards and backwards, halved until they fit."""
    learner, fitting = run.learner, dict(wanted)
    with _reserve_memory(run):
        for shape in wanted:
            while try_gradients(run, [learner.trial_batch(shape, fitting[shape]).to(run.device)], tokens=1) is None:
                if fitting[shape] == 1:
                    row = f"a {learner.unit} of {' and '.join(map(str, shape))} tokens"
                    advice = "lower data.longest, or train a smaller model"
                    raise UserError(f"{row} does not fit in the memory of {run.device}; {advice}")
                fitting[shape] //= 2
            run.optimiser.zero_grad(set_to_none=True)
    return fitting


@contextmanager
def _reserve_memory(run: TrainingRun) -> Iterator[None]:
    """Reserve the memory of the optimiser, and a tenth against fragmentation."""
    if run.device.type != "cuda":
        yield
        return
    with torch.cuda.device(run.device):
        free, total = torch.cuda.mem_get_info()
        allowed = torch.cuda.get_per_process_memory_fraction() * total - torch.cuda.memory_reserved()
        spare = int(max(0, min(free, allowed)) * _SPARE)
        try:
            reserve = torch.empty(_OPTIMISER * _weights(run) + spare, dtype=torch.uint8, device=run.device)
        except torch.OutOfMemoryError:
            raise UserError(f"{run.device} has no memory left for the optimiser; train a smaller model") from None
        try:
            yield
        finally:
            del reserve
            torch.cuda.reset_peak_memory_stats()


def _estimate_rows(run: TrainingRun, wanted: dict[Shape, int]) -> dict[Shape, int]:
    """The rows of each shape for which the memory suffices."""
    free = available() * _PLANNED / run.workers.neighbours - (1 + _OPTIMISER) * _weights(run)  # 1: the gradients
    fitting = {}
    for shape, rows in wanted.items():
        each = _saved_bytes(run, shape, 2) - _saved_bytes(run, shape, 1)
        fitting[shape] = max(1, min(rows, int(free / (_PEAK * max(1, each)))))
    return fitting


def _saved_bytes(run: TrainingRun, shape: Shape, rows: int) -> int:
    """Bytes that a forward pass saves for the backward pass."""
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    batch = run.learner.trial_batch(shape, rows).to(run.device)
    with saved_tensors_hooks(note, lambda tensor: tensor), run.precision.autocast():
        loss = run.learner.loss(run.model, batch, run.state)
    total = sum(sizes.values())
    del loss  # until here it holds on to all of them, so that no two have the same address
    return total


def _weights(run: TrainingRun) -> int:
    return sum(parameter.nbytes for parameter in run.model.parameters() if parameter.requires_grad)


def available() -> int:
    """Bytes of main memory that are free on this machine, and in the container if the process runs in one."""
    import psutil

    free = int(psutil.virtual_memory().available)
    group = Path("/sys/fs/cgroup")
    try:
        most, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return min(free, max(0, most - used + int(statistics.get("inactive_file", 0))))
    except (OSError, ValueError):  # not in a container, or in one without a limit
        return free


def first_updates(run: TrainingRun, count: int = _MEASURED) -> list[list[Any]]:
    """The batches of each of the next updates; the run's position in the data stays where it is."""
    batches = run.learner.batches
    position = batches.state()
    stream = chain.from_iterable(repeat(batches))
    try:
        return [list(islice(stream, run.training.accumulate)) for _ in range(count)]
    finally:
        batches.restore(position)


def seconds_per_update(run: TrainingRun, updates: Sequence[Sequence[Any]]) -> float:
    """The median time of `updates`, each a list of batches, measured on a copy of the run; of fewer if they are slow.
    Each worker measures alone, with its share of the rows."""
    rehearsal, seconds = run.rehearsal(SilentLog(run.out)), []
    shares = [[rows for batch in batches if (rows := run.workers.rows(batch)) is not None] for batches in updates]
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        for share in (shares[0], *shares):
            began = time.perf_counter()
            update(rehearsal, share)  # waits for the device
            if rehearsal.average is not None:
                rehearsal.average.update(rehearsal.model, torch.ones((), device=run.device))
            seconds.append(time.perf_counter() - began)
            if len(seconds) > 1 and sum(seconds) > _PATIENCE:
                break
    return median(seconds[1:])  # the first is slower: it allocates the optimiser's state


@contextmanager
def restore_thread_count() -> Iterator[None]:
    """On leaving, the process has as many threads as before."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(run: TrainingRun) -> TrainingRun:
    """The run with `train.threads` as a number: one or all, whichever is faster now.

    The last bits of a sum may depend on the number of threads, so it is saved in the recipe, for when the run is
    resumed. Several workers share the cores already and are not measured; a GPU does not depend on it.
    """
    workers, threads, reason = run.workers, torch.get_num_threads(), "all available"
    if run.training.threads != "auto" or run.device.type != "cpu":
        return run
    if workers.count > 1:
        threads, reason = workers.broadcast(torch.get_num_threads), f"for each of {workers.count} workers"
    elif threads > 1:
        updates, seconds = first_updates(run), dict.fromkeys((1, threads), math.inf)
        for count in (1, threads, threads, 1) * 2:  # in turns: other programs may slow one of them down
            torch.set_num_threads(count)
            seconds[count] = min(seconds[count], seconds_per_update(run, updates))
        times = ", ".join(f"{1000 * taken:.0f} ms with {count}" for count, taken in seconds.items())
        reason = f"by the time of an update: {times}"
        threads = threads if seconds[threads] <= _GAIN * seconds[1] else 1
    torch.set_num_threads(threads)
    run.log.say(f"threads: {threads}, {reason}")
    return run.with_training(threads=threads)


def compile_forward(model: nn.Module, device: torch.device) -> str | None:
    """Compile the model in place, for batches of any size → the reason if it was not compiled, or None."""
    if any(isinstance(module, RecurrentUnit) for module in model.modules()):
        return "train.compile: a recurrent model would be compiled again for every length; it is trained uncompiled"
    try:
        torch.compile(lambda numbers: numbers.sin() + 1)(torch.ones(64, device=device))
    except Exception as error:  # whatever a missing or broken compiler raises
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return f"train.compile: no compiler works here ({reason[:120]}); the model is trained uncompiled"
    model.compile(dynamic=True)
    return None
