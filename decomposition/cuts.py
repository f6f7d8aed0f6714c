"""Cuts of space among ranks: which part a place is in, and which parts are near a box.

`decomposition.bisection` makes them.
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
"""Factor by which a walk looks farther than it has to: what it finds only has to hold all that is near."""

DEEPEST = 128
"""Room of the stack with which a tree of cuts is walked down: at most two entries for each of up to 64 depths."""


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
    axis: Integers
    place: Floats
    below: Integers
    above: Integers

    def owners(self, position: Floats) -> Integers:
        """Return the part (n,) in which each of the positions (n, 3) lies; the outer ones have no end."""
        owner = np.zeros(len(position), np.int64)
        if self.parts > 1:
            _find_owners(position, self.axis, self.place, self.below, self.above, owner)
        return owner

    def way_to(self, part: int) -> list[tuple[int, bool]]:
        """Return the cuts that bound a part, that of all first, and for each whether the part is below it."""
        node, came_from, way = -1 - part, self._above_each(), []
        while node != 0 and self.parts > 1:
            upper = int(came_from[node])
            way.append((upper, bool(self.below[upper] == node)))
            node = upper
        return way[::-1]

    def box(self, part: int, whole: Floats) -> Floats:
        """Return the lowest and highest coordinates (6,) [m] of a part of a whole (6,) [m]."""
        box = whole
        for cut, is_below in self.way_to(part):
            box = side_of(box, int(self.axis[cut]), float(self.place[cut]), is_below=is_below)
        return box.copy()

    def axes_of(self, part: int) -> Booleans:
        """Return for each axis (3,) whether any cut across it bounds a part."""
        return np.isin(np.arange(3), self.axis[[cut for cut, _ in self.way_to(part)]])

    def _above_each(self) -> Integers:
        """Return the parent of each cut and, at the index -1 minus its number, of each part; all are cuts."""
        cuts = np.arange(self.parts - 1)
        above = np.zeros(max(2 * self.parts - 1, 1), np.int64)
        above[self.below], above[self.above] = cuts, cuts
        return above

    def near(self, boxes: Floats, whole: Floats, repeats: Repeats) -> Integers:
        """Return the parts, rising, that come within some distance of any of these boxes, and few others.

        The tree is walked down from its top, so that the time goes with the number of parts that are found and with
        the logarithm of the number of all.

        Parameters
        ----------
        boxes : (k, 7) array
            Lowest and highest coordinates and the distance [m]; boxes whose ends are the wrong way round are empty.
        whole : (6,) array
            Lowest and highest coordinates of all that the parts hold [m]: the outer ones end there.
        repeats : Repeats
            How the box repeats.
        """
        return np.unique(self.near_each(boxes, whole, repeats)[1])

    def near_each(self, boxes: Floats, whole: Floats, repeats: Repeats) -> tuple[Integers, Integers]:
        """Return numbers of boxes, rising, and for each a part that comes near it as in `near`, each once."""
        return _walk(boxes, whole, tuple(repeats), self.axis, self.place, self.below, self.above)


def side_of(box: Floats, axis: int, place: float, *, is_below: bool) -> Floats:
    """Return what of a box (6,) [m] is on one side of a cut across an axis."""
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
    """Tell whether a part (1, 6) that is not empty comes within a distance of a box, by the nearest image."""
    if part[0, 0] > part[0, 3] or part[0, 1] > part[0, 4] or part[0, 2] > part[0, 5]:
        return False
    return squared_gap(boxes, box, 3, part, 0, repeats[0], repeats[1]) <= within * within


@kernel
def _walk(
    boxes: Floats, whole: Floats, repeats: Repeats, axis: Integers, place: Floats, below: Integers, above: Integers
) -> tuple[Integers, Integers]:
    """Return the parts near each of the boxes, one box after the other, and the numbers of the boxes before them."""
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
