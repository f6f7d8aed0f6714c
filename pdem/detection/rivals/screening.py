"""The screening array of Munjiza (2004), section 3.6: linked cells with a list head for every cell of the box.

An array with one number for every cell of the box sorts the particles into singly linked lists. Its length is the
number of cells, however few particles there are. The method is meant for dense packings, and checks the memory before
allocating it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.rivals.cell_grid import CellGrid, cell_grid
from pdem.detection.rivals.linked_cell import search_lists
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.detection.rivals.cell_grid import Search
    from pdem.foundation.array_types import Floats

_BYTES_PER_CELL = 8


def search_pairs(
    positions: Floats,
    radii: Floats,
    *,
    lower: Floats,
    upper: Floats,
    periodic: tuple[bool, bool, bool],
    dimension: int,
    skin: float,
) -> Search:
    """Find touching pairs with a dense array over all cells.

    Parameters and returns are the same as for `pdem.detection.rivals.linked_cell.search_pairs`.

    Raises
    ------
    InputError
        The array needs more than half of the free memory.
    """
    if len(positions) == 0:
        return np.empty((0, 2), dtype=np.int64), 0, 0
    size = 2.0 * float(radii.max()) + skin
    grid = cell_grid(positions, size, lower=lower, upper=upper, periodic=periodic, dimension=dimension)
    check_memory(grid, free_memory())
    return search_lists(positions, radii, skin, grid)


def check_memory(grid: CellGrid, free: int) -> None:
    """Check that a screening array needs at most half of the `free` memory (bytes).

    Raises
    ------
    InputError
        The array is too large.
    """
    counts = [int(count) for count in grid.counts]
    needed = _BYTES_PER_CELL * counts[0] * counts[1] * counts[2]
    if needed > free // 2:
        raise InputError(
            f"the screening array of {counts[0]} x {counts[1]} x {counts[2]} cells takes "
            f"{needed / 1e9:.3g} GB, more than half of the {free / 1e9:.3g} GB of free memory; "
            "use method 'hgrid', 'nbs' or 'sorting'"
        )


def free_memory() -> int:
    """Return the memory in bytes that is available without swapping, as reported by the system."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 4 * 10**9
