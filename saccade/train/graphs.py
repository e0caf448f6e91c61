"""Gradients by CUDA graphs, one per shape of a batch.

A small model's update is hundreds of kernels of a few microseconds each, and the host needs longer to launch them than
the device to run them. A graph launches them all at once. It computes what the plain path computes, to the bit: the
same kernels on the same numbers, with the same random state for dropout.

A shape is captured when it occurs for the second time: the first, plain update has loaded all kernels that it needs.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from saccade.device import is_out_of_memory, release_unused
from saccade.models.contract import map_tensors

if TYPE_CHECKING:
    from saccade.train.run import TrainingRun

_MOST_GRAPHS = 256  # a corpus with more shapes than this is trained without graphs for the rest

Key = tuple[torch.Size, ...]


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]  # the tensors of the batch that it reads
    has_gradient: list[bool]  # of each parameter


class GradientGraphs:
    """The graphs of one run. Their results stay valid until the next replay."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self._gradients = [torch.empty_like(p) for p in self._parameters]  # written by every graph
        self._scale = torch.empty((), device=device)  # 1 / the tokens of the update
        self._plain = torch.empty((), device=device)  # the plain loss
        self._pool = torch.cuda.graph_pool_handle()  # the graphs run one after another and share their memory
        self._graphs: dict[Key, _Graph | None] = {}  # None: seen once
        self.failure: str | None = None  # why no more shapes are captured

    def replay(self, run: "TrainingRun", part: Any, tokens: int) -> Tensor | None:
        """Add the gradients of `part` to the parameters' → the plain loss; None: there is no graph of this shape."""
        tensors = _tensors(part)
        key = tuple(tensor.shape for tensor in tensors)
        if key not in self._graphs:
            if self.failure is None and len(self._graphs) < _MOST_GRAPHS:
                self._graphs[key] = None
            return None
        graph = self._graphs[key]
        if graph is None:
            graph = self._graphs[key] = self._capture(run, part) if self.failure is None else None
        if graph is None:
            return None
        before = [None if p.grad is None else p.grad.clone() for p in self._parameters]  # of the parts before this one
        for static, tensor in zip(graph.inputs, tensors, strict=True):
            static.copy_(tensor, non_blocking=True)
        self._scale.fill_(1 / tokens)
        graph.graph.replay()
        for parameter, gradient, exists, old in zip(
            self._parameters, self._gradients, graph.has_gradient, before, strict=True
        ):
            if exists:
                parameter.grad = gradient if old is None else gradient.add_(old)
        return self._plain.clone()

    def _capture(self, run: "TrainingRun", part: Any) -> _Graph | None:
        static, graph = map_tensors(torch.clone, part), torch.cuda.CUDAGraph()
        self._scale.fill_(1.0)
        try:
            # Other threads prepare batches and may allocate memory meanwhile.
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                with run.precision.autocast():
                    loss, plain = run.learner.loss(run.model, static, run.state)
                gradients = torch.autograd.grad(loss * self._scale, self._parameters, allow_unused=True)
                exists = [gradient is not None for gradient in gradients]
                torch._foreach_copy_(
                    [static for static, is_there in zip(self._gradients, exists, strict=True) if is_there],
                    [gradient for gradient in gradients if gradient is not None],
                )
                self._plain.copy_(plain)
        except RuntimeError as error:
            self.failure = "memory ran out" if is_out_of_memory(error) else str(error).partition("\n")[0][:120]
            run.log.say(f"no more CUDA graphs are captured: {self.failure}")
            release_unused(run.device)
            return None
        return _Graph(graph, _tensors(static), exists)


def _tensors(batch: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_tensors(note, batch)
    return found
