"""Optimisers without torch's compiler.

torch.optim marks its methods for torch.compile, and the first call of one of them imports the compiler, which takes
longer than `import torch` itself. A run never compiles its optimiser, so it calls the methods below those marks.
"""

import inspect
from typing import Any, TypeVar, cast

import torch
from torch.optim import Optimizer

Kind = TypeVar("Kind", bound=Optimizer)


class UncompiledOptimiser(Optimizer):
    add_param_group: Any = inspect.unwrap(Optimizer.add_param_group)
    state_dict: Any = inspect.unwrap(Optimizer.state_dict)
    load_state_dict: Any = inspect.unwrap(Optimizer.load_state_dict)
    zero_grad: Any = inspect.unwrap(Optimizer.zero_grad)


def uncompiled(kind: type[Kind]) -> type[Kind]:
    """Return the same optimiser, which computes the same, without the marks."""
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return cast(type[Kind], type(kind.__name__, (UncompiledOptimiser, kind), {"step": step}))
