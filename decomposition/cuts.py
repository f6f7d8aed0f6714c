"""Cuts of space among ranks: pure functions on arrays, usable without MPI and for any number of ranks.

Space is cut in two across one axis, each half again, and so on, until there is a part for each rank (recursive
coordinate bisection; M. J. Berger, S. H. Bokhari, IEEE Trans. Comput. C-36 (1987) 570). Slabs are the same with all
cuts across one axis. A part that is to be divided among an odd number of ranks is cut at the corresponding
fraction of its work, so that any number will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.kernels import inlined, kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LONGER = 1.5
"""A part is cut across another axis than before only where it is longer there by this factor."""

GRADUAL = 0.5
"""Part of the way to its best place by which a cut moves at a time: what is measured is noisy."""

WIDER = 1.0 + 1e-6
"""Factor by which a walk looks farther than it has to: what it finds only has to hold all that is near."""

_DEEPEST = (
    128  # parts left to look into at a time: two for each halving of as many parts as a number can count
)


@dataclass(frozen=True)
class Cuts:
    """A division of space in parts.

    Attributes
    ----------
    parts : int
        How many.
    axis : (parts - 1,) int64 array
        Axis that each cut goes across.
    place : (parts - 1,) float64 array
        Where on that axis [m]; what lies on it is above.
    below, above : (parts - 1,) int64 arrays
        The cut that divides each side further, or -1 minus the number of the part.
    """

    parts: int
    axis: NDArray[np.int64]
    place: NDArray[np.float64]
    below: NDArray[np.int64]
    above: NDArray[np.int64]

    def owners(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the part (n,) in which each of the positions (n, 3) lies; the outer ones have no end."""
        owner = np.zeros(len(position), np.int64)
        if self.parts > 1:
            _find_owners(position, self.axis, self.place, self.below, self.above, owner)
        return owner

    def near(
        self, boxes: NDArray[np.float64], whole: NDArray[np.float64], period: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return the parts, rising, that come within some distance of any of these boxes, and few others.

        The tree is walked down from its top, so that the time goes with the number of parts that are found and with
        the logarithm of the number of all.

        Parameters
        ----------
        boxes : (k, 7) array
            Lowest and highest coordinates and the distance [m]; boxes whose ends are the wrong way round are empty.
        whole : (6,) array
            Lowest and highest coordinates of all that the parts hold [m]: the outer ones end there.
        period : (3,) array
            Of the axes [m], 0 for open ones.
        """
        return np.unique(_walk(boxes, whole, period, self.axis, self.place, self.below, self.above))


@threaded_kernel
def _find_owners(
    position: NDArray[np.float64],
    axis: NDArray[np.int64],
    place: NDArray[np.float64],
    below: NDArray[np.int64],
    above: NDArray[np.int64],
    owner: NDArray[np.int64],
) -> None:
    for p in prange(len(position)):
        cut = 0
        while cut >= 0:
            cut = below[cut] if position[p, axis[cut]] < place[cut] else above[cut]
        owner[p] = -1 - cut


@inlined
def _is_near(
    box: NDArray[np.float64], part: NDArray[np.float64], within: float, period: NDArray[np.float64]
) -> bool:
    """Tell whether a part that is not empty comes within a distance of a box, by the nearest image."""
    squared = 0.0
    for axis in range(3):
        low, high = part[axis], part[3 + axis]
        if low > high:
            return False
        apart = max(low - box[3 + axis], box[axis] - high, 0.0)
        if period[axis] > 0.0:
            span = max(high, box[3 + axis]) - min(low, box[axis])
            apart = min(apart, max(period[axis] - span, 0.0))
        squared += apart * apart
    return squared <= within * within


@kernel
def _walk(
    boxes: NDArray[np.float64],
    whole: NDArray[np.float64],
    period: NDArray[np.float64],
    axis: NDArray[np.int64],
    place: NDArray[np.float64],
    below: NDArray[np.int64],
    above: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the parts near each of the boxes, one box after the other."""
    waiting, corners = np.empty(_DEEPEST, np.int64), np.empty((_DEEPEST, 6))
    part = np.empty(6)
    found, count = np.empty(64, np.int64), 0
    size = np.abs(whole).max()
    for b in range(len(boxes)):
        if boxes[b, 0] > boxes[b, 3]:
            continue
        within = WIDER * boxes[b, 6] + 1e-12 * size
        waiting[0], corners[0], height = 0 if len(axis) else -1, whole, 1
        while height > 0:
            height -= 1
            node, part[:] = waiting[height], corners[height]
            if not _is_near(boxes[b], part, within, period):
                continue
            if node < 0:
                if count == len(found):
                    found = np.concatenate((found, found))
                found[count] = -1 - node
                count += 1
                continue
            across = axis[node]
            waiting[height], corners[height] = below[node], part
            corners[height, 3 + across] = min(part[3 + across], place[node])
            waiting[height + 1], corners[height + 1] = above[node], part
            corners[height + 1, across] = max(part[across], place[node])
            height += 2
    return found[:count]


def longest_axis(lower: Sequence[float], upper: Sequence[float]) -> int:
    """Return the axis along which a box is longest, the first of equals."""
    return int(np.argmax(np.asarray(upper) - np.asarray(lower)))


def cut(
    position: NDArray[np.float64],
    parts: int,
    axes: Sequence[int] = (0, 1, 2),
    weights: NDArray[np.float64] | None = None,
    before: Cuts | None = None,
) -> Cuts:
    """Cut particles into parts of equal weight, as nearly as whole particles allow.

    Parameters
    ----------
    position : (n, 3) array
        Of the particles [m].
    parts : int
        How many.
    axes : sequence of int
        Axes that may be cut across; each part is across the longest of its extents.
    weights : (n,) array, optional
        Work of each particle; equal unless given.
    before : Cuts, optional
        Of as many parts: its cuts are moved by a part of the way, and turned only where that is much better.
    """
    tree = _tree(parts)
    position = np.ascontiguousarray(position)
    work = np.ones(len(position)) if weights is None else np.ascontiguousarray(weights, np.float64)
    order = np.stack([np.argsort(position[:, axis], kind="stable") for axis in axes])
    old = (np.zeros(0, np.int64), np.zeros(0)) if before is None else (before.axis, before.place)
    axis, place = _bisect(position, work, order, np.array(axes), tree, old)
    return Cuts(parts, axis, place, tree[0], tree[1])


@kernel
def _tree(parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return what is below and above each cut, and among how many parts it divides; a function of `parts` alone.

    Halves come after what they are halves of.
    """
    below, above, count = (
        np.zeros(parts - 1, np.int64),
        np.zeros(parts - 1, np.int64),
        np.zeros(parts - 1, np.int64),
    )
    waiting = np.empty(
        (_DEEPEST, 4), np.int64
    )  # first part, how many, the cut above these, on which side of it
    waiting[0, :], height, numbered = np.array([0, parts, -1, 0]), 1, 0
    while height > 0:
        height -= 1
        first, number, upper, side = waiting[height]
        node = -1 - first
        if number > 1:
            node, numbered = numbered, numbered + 1
            count[node] = number
            half = number // 2
            waiting[height, :] = np.array([first + half, number - half, node, 1])
            waiting[height + 1, :] = np.array([first, half, node, 0])
            height += 2
        if upper >= 0:
            if side == 0:
                below[upper] = node
            else:
                above[upper] = node
    return below, above, count


@kernel
def _bisect(
    position: NDArray[np.float64],
    work: NDArray[np.float64],
    order: NDArray[np.int64],
    axes: NDArray[np.int64],
    tree: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    old: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the axis and the place of each cut.

    Parameters
    ----------
    position, work : (n, 3) and (n,) arrays
        Of the particles.
    order : (a, n) int64 array
        Rows of the particles along each axis that may be cut across; those of a part are kept together.
    axes : (a,) int64 array
        These axes.
    tree : three (parts - 1,) int64 arrays
        What is below and above each cut, and among how many parts it divides.
    old : int64 and float64 arrays
        Axis and place of each cut before, or none.
    """
    below, above, count = tree
    old_axis, old_place = old
    cuts, has_old = len(count), len(old_axis) > 0
    axis, place = np.zeros(cuts, np.int64), np.zeros(cuts)
    begin, end = np.zeros(cuts, np.int64), np.full(cuts, len(position))
    rest = np.empty(len(position), np.int64)
    for node in range(cuts):
        first, last = begin[node], end[node]
        along = _axis_along(position, order, axes, first, last, old_axis[node] if has_old else -1)
        axis[node] = axes[along]
        if first < last:
            share = (count[node] // 2) / count[node]
            place[node] = _place(position[:, axis[node]], work, order[along, first:last], share)
            if has_old and axis[node] == old_axis[node]:
                place[node] = old_place[node] + GRADUAL * (place[node] - old_place[node])
        elif has_old:
            place[node] = old_place[node]
        middle = first
        for other in range(len(axes)):
            middle, kept = first, 0
            for at in range(first, last):
                row = order[other, at]
                if position[row, axis[node]] < place[node]:
                    order[other, middle] = row
                    middle += 1
                else:
                    rest[kept] = row
                    kept += 1
            order[other, middle:last] = rest[:kept]
        if below[node] >= 0:
            begin[below[node]], end[below[node]] = first, middle
        if above[node] >= 0:
            begin[above[node]], end[above[node]] = middle, last
    return axis, place


@inlined
def _axis_along(
    position: NDArray[np.float64],
    order: NDArray[np.int64],
    axes: NDArray[np.int64],
    first: int,
    last: int,
    before: int,
) -> int:
    """Return which of the axes to cut across: the longest, or that of before (-1: none) if it is about as long."""
    longest, same, length, same_length = 0, -1, -1.0, 0.0
    for along in range(len(axes)):
        extent = 0.0
        if first < last:
            extent = (
                position[order[along, last - 1], axes[along]] - position[order[along, first], axes[along]]
            )
        if extent > length:
            longest, length = along, extent
        if axes[along] == before:
            same, same_length = along, extent
    return same if same >= 0 and LONGER * same_length >= length else longest


@inlined
def _place(
    coordinate: NDArray[np.float64], work: NDArray[np.float64], rows: NDArray[np.int64], share: float
) -> float:
    """Return where to cut so that this share of the work is below, between two of the rows, which rise."""
    total = 0.0
    for row in rows:
        total += work[row]
    wanted, done, after = share * total * (1.0 - 1e-12), 0.0, 0
    for place in range(len(rows)):
        after = place
        done += work[rows[place]]
        if done >= wanted:
            break
    following = min(after + 1, len(rows) - 1)
    return 0.5 * (coordinate[rows[after]] + coordinate[rows[following]])
