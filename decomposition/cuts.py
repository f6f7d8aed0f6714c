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
    below, above, count = _tree(parts)
    axis, place = np.zeros(parts - 1, np.int64), np.zeros(parts - 1)
    work = np.ones(len(position)) if weights is None else weights
    rows_of = {0: np.arange(len(position))}
    for node in range(parts - 1):  # from the top: halves come after what they are halves of
        rows = rows_of.pop(node)
        axis[node] = _axis(position[rows], axes, None if before is None else int(before.axis[node]))
        coordinate = position[rows, axis[node]]
        wanted = _place(coordinate, work[rows], (count[node] // 2) / count[node])
        if before is not None and (wanted is None or axis[node] == before.axis[node]):
            axis[node] = before.axis[node]
            old = before.place[node]
            wanted = old if wanted is None else old + GRADUAL * (wanted - old)
        place[node] = 0.0 if wanted is None else wanted
        is_below = position[rows, axis[node]] < place[node]
        rows_of[int(below[node])], rows_of[int(above[node])] = rows[is_below], rows[~is_below]
    return Cuts(parts, axis, place, below, above)


def _tree(parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return what is below and above each cut, and among how many parts it divides; a function of `parts` alone."""
    below, above, count = (np.zeros(parts - 1, np.int64) for _ in range(3))
    numbered = 0

    def divide(first: int, number: int) -> int:
        nonlocal numbered
        if number == 1:
            return -1 - first
        node, numbered = numbered, numbered + 1
        count[node] = number
        below[node] = divide(first, number // 2)
        above[node] = divide(first + number // 2, number - number // 2)
        return node

    divide(0, parts)
    return below, above, count


def _axis(position: NDArray[np.float64], axes: Sequence[int], before: int | None) -> int:
    """Return the axis to cut across."""
    if len(axes) == 1 or len(position) == 0:
        return axes[0] if before is None or len(axes) == 1 else before
    extent = np.ptp(position, axis=0)
    longest = max(axes, key=lambda axis: extent[axis])
    if before is not None and LONGER * extent[before] >= extent[longest]:
        return before
    return longest


def _place(coordinate: NDArray[np.float64], work: NDArray[np.float64], share: float) -> float | None:
    """Return where to cut so that this share of the work is below, between two particles; None without any."""
    if len(coordinate) == 0:
        return None
    order = np.argsort(coordinate, kind="stable")
    done = np.cumsum(work[order])
    after = min(int(np.searchsorted(done, share * done[-1] * (1.0 - 1e-12))), len(order) - 1)
    following = min(after + 1, len(order) - 1)
    return float(0.5 * (coordinate[order[after]] + coordinate[order[following]]))
