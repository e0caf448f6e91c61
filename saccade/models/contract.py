"""The contract of every encoder-decoder, for losses, search and traces alike.

    fixed, moving = model.start(source, readable)          # one row per sentence
    logits, moving = model.step(token, t, fixed, moving)   # one row per hypothesis: R = B·N, N per sentence
    logits = model(source, readable, target)               # teacher forcing: equals repeated steps
    with model.trace() as trace: model(...)                # records every reading by name

Fixed and Moving are nested tuples, lists, dicts or dataclasses of tensors with rows on axis 0. A search reorders only
Moving; Fixed keeps one row per sentence, which all hypotheses of the sentence read.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Generic, TypeVar, cast

from torch import Tensor, nn

from saccade.attention.trace import Trace, traced

FixedT = TypeVar("FixedT")
MovingT = TypeVar("MovingT")
Tree = TypeVar("Tree")


@dataclasses.dataclass(frozen=True)
class PaperInfo:
    """A model's entry in listings."""

    authors: str
    year: int
    title: str
    reads: str  # how the decoder reads the source


class Seq2Seq(nn.Module, ABC, Generic[FixedT, MovingT]):
    config_type: ClassVar[type[Any]]
    PRESETS: ClassVar[Mapping[str, Any]]
    paper: ClassVar[PaperInfo]
    # Which step's weights align an output token: 0, the step that wrote it; 1, the next, which has it as its input.
    alignment_shift: int = 0

    def __init__(self, config: Any, source_size: int, target_size: int) -> None:
        super().__init__()
        self.config = config
        self.source_size, self.target_size = source_size, target_size

    @property
    def cross(self) -> list[str]:
        """The names, as in a trace, of the attentions through which the decoder reads the source."""
        return []

    @abstractmethod
    def start(self, source: Tensor, readable: Tensor) -> tuple[FixedT, MovingT]:
        """source (B, S) ids, readable (B, S) bool"""

    @abstractmethod
    def step(self, token: Tensor, t: Tensor, fixed: FixedT, moving: MovingT) -> tuple[Tensor, MovingT]:
        """token (R,) the last output, t (R,) its position → logits (R, V)"""

    @abstractmethod
    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        """target (B, T) ids that begin with the start symbol → logits (B, T, V)"""

    def trace(self) -> AbstractContextManager[Trace]:
        return traced(self)


def take_rows(tree: Tree, rows: Tensor) -> Tree:
    """Take the rows `rows` (M,) of every tensor, in that order; a row may be taken several times or not at all."""
    return map_tensors(lambda tensor: tensor.index_select(0, rows), tree)


def map_tensors(fn: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Replace each tensor in nested tuples, lists, dicts and dataclasses by `fn(tensor)`; other values stay."""
    return cast(Tree, _map(fn, tree))


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
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = [field.name for field in dataclasses.fields(tree) if field.init]
        return dataclasses.replace(tree, **{name: _map(fn, getattr(tree, name)) for name in fields})
    return tree
