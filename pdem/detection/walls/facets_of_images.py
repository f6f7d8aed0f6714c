"""Facets near particles that may cross a periodic side before the next list build.

Walls are not repeated across periodic sides. A particle that crosses a side is then near different facets, on the
opposite side of the box. Lists must contain these facets as well: a crossing does not trigger a list build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from pdem.containers.box_shape import BoxShape
    from pdem.foundation.array_types import Floats, Integers


class SideImages(NamedTuple):
    """Images of particles.

    Attributes
    ----------
    rows : (m,) int64 array
        Particle of each image, increasing.
    places : (m, 3) array
        Positions of the images [m].
    """

    rows: Integers
    places: Floats


def images_across_sides(places: Floats, travel: Floats, box: BoxShape) -> SideImages:
    """Return the images of particles that may cross periodic sides, at the positions after the crossing.

    Parameters
    ----------
    places : (n, 3) array
        Positions of the particles in the box [m].
    travel : (n,) array
        Largest displacement of each particle [m].
    box : BoxShape
        The box.
    """
    rows, found = np.arange(len(places)), places
    # the gradient axis first: its images have shifted positions, which may cross another side in turn
    for axis in sorted(range(3), key=lambda axis: axis != box.gradient):
        if box.period[axis] <= 0.0:
            continue
        above = found[:, axis] - box.lower[axis]
        crossing = above < travel[rows], box.period[axis] - above <= travel[rows]
        vector = box.vectors[axis]
        beyond = np.concatenate((found[crossing[0]] + vector, found[crossing[1]] - vector))
        if axis == box.gradient:
            side, length = box.lower[box.velocity], box.period[box.velocity]
            beyond[:, box.velocity] -= length * np.floor((beyond[:, box.velocity] - side) / length)
        rows = np.concatenate((rows, *(rows[one] for one in crossing)))
        found = np.concatenate((found, beyond))
    order = np.argsort(rows[len(places) :], kind="stable") + len(places)
    return SideImages(rows[order], found[order])


@kernel
def join_lists(rows: Integers, start: Integers, facets: Integers, joined_start: Integers, joined: Integers) -> None:
    """Join the facets of particles with those of their images, each facet once.

    Parameters
    ----------
    rows : (m,) array
        Increasing particle indices of the images.
    start, facets : (n + m + 1,) and (k,) arrays
        Facets of the particles, followed by those of the images, increasing for each.
    joined_start, joined : (n + 1,) and (k,) arrays
        Written: the facets of each particle, increasing.
    """
    count, image, total = len(joined_start) - 1, 0, 0
    for p in range(count):
        joined_start[p] = total
        for place in range(start[p], start[p + 1]):
            joined[total] = facets[place]
            total += 1
        while image < len(rows) and rows[image] == p:
            for place in range(start[count + image], start[count + image + 1]):
                total += _insert(facets[place], joined, joined_start[p], total)
            image += 1
    joined_start[count] = total


@kernel
def _insert(facet: int, joined: Integers, first: int, end: int) -> int:
    """Insert a facet into the increasing ``joined[first:end]``; return 1, or 0 if it is there already."""
    at = first + np.searchsorted(joined[first:end], facet)
    if at < end and joined[at] == facet:
        return 0
    for place in range(end, at, -1):
        joined[place] = joined[place - 1]
    joined[at] = facet
    return 1
