"""Kernels that share what is at points, or along straight ways, among the cells of a grid.

Sums are whole numbers of quanta: they are the same in any order, so each thread has sums of its own, and those of
threads and ranks are added up afterwards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.foundation.kernel_factory import inlined_closure, versioned_kernel
from pdem.foundation.kernels import inlined, prange

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.vectors import Vector

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

ROW = 12
"""Numbers of an item that are shared; a cell has as many sums of each half."""

SUMS = 2 * ROW
"""Sums of a cell: two kinds of items add to the first and to the second half of them."""

NODES = 3
"""Places of each part of a way at which phi is taken (Gauss)."""

PART = 2.0
"""Longest part of a way, in widths."""

NODE = 0.5 * math.sqrt(0.6)
"""Distance between two of these places, over the length of the part."""

WEIGHTS = 5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0
"""Of these places in the part."""

_SIDE, _MIDDLE, _ = WEIGHTS


class Items(NamedTuple):
    """What is shared: numbers at points, or evenly along straight ways.

    Attributes
    ----------
    begin, way : (n, 3) arrays
        Point, and the way from there to the end; of points alone there are no ways (0, 3) [m].
    values : (n * ROW,) array
        Numbers of each item.
    scale : (ROW,) array
        How many quanta make a unit of each.
    target : (n,) int64 array
        Place among the sums of its first number in the first cell.
    """

    begin: Floats
    way: Floats
    values: Floats
    scale: Floats
    target: Integers


@inlined
def place_of(p: int, items: Items, grid: Any) -> Vector:
    """Return where an item begins, in units of cells of a grid with `lower` and `inverse`."""
    lower, inverse, begin = grid.lower, grid.inverse, items.begin
    return (
        (begin[p, 0] - lower[0]) * inverse[0], (begin[p, 1] - lower[1]) * inverse[1],
        (begin[p, 2] - lower[2]) * inverse[2],
    )  # fmt: skip


@inlined
def parts_of(way: Vector, width: float) -> int:
    """Return into how many parts a way is divided."""
    squared, longest = way[0] * way[0] + way[1] * way[1] + way[2] * way[2], PART * width
    return 1 if squared <= longest * longest else max(math.ceil(math.sqrt(squared) / longest), 1)


@inlined
def weight_of(node: int) -> float:
    """Return the weight of a node in its part of a way."""
    return _MIDDLE if node == 1 else _SIDE


@inlined
def image_at(number: int) -> int:
    """Return the periodic images one after the other: 0, 1, -1, 2, -2, and so on."""
    return (number + 1) // 2 * (2 * (number & 1) - 1)


def spreading_kernel(phi: str, grid_type: Any, spread_item: Callable[..., None]) -> Any:
    """Make the kernel that shares items among the cells of a grid.

    Its arguments are the fields of `Items`, and of the grid; rooms (workers, n) and places
    (workers, m), int64, to write in; and the sums (workers, classes * 2 * cells * `ROW`) that are added to, int64.

    Parameters
    ----------
    phi : str
        Part of its name.
    grid_type : type
        That of the grid.
    spread_item : function
        Shares one item: of its number, the items, the grid, and the room, places and sums of the worker.
    """

    @inlined_closure
    def spread_some(
        first: int,
        last: int,
        items: Items,
        grid: Any,
        room: Floats,
        places: Integers,
        sums: Integers,
    ) -> None:
        """Add items from `first` to `last` - 1, with those of their images that reach the grid."""
        for p in range(first, last):
            spread_item(p, items, grid, room, places, sums)

    @versioned_kernel(phi, threaded=True)
    def spread(items: Any, grid: Any, rooms: Floats, places: Integers, sums: Integers) -> None:
        for worker in prange(len(sums)):
            many = len(Items(*items).target)
            spread_some(
                many * worker // len(sums), many * (worker + 1) // len(sums), Items(*items), grid_type(*grid),
                rooms[worker], places[worker], sums[worker],
            )  # fmt: skip

    return spread
