"""The contract of every encoder-decoder, for losses, search and traces alike.

    fixed, moving = model.start(source, readable)          # one row per sentence
    logits, moving = model.step(token, t, fixed, moving)   # one row per hypothesis: R = B·N, N per sentence
    logits = model(source, readable, target)               # teacher forcing: equals repeated steps
    with model.trace() as trace: model(...)                # records every reading by name

Fixed and Moving are nested tuples, lists, dicts or dataclasses of tensors with rows on axis 0. A search reorders only
Moving; Fixed keeps one row per sentence, which all hypotheses of the sentence read. Moving may also contain a
`SharedCache`, which has one row per sentence and reorders nothing but the paths of its hypotheses.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from torch import Tensor, nn

from saccade.attention.cache import SharedCache
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
    reads: str  # how the decoder reads the source, or a language model the words before


class Seq2Seq(nn.Module, ABC, Generic[FixedT, MovingT]):
    config_type: ClassVar[type[Any]]
    PRESETS: ClassVar[Mapping[str, Any]]
    paper: ClassVar[PaperInfo]
    reads_source: ClassVar[bool] = True  # False for a language model
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

    def for_hypotheses(self, moving: MovingT, count: int) -> MovingT:
        """The first Moving, which has one row per sentence, for `count` hypotheses per sentence."""
        return map_tensors(lambda tensor: tensor.repeat_interleave(count, 0), moving)

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor | None:
        """What the output layer `embeddings.output` makes logits of, (B, T, ·): a loss can then avoid storing all
        logits. None: the model computes its logits in another way.
        """
        return None

    def why_state_grows(self) -> str | None:
        """Why Moving has larger tensors after each step of a search, or None if its shapes stay."""
        return None

    def why_no_shared_cache(self) -> str | None:
        """Why the hypotheses of a sentence do not share a cache of self-attention, or None if they do."""
        return "the model keeps no cache that grows from step to step"

    def trace(self) -> AbstractContextManager[Trace]:
        return traced(self)


def take_rows(tree: Tree, rows: Tensor) -> Tree:
    """Take the rows `rows` (M,) of every tensor, in that order; a row may be taken several times or not at all."""
    return map_tensors(lambda tensor: tensor.index_select(0, rows), tree)


def follow_hypotheses(moving: Tree, rows: Tensor, written: Tensor) -> Tree:
    """Moving when hypothesis n of a sentence continues hypothesis rows[n] (B, N), after the step `written` (1,)."""
    sentences, hypotheses = rows.shape
    places = (torch.arange(sentences, device=rows.device)[:, None] * hypotheses + rows).flatten()
    paths: dict[int, Tensor] = {}  # the layers of a model have the same paths

    def follow(cache: SharedCache) -> SharedCache:
        if id(cache.paths) not in paths:
            paths[id(cache.paths)] = cache.paths_after(rows, written)
        return cache._replace(paths=paths[id(cache.paths)])

    return cast(Tree, _map(lambda tensor: tensor.index_select(0, places), moving, follow))


def keep_sentences(moving: Tree, sentences: Tensor, hypotheses: int) -> Tree:
    """Moving of the sentences (M,) alone."""
    places = (sentences[:, None] * hypotheses + torch.arange(hypotheses, device=sentences.device)).flatten()
    keep = _sharing_paths(partial(SharedCache.take_sentences, sentences=sentences))
    return cast(Tree, _map(lambda tensor: tensor.index_select(0, places), moving, keep))


def make_room(moving: Tree, steps: int) -> Tree:
    """Moving with caches in which `steps` steps are visible."""
    grow = _sharing_paths(partial(SharedCache.with_room, steps=steps))
    return cast(Tree, _map(lambda tensor: tensor, moving, grow))


def _sharing_paths(change: Callable[[SharedCache], SharedCache]) -> Callable[[SharedCache], SharedCache]:
    """`change`, after which caches that shared their paths still do."""
    paths: dict[int, Tensor] = {}

    def changed(cache: SharedCache) -> SharedCache:
        new = change(cache)
        return new._replace(paths=paths.setdefault(id(cache.paths), new.paths))

    return changed


def map_tensors(fn: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """Replace each tensor in nested tuples, lists, dicts and dataclasses by `fn(tensor)`; other values stay."""
    return cast(Tree, _map(fn, tree))


def list_tensors(tree: Any) -> list[Tensor]:
    """Every tensor of a tree, depth first."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    _map(note, tree)
    return tensors


def _map(
    fn: Callable[[Tensor], Tensor], tree: Any, of_cache: Callable[[SharedCache], SharedCache] | None = None
) -> Any:
    if isinstance(tree, Tensor):
        return fn(tree)
    if isinstance(tree, SharedCache) and of_cache is not None:
        return of_cache(tree)
    if isinstance(tree, tuple | list):
        branches = [_map(fn, branch, of_cache) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)  # a NamedTuple has _fields
    if isinstance(tree, dict):
        copy = tree.copy()  # of the same type: an OrderedDict stays one
        copy.update({key: _map(fn, branch, of_cache) for key, branch in tree.items()})
        return copy
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = [field.name for field in dataclasses.fields(tree) if field.init]
        return dataclasses.replace(tree, **{name: _map(fn, getattr(tree, name), of_cache) for name in fields})
    return tree
