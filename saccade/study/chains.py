"""The longest chain of operations of which each needs the result of the one before it: what no parallel hardware can
shorten. `longest_chain(lambda: model(…).sum().backward())` counts them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class DependencyChain(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations of torch that compute, forward and backward, on a CPU. Views cost nothing. A result is one
    link after the last of its inputs; a tensor that is written in place depends on all that was written there."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.length: int = 0
        self._links: dict[int, int] = {}  # of each storage
        self._alive: list[Tensor] = []  # so that no storage takes the place of another

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        results = func(*args, **(kwargs or {}))
        inputs, outputs = (
            [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)] for tree in ((args, kwargs), results)
        )
        read, written = ({_storage(tensor) for tensor in tensors} for tensors in (inputs, outputs))
        is_view = written <= read and not func._schema.is_mutable  # type: ignore[attr-defined]
        if outputs and not is_view:
            links = 1 + max((self._links.get(storage, 0) for storage in read), default=0)
            self._links.update(dict.fromkeys(written, links))
            self._alive += outputs
            self.length = max(self.length, links)
        return results


def longest_chain(call: Callable[[], object]) -> int:
    with DependencyChain() as chain:
        call()
    return int(chain.length)


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)
