"""What kernels are given that share items among cells: numbers of a row, the cells of a grid, arrays to write in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

ROW = 12
"""Numbers of an item that are shared; a cell has as many sums of each half."""

SUMS = 2 * ROW
"""Sums of a cell: points add to the first and actions to the second half of them."""

BRANCHES = 9
"""Numbers of an action along a way, the others are those of walls."""

NODES = 3
"""Places of each part of a way at which phi is taken (Gauss)."""

PART = 2.0
"""Longest part of a way, in widths."""

NODE = 0.5 * math.sqrt(0.6)
"""Distance between two of these places, over the length of the part."""

WEIGHTS = 5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0
"""Of these places in the part."""

BRANCH_SIZE, WALL_SIZE = 5, 6
"""Sizes of what an action has along its way and at a wall, see `pdem.continuum.rows.ALL_SIZES`."""

MIDDLE, SHARE, FIRST, ITEM, PLACED = 0, 3, 4, 7, 8
"""Numbers of an entry: the middle of a part of its way, its share of the item, first cells of its box, and the item;
how many."""

MOST = 32
"""Entries that are evaluated at a time, a multiple of `LANES`."""

AHEAD = 12
"""Entries between one that is evaluated and one that is brought from memory."""


class FieldCells(NamedTuple):
    """A grid as kernels take it.

    Places are in units of cells, and 0 where phi about them begins with the first cell. Slots are first cells of boxes:
    some of them are in front of the grid, unless that fills a periodic box.

    Attributes
    ----------
    lower, inverse : (3,) arrays
        Place 0 [m]; one over the lengths of a cell, 0 of axes that do not count [1/m].
    cells, ahead, slots : (3,) int64 arrays
        Numbers of cells; of slots in front of them; of all slots.
    period : (3,) array
        Of periodic axes, else 0; the number of cells itself where these fill the box.
    images : (3,) int64 array
        How many images there are along the axes, on each side.
    reach : (3,) array
        Way from a place to where phi ends.
    width : float
        Of phi [m].
    box : (3,) int64 array
        Most cells of a box.
    planes, lines, along : int64 arrays
        Where sums begin: of planes of cells, of lines in them, of cells of lines, by slot and further cells of a box;
        -1 beyond the grid.
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
        """Cells of a box."""
        return int(self.box.prod())


class Work(NamedTuple):
    """Arrays to write in.

    Attributes
    ----------
    starts : (workers + 1,) int64 array
        Where the entries of each worker begin.
    placed : (n, `PLACED`) array
        Entries.
    keys, order : (n,) int64 arrays
        First cells of entries as one number; entries in the order of these.
    counts : (workers, classes * keys) int64 array
        How many there are; then where they go to.
    rooms : (workers, m) array
        What items share, where they are, the shares of cells, and what phi writes in.
    ends : (workers, `MOST`, 3) int64 array
        Cells along the axes that have shares of each of the entries.
    most : int
        Entries that a room is for, a multiple of `LANES`.
    """

    starts: Integers
    placed: Floats
    keys: Integers
    order: Integers
    counts: Integers
    rooms: Floats
    ends: Integers
    most: int
