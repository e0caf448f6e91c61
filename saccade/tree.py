"""Trees of tensors with rows on axis 0: tuples, named tuples, lists, dicts and dataclasses, as deep as one likes.

A model's state is such a tree, so that one search can reorder the hypotheses of every model. A leaf that is not a
tensor (None, a number, a name) belongs to no row and is kept as it is.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from torch import Tensor

Tree = TypeVar("Tree")


def map(fn: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """The same tree with `fn(tensor)` in place of each tensor."""
    return cast(Tree, _map(fn, tree))


def take(tree: Tree, rows: Tensor) -> Tree:
    """The rows `rows` (M,) of every tensor, in that order; a row may be taken many times or never."""
    return map(lambda tensor: tensor.index_select(0, rows), tree)


def leaves(tree: Any) -> Iterator[Tensor]:
    """Every tensor, depth first, in the order of the fields."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, tuple | list):
        for branch in tree:
            yield from leaves(branch)
    elif isinstance(tree, dict):
        yield from leaves(list(tree.values()))
    elif _is_dataclass(tree):
        yield from leaves([getattr(tree, field.name) for field in dataclasses.fields(tree)])


def _map(fn: Callable[[Tensor], Tensor], tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return fn(tree)
    if isinstance(tree, tuple | list):
        branches = [_map(fn, branch) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)  # a NamedTuple has _fields
    if isinstance(tree, dict):
        copy = tree.copy()  # of the same type: an OrderedDict stays one
        copy.update({key: _map(fn, branch) for key, branch in tree.items()})
        return copy
    if _is_dataclass(tree):
        fields = [field.name for field in dataclasses.fields(tree) if field.init]
        return dataclasses.replace(tree, **{name: _map(fn, getattr(tree, name)) for name in fields})
    return tree


def _is_dataclass(tree: Any) -> bool:
    return dataclasses.is_dataclass(tree) and not isinstance(tree, type)
