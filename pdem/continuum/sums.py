"""Sums over particles and contacts for every cell of a grid, the same for any division among ranks and threads.

Each value is distributed over the cells in whole quanta. A quantum is a power of two of the unit, as fine as 64 bits
allow for the sum of all values. Sums of integers are exact, so their order does not matter; the shares of a value add
up to it within the rounding of a share.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.containers.group import OneRank
from pdem.continuum import gaussian, lucy
from pdem.continuum.cells import prepared
from pdem.continuum.grid import GAUSSIAN, Grid
from pdem.continuum.items import Actions
from pdem.continuum.layout import MOST, PART, PLACED, ROW, SUMS, Work
from pdem.continuum.rows import (
    ALL_SIZES,
    LONGEST,
    SIZE_OF_SUM,
    add_actions,
    add_points,
    clear,
    join_workers,
    note_actions,
    note_points,
    write_units,
)
from pdem.numerics.arrays import LINE_BYTES, line_zeros, room_for
from pdem.numerics.simd.quantised_weights import LARGEST
from pdem.numerics.simd.quantised_weights import PLACED as PLACED_ROWS
from pdem.numerics.simd.transposition import LANES
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from pdem.containers.group import Group
    from pdem.continuum.items import Matter
    from pdem.foundation.array_types import Floats, Integers

    _Items = tuple[NDArray[Any], ...]

COUNT, MASS, SIZE = 0, 1, 2
MOMENTUM, MOVING, CONTACT, WALL = slice(3, 6), slice(6, 12), slice(12, 21), slice(21, 24)
"""Sums of a cell: number of particles, their mass [kg], volume [m^3] or in 2D area [m^2], momentum [kg m/s], and m v
v^T [J] (xx, yy, zz, xy, xz, yz); f b^T of contacts [J], row by row; forces of walls [N]."""

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Components of m v v^T in the order of their sums."""

_ALONE = OneRank()
_LARGEST, _TOTAL = math.frexp(LARGEST)[1] - 1, 62  # bits of one value, and of the sum of all
_FINE = 2.0**30
_SMALLEST = 2.0**-900  # smaller values lose bits
_BOXES = 3 << 10  # shares that are evaluated before they are added to sums
_MOST_NUMBERS = 1 << 25  # in the sums of all threads


class Rooms:
    """Scratch arrays for repeated use: fresh memory costs as much time as writing to it."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def of(self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return the array with this name in a shape; its contents are undefined."""
        size, held = math.prod(shape), self._held.get(name)
        if held is None or len(held) < size:
            held = self._held[name] = line_zeros(room_for(size, 0 if held is None else len(held)), dtype)
        return held[:size].reshape(shape)


class _Scales(NamedTuple):
    """Number of quanta per unit of each size (`ALL_SIZES`,); and the length of the longest segment [m]."""

    quanta: Floats
    longest: float


def field_sums(
    grid: Grid, period: Floats, classes: int, matter: Matter, actions: Sequence[Actions], group: Group = _ALONE,
    rooms: Rooms | None = None,
) -> Floats:  # fmt: skip
    """Return the sums (classes, cells, SUMS) of each class over the cells of a grid. Collective.

    With `rooms` the result is a view of their arrays, valid until their next use.

    Parameters
    ----------
    grid : Grid
        The cells.
    period : (3,) array
        Period of the box along its periodic axes, 0 along other axes [m].
    classes : int
        Number of classes; with a single class, the kinds of items are ignored.
    matter, actions : Matter, sequence of Actions
        Items of this rank.
    group : Group
        All ranks.
    rooms : Rooms, optional
        Scratch arrays for repeated calls.
    """
    room, acting = Rooms() if rooms is None else rooms, [one for one in actions if len(one.kind)]
    scales = _scales(matter, acting, group)
    sharing = _Sharing(grid, period, classes, scales, room)
    sharing.add(matter)
    for one in acting:
        sharing.add(one)
    return sharing.joined(group)


def _scales(matter: Matter, actions: Sequence[Actions], group: Group) -> _Scales:
    """Return the number of quanta per unit of each size: powers of two. Collective."""
    largest = np.zeros((threads(), ALL_SIZES))
    note_points(tuple(matter), largest)
    for one in actions:
        note_actions(tuple(one), largest)
    most = group.largest(largest.max(axis=0))
    unit, parts = np.maximum(most, _SMALLEST), np.zeros((threads(), ALL_SIZES), np.int64)
    relative = _FINE / unit
    add_points(tuple(matter), relative, parts)
    for one in actions:
        add_actions(tuple(one), relative, parts)
    total = group.add(parts.sum(axis=0)).astype(np.float64) / _FINE * unit
    bits = np.minimum(_LARGEST - np.frexp(most)[1], _TOTAL - np.frexp(total)[1])
    return _Scales(np.ldexp(1.0, np.clip(bits, -1000, 1000)), math.sqrt(most[LONGEST]))


class _Sharing:
    """Distribution of items over the cells of a grid, one group after the other."""

    def __init__(self, grid: Grid, period: Floats, classes: int, scales: _Scales, rooms: Rooms) -> None:
        self.ready = prepared(grid, period, scales.longest)
        self.kernels = gaussian if grid.kernel == GAUSSIAN else lucy
        self.classes, self.scales, self.rooms = classes, scales, rooms
        size = classes * 2 * grid.total * ROW
        self.sums = rooms.of("sums", (max(min(threads(), _MOST_NUMBERS // size), 1), size), np.int64)
        clear(self.sums)

    def add(self, items: Matter | Actions) -> None:
        """Add items to the sums of the workers."""
        cells, ways = self.ready.cells, isinstance(items, Actions)
        count, spread = self.kernels.ways if ways else self.kernels.points
        walls, plain = isinstance(items, Actions) and bool(items.at_wall.any()), tuple(items)
        ends = np.zeros(len(self.sums), np.int64)
        starts = len(items.kind) * np.arange(len(self.sums) + 1) // len(self.sums)
        if cells.images.any() or (ways and self.scales.longest > PART * cells.width):
            count(plain, tuple(cells), tuple(self._work(0 * starts)), ends)
            starts = np.cumsum([0, *ends])
        spread(
            plain, tuple(cells), tuple(self.ready.phi), self.scales.quanta, self.classes, walls,
            tuple(self._work(starts)), ends, self.sums,
        )  # fmt: skip

    def _work(self, starts: Integers) -> Work:
        """Return the arrays for the entries of workers, with their first indices `starts`; empty without entries."""
        rooms, number, cells, workers = self.rooms, int(starts[-1]), self.ready.cells, len(self.sums)
        most = min(max(_BOXES // cells.box_size // LANES, 1) * LANES, MOST)
        room = most * (ROW + PLACED_ROWS + cells.box_size) + self.ready.room
        counts = rooms.of("counts", (workers, self.classes * cells.keys if number else 0), np.int64)
        counts[:] = 0
        return Work(
            starts, rooms.of("placed", (number, PLACED)), rooms.of("keys", (number,), np.int64),
            rooms.of("order", (number,), np.int64), counts,
            rooms.of("room", (workers, room + -room % (LINE_BYTES // 8))),
            rooms.of("ends", (workers, MOST, 3), np.int64), most,
        )  # fmt: skip

    def joined(self, group: Group) -> Floats:
        """Return the sums (classes, cells, SUMS) of all workers and ranks. Collective."""
        shape = self.classes, 2, self.ready.cells.total, ROW
        joined = self.sums[0]
        if len(self.sums) > 1:
            joined = self.rooms.of("joined", joined.shape, np.int64)
            join_workers(self.sums, joined)
        found = self.rooms.of("found", (self.classes, shape[2], SUMS))
        units = (1.0 / self.scales.quanta[SIZE_OF_SUM]).reshape(2, ROW)  # powers of two: exact
        write_units(group.add(joined).reshape(shape), units, found.reshape(self.classes, shape[2], 2, ROW))
        return found
