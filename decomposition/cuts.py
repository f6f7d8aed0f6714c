"""Cuts of space among ranks: the part that contains a position, and the parts near a box.

`decomposition.bisection` computes the cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from decomposition.repeats import squared_gap
from pdem.numerics.kernels import inlined, kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from decomposition.repeats import Repeats
    from pdem.foundation.array_types import Booleans, Floats, Integers

WIDER = 1.0 + 1e-6
"""Factor that enlarges the distances of a search: the result may contain too many parts, but must not lack any."""

DEEPEST = 128
"""Size of the stack for the walk down a tree of cuts: at most two entries for each of up to 64 depths."""


@dataclass(frozen=True)
class Cuts:
    """A division of space into parts.

    Attributes
    ----------
    parts : int
        Number of parts.
    axis : (parts - 1,) int64 array
        Axis across which each cut is made.
    place : (parts - 1,) float64 array
        Coordinate of each cut along its axis [m]; a position on the cut belongs to the upper side.
    below, above : (parts - 1,) int64 arrays
        Cut that divides each side further, or -1 minus the number of the part.
    """

    parts: int
    axis: Integers
    place: Floats
    below: Integers
    above: Integers

    def owners(self, position: Floats) -> Integers:
        """Return the part (n,) that contains each of the positions (n, 3). Outer parts extend to infinity."""
        owner = np.zeros(len(position), np.int64)
        if self.parts > 1:
            _find_owners(position, self.axis, self.place, self.below, self.above, owner)
        return owner

    def way_to(self, part: int) -> list[tuple[int, bool]]:
        """Return the cuts that bound a part, from the root of the tree down, each with whether the part is below it."""
        node, came_from, way = -1 - part, self._above_each(), []
        while node != 0 and self.parts > 1:
            upper = int(came_from[node])
            way.append((upper, bool(self.below[upper] == node)))
            node = upper
        return way[::-1]

    def box(self, part: int, whole: Floats) -> Floats:
        """Return the lowest and highest coordinates (6,) [m] of a part of the region `whole` (6,) [m]."""
        box = whole
        for cut, is_below in self.way_to(part):
            box = side_of(box, int(self.axis[cut]), float(self.place[cut]), is_below=is_below)
        return box.copy()

    def axes_of(self, part: int) -> Booleans:
        """Return for each axis (3,) whether a cut across it bounds a part."""
        return np.isin(np.arange(3), self.axis[[cut for cut, _ in self.way_to(part)]])

    def _above_each(self) -> Integers:
        """Return the parent cut of each cut and, at the index -1 minus its number, of each part."""
        cuts = np.arange(self.parts - 1)
        above = np.zeros(max(2 * self.parts - 1, 1), np.int64)
        above[self.below], above[self.above] = cuts, cuts
        return above

    def near(self, boxes: Floats, whole: Floats, repeats: Repeats) -> Integers:
        """Return the parts, in increasing order, that come within some distance of any of these boxes, and few more.

        The search descends from the root of the tree. Its time grows with the number of parts in the result and with
        the logarithm of the number of all parts.

        Parameters
        ----------
        boxes : (k, 7) array
            Lowest and highest coordinates, and the distance, of each box [m]. A box is empty if a lowest coordinate
            exceeds the highest one.
        whole : (6,) array
            Lowest and highest coordinates of the contents of all parts [m]; the outer parts end there.
        repeats : Repeats
            Periodic images of the box.
        """
        return np.unique(self.near_each(boxes, whole, repeats)[1])

    def near_each(self, boxes: Floats, whole: Floats, repeats: Repeats) -> tuple[Integers, Integers]:
        """Return pairs of a box and a part near it, as in `near`: indices of boxes, in increasing order, and parts."""
        return _walk(boxes, whole, tuple(repeats), self.axis, self.place, self.below, self.above)


def side_of(box: Floats, axis: int, place: float, *, is_below: bool) -> Floats:
    """Return the portion of a box (6,) [m] on one side of a cut across an axis."""
    side = box.copy()
    if is_below:
        side[3 + axis] = min(side[3 + axis], place)
    else:
        side[axis] = max(side[axis], place)
    return side


@threaded_kernel
def _find_owners(
    position: Floats, axis: Integers, place: Floats, below: Integers, above: Integers, owner: Integers
) -> None:
    for p in prange(len(position)):
        cut = 0
        while cut >= 0:
            cut = below[cut] if position[p, axis[cut]] < place[cut] else above[cut]
        owner[p] = -1 - cut


@inlined
def _is_near(boxes: Floats, box: int, part: Floats, within: float, repeats: Repeats) -> bool:
    """Return whether the nearest image of a part (1, 6) is within a distance of a box; an empty part never is."""
    if part[0, 0] > part[0, 3] or part[0, 1] > part[0, 4] or part[0, 2] > part[0, 5]:
        return False
    return squared_gap(boxes, box, 3, part, 0, repeats[0], repeats[1]) <= within * within


@kernel
def _walk(
    boxes: Floats, whole: Floats, repeats: Repeats, axis: Integers, place: Floats, below: Integers, above: Integers
) -> tuple[Integers, Integers]:
    """Return pairs of a box and a part near it, box by box: indices of boxes, and parts."""
    waiting, corners = np.empty(DEEPEST, np.int64), np.empty((DEEPEST, 6))
    part = np.empty((1, 6))
    found, of, count = np.empty(64, np.int64), np.empty(64, np.int64), 0
    size = np.abs(whole).max()
    for b in range(len(boxes)):
        if boxes[b, 0] > boxes[b, 3]:
            continue
        within = WIDER * boxes[b, 6] + 1e-12 * size
        waiting[0], corners[0], height = 0 if len(axis) else -1, whole, 1
        while height > 0:
            height -= 1
            node, part[0] = waiting[height], corners[height]
            if not _is_near(boxes, b, part, within, repeats):
                continue
            if node < 0:
                if count == len(found):
                    found, of = np.concatenate((found, found)), np.concatenate((of, of))
                found[count], of[count] = -1 - node, b
                count += 1
                continue
            across = axis[node]
            waiting[height], corners[height] = below[node], part[0]
            corners[height, 3 + across] = min(part[0, 3 + across], place[node])
            waiting[height + 1], corners[height + 1] = above[node], part[0]
            corners[height + 1, across] = max(part[0, across], place[node])
            height += 2
    return of[:count], found[:count]
