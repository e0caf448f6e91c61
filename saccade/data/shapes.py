"""Few batch shapes with little padding, planned once for a corpus.

A shape (S, T) holds every pair whose source has at most S tokens and whose target at most T; a pair is read in the
smallest shape that holds it. Shapes are found in three steps:

1. The rectangle of all lengths is split, again and again, where that saves most padding.
2. Each shape is moved a little for as long as that saves more, since a pair need not be read in its own rectangle.
3. Each shape gets a number of rows that its pairs fill without rest; the few pairs that are left over are read in the
   next larger shape.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.int64]

MOST_SHAPES = 64
_MORE = 1.75  # times as many shapes may be planned if padding would exceed …
_MOST_PADDING = 0.05  # … this share
_LEAST_SAVING = 0.0002  # of all positions; a split that saves less is not worth another shape
_EMPTY = 0.1  # cost of an empty row relative to one that is read: epochs get longer, but nothing is computed
_MOVED = 0.3  # share of a batch that moves to larger shapes rather than being a batch of its own
_ROUND = 8  # rows are a multiple of this …
_ROUNDED_FROM = 128  # … if there are at least so many
_STEP = 2  # tokens that a corner moves at once
_GRID = 16  # lengths of pairs that no shape holds are rounded up to a multiple of this
_NONE = 1 << 40  # cost of a pair in a shape that does not hold it


class BatchShape(NamedTuple):
    rows: int
    source: int
    target: int

    @property
    def positions(self) -> int:
        return self.rows * (self.source + self.target)


@dataclass(frozen=True)
class ShapePlan:
    """Shapes in the order of S + T, so that a shape comes after all those that it contains."""

    corners: Array  # (K,2): S and T
    rows: Array  # (K,)
    tokens: int

    @classmethod
    def of(cls, lengths: Array, tokens: int, most: int = MOST_SHAPES) -> Self:
        """Plan shapes for pairs of `lengths` (2,N), so that rows · max(S, T) ≤ `tokens` unless there is one row."""
        points, _, counts = _distinct(lengths)
        plan = cls._with_shapes(points, counts, tokens, most)
        if plan._padding(points, counts) > _MOST_PADDING:
            plan = cls._with_shapes(points, counts, tokens, int(_MORE * most))
        return plan

    @classmethod
    def _with_shapes(cls, points: Array, counts: Array, tokens: int, most: int) -> Self:
        corners = _move_corners(_split_rectangles(points, counts, tokens, most), points, counts)
        corners = np.unique(corners, axis=0)
        corners, rows = _choose_rows(corners[_rising(corners)], points, counts, tokens)
        return cls(corners, rows, tokens)

    def _padding(self, points: Array, counts: Array) -> float:
        positions = float(counts @ _costs(points, self.corners).min(0, initial=_NONE))
        return 1 - float(counts @ points.sum(1)) / max(1, positions)

    def batches(self, lengths: Array, random: np.random.Generator) -> Iterator[tuple[BatchShape, Array]]:
        """Divide pairs of `lengths` (2,N) at random into batches → the shape and the members of each.

        Only the last batch of a shape that no other contains may have fewer members than the shape has rows.
        """
        points, which, _ = _distinct(lengths)
        plan = self._covering(points)
        cells = _costs(points, plan.corners).argmin(0)[which]
        order = random.permutation(lengths.shape[1])
        ends = np.cumsum(np.bincount(cells, minlength=len(plan.rows)))
        members = np.split(order[np.argsort(cells[order], kind="stable")], ends[:-1])
        larger = _find_larger(plan.corners)
        for place, (rows, corner) in enumerate(zip(plan.rows.tolist(), plan.corners.tolist(), strict=True)):
            pairs, above = members[place], larger[place]
            full = len(pairs) if above is None else len(pairs) - len(pairs) % rows
            for start in range(0, full, rows):
                yield BatchShape(rows, *corner), pairs[start : start + rows]
            if above is not None:  # they come first there, so that they do not move on and on
                members[above] = np.concatenate([pairs[full:], members[above]])

    def _covering(self, points: Array) -> "ShapePlan":
        """The plan with further shapes for the pairs that none of its own holds."""
        left = points[_costs(points, self.corners).min(0, initial=_NONE) == _NONE]
        if not len(left):
            return self
        further = np.unique(np.minimum(-(-left // _GRID) * _GRID, left.max(0)), axis=0)
        corners = np.concatenate([self.corners, further])
        rows = np.concatenate([self.rows, np.maximum(1, self.tokens // further.max(1))])
        order = _rising(corners)
        return ShapePlan(corners[order], rows[order], self.tokens)


def _distinct(lengths: Array) -> tuple[Array, Array, Array]:
    """(2,N) → the distinct pairs of lengths (P,2), which of them each pair has (N,), and how many have it (P,)"""
    width = int(lengths[1].max(initial=0)) + 1
    codes, which, counts = np.unique(lengths[0] * width + lengths[1], return_inverse=True, return_counts=True)
    return np.stack(np.divmod(codes, width), 1), which, counts


def _costs(points: Array, corners: Array) -> Array:
    """(P,2), (K,2) → the positions that each pair takes in each shape (K,P)"""
    holds = (points[:, 0] <= corners[:, :1]) & (points[:, 1] <= corners[:, 1:])
    return np.where(holds, corners.sum(1, keepdims=True), _NONE)


def _rising(corners: Array) -> Array:
    return np.lexsort((corners[:, 0], corners.sum(1)))


def _split_rectangles(points: Array, counts: Array, tokens: int, most: int) -> Array:
    """Split the rectangle whose split saves most, until there are `most` → their largest corners (K,2)"""
    if not len(points):
        return points
    least = _LEAST_SAVING * float(counts @ points.sum(1))
    rectangles = [np.arange(len(points))]
    splits = [_best_split(points, counts, tokens)]
    while len(rectangles) < most:
        place = max(range(len(rectangles)), key=lambda place: splits[place][0])
        saving, *halves = splits[place]
        if saving <= least:
            break
        parts = [rectangles[place][half] for half in halves]
        rectangles[place : place + 1] = parts
        splits[place : place + 1] = [_best_split(points[part], counts[part], tokens) for part in parts]
    return np.stack([points[part].max(0) for part in rectangles])


def _best_split(points: Array, counts: Array, tokens: int) -> tuple[float, Array, Array]:
    """→ what the best split of a rectangle saves, and the places of the points in both parts"""
    best = 0.0, np.arange(0), np.arange(0)
    pairs = counts.sum()
    whole = float(_cost(pairs, points.max(0), tokens))
    for axis in (0, 1):
        order = np.argsort(points[:, axis], kind="stable")
        cuts = np.flatnonzero(np.diff(points[order, axis])) + 1
        if not len(cuts):
            continue
        below = np.cumsum(counts[order])[cuts - 1]
        corner_below = np.maximum.accumulate(points[order])[cuts - 1]
        corner_above = np.maximum.accumulate(points[order][::-1])[::-1][cuts]
        savings = whole - _cost(below, corner_below, tokens) - _cost(pairs - below, corner_above, tokens)
        place = int(savings.argmax())
        if savings[place] > best[0]:
            best = float(savings[place]), order[: cuts[place]], order[cuts[place] :]
    return best


def _cost(pairs: Array, corners: Array, tokens: int) -> npt.NDArray[np.float64]:
    """The positions that pairs take in a shape, with a part of those in rows that stay empty."""
    rows = np.maximum(1, tokens // corners.max(-1))
    cost: npt.NDArray[np.float64] = (pairs + _EMPTY * (-pairs % rows)) * corners.sum(-1)
    return cost


def _move_corners(corners: Array, points: Array, counts: Array) -> Array:
    """Move one corner after another to where all pairs take the fewest positions, until none moves."""
    corners, costs = corners.copy(), _costs(points, corners)
    side = np.arange(-_STEP, _STEP + 1)
    steps = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    stays = len(steps) // 2
    moved = True
    while moved:
        moved = False
        for place, corner in enumerate(corners):
            near = np.flatnonzero((points <= corner + _STEP).all(1))
            costs[place] = _NONE
            elsewhere = costs[:, near].min(0)
            totals = np.minimum(_costs(points[near], corner + steps), elsewhere) @ counts[near]
            best = int(totals.argmin())
            if totals[best] < totals[stays]:
                corners[place], moved = corner + steps[best], True
            costs[place] = _costs(points, corners[place : place + 1])
    return corners


def _choose_rows(corners: Array, points: Array, counts: Array, tokens: int) -> tuple[Array, Array]:
    """Choose the rows of each shape, from the smallest on → the shapes that are used, and their rows."""
    costs, larger = _costs(points, corners), _find_larger(corners)
    rows, arrived = np.zeros((2, len(corners)), np.int64)
    for place, corner in enumerate(corners):
        pairs = int(counts[costs.argmin(0) == place].sum() + arrived[place])
        most, above = _round_down(max(1, tokens // int(corner.max()))), larger[place]
        if above is None:
            batches = -(-pairs // most)
            rows[place] = min(most, _round_up(-(-pairs // batches))) if batches else 0
        elif batches := int(pairs / most + 1 - _MOVED):
            rows[place] = _round_down(min(most, pairs // batches))
            arrived[above] += pairs % rows[place]
        else:
            costs[place] = _NONE
            arrived[above] += arrived[place]
    return corners[rows > 0], rows[rows > 0]


def _round_down(rows: int) -> int:
    return rows - rows % _ROUND if rows >= _ROUNDED_FROM else rows


def _round_up(rows: int) -> int:
    return rows + -rows % _ROUND if rows >= _ROUNDED_FROM else rows


def _find_larger(corners: Array) -> list[int | None]:
    """For each shape, the smallest other one that contains it."""
    costs = _costs(corners, corners)  # (K,K): a column has the shapes that contain the one of that number
    np.fill_diagonal(costs, _NONE)
    return [int(column.argmin()) if column.min() < _NONE else None for column in costs.T]
