"""Kernels that write what is shared among cells: rows of numbers of particles and of actions, in whole quanta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.continuum.spreading import ROW
from pdem.foundation.kernels import inlined, prange, uncounted_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@inlined
def note_largest(p: int, rows: Floats, largest: Floats) -> None:
    """Make the largest size of each column (ROW,) at least that of a row."""
    for column in range(ROW):
        largest[column] = max(largest[column], abs(rows[p, column]))


@uncounted_kernel
def write_matter(velocity: Floats, mass: Floats, size: Floats, rows: Floats, largest: Floats) -> None:
    """Write 1, mass, size, momentum, and the six components of m v v^T of particles into rows (n, ROW).

    The largest size of each column goes into (workers, ROW), at least what stands there: of each worker's part.
    """
    for worker in prange(len(largest)):
        for p in range(len(rows) * worker // len(largest), len(rows) * (worker + 1) // len(largest)):
            m, x, y, z = mass[p], velocity[p, 0], velocity[p, 1], velocity[p, 2]
            rows[p, 0], rows[p, 1], rows[p, 2] = 1.0, m, size[p]
            rows[p, 3], rows[p, 4], rows[p, 5] = m * x, m * y, m * z
            rows[p, 6], rows[p, 7], rows[p, 8] = m * x * x, m * y * y, m * z * z
            rows[p, 9], rows[p, 10], rows[p, 11] = m * x * y, m * x * z, m * y * z
            note_largest(p, rows, largest[worker])


@uncounted_kernel
def write_actions(
    force: Floats, way: Floats, at_wall: NDArray[np.bool_], rows: Floats, largest: Floats
) -> None:
    """Write f b^T, row by row, of forces along ways, and forces of walls, into rows; the largest as of matter."""
    for worker in prange(len(largest)):
        for p in range(len(rows) * worker // len(largest), len(rows) * (worker + 1) // len(largest)):
            push = 1.0 if at_wall[p] else 0.0
            for i in range(3):
                for j in range(3):
                    rows[p, 3 * i + j] = force[p, i] * way[p, j]
                rows[p, 9 + i] = push * force[p, i]
            note_largest(p, rows, largest[worker])


@uncounted_kernel
def add_parts(rows: Floats, relative: Floats, parts: Integers) -> None:
    """Add the sizes of each column, in units of one over `relative` and rounded up, to whole numbers (workers, ROW)."""
    for worker in prange(len(parts)):
        for p in range(len(rows) * worker // len(parts), len(rows) * (worker + 1) // len(parts)):
            for column in range(ROW):
                parts[worker, column] += math.ceil(abs(rows[p, column]) * relative[column])


@uncounted_kernel
def join_workers(totals: Integers, joined: Integers) -> None:
    """Write the sums (n,) of the sums (workers, n) of all workers."""
    workers = len(totals)
    for part in prange(workers):
        for number in range(len(joined) * part // workers, len(joined) * (part + 1) // workers):
            total = 0
            for worker in range(workers):
                total += totals[worker, number]
            joined[number] = total


@uncounted_kernel
def write_units(quanta: Integers, units: Floats, found: Floats) -> None:
    """Write sums (classes, cells, 2, ROW) from whole quanta (classes, 2, cells, ROW), of (2, ROW) `units` each."""
    classes, _, cells, _ = quanta.shape
    for cell in prange(cells):
        for one in range(classes):
            for half in range(2):
                for column in range(ROW):
                    found[one, cell, half, column] = quanta[one, half, cell, column] * units[half, column]
