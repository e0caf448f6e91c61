"""Steps of a search by CUDA graphs: the hundreds of kernels of a step are launched at once.

A graph repeats one step on the same tensors: it reads a state, and writes the next one in its place. The plain path is
the same step, run by the host. It is taken for the first steps, which load all kernels. When a cache has grown or
sentences have left, the state has new shapes, and the next step is captured anew.

Graphs are kept with their tensors after a search: the next batch with the same shapes is copied into them. A search
takes the graphs that it uses out of those that are kept, so that no two searches ever share tensors.
"""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import torch
from torch import Tensor, nn

from saccade.device import before_release, is_out_of_memory
from saccade.models.contract import list_tensors, map_tensors

State = TypeVar("State")

_MOST_KEPT = 64
_SHARE_KEPT = 4  # the tensors of kept graphs have at most this part of the device's memory: a fourth

# The graphs of one device run one after another and share their memory, which is freed with the last of them.
_pools: dict[torch.device, Any] = {}
_last: dict[torch.device, torch.cuda.CUDAGraph] = {}
_streams: dict[torch.device, torch.cuda.Stream] = {}  # on which they are captured


@dataclass(frozen=True)
class CapturedStep(Generic[State]):
    graph: torch.cuda.CUDAGraph
    state: State  # which the graph reads and writes; nothing else has its tensors
    reads: Any  # what else the graph reads, except for the model

    @cached_property
    def device(self) -> torch.device:
        return list_tensors(self.state)[0].device

    @cached_property
    def size(self) -> int:
        """Bytes"""
        return sum(tensor.nbytes for tensor in {id(tensor): tensor for tensor in list_tensors(self.state)}.values())


_kept: OrderedDict[Hashable, CapturedStep[Any]] = OrderedDict()  # the last used ones last


class StepGraph(Generic[State]):
    """Calls `step`, or replays a graph of it. `owner` is what the step depends on besides a state, as `name_owner`
    gives it; None: graphs are not kept."""

    def __init__(self, step: Callable[[State], State], owner: Hashable | None = None, reads: Any = None) -> None:
        self._step, self._owner, self._reads = step, owner, reads
        self._warm: set[int] = set()  # rows with which a step has left all shapes as they were
        self._taken: dict[str, CapturedStep[State]] = {}  # by the shapes of the state
        self._now: CapturedStep[State] | None = None
        self.failure: str | None = None  # why nothing is captured any more

    def __call__(self, state: State) -> State:
        if self._now is None or state is not self._now.state:
            self._now = self._find(state)
            if self._now is None:
                return self._run(state)
        self._now.graph.replay()
        return self._now.state

    def keep(self) -> None:
        """Keep the graphs for the searches to come. The state of the search must not be used afterwards."""
        if self._owner is not None:
            for shapes, captured in self._taken.items():
                _kept[self._owner, shapes] = captured
            _drop_oldest()
        self._taken, self._now = {}, None

    def _find(self, state: State) -> CapturedStep[State] | None:
        """A graph for states of these shapes, which now has this one in its tensors; None: there is none yet."""
        if self.failure is not None:
            return None
        shapes = describe(state)
        if shapes not in self._taken:
            if (kept := _kept.pop((self._owner, shapes), None)) is not None:
                self._taken[shapes] = kept
            elif _rows(state) not in self._warm:
                return None
            else:
                return self._capture(state, shapes)
        found = self._taken[shapes]
        overwrite(list_tensors(found.state), list_tensors(state))
        return found

    def _run(self, state: State) -> State:
        after = self._step(state)
        before, now = ([tensor.shape for tensor in list_tensors(each)] for each in (state, after))
        if before == now:
            self._warm.add(_rows(state))
        return after

    def _capture(self, state: State, shapes: str) -> CapturedStep[State] | None:
        try:
            own = copy_tensors(state)
        except torch.OutOfMemoryError:
            self.failure = "memory ran out"
            return None
        graph = self._record(own)
        if graph is None:
            return None
        self._taken[shapes] = CapturedStep(graph, own, self._reads)
        return self._taken[shapes]

    def _record(self, state: State) -> torch.cuda.CUDAGraph | None:
        """Record a step that writes its results over its inputs, without running it; None: it could not be recorded."""
        tensors, graph = list_tensors(state), torch.cuda.CUDAGraph()
        device = tensors[0].device
        pool = _pools.setdefault(device, torch.cuda.graph_pool_handle())
        if device not in _streams:
            _streams[device] = torch.cuda.Stream(device)
        stream, now = _streams[device], torch.cuda.current_stream(device)
        stream.wait_stream(now)
        try:
            with torch.cuda.stream(stream):
                # `torch.cuda.graph` would give all unused memory back to the device, which takes longer than a capture.
                graph.capture_begin(pool, capture_error_mode="thread_local")
                try:
                    overwrite(tensors, list_tensors(self._step(state)))
                finally:
                    graph.capture_end()
        except RuntimeError as error:
            cause = error.__context__ or error  # the first, where the end of a failed capture fails as well
            out_of_memory = isinstance(cause, RuntimeError) and is_out_of_memory(cause)
            self.failure = "memory ran out" if out_of_memory else str(cause).partition("\n")[0][:120]
            forget_graphs(device)
            return None
        finally:
            now.wait_stream(stream)
        _last[device] = graph
        return graph


def name_owner(model: nn.Module, *options: Hashable) -> Hashable:
    """What a step depends on: the model, where its tensors are, and options. It does not keep the model alive, and the
    graphs that are kept for it are dropped with the model."""
    tensors = [*model.parameters(), *model.buffers()]
    return weakref.ref(model, _drop_dead), model.training, *(tensor.data_ptr() for tensor in tensors), *options


def kept_bytes(device: torch.device) -> int:
    """The memory that `forget_graphs` would free."""
    return sum(_kept[key].size for key in _kept_on(device))


@before_release
def forget_graphs(device: torch.device) -> None:
    """Drop the graphs that are kept on a device, and their memory."""
    for key in _kept_on(device):
        del _kept[key]
    for shared in (_last, _pools):
        for one in [one for one in shared if _is_on(one, device)]:
            del shared[one]


def _kept_on(device: torch.device) -> list[Hashable]:
    return [key for key, captured in _kept.items() if _is_on(captured.device, device)]


def _is_on(one: torch.device, device: torch.device) -> bool:
    """Without an index, a device is every one of its type."""
    return one.type == device.type and device.index in (None, one.index)


def _drop_oldest() -> None:
    while len(_kept) > _MOST_KEPT or any(
        kept_bytes(device) > _most_bytes(device) for device in {captured.device for captured in _kept.values()}
    ):
        _kept.popitem(last=False)


def _most_bytes(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).total_memory // _SHARE_KEPT


def _drop_dead(model: weakref.ref[nn.Module]) -> None:
    for key in [key for key in _kept if cast(Any, key)[0][0]() is None]:
        del _kept[key]


def describe(state: Any) -> str:
    """Everything about a state but its numbers: types, shapes, which tensors are shared, and all other values, such as
    the length of a cache."""
    numbers: dict[int, int] = {}

    def shape(tensor: Tensor) -> str:
        return f"{numbers.setdefault(id(tensor), len(numbers))}: {tensor.device} {tensor.dtype} {[*tensor.shape]}"

    return repr(map_tensors(cast(Any, shape), state))


def copy_tensors(state: State) -> State:
    """A state whose tensors belong to it alone; parts that share a tensor still do."""
    copies: dict[int, Tensor] = {}

    def copied(tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            copies[id(tensor)] = tensor.clone(memory_format=torch.contiguous_format)
        return copies[id(tensor)]

    return map_tensors(copied, state)


def overwrite(before: list[Tensor], after: list[Tensor]) -> None:
    """Copy each tensor of a new state over the old one, once where parts of the state share it."""
    changed = {id(old): (old, new) for old, new in zip(before, after, strict=True) if old is not new}
    for old, new in changed.values():
        if old.shape != new.shape or old.dtype != new.dtype:
            raise RuntimeError(f"a step changes {old.dtype} {tuple(old.shape)} to {new.dtype} {tuple(new.shape)}")
    if changed:
        olds, news = zip(*changed.values(), strict=True)
        torch._foreach_copy_(list(olds), list(news))


def _rows(state: Any) -> int:
    return list_tensors(state)[-1].shape[0]
