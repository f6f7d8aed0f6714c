"""Arguments of the kernels that distribute items over cells: rows of numbers, cells of a grid, output arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

ROW = 12
"""Number of values of an item that are distributed; a cell has two such rows of sums."""

SUMS = 2 * ROW
"""Sums of a cell: points are added to the first half, actions to the second half."""

HEAT_SUMS = 2
"""Further sums of a cell in cases with heat: heat and heat capacity."""

BRANCHES = 9
"""Number of values of an action along a segment; the remaining values belong to walls."""

NODES = 3
"""Gauss points on each part of a segment at which phi is evaluated."""

PART = 2.0
"""Longest part of a segment, in widths."""

NODE = 0.5 * math.sqrt(0.6)
"""Distance between two Gauss points, over the length of the part."""

WEIGHTS = 5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0
"""Weights of the Gauss points."""

BRANCH_SIZE, WALL_SIZE = 5, 6
"""Indices of the sizes of an action along its segment and at a wall, see `pdem.continuum.rows.ALL_SIZES`."""

MIDDLE, SHARE, FIRST, ITEM, PLACED = 0, 3, 4, 7, 8
"""Indices of the numbers of an entry: the middle of a part of its segment, its fraction of the item, first cells of
its box, and the item; and the total."""

MOST = 32
"""Number of entries that are evaluated together, a multiple of `LANES`."""

AHEAD = 12
"""Number of entries between the evaluated one and the prefetched one."""


class FieldCells(NamedTuple):
    """A grid in the form for kernels.

    Positions are in units of cells; a point at 0 has a box that begins with the first cell. Slots enumerate the
    possible first cells of boxes: some of these are before the grid, unless the grid fills a periodic box.

    Attributes
    ----------
    lower, inverse : (3,) arrays
        Position of the coordinate 0 [m]; inverse lengths of a cell, 0 along axes that do not count [1/m].
    cells, ahead, slots : (3,) int64 arrays
        Number of cells; of slots before the cells; of all slots.
    period : (3,) array
        Period of periodic axes, else 0; equal to the number of cells where they fill the box.
    images : (3,) int64 array
        Number of images along the axes, on each side.
    reach : (3,) array
        Distance from a point beyond which phi is 0.
    width : float
        Width of phi [m].
    box : (3,) int64 array
        Largest number of cells of a box.
    planes, lines, along : int64 arrays
        First indices of the sums: for planes of cells, lines in a plane, cells in a line, by slot plus offset in the
        box; -1 beyond the grid.
    """

    lower: Floats
    inverse: Floats
    cells: Integers
    ahead: Integers
    slots: Integers
    period: Floats
    images: Integers
    reach: Floats
    width: float
    box: Integers
    planes: Integers
    lines: Integers
    along: Integers

    @property
    def total(self) -> int:
        """Number of cells."""
        return int(self.cells.prod())

    @property
    def keys(self) -> int:
        """Number of different first cells."""
        return int(self.slots.prod())

    @property
    def box_size(self) -> int:
        """Number of cells of a box."""
        return int(self.box.prod())


class Work(NamedTuple):
    """Output and scratch arrays.

    Attributes
    ----------
    starts : (workers + 1,) int64 array
        First entry of each worker.
    placed : (n, `PLACED`) array
        Entries.
    keys, order : (n,) int64 arrays
        First cell of each entry as one number; permutation that sorts the entries by it.
    counts : (workers, classes * keys) int64 array
        Number of entries by key, later their first indices in the sorted order.
    rooms : (workers, m) array
        Numbers and positions of items, the shares of cells, and scratch for phi.
    ends : (workers, `MOST`, 3) int64 array
        Extent of the box of each entry along the axes, in cells.
    most : int
        Largest number of entries in a room, a multiple of `LANES`.
    """

    starts: Integers
    placed: Floats
    keys: Integers
    order: Integers
    counts: Integers
    rooms: Floats
    ends: Integers
    most: int
