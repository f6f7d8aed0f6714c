"""Tests of all pairs of spheres: O(N^2) time, the reference for all other methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.rivals.cell_grid import Spheres, touches
from pdem.numerics.kernels import prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.detection.rivals.cell_grid import Search
    from pdem.foundation.array_types import Floats, Integers


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
    """Test all pairs; threads share the rows.

    Parameters
    ----------
    positions : (n, 3) array
        Centres in m, inside the box on periodic axes.
    radii : (n,) array
        Radii in m.
    lower, upper : (3,) arrays
        Bounds in m, used on periodic axes.
    periodic : three bool
        Which axes are periodic.
    dimension : int
        2 or 3.
    skin : float
        Largest gap in m at which spheres count as touching.

    Returns
    -------
    pairs : (m, 2) int64 array
        Lower index first.
    checks : int
        n (n - 1) / 2.
    accesses : int
        Zero: there are no cells.
    """
    count = len(positions)
    box = np.where(np.array(periodic) & (np.arange(3) < dimension), upper - lower, np.inf)
    spheres = Spheres(positions, radii, skin, box)
    partners = np.zeros(count, dtype=np.int64)
    _count_partners(spheres, partners)
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(partners)))
    pairs = np.empty((starts[-1], 2), dtype=np.int64)
    _store_partners(spheres, starts, pairs)
    return pairs, count * (count - 1) // 2, 0


@threaded_kernel
def _count_partners(spheres: Spheres, partners: Integers) -> None:
    count = spheres.radii.shape[0]
    for fold in prange((count + 1) // 2):
        # A thread takes a long row together with a short one, so that all threads get equal work.
        for side in range(2):
            row = np.int64(fold) if side == 0 else count - 1 - np.int64(fold)
            if side == 0 or row != np.int64(fold):
                found = 0
                for other in range(row + 1, count):
                    found += touches(spheres, row, other)
                partners[row] = found


@threaded_kernel
def _store_partners(spheres: Spheres, starts: Integers, pairs: Integers) -> None:
    for index in prange(spheres.radii.shape[0]):
        row = np.int64(index)
        entry, end = starts[row], starts[row + 1]
        other = row + 1
        while entry < end:
            if touches(spheres, row, other):
                pairs[entry, 0] = row
                pairs[entry, 1] = other
                entry += 1
            other += 1
