"""Steps of a search by CUDA graphs: the hundreds of kernels of a step are launched at once.

A graph repeats one step on the same tensors: it reads a state, and writes the next one in its place. The plain path is
the same step, run by the host. It is taken for the first steps, which load all kernels, and whenever a state has new
tensors: when a cache has grown or sentences have left, the next step is captured anew.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import torch
from torch import Tensor

from saccade.device import is_out_of_memory
from saccade.models.contract import list_tensors, map_tensors

State = TypeVar("State")

# The graphs of one device run one after another and share their memory, which is freed with the last of them.
_pools: dict[torch.device, Any] = {}
_last: dict[torch.device, torch.cuda.CUDAGraph] = {}
_streams: dict[torch.device, torch.cuda.Stream] = {}  # on which they are captured


class StepGraph(Generic[State]):
    """Calls `step`, or replays a graph of it."""

    def __init__(self, step: Callable[[State], State]) -> None:
        self._step = step
        self._warm: set[int] = set()  # rows with which a step has left all shapes as they were
        self._graph: torch.cuda.CUDAGraph | None = None
        self._state: State | None = None
        self._key: Any = None  # of `_state`, which the graph reads and writes
        self.failure: str | None = None  # why nothing is captured any more

    def __call__(self, state: State) -> State:
        key = _identify(state)
        if self._graph is None or key != self._key:
            is_warm = self.failure is None and _rows(state) in self._warm
            if not is_warm or not self._capture(state):
                return self._run(state)
            self._state, self._key = state, key
        assert self._graph is not None and self._state is not None
        self._graph.replay()
        return self._state

    def _run(self, state: State) -> State:
        after = self._step(state)
        before, now = ([tensor.shape for tensor in list_tensors(each)] for each in (state, after))
        if before == now:
            self._warm.add(_rows(state))
        return after

    def _capture(self, state: State) -> bool:
        """Record a step that writes its results over its inputs; False: it could not be recorded, nor was it run."""
        tensors, graph = list_tensors(state), torch.cuda.CUDAGraph()
        device = tensors[0].device
        pool = _pools.setdefault(device, torch.cuda.graph_pool_handle())
        if device not in _streams:
            _streams[device] = torch.cuda.Stream(device)
        stream, now = _streams[device], torch.cuda.current_stream(device)
        stream.wait_stream(now)
        self._graph = self._state = None
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
            _pools.pop(device, None)
            return False
        finally:
            now.wait_stream(stream)
        self._graph = _last[device] = graph
        return True


def overwrite(before: list[Tensor], after: list[Tensor]) -> None:
    """Copy each tensor of a new state over the old one, once where parts of the state share it."""
    changed = {id(old): (old, new) for old, new in zip(before, after, strict=True) if old is not new}
    for old, new in changed.values():
        if old.shape != new.shape or old.dtype != new.dtype:
            raise RuntimeError(f"a step changes {old.dtype} {tuple(old.shape)} to {new.dtype} {tuple(new.shape)}")
    if changed:
        olds, news = zip(*changed.values(), strict=True)
        torch._foreach_copy_(list(olds), list(news))


def _identify(state: Any) -> Any:
    """The state with the identity of each tensor in its place; all other values stay, such as the length of a cache."""
    return map_tensors(cast(Any, id), state)


def _rows(state: Any) -> int:
    return list_tensors(state)[-1].shape[0]
