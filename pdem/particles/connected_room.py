"""The part of a region that is connected with a point without crossing walls, such as the inside of a container.

A cell of a grid is free if the distance of its centre from all walls exceeds a fraction of the smallest particle: gaps
narrower than that fraction of its diameter let nothing through. Free cells that are connected with the point are
inside, and near walls also their neighbours that no wall separates from them. Walls may be open, doubled, and oriented
in any way.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import ndimage

from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.numerics.components import components
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.vectors import exact_cross3, exact_dot3
from pdem.particles import regions
from pdem.particles.packings.soft_contacts import nearest_on_triangle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.numerics.vectors import Vector

FINENESS, MOST_CELLS = 3.0, 4_000_000
"""Cells across the radius of the smallest particle, and the largest number of cells."""

CLEARANCE = 0.7
"""Distance of a free cell from walls over the radius of the smallest particle."""

_NEAR = math.sqrt(3.0) * (1.0 + 1e-9)
"""Distance in cell widths within which triangles may intersect the line from a cell to a point near it."""


class RoomGrid(NamedTuple):
    """Grid of cells over a region.

    Attributes
    ----------
    lower, width : (3,) arrays
        Lower corner, and size of a cell [m].
    counts : (3,) int64 array
        Numbers of cells.
    """

    lower: Floats
    width: Floats
    counts: Integers


class Container(NamedTuple):
    """A region, and the point that selects a part of it.

    Attributes
    ----------
    where : str
        Source of the fill, for messages.
    region : Region
        The region.
    point : tuple of 3 float
        Point inside that part [m].
    excluded : tuple of Region
        Excluded regions.
    radius : float
        Radius of the smallest sphere [m].
    """

    where: str
    region: regions.Region
    point: regions.Vector
    excluded: tuple[regions.Region, ...]
    radius: float


@inlined_geometry
def _is_cut(x: Vector, way: Vector, corners: Floats, t: int) -> bool:
    """Return whether a triangle intersects a segment (Moeller, Trumbore, J. Graphics Tools 2 (1997) 21)."""
    a = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    b = corners[t, 1, 0] - a[0], corners[t, 1, 1] - a[1], corners[t, 1, 2] - a[2]
    c = corners[t, 2, 0] - a[0], corners[t, 2, 1] - a[1], corners[t, 2, 2] - a[2]
    p = exact_cross3(way, c)
    size = exact_dot3(b, p)
    if size == 0.0:
        return False
    s = x[0] - a[0], x[1] - a[1], x[2] - a[2]
    q = exact_cross3(s, b)
    u, v, share = exact_dot3(s, p) / size, exact_dot3(way, q) / size, exact_dot3(c, q) / size
    return u >= -1e-9 and v >= -1e-9 and u + v <= 1.0 + 1e-9 and 0.0 <= share <= 1.0


@inlined_geometry
def _centre(i: int, j: int, k: int, grid: RoomGrid) -> Vector:
    return (
        grid.lower[0] + (i + 0.5) * grid.width[0],
        grid.lower[1] + (j + 0.5) * grid.width[1],
        grid.lower[2] + (k + 0.5) * grid.width[2],
    )


@inlined_geometry
def _cells_of(t: int, axis: int, reach: float, corners: Floats, grid: RoomGrid) -> tuple[int, int]:
    """Return the first and the end index, along an axis, of cells with centres that may be near a triangle."""
    low = min(corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]) - reach - grid.lower[axis]
    high = max(corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]) + reach - grid.lower[axis]
    last = float(grid.counts[axis])
    first, end = low / grid.width[axis], high / grid.width[axis] + 1.0
    return int(min(max(first, 0.0), last)), int(min(max(end, 0.0), last))


@geometry_kernel
def _note_near(
    corners: Floats, grid: RoomGrid, clearance: float, near: float, free: NDArray[np.int8], begin: Integers,
    lists: Integers,
) -> None:  # fmt: skip
    """Mark cells near walls, and count or list the triangles near each cell.

    While `lists` is empty, triangles are counted in ``begin[cell + 1]``; otherwise they are written at index
    ``begin[cell]``, which is then incremented.
    """
    reach = max(clearance, near)
    for t in range(len(corners)):
        a, b = _cells_of(t, 0, reach, corners, grid)
        c, d = _cells_of(t, 1, reach, corners, grid)
        e, f = _cells_of(t, 2, reach, corners, grid)
        for i in range(a, b):
            for j in range(c, d):
                for k in range(e, f):
                    way = nearest_on_triangle(_centre(i, j, k, grid), corners, t)
                    squared = exact_dot3(way, way)
                    cell = (i * grid.counts[1] + j) * grid.counts[2] + k
                    if squared <= clearance * clearance:
                        free[cell] = 0
                    if squared <= near * near:
                        if len(lists):
                            lists[begin[cell]] = t
                            begin[cell] += 1
                        else:
                            begin[cell + 1] += 1


@geometry_kernel
def _note_open(
    cells: Integers, points: Floats, grid: RoomGrid, corners: Floats, begin: Integers, lists: Integers,
    found: NDArray[np.int8],
) -> None:  # fmt: skip
    """Write for cells (n,) whether no triangle intersects the segments from their centres to points (n, 3)."""
    for m in range(len(cells)):
        cell = cells[m]
        k, rest = cell % grid.counts[2], cell // grid.counts[2]
        x = _centre(rest // grid.counts[1], rest % grid.counts[1], k, grid)
        way = points[m, 0] - x[0], points[m, 1] - x[1], points[m, 2] - x[2]
        found[m] = 1
        for n in range(begin[cell], begin[cell + 1]):
            if _is_cut(x, way, corners, lists[n]):
                found[m] = 0
                break


class ConnectedRoom:
    """The part of the region of a fill that is connected with a point.

    Parameters
    ----------
    part : Container
        Region and point.
    corners : (t, 3, 3) array
        Triangles of walls [m].
    domain : Domain
        The box of the particles.

    Attributes
    ----------
    size : float
        Volume of the cells inside [m^3], in 2D their area [m^2].

    Raises
    ------
    CaseError
        If the point is outside of the region, or too near to a wall.
    """

    def __init__(self, part: Container, corners: Floats, domain: regions.RegionDomain) -> None:
        self._part, self._corners, self._domain = part, corners, domain
        radius = part.radius
        self._grid, self._plane = _grid_of(part.region, radius, domain)
        self._open = regions.open_axes(part.region, domain)
        width = float(self._grid.width[: domain.dimension].max())
        clearance = max(0.51 * width, CLEARANCE * radius)
        usable, free = self._near(clearance, _NEAR * width)
        self._inside = self._connected(free)
        for _ in range(math.ceil(clearance / width) + 1):
            self._grow(usable)
        self.size = float(np.count_nonzero(self._inside)) * math.prod(self._grid.width[: domain.dimension].tolist())

    def _near(self, clearance: float, near: float) -> tuple[Booleans, Booleans]:
        """List triangles near cells; return masks of the cells in the region, and of those clear of walls."""
        counts = self._grid.counts
        total, index = math.prod(counts.tolist()), np.indices(counts.tolist()).reshape(3, -1).T
        centre = self._grid.lower + (index + 0.5) * self._grid.width
        usable = regions.inside(self._part.region, centre, self._domain.dimension)
        for excluded in self._part.excluded:
            usable &= ~regions.inside(excluded, centre, self._domain.dimension)
        free, begin = np.ones(total, np.int8), np.zeros(total + 1, np.int64)
        none = np.zeros(0, np.int64)
        _note_near(self._corners, self._grid, clearance, near, free, begin, none)
        self._begin = np.cumsum(begin)
        self._lists = np.zeros(max(int(self._begin[-1]), 1), np.int64)
        _note_near(self._corners, self._grid, clearance, near, free, self._begin[:-1].copy(), self._lists)
        return usable, usable & (free > 0)

    def _connected(self, free: Booleans) -> Booleans:
        """Return the cells that are connected with the point through free cells."""
        cube = free.reshape(self._grid.counts.tolist())
        label, number = ndimage.label(cube)
        pairs = [np.zeros((2, 0), np.int64)]
        for axis in np.flatnonzero(self._open[: self._domain.dimension]):
            ends = np.stack([np.take(label, at, axis).reshape(-1) for at in (0, -1)]).astype(np.int64)
            pairs.append(ends[:, (ends > 0).all(axis=0)])
        first, second = np.concatenate(pairs, axis=1)
        part = components(first, second, number + 1)
        cell = self._first_cell(free)
        chosen: Booleans = (part[label] == part[label.reshape(-1)[cell]]) & (label > 0)
        return chosen.reshape(-1)

    def _first_cell(self, free: Booleans) -> int:
        """Return a free cell that no wall separates from the point."""
        point = np.array([self._part.point], np.float64)
        cells, near = self._about(point)
        cells = cells[near & free[cells]]
        clear = cells[self._unobstructed(cells, np.repeat(point, len(cells), axis=0))]
        if len(clear):
            return int(clear[0])
        shown = ", ".join(f"{value:g}" for value in self._part.point)
        raise CaseError(
            f"{self._part.where}.connected_to = [{shown}] m is outside of the region, or nearer to a wall than "
            f"the smallest particle can be ({self._part.radius:.3g} m): give a point well inside of the "
            "container and of the region"
        )

    def _about(self, points: Floats) -> tuple[Integers, Booleans]:
        """Return the cells around points, eight for each, and which of these exist."""
        counts, along = self._grid.counts, np.arange(3) < self._domain.dimension
        places = self._plane_of(points)
        base = np.floor((places - self._grid.lower) / self._grid.width - 0.5)
        base = np.where(along, np.clip(base, -2, counts + 1), 0).astype(np.int64)
        index = base[:, None, :] + np.array(list(product((0, 1), repeat=3)), np.int64) * along
        exists = ((index >= 0) & (index < counts)).all(axis=2)
        cells = np.ravel_multi_index(np.moveaxis(index, 2, 0), counts.tolist(), mode="clip")
        return cells.reshape(-1), exists.reshape(-1)

    def _plane_of(self, points: Floats) -> Floats:
        """Return points, in a case of two dimensions moved into its plane."""
        places = np.array(points, np.float64)
        if self._domain.dimension == 2:
            places[:, 2] = self._plane
        return places

    def _unobstructed(self, cells: Integers, points: Floats) -> Booleans:
        """Return whether no triangle intersects the segments from the centres of cells (n,) to points (n, 3)."""
        found = np.zeros(len(cells), np.int8)
        places = np.ascontiguousarray(self._plane_of(points))
        _note_open(cells, places, self._grid, self._corners, self._begin, self._lists, found)
        return found > 0

    def _grow(self, usable: Booleans) -> None:
        """Add usable neighbours of inside cells that no wall separates from them."""
        counts, added = self._grid.counts.tolist(), np.zeros_like(self._inside)
        cube, wanted = (one.reshape(counts) for one in (self._inside, usable & ~self._inside))
        for axis, forward in product(range(self._domain.dimension), (True, False)):
            source, target = (slice(None, -1), slice(1, None)) if forward else (slice(1, None), slice(None, -1))
            beside = np.zeros(counts, np.bool_)
            here, there = ((*(slice(None),) * axis, part) for part in (source, target))
            beside[here] = cube[here] & wanted[there]
            cells = np.flatnonzero(beside)
            index = np.stack(np.unravel_index(cells, counts), axis=1)
            index[:, axis] += 1 if forward else -1
            clear = self._unobstructed(cells, self._grid.lower + (index + 0.5) * self._grid.width)
            added[np.ravel_multi_index(tuple(index[clear].T), counts)] = True
        self._inside = self._inside | added

    def contains(self, points: Floats) -> Booleans:
        """Return which points (n, 3) [m] are in this part: no wall separates them from one of the cells around them."""
        cells, exists = self._about(points)
        candidates = np.flatnonzero(exists & self._inside[cells])
        clear = self._unobstructed(cells[candidates], points[candidates // 8])
        found = np.zeros(len(points), np.bool_)
        found[candidates[clear] // 8] = True
        return found


def _grid_of(region: Any, radius: float, domain: regions.RegionDomain) -> tuple[RoomGrid, float]:
    """Return the cells of a region, in 2D one layer of cells, and the middle of the layer [m]."""
    lower, upper = regions.bounds(region)
    size, extent = domain.dimension, upper - lower
    coarsest = exact_math.power(math.prod(extent[:size].tolist()) / MOST_CELLS, 1.0 / size)
    counts = np.ones(3, np.int64)
    width = max(radius / FINENESS, coarsest)
    counts[:size] = np.maximum(np.ceil(extent[:size] / width * (1.0 - 1e-9)), 1.0).astype(np.int64)
    return RoomGrid(np.array(lower, np.float64), extent / counts, counts), float(0.5 * (lower + upper)[2])
