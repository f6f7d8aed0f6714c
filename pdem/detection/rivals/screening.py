"""The screening array of Munjiza (2004), section 3.6: linked cells whose heads fill the whole box.

An array with one number for every cell of the box screens the particles into singly linked lists: as many
numbers as there are cells, however few particles. This is for dense packings, and the memory is checked
before it is taken.
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

    Parameters and returns are those of `pdem.detection.rivals.linked_cell.search_pairs`.

    Raises
    ------
    InputError
        The array would take more than half of the free memory.
    """
    if len(positions) == 0:
        return np.empty((0, 2), dtype=np.int64), 0, 0
    size = 2.0 * float(radii.max()) + skin
    grid = cell_grid(positions, size, lower=lower, upper=upper, periodic=periodic, dimension=dimension)
    check_memory(grid, free_memory())
    return search_lists(positions, radii, skin, grid)


def check_memory(grid: CellGrid, free: int) -> None:
    """Refuse a screening array that takes more than half of the `free` memory (bytes).

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
    """Return the memory in bytes that can still be taken without swapping, as the system tells it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 4 * 10**9
