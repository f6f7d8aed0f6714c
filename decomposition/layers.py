"""Selection of ghosts: layers as thin as the sizes of particles allow. This module does not use MPI.

A pair across ranks is evaluated on both sides, so each side needs a copy of the partner. A layer as wide as the largest
diameter would copy every small particle near a cut. Instead particles are sorted by levels of size:

1. A particle is sent where it may touch a particle of its own or a lower level: its layer is as wide as its own size.
   The few large particles are thus sent first.
2. A smaller particle of the other side is sent back only if it has a large copy within reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from decomposition.repeats import squared_gap
from pdem.numerics.kernels import inlined, kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from decomposition.repeats import Repeats
    from pdem.foundation.array_types import Booleans, Floats, Integers

EXTENT = 7
"""Columns of an extent: lowest and highest coordinates (6) and largest reach [m] of a group of particles."""

ROUNDING = 1.0 + 1e-9
"""Distances computed in different ways agree within this factor."""

_CELL = 6.0  # approximate particles per cell: avoids both empty cells and long lists


class Reaches(NamedTuple):
    """Properties of particles that decide which of them are copied.

    Attributes
    ----------
    position : (n, 3) array
        Centres [m].
    reach : (n,) array
        Radius plus skin [m].
    level : (n,) int64 array
        Level of size.
    """

    position: Floats
    reach: Floats
    level: Integers


class CellArrays(NamedTuple):
    """Particles sorted into cells.

    Attributes
    ----------
    lower, frequency, shape : (3,) arrays
        Corner [m], cells per length [1/m] and number of cells along each axis.
    start, order : int64 arrays
        Particles of cell c are ``order[start[c]:start[c + 1]]``.
    """

    lower: Floats
    frequency: Floats
    shape: Integers
    start: Integers
    order: Integers


def levels_of(radius: Floats, radii: Floats) -> Integers:
    """Return the level (n,) of each radius; `radii` (L,) are the largest radii of the levels, in increasing order."""
    return np.minimum(np.searchsorted(radii, radius), len(radii) - 1)


def extents_of_levels(position: Floats, reach: Floats, level: Integers, levels: int) -> Floats:
    """Return the extents (L, `EXTENT`) of the particles of each level; the extent of an empty level is inverted."""
    extents = extents_of_none((levels,))
    _widen(position, reach, level, extents)
    return extents


def extents_of_none(shape: tuple[int, ...]) -> Floats:
    """Return inverted extents (..., `EXTENT`), which contain no particles: lowest above highest coordinates."""
    extents = np.empty((*shape, EXTENT))
    extents[..., :3], extents[..., 3:6], extents[..., 6] = np.inf, -np.inf, 0.0
    return extents


@kernel
def _widen(
    position: Floats, reach: Floats, level: Integers, extents: Floats
) -> None:  # fmt: skip
    """Widen the extents of each level to include its particles, in one pass over all particles."""
    for p in range(len(level)):
        row = level[p]
        for axis in range(3):
            x = position[p, axis]
            extents[row, axis] = min(extents[row, axis], x)
            extents[row, 3 + axis] = max(extents[row, 3 + axis], x)
        extents[row, 6] = max(extents[row, 6], reach[p])


def with_levels_below(extents: Floats) -> Floats:
    """Return extents (..., L, `EXTENT`) that include all lower levels, from the extents of single levels."""
    joined = extents.copy()
    np.minimum.accumulate(extents[..., :3], axis=-2, out=joined[..., :3])
    np.maximum.accumulate(extents[..., 3:], axis=-2, out=joined[..., 3:])
    return joined


@inlined
def _may_touch(p: int, position: Floats, reach: Floats, level: Integers, extents: Floats, repeats: Repeats) -> bool:
    """Return whether a particle may touch a particle of its own or a lower level on a rank with these extents."""
    row = level[p]
    squared = squared_gap(position, p, 0, extents, row, repeats[0], repeats[1])
    within = (reach[p] + extents[row, 6]) * ROUNDING
    return extents[row, 0] <= extents[row, 3] and squared <= within * within


@threaded_kernel
def mark_layer(
    position: Floats, reach: Floats, level: Integers, extents: Floats, repeats: Repeats, mark: Booleans
) -> None:
    """Mark the particles that may touch a particle of their own or a lower level on the other rank.

    Parameters
    ----------
    position, reach, level : (n, 3), (n,) and (n,) arrays
        Properties of the particles of this rank; reaches are radii plus skins [m].
    extents : (L, `EXTENT`) array
        Extents of the other rank.
    repeats : Repeats
        Periodic images of the box, as a plain tuple.
    mark : (n,) bool array
        Output.
    """
    for p in prange(len(position)):
        mark[p] = _may_touch(p, position, reach, level, extents, repeats)


def may_meet(mine: Floats, others: Floats, repeats: Repeats) -> Booleans:
    """Return for each rank whether any of its particles may touch any particle of this rank.

    Parameters
    ----------
    mine : (`EXTENT`,) array
        Extent of all particles of this rank.
    others : (P, `EXTENT`) array
        Extents of all particles of each rank.
    repeats : Repeats
        Periodic images of the box.
    """
    near = np.zeros(len(others), np.bool_)
    _mark_near(mine.reshape(1, -1), others, tuple(repeats), near)
    return near


@kernel
def _mark_near(mine: Floats, others: Floats, repeats: Repeats, near: Booleans) -> None:
    for rank in range(len(others)):
        if mine[0, 0] <= mine[0, 3] and others[rank, 0] <= others[rank, 3]:
            within = (mine[0, 6] + others[rank, 6]) * ROUNDING
            squared = squared_gap(mine, 0, 3, others, rank, repeats[0], repeats[1])
            near[rank] = squared <= within * within


@kernel
def _sort_in_cells(position: Floats, cells: CellArrays) -> None:
    """Sort particles into cells: write `order` and `start`, which must be 0 before."""
    lower, frequency, shape, start, order = cells
    cell = np.empty(len(position), np.int64)
    for p in range(len(position)):
        number = 0
        for axis in range(3):
            place = int((position[p, axis] - lower[axis]) * frequency[axis])
            number = number * shape[axis] + min(max(place, 0), shape[axis] - 1)
        cell[p] = number
        start[number + 1] += 1
    for number in range(len(start) - 1):
        start[number + 1] += start[number]
    filled = start[:-1].copy()
    for p in range(len(position)):
        order[filled[cell[p]]] = p
        filled[cell[p]] += 1


@inlined
def _find_cells_around(x: Floats, within: float, cells: CellArrays, first: Integers, last: Integers) -> bool:
    """Write the first and last cell (3,) along each axis within a distance of `x`; return False if there is none."""
    lower, frequency, shape, _, _ = cells
    for axis in range(3):
        low = (x[axis] - within - lower[axis]) * frequency[axis]
        high = (x[axis] + within - lower[axis]) * frequency[axis]
        if high < 0.0 or low >= shape[axis]:
            return False
        first[axis], last[axis] = max(int(low), 0), min(int(high), shape[axis] - 1)
    return True


@inlined
def _mark_in_cells(
    own: Reaches,
    cells: CellArrays,
    first: Integers,
    last: Integers,
    x: Floats,
    reach: float,
    level: int,
    mark: Booleans,
) -> None:
    """Mark the particles of lower levels in a block of cells that may touch a copy at position `x`."""
    _, _, shape, start, order = cells
    for i in range(first[0], last[0] + 1):
        for j in range(first[1], last[1] + 1):
            row = (i * shape[1] + j) * shape[2]
            for place in range(start[row + first[2]], start[row + last[2] + 1]):
                p = order[place]
                if mark[p] or own.level[p] >= level:
                    continue
                squared = 0.0
                for axis in range(3):
                    apart = own.position[p, axis] - x[axis]
                    squared += apart * apart
                limit = (own.reach[p] + reach) * ROUNDING
                mark[p] = squared <= limit * limit


@kernel
def _mark_partners(
    own: Reaches, copies: Reaches, widest: Floats, cells: CellArrays, ways: Floats, mark: Booleans
) -> None:
    """Mark the particles of a rank that may touch a copy of a higher level; `ways` are the offsets of its images."""
    first, last, x = np.empty(3, np.int64), np.empty(3, np.int64), np.empty(3)
    for g in range(len(copies.position)):
        level, reach = copies.level[g], copies.reach[g]
        if level == 0:
            continue
        within = (reach + widest[level - 1]) * ROUNDING
        for image in range(len(ways)):  # images of the copy, because the cells of this rank are not wrapped
            for axis in range(3):
                x[axis] = copies.position[g, axis] + ways[image, axis]
            if _find_cells_around(x, within, cells, first, last):
                _mark_in_cells(own, cells, first, last, x, reach, level, mark)


@kernel
def count_copies(
    rank: int,
    neighbours: Integers,
    first: Integers,
    particles: Reaches,
    cluster: Integers,
    extents: Floats,
    cells: CellArrays,
    repeats: Repeats,
    copies: Integers,
) -> None:
    """Count the copies that a rank sends to its neighbours, from the particles of all ranks, as the ranks would.

    Parameters
    ----------
    rank : int
        Number of the rank that sends.
    neighbours : (k,) array
        Ranks that it may exchange copies with.
    first : (P + 1,) array
        Rank r has the particles ``first[r]`` to ``first[r + 1]``.
    particles : Reaches
        All particles.
    cluster : (n,) array
        Number of the cluster of each particle, 0 for single spheres; members of a cluster are consecutive.
    extents : (P, L, `EXTENT`) array
        Extents of all ranks.
    cells : CellArrays
        Particles of `rank`; not used with a single level.
    repeats : Repeats
        Periodic images of the box, as a plain tuple.
    copies : (k, L + 2) array
        Output for each neighbour: copies of each level, copies of single spheres, and copies of clusters.
    """
    begin, end = first[rank], first[rank + 1]
    levels = extents.shape[1]
    position, reach, level = particles
    own, far, size = position[begin:end], reach[begin:end], level[begin:end]
    mark = np.empty(end - begin, np.bool_)
    widest = extents[rank, :, 6].copy()
    for k in range(len(neighbours)):
        other = neighbours[k]
        for p in range(end - begin):
            mark[p] = _may_touch(p, own, far, size, extents[other], repeats)
        if levels > 1:
            came = np.zeros(first[other + 1] - first[other], np.bool_)
            for p in range(len(came)):
                came[p] = _may_touch(first[other] + p, position, reach, level, extents[rank], repeats)
            rows = first[other] + np.flatnonzero(came)
            sent = Reaches(position[rows], reach[rows], level[rows])
            _mark_partners(Reaches(own, far, size), sent, widest, cells, repeats[2], mark)
        copies[k], last = 0, 0
        for p in range(end - begin):
            if mark[p]:
                of_cluster = cluster[begin + p]
                copies[k, size[p]] += 1
                copies[k, levels] += of_cluster == 0
                copies[k, levels + 1] += of_cluster != last and of_cluster > 0
                last = of_cluster


class Cells:
    """Particles of this rank sorted into cells, for searches near copies of larger particles.

    Parameters
    ----------
    position, reach, level : (n, 3), (n,) and (n,) arrays
        Properties of the particles; reaches are radii plus skins [m].
    widest : (L,) array
        Largest reach of each level, including all lower levels [m].
    repeats : Repeats
        Periodic images of the box.

    Attributes
    ----------
    arrays : CellArrays
        Cells in the form that kernels use.
    """

    def __init__(self, position: Floats, reach: Floats, level: Integers, widest: Floats, repeats: Repeats) -> None:
        self._particles = Reaches(position, reach, level)
        self._widest, self._ways = widest, repeats.ways
        lower, upper = position.min(axis=0), position.max(axis=0)
        edges = np.maximum(upper - lower, 1e-12 * float((upper - lower).max()) + 1e-300)
        size = (np.prod(edges / edges.max()) * _CELL / len(position)) ** (1.0 / 3.0) * edges.max()
        shape = np.clip((edges / size).astype(np.int64), 1, 1 << 16)
        while np.prod(shape) > len(position) + 8:  # thin boxes
            shape = np.maximum(shape // 2, 1)
        start = np.zeros(int(np.prod(shape)) + 1, np.int64)
        order = np.empty(len(position), np.int64)
        self.arrays = CellArrays(lower, shape / edges, shape, start, order)
        _sort_in_cells(position, self.arrays)

    def mark_partners(self, position: Floats, reach: Floats, level: Integers, mark: Booleans) -> None:
        """Mark the particles that may touch one of these copies of a higher level; earlier marks remain."""
        copies = Reaches(position, reach, level)
        _mark_partners(self._particles, copies, self._widest, self.arrays, self._ways, mark)
