"""Batches of pairs of similar length. The seed decides their order, and a saved position continues it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from saccade.data.background import build_ahead
from saccade.data.corpus import PairWindow, Places, WindowSource
from saccade.data.shapes import MOST_SHAPES, BatchShape, ShapePlan
from saccade.data.texts import WindowForm
from saccade.errors import plural
from saccade.text import BOS, EOS, PAD

Rows = Sequence[npt.NDArray[np.int32] | Sequence[int]]
JoinedTexts = tuple[npt.NDArray[Any], Places]  # the ids of all texts, one text after another, and their lengths
_FIRST = 1, 0  # the epoch and number of the window for which shapes are planned


@dataclass(frozen=True)
class Batch:
    """The source ends with eos. Teacher forcing reads `target_in`, from bos, and predicts `target_out`, to eos.

    The tensors of a new batch are parts of one, so that a single copy moves them to a device.
    """

    source: Tensor  # (B,S) long
    source_readable: Tensor  # (B,S) bool
    target_in: Tensor  # (B,T) long
    target_out: Tensor  # (B,T) long
    target_readable: Tensor  # (B,T) bool, for both targets
    indices: Tensor  # (B,) long: places in the corpus
    target_lengths: Places  # (B,), with eos; on the CPU, so that counting tokens does not wait for a device
    together: Tensor | None = field(default=None, init=False)  # all tensors as bytes, if they are parts of one

    @classmethod
    def of(cls, sources: Rows, targets: Rows, indices: Iterable[int]) -> Self:
        return cls.of_joined(_join(sources), _join(targets), np.array([*indices], np.int64))

    @classmethod
    def of_joined(
        cls,
        sources: JoinedTexts,
        targets: JoinedTexts,
        indices: Places,
        lengths: tuple[int, int] = (0, 0),
        *,
        ends: Places | None = None,
        pinned: bool = False,
    ) -> Self:
        """Make a batch of at least the given `lengths`; in page-locked memory, which a GPU reads by itself. `ends` are
        the last tokens of the targets, by default eos."""
        rows = len(indices)
        width_s, width_t = (
            max(int(side[1].max()) + 1, least) for side, least in zip((sources, targets), lengths, strict=True)
        )
        numbers = rows * (width_s + 2 * width_t + 1)
        together = torch.empty(8 * numbers + rows * (width_s + width_t), dtype=torch.uint8, pin_memory=pinned)
        batch = cls._unpack(together, rows, width_s, width_t, targets[1] + 1)
        _write(sources, batch.source, batch.source_readable, after=EOS)
        _write(targets, batch.target_in, batch.target_readable, before=BOS)
        _write(targets, batch.target_out, batch.target_readable, after=EOS if ends is None else ends)
        batch.indices.numpy()[:] = indices
        return batch

    @classmethod
    def _unpack(cls, together: Tensor, rows: int, width_s: int, width_t: int, target_lengths: Places) -> Self:
        numbers = rows * (width_s + 2 * width_t + 1)
        ids, masks = together[: 8 * numbers].view(torch.long), together[8 * numbers :].view(torch.bool)
        sizes = rows * width_s, rows * width_t
        source, target_in, target_out, indices = torch.split(ids, [*sizes, sizes[1], rows])
        source_readable, target_readable = torch.split(masks, [*sizes])
        batch = cls(
            source.view(rows, width_s),
            source_readable.view(rows, width_s),
            target_in.view(rows, width_t),
            target_out.view(rows, width_t),
            target_readable.view(rows, width_t),
            indices,
            target_lengths,
        )
        object.__setattr__(batch, "together", together)
        return batch

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def tokens(self) -> int:
        """Target tokens: what a loss is averaged over."""
        return int(self.target_lengths.sum())

    @property
    def size(self) -> int:
        """Pairs × the longest side, padding included."""
        return len(self) * max(self.source.shape[1], self.target_in.shape[1])

    def rows(self, rows: slice) -> Self:
        if rows.indices(len(self)) == (0, len(self), 1):
            return self
        parts = {name: getattr(self, name)[rows] for name in _ROWS}
        return type(self)(**parts)

    def halves(self) -> tuple[Self, Self]:
        """Split into two batches, for when the whole does not fit in memory."""
        middle = len(self) // 2
        return self.rows(slice(middle)), self.rows(slice(middle, None))

    def to(self, device: torch.device | str) -> Self:
        """A copy to a GPU does not wait for it."""
        alone = torch.device(device).type == "cuda"
        if self.together is None:
            moved = {name: getattr(self, name).to(device, non_blocking=alone) for name in _TENSORS}
            return type(self)(**moved, target_lengths=self.target_lengths)
        widths = self.source.shape[1], self.target_in.shape[1]
        return self._unpack(self.together.to(device, non_blocking=alone), len(self), *widths, self.target_lengths)


_TENSORS = ("source", "source_readable", "target_in", "target_out", "target_readable", "indices")
_ROWS = (*_TENSORS, "target_lengths")


def pad_sources(rows: Rows) -> tuple[Tensor, Tensor]:
    """Return what a model reads, in training and translation: `source` (B,S), each with eos, and `readable` (B,S)."""
    texts = _join(rows)
    shape = len(rows), int(texts[1].max()) + 1
    source, readable = torch.empty(shape, dtype=torch.long), torch.empty(shape, dtype=torch.bool)
    _write(texts, source, readable, after=EOS)
    return source, readable


def _join(rows: Rows) -> JoinedTexts:
    return np.concatenate([*rows], dtype=np.int64, casting="unsafe"), np.array([len(row) for row in rows], np.int64)


def _write(
    texts: JoinedTexts, ids: Tensor, readable: Tensor, *, before: int | None = None, after: int | Places | None = None
) -> None:
    """Write texts, each with one id `before` or `after` it, the same for all or one for each, into `ids` (B,L), and
    where they are into `readable`."""
    joined, lengths = texts
    columns, start = np.arange(ids.shape[1]), int(before is not None)
    is_text = (columns >= start) & (columns < lengths[:, None] + start)
    written = ids.numpy()
    written[:] = PAD
    written[is_text] = joined  # in the order of the mask: row by row
    if before is not None:
        written[:, 0] = before
    if after is not None:
        written[np.arange(len(lengths)), lengths] = after
    readable.numpy()[:] = columns < lengths[:, None] + 1


class Members(NamedTuple):
    """What a batch is built of. `shape` is that of pairs from source to target."""

    shape: BatchShape
    places: Places
    is_reversed: bool  # from target to source


class Batches:
    """Each iteration yields the rest of an epoch, which has every pair once (or as often as the weight of its corpus
    says); then the next epoch begins.

    A batch of B pairs whose longest text, on either side and with bos or eos, has L tokens fulfils B · L ≤ `tokens`; a
    longer pair is a batch by itself. A batch depends on the seed and its position alone. All batches have one of a few
    shapes, planned for the first window of the first epoch (`saccade.data.shapes`).

    In the first `both_directions` epochs, half of the pairs go from target to source, in batches of their own: pairs of
    odd index in odd epochs, the others in even ones. Two epochs have every pair in both directions.

    `form` makes of a window of texts what is learnt from it (`saccade.data.texts`, `saccade.data.corruption`).
    """

    def __init__(
        self,
        pairs: WindowSource,
        *,
        tokens: int = 4096,
        seed: int = 1,
        shapes: int = MOST_SHAPES,
        pinned: bool = False,
        both_directions: int = 0,
        form: WindowForm | None = None,
    ) -> None:
        self.pairs, self.draw, self.form = pairs, pairs.window, form
        self.tokens, self.seed = tokens, seed
        self.epoch, self.window, self.index = 1, 0, 0
        self._most_shapes, self._pinned, self._both_directions = shapes, pinned, both_directions
        self._plan: ShapePlan | None = None
        self._cut: tuple[tuple[int, int], PairWindow, list[Members]] | None = None

    def __len__(self) -> int:
        """Count the batches of this window; with a corpus in memory, those of this epoch."""
        return len(self._window()[1])

    def __iter__(self) -> Iterator[Batch]:
        while self.window < self.pairs.windows:
            window, members = self._window()
            build = partial(_build, window, pinned=self._pinned)
            with closing(build_ahead(build, members[self.index :])) as batches:
                for batch in batches:
                    self.index += 1  # before yielding: the position is after this batch
                    yield batch
            self.window, self.index = self.window + 1, 0
        self.epoch, self.window = self.epoch + 1, 0

    @property
    def epochs(self) -> float:
        """The number of epochs done, with the finished part of this one."""
        inside = self.index / len(self) if self.index else 0.0
        return self.epoch - 1 + (self.window + inside) / self.pairs.windows

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "window": self.window, "index": self.index}

    def restore(self, state: Mapping[str, int]) -> None:
        """Continue exactly where `state` was taken, with the same pairs, tokens and seed."""
        self.epoch, self.window, self.index = state["epoch"], state["window"], state["index"]

    def next_window(self) -> tuple[int, int]:
        """Return the epoch and number of the window to be drawn next."""
        if self._cut is None or self._cut[0] != (self.epoch, self.window):
            return self.epoch, self.window
        return (self.epoch, self.window + 1) if self.window + 1 < self.pairs.windows else (self.epoch + 1, 0)

    def measure(self) -> "BatchMeasure":
        """Measure the batches of this window."""
        window, members = self._window()
        lengths = _lengths(window, window.places)
        return BatchMeasure(
            batches=len(members),
            shapes=len({(batch.shape, batch.is_reversed) for batch in members}),
            padding=1 - float(lengths.sum()) / max(1, sum(batch.shape.positions for batch in members)),
        )

    def _window(self) -> tuple[PairWindow, list[Members]]:
        now = self.epoch, self.window
        if self._cut is None or self._cut[0] != now:
            self._cut = None  # two windows need not be in memory at once
            if self._plan is None and now != _FIRST:
                self._plan = self._make_plan(self._in_form(self.pairs.window(self.seed, *_FIRST), *_FIRST))
            window = self._in_form(self.draw(self.seed, *now), *now)
            self._cut = now, window, self._members(window)
        return self._cut[1:]

    def _in_form(self, window: PairWindow, epoch: int, number: int) -> PairWindow:
        return window if self.form is None else self.form(window, self.seed, epoch, number)

    def _make_plan(self, first: PairWindow) -> ShapePlan:
        return ShapePlan.of(_lengths(first, first.places), self.tokens, self._most_shapes)

    def _members(self, window: PairWindow) -> list[Members]:
        if self._plan is None:
            self._plan = self._make_plan(window)
        random = np.random.default_rng((self.seed, self.epoch, self.window))
        batches = [
            Members(shape, places[chosen], is_reversed)
            for places, is_reversed in self._directions(window)
            for shape, chosen in self._plan.batches(_lengths(window, places), random)
        ]
        return [batches[place] for place in random.permutation(len(batches))]

    def _directions(self, window: PairWindow) -> list[tuple[Places, bool]]:
        """The places of the pairs that go in each direction, where there are any; True: from target to source."""
        is_reversed = np.zeros(len(window.places), np.bool_)
        if self.epoch <= self._both_directions:
            is_reversed = (_indices(window, window.places) + self.epoch) % 2 == 0
        chosen = ((window.places[~is_reversed], False), (window.places[is_reversed], True))
        return [(places, reverse) for places, reverse in chosen if len(places)]


@dataclass(frozen=True, kw_only=True)
class BatchMeasure:
    batches: int
    shapes: int  # different ones
    padding: float  # share of all positions of sources and targets

    def __str__(self) -> str:
        return f"{self.batches:,} in {plural(self.shapes, 'shape')}, {self.padding:.1%} padding"


def _lengths(window: PairWindow, places: Places) -> Places:
    """The lengths of both sides (2,N), with bos or eos"""
    return np.stack([side.lengths[places] + 1 for side in (window.source, window.target)])


def _indices(window: PairWindow, places: Places) -> Places:
    return places if window.indices is None else window.indices[places]


def _build(window: PairWindow, members: Members, *, pinned: bool) -> Batch:
    shape, places, is_reversed = members
    indices = _indices(window, places)
    source, target = window.source.join(places), window.target.join(places)
    if is_reversed:
        return Batch.of_joined(target, source, indices, (shape.target, shape.source), pinned=pinned)
    ends = None if window.ends is None else window.ends[places]
    return Batch.of_joined(source, target, indices, (shape.source, shape.target), ends=ends, pinned=pinned)


def find_batch_starts(lengths: npt.NDArray[np.int64], tokens: int) -> list[int]:
    """Cut texts of rising length into batches as large as fit; return where each begins, and the end."""
    cuts = [0]
    while (start := cuts[-1]) < len(lengths):
        ahead = lengths[start : start + max(1, tokens // int(lengths[start]))]
        sizes = np.arange(1, len(ahead) + 1) * ahead  # padded, if the batch ended here
        cuts.append(start + max(1, int(np.searchsorted(sizes, tokens, side="right"))))
    return cuts


def batch_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Places of texts of similar length, longest first, so that a batch that does not fit into memory fails at once.
    There are as few batches as possible, and about equally large: the last one would be slow if it had a few texts."""
    order = np.argsort(np.array(lengths, np.int64), kind="stable")
    rising = np.array(lengths, np.int64)[order]
    cuts = find_batch_starts(rising, max(1, tokens))
    enough, too_few = max(1, tokens), 0
    while enough - too_few > 1:
        tried = (enough + too_few) // 2
        evenly = find_batch_starts(rising, tried)
        if len(evenly) == len(cuts):
            enough, cuts = tried, evenly
        else:
            too_few = tried
    return [batch.tolist() for batch in np.split(order, cuts[1:-1])][::-1] if lengths else []
