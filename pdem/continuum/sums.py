"""Sums over particles and contacts for every cell of a grid, the same for any division among ranks and threads.

Each number is divided among the cells in whole quanta, which are a power of two of its unit: as fine as 64 bits allow
for the sum of all. Sums of whole numbers are exact, so their order does not matter; the shares of one number add up to
it within the rounding of a share.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.containers.group import OneRank
from pdem.continuum.gaussian import Spreading, spread_points, spread_ways
from pdem.continuum.grid import GAUSSIAN, LUCY, Grid, images_along, points_per_cell, shares_of
from pdem.continuum.lucy import Lattice, spread_lucy
from pdem.continuum.rows import add_parts, join_workers, write_actions, write_matter, write_units
from pdem.continuum.spreading import NODES, ROW, SUMS, Items
from pdem.foundation.arrays import LINE_BYTES, line_zeros, room_for
from pdem.foundation.kernels import threads
from pdem.simd.shares import LANES, LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike, NDArray

    from pdem.containers.group import Group

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    _Part = tuple[Floats, Floats, Floats, Integers]
    _Parts = tuple[list[_Part], Floats]
    _Three = tuple[float, ...]

COUNT, MASS, SIZE = 0, 1, 2
MOMENTUM, MOVING, CONTACT, WALL = slice(3, 6), slice(6, 12), slice(12, 21), slice(21, 24)
"""Sums of a cell: of particles, their mass [kg], volume [m^3] or in 2D area [m^2], momentum [kg m/s], and m v v^T [J]
(xx, yy, zz, xy, xz, yz); of contacts f b^T [J], row by row; forces of walls [N]."""

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Components of m v v^T in the order of their sums."""

_ALONE = OneRank()
_LARGEST, _TOTAL = int(np.log2(LARGEST)), 61  # bits of one number, and of the sum of all
_FINE = 2.0**30
_SMALLEST = 2.0**-900  # what is smaller still has fewer bits
_FILLS = 1e-9  # relative difference from which on a grid is not as long as the box
_LISTED = 512  # cells of a list that is added to sums at a time, unless a plane of a box has more
_MOST_NUMBERS = 1 << 25  # in the sums of all threads


class Rooms:
    """Arrays to write in that are used again: to be given fresh memory takes as long as to write to it."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def of(self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the array of this name in a shape, with whatever is in it."""
        size, held = math.prod(shape), self._held.get(name)
        if held is None or len(held) < size:
            held = self._held[name] = line_zeros(room_for(size, 0 if held is None else len(held)), dtype)
        return held[:size].reshape(shape)


class Matter(NamedTuple):
    """Particles, or clusters as a whole.

    Attributes
    ----------
    position, velocity : (n, 3) arrays
        [m, m/s].
    mass, size : (n,) arrays
        Mass [kg]; volume [m^3], in 2D area [m^2].
    kind : (n,) int64 array
        Number of the class that each belongs to.
    """

    position: Floats
    velocity: Floats
    mass: Floats
    size: Floats
    kind: Integers


class Actions(NamedTuple):
    """What acts along ways and at points.

    Attributes
    ----------
    begin, way : (n, 3) arrays
        Where a way begins, and the way; zeros for forces at points [m].
    force : (n, 3) array
        [N].
    at_wall : (n,) bool array
        Whether it is the force of a wall at a point, and no way.
    kind : (n,) int64 array
        Number of the class.
    """

    begin: Floats
    way: Floats
    force: Floats
    at_wall: NDArray[np.bool_]
    kind: Integers


def actions_of_contacts(
    centre: Floats,
    branch: Floats,
    force: Floats,
    is_pair: NDArray[np.bool_],
    kinds: Integers,
    point: Floats | None,
) -> list[Actions]:
    """Return what acts in contacts: forces along branches, and those of walls on particles where branches end.

    Parameters
    ----------
    centre, branch, force : (n, 3) arrays
        Centre of the first body, way to the second or to the wall [m], force of the first on the second body [N].
    is_pair : (n,) bool array
        False at walls.
    kinds : (2, n) int64 array
        Classes of both bodies.
    point : (n, 3) array or None
        Places of contacts [m], where branches are divided between the classes of both bodies; None to leave them
        whole, with the class of the first.
    """
    wall = ~is_pair
    at_walls = _points_of(centre[wall] + branch[wall], -force[wall], kinds[0, wall])
    if point is None:
        return [at_walls, ways_of(centre, branch, force, kinds[0])]
    end = centre + branch
    middle = np.where(is_pair[:, None], point, end)
    beyond = (end - middle)[is_pair]
    return [
        at_walls, ways_of(centre, middle - centre, force, kinds[0]),
        ways_of(middle[is_pair], beyond, force[is_pair], kinds[1, is_pair]),
    ]  # fmt: skip


def _points_of(place: Floats, force: Floats, kind: Integers) -> Actions:
    return Actions(place, np.zeros(place.shape), force, np.ones(len(place), np.bool_), kind)


def ways_of(begin: Floats, way: Floats, force: Floats, kind: Integers) -> Actions:
    """Return what acts along ways, none of it at points."""
    return Actions(begin, way, force, np.zeros(len(begin), np.bool_), kind)


def field_sums(
    grid: Grid, period: Floats, classes: int, matter: Matter, actions: Sequence[Actions], group: Group = _ALONE,
    rooms: Rooms | None = None,
) -> Floats:  # fmt: skip
    """Return the sums (classes, cells, SUMS) of each class over the cells of a grid. Collective.

    With `rooms` they stand there, until these are used again.

    Parameters
    ----------
    grid : Grid
        The cells.
    period : (3,) array
        Of the box along its periodic axes, 0 of others [m].
    classes : int
        Number of classes; of a single one all are, whatever their kinds are.
    matter, actions : Matter, sequence of Actions
        What this rank has.
    group : Group
        All ranks.
    rooms : Rooms, optional
        Arrays to write in, for who comes again.
    """
    room = Rooms() if rooms is None else rooms
    size = classes * grid.total * SUMS
    total = room.of("sums", (max(min(threads(), _MOST_NUMBERS // size), 1), size), np.int64)
    total[:] = 0
    scales, spread = np.empty((2, ROW)), _spreader(grid, period, actions, room)
    for half, (parts, largest) in enumerate(
        (_parts_of_matter(matter, room), _parts_of_actions(actions, room))
    ):
        scales[half] = _scales([rows for _, _, rows, _ in parts], largest, group)
        for begin, way, rows, kind in parts:
            first = half * grid.total * ROW
            target = kind * (2 * grid.total * ROW) + first if classes > 1 else np.full(len(kind), first)
            spread(Items(begin, way, rows.reshape(-1), scales[half], target), total)
    joined = group.add(_joined(total, room)).reshape(classes, 2, grid.total, ROW)
    found = room.of("found", (classes, grid.total, SUMS))
    write_units(joined, 1.0 / scales, found.reshape(classes, grid.total, 2, ROW))  # powers of two: exact
    return found


def _joined(total: Integers, rooms: Rooms) -> Integers:
    """Return the sums (n,) over the workers of their sums (workers, n)."""
    if len(total) == 1:
        return total[0]
    joined = rooms.of("joined", (total.shape[1],), np.int64)
    join_workers(total, joined)
    return joined


def _parts_of_matter(matter: Matter, rooms: Rooms) -> _Parts:
    """Return begins, ways, rows and kinds, and the largest of each column (workers, ROW)."""
    rows, largest = rooms.of("matter", (len(matter.mass), ROW)), np.zeros((threads(), ROW))
    write_matter(matter.velocity, matter.mass, matter.size, rows, largest)
    return [(matter.position, np.zeros((0, 3)), rows, matter.kind)], largest


def _parts_of_actions(actions: Sequence[Actions], rooms: Rooms) -> _Parts:
    some, largest = [one for one in actions if len(one.kind)], np.zeros((threads(), ROW))
    ends = np.cumsum([0, *(len(one.kind) for one in some)], dtype=np.int64)
    rows = np.split(rooms.of("actions", (int(ends[-1]), ROW)), ends[1:-1])[: len(some)]
    for one, own in zip(some, rows, strict=True):
        write_actions(one.force, one.way, one.at_wall, own, largest)
    return [(one.begin, one.way, own, one.kind) for one, own in zip(some, rows, strict=True)], largest


def _scales(parts_of_rows: Sequence[Floats], largest: Floats, group: Group) -> Floats:
    """Return for each column (ROW,) how many quanta make a unit: a power of two. Collective."""
    most, parts = group.largest(largest.max(axis=0)), np.zeros((threads(), ROW), np.int64)
    unit = np.maximum(most, _SMALLEST)
    relative = _FINE / unit
    for rows in parts_of_rows:
        add_parts(rows, relative, parts)
    total = group.add(parts.sum(axis=0)).astype(np.float64) / _FINE * unit
    bits = np.minimum(_LARGEST - np.frexp(most)[1], _TOTAL - np.frexp(total)[1])
    return np.ldexp(1.0, np.clip(bits, -1000, 1000))


def _spreader(
    grid: Grid, period: Floats, actions: Sequence[Actions], rooms: Rooms
) -> Callable[[Items, Integers], None]:
    """Return a function that adds items to the sums of the workers."""
    if grid.kernel == LUCY:
        return lambda items, total: _spread_lucy(_lattice(grid, period, actions), items, total, rooms)
    prepared = _spreading(grid, period, actions)
    return lambda items, total: _spread_gaussian(prepared, items, total, rooms)


def _spread_gaussian(grid: Spreading, items: Items, total: Integers, rooms: Rooms) -> None:
    nodes, spread = (NODES, spread_ways) if len(items.way) else (1, spread_points)
    listed = max(grid.stride**2, min(grid.stride**3, _LISTED)) + 2 * LANES
    room, places = _written(rooms, total, 3 * nodes * grid.stride + listed)
    spread(tuple(items), tuple(grid), room, places, total)


def _spread_lucy(grid: Lattice, items: Items, total: Integers, rooms: Rooms) -> None:
    room, places = _written(rooms, total, 6 * grid.stride + int(grid.across.prod()))
    spread_lucy(tuple(items), tuple(grid), room, places, total)


def _written(rooms: Rooms, total: Integers, size: int) -> tuple[Floats, Integers]:
    """Return what each worker writes in: so many numbers and places, on lines of memory of its own."""
    shape = len(total), size + -size % (LINE_BYTES // total.itemsize)
    return rooms.of("room", shape), rooms.of("places", shape, np.int64)


def _longest(actions: Sequence[Actions]) -> float:
    """Return the length of the longest way [m]."""
    squared = (np.einsum("ni,ni->n", one.way, one.way).max(initial=0.0) for one in actions)
    return math.sqrt(max(squared, default=0.0))


def _spreading(grid: Grid, period: Floats, actions: Sequence[Actions]) -> Spreading:
    """Return a grid as kernels take it for the Gaussian, for these ways."""
    longest = 0.0 if np.all((period == 0.0) | fills_period(grid, period)) else _longest(actions)
    images = images_along(
        np.where(fills_period(grid, period), 0.0, period), grid, longest + float(grid.size.max())
    )
    lists = (one.tolist() for one in (grid.lower, grid.size, grid.cells, period, images))
    return _prepared(*(tuple(one) for one in lists), grid.width, grid.dimension)


def fills_period(grid: Grid, period: Floats) -> NDArray[np.bool_]:
    """Return along which axes a grid is as long as the periodic box."""
    found: NDArray[np.bool_] = np.abs(grid.cells * grid.size - period) <= _FILLS * period
    return found


@lru_cache(maxsize=8)
def _prepared(
    lower: _Three, size: _Three, cells: _Three, period: _Three, images: _Three, width: float, dimension: int
) -> Spreading:
    grid = Grid(np.array(lower), np.array(size), np.array(cells), width, GAUSSIAN, dimension)
    fills = fills_period(grid, np.array(period))
    # a single cell that fills the box has all of everything
    inverse = np.where(fills & (grid.cells == 1), 0.0, grid.inverse)
    shares = shares_of(np.where(inverse > 0.0, grid.ratios, np.inf))
    # between two columns of a table the last cell has a share as soon as it has one in either of them
    more = np.where(inverse > 0.0, 1.0 / shares.axes[:3], 0.0)
    rows, first_row = _rows_of(grid, shares.stride)
    return Spreading(
        grid.lower + np.where(inverse > 0.0, grid.reach, 0.0), inverse, grid.cells,
        np.where(fills, grid.cells, np.array(period) * inverse), np.array(images), width,
        2.0 * grid.reach * inverse + more, *shares, rows, first_row,
    )  # fmt: skip


def _rows_of(grid: Grid, stride: int) -> tuple[Integers, Integers]:
    """Return how far the sums of cells along the axes are behind those of the first, and where each axis begins."""
    steps, many = ROW * np.cumprod([1, *grid.cells[:0:-1]])[::-1], grid.cells + stride
    rows = [
        np.arange(count + 2 * LANES) % cells * step
        for count, cells, step in zip(many, grid.cells, steps, strict=True)
    ]
    return np.concatenate(rows), np.cumsum([0, *(len(one) for one in rows[:2])])


def _lattice(grid: Grid, period: Floats, actions: Sequence[Actions]) -> Lattice:
    """Return a grid as kernels take it for Lucy's function, for these ways."""
    inverse, points = grid.inverse, points_per_cell(grid)
    reach = grid.reach * inverse
    behind = np.ceil(reach).astype(np.int64)
    return Lattice(
        grid.lower, inverse, grid.cells, period * inverse, images_along(period, grid, _longest(actions)), grid.width,
        reach, behind, 2 * behind + 1, points, 2 + int(np.ceil(2.0 * reach * points).max()),
    )  # fmt: skip
