"""Gradients by CUDA graphs, one per shape of a batch.

A small model's update is hundreds of kernels of a few microseconds each, and the host needs longer to launch them than
the device to run them. A graph launches them all at once. It computes what the plain path computes, by the
same kernels, with the same random numbers for dropout.

A shape is captured when it first occurs, after one plain computation whose results are discarded: it loads the kernels
that the graph needs. So a run and its resumed copy replay the same graphs, whatever shapes each of them has seen.

Autocast converts the weights of a linear layer to half precision when the layer is used, and their gradients back, one
by one. A graph converts all of them at once, with the same results.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from saccade.device import is_out_of_memory, recover_random_state, release_unused
from saccade.models.contract import list_tensors, map_tensors
from saccade.train.optimisation import Precision

if TYPE_CHECKING:
    from saccade.train.run import TrainingRun

_MOST_GRAPHS = 256  # a corpus with more shapes than this is trained without graphs for the rest

Key = tuple[torch.Size, ...]


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]  # the tensors of the batch that it reads
    has_gradient: list[bool]  # of each parameter


class _Loss(nn.Module):
    """The learner's loss as a module, so that its weights can be replaced in one call."""

    def __init__(self, run: "TrainingRun") -> None:
        super().__init__()
        self.model = run.model
        self._run = run

    def forward(self, batch: Any) -> tuple[Tensor, Tensor]:
        return self._run.learner.loss(self.model, batch, self._run.state)


class Substitutes:
    """What a graph reads and differentiates by instead of the parameters: copies in half precision of those that only
    linear layers use, made all at once, and aliases of the others. The parameters' own nodes of the autograd graph
    belong to the stream of the plain path, which a graph must not wait for."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        linear = {id(parameter) for parameter in _linear_parameters(model) if parameter.dtype != dtype}
        self._of = {
            id(p): (torch.empty_like(p, dtype=dtype) if id(p) in linear else p.detach()).requires_grad_(p.requires_grad)
            for p in model.parameters()
        }
        self._wide: list[Tensor] = [p for p in model.parameters() if id(p) in linear]
        self._narrow = [self._of[id(wide)] for wide in self._wide]
        self.learnt = [substitute for substitute in self._of.values() if substitute.requires_grad]  # in their order

    def loss(self, run: "TrainingRun", batch: Any) -> tuple[Tensor, Tensor]:
        """The learner's losses. The copies are made anew."""
        if self._wide:
            with torch.no_grad():
                torch._foreach_copy_(self._narrow, self._wide)
        # Each place of each module once: with its own search for tied weights, `functional_call` would restore a module
        # that has two names wrongly.
        weights = {
            f"model.{place}.{name}".replace("..", "."): self._of[id(parameter)]
            for place, module in run.model.named_modules()
            for name, parameter in module.named_parameters(recurse=False)
        }
        with run.precision.autocast():
            loss, plain = functional_call(_Loss(run), weights, (batch,), tie_weights=False)
        return loss, plain


class GradientGraphs:
    """The graphs of one run. Their results stay valid until the next replay."""

    def __init__(self, model: nn.Module, device: torch.device, precision: Precision) -> None:
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self._gradients = [torch.empty_like(p) for p in self._parameters]  # written by every graph
        self._substitutes = Substitutes(model, precision.dtype)
        self._scale = torch.empty((), device=device)  # 1 / the tokens of the update
        self._plain = torch.empty((), device=device)  # the plain loss
        self._pool = torch.cuda.graph_pool_handle()  # the graphs run one after another and share their memory
        self._graphs: dict[Key, _Graph] = {}
        self.failure: str | None = None  # why no more shapes are captured

    def replay(self, run: "TrainingRun", part: Any, tokens: int) -> Tensor | None:
        """Add the gradients of `part` to the parameters' → the plain loss; None: there is no graph of this shape."""
        before = [None if p.grad is None else p.grad.clone() for p in self._parameters]  # of the parts before this one
        tensors = list_tensors(part)
        key = tuple(tensor.shape for tensor in tensors)
        graph = self._graphs.get(key) or self._add(run, part, key)
        if graph is None:
            return None
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

    def _add(self, run: "TrainingRun", part: Any, key: Key) -> _Graph | None:
        if self.failure is not None or len(self._graphs) == _MOST_GRAPHS:
            return None
        graph = self._capture(run, part)
        if graph is None:
            release_unused(run.device)
        else:
            self._graphs[key] = graph
        return graph

    def _capture(self, run: "TrainingRun", part: Any) -> _Graph | None:
        static, graph = map_tensors(torch.clone, part), torch.cuda.CUDAGraph()
        self._scale.fill_(1.0)

        def compute() -> tuple[Tensor | None, ...]:
            loss, plain = self._substitutes.loss(run, static)
            gradients = torch.autograd.grad(loss * self._scale, self._substitutes.learnt, allow_unused=True)
            _copy_all(self._gradients, gradients)
            self._plain.copy_(plain)
            return gradients

        try:
            with torch.random.fork_rng([run.device]):
                exists = [gradient is not None for gradient in compute()]
            # "relaxed": other threads prepare batches and may allocate memory meanwhile.
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="relaxed"):
                compute()
        except RuntimeError as error:
            cause = error.__context__ or error  # the end of a failed capture raises an error of its own
            memory = isinstance(cause, RuntimeError) and is_out_of_memory(cause)
            self.failure = "memory ran out" if memory else str(cause).partition("\n")[0][:120]
            if memory:  # the plain path needs what the graphs have taken
                self._graphs.clear()
            run.log.say(f"no more CUDA graphs are captured: {self.failure}")
            recover_random_state(run.device)
            return None
        return _Graph(graph, list_tensors(static), exists)


def _copy_all(into: Sequence[Tensor], tensors: Sequence[Tensor | None]) -> None:
    """Copy those that exist. One kernel copies many tensors, if all of them have one type."""
    pairs = [(to, tensor) for to, tensor in zip(into, tensors, strict=True) if tensor is not None]
    for dtype in dict.fromkeys(tensor.dtype for _, tensor in pairs):
        alike = [(to, tensor) for to, tensor in pairs if tensor.dtype == dtype]
        torch._foreach_copy_([to for to, _ in alike], [tensor for _, tensor in alike])


def _linear_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that only linear layers use. An embedding that is also the output layer is read in float32."""
    linear, others = (
        {id(p): p for m in model.modules() if isinstance(m, nn.Linear) == kind for p in m.parameters(recurse=False)}
        for kind in (True, False)
    )
    return [parameter for key, parameter in linear.items() if key not in others]
