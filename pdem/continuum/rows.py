"""Kernels for the values of particles and actions that are distributed over cells, and for the sums of cells.

Values that belong together have one size: the magnitude of the largest component of vectors and tensors. The size
determines the quanta into which all of these values are divided.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.continuum.items import Actions, Matter
from pdem.continuum.layout import BRANCH_SIZE, ROW, WALL_SIZE
from pdem.numerics.kernels import inlined, prange, uncounted_kernel
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

ALL_SIZES = 8
"""Sizes of particles (1, mass, volume, momentum, m v v^T), then of actions (f b^T, wall forces, squared lengths)."""

LONGEST = 7
"""Index of the size for squared lengths of segments, which are not distributed."""

SIZE_OF_SUM = np.array([0, 1, 2, *[3] * 3, *[4] * 6, *[BRANCH_SIZE] * 9, *[WALL_SIZE] * 3])
"""Index of the size for each sum of a cell."""


@inlined
def largest_part(p: int, rows: Floats) -> float:
    """Return the magnitude of the largest component of a vector."""
    return max(max(abs(rows[p, 0]), abs(rows[p, 1])), abs(rows[p, 2]))


@inlined
def sizes_of_point(p: int, items: Matter) -> tuple[float, float, float, float]:
    """Return the sizes of the values of a particle except the first value, which is 1."""
    mass, speed = items.mass[p], largest_part(p, items.velocity)
    return mass, items.size[p], mass * speed, mass * speed * speed


@inlined
def sizes_of_action(p: int, items: Actions) -> tuple[float, float]:
    """Return the sizes of the values of an action."""
    force = largest_part(p, items.force)
    return force * largest_part(p, items.way), force if items.at_wall[p] else 0.0


@uncounted_kernel
def note_points(items: Matter, largest: Floats) -> None:
    """Raise the largest sizes (workers, `ALL_SIZES`) at least to the sizes of particles."""
    for worker in prange(len(largest)):
        first, last = share_of(worker, len(largest), len(items[-1]))
        mass, size, momentum, moving = 0.0, 0.0, 0.0, 0.0
        for p in range(first, last):
            found = sizes_of_point(p, Matter(*items))
            mass, size = max(mass, found[0]), max(size, found[1])
            momentum, moving = max(momentum, found[2]), max(moving, found[3])
        for place, most in enumerate((1.0 if last > first else 0.0, mass, size, momentum, moving)):
            largest[worker, place] = max(largest[worker, place], most)


@uncounted_kernel
def note_actions(items: Actions, largest: Floats) -> None:
    """Raise the largest sizes (workers, `ALL_SIZES`) at least to the sizes of actions."""
    for worker in prange(len(largest)):
        first, last = share_of(worker, len(largest), len(items[-1]))
        branch, wall, longest, way = 0.0, 0.0, 0.0, items[1]
        for p in range(first, last):
            found = sizes_of_action(p, Actions(*items))
            branch, wall = max(branch, found[0]), max(wall, found[1])
            longest = max(longest, way[p, 0] * way[p, 0] + way[p, 1] * way[p, 1] + way[p, 2] * way[p, 2])
        for place, most in enumerate((branch, wall, longest)):
            largest[worker, BRANCH_SIZE + place] = max(largest[worker, BRANCH_SIZE + place], most)


@uncounted_kernel
def add_points(items: Matter, relative: Floats, parts: Integers) -> None:
    """Add the sizes of particles, times `relative` and rounded up, to integers (workers, `ALL_SIZES`)."""
    for worker in prange(len(parts)):
        first, last = share_of(worker, len(parts), len(items[-1]))
        mass, size, momentum, moving = 0, 0, 0, 0
        for p in range(first, last):
            found = sizes_of_point(p, Matter(*items))
            mass += math.ceil(found[0] * relative[1])
            size += math.ceil(found[1] * relative[2])
            momentum += math.ceil(found[2] * relative[3])
            moving += math.ceil(found[3] * relative[4])
        for place, part in enumerate((math.ceil(relative[0]) * (last - first), mass, size, momentum, moving)):
            parts[worker, place] += part


@uncounted_kernel
def add_actions(items: Actions, relative: Floats, parts: Integers) -> None:
    """Add the sizes of actions, times `relative` and rounded up, to integers (workers, `ALL_SIZES`)."""
    for worker in prange(len(parts)):
        first, last = share_of(worker, len(parts), len(items[-1]))
        branch, wall = 0, 0
        for p in range(first, last):
            found = sizes_of_action(p, Actions(*items))
            branch += math.ceil(found[0] * relative[BRANCH_SIZE])
            wall += math.ceil(found[1] * relative[WALL_SIZE])
        parts[worker, BRANCH_SIZE] += branch
        parts[worker, WALL_SIZE] += wall


@uncounted_kernel
def clear(sums: Integers) -> None:
    """Set sums (workers, n) to 0."""
    for worker in prange(len(sums)):
        for number in range(sums.shape[1]):
            sums[worker, number] = 0


@uncounted_kernel
def join_workers(totals: Integers, joined: Integers) -> None:
    """Write the totals (n,) over all workers of their sums (workers, n)."""
    workers = len(totals)
    for part in prange(workers):
        first, last = share_of(part, workers, len(joined))
        for number in range(first, last):
            total = 0
            for worker in range(workers):
                total += totals[worker, number]
            joined[number] = total


@uncounted_kernel
def write_units(quanta: Integers, units: Floats, found: Floats) -> None:
    """Write sums (classes, cells, 2, ROW) from integer quanta (classes, 2, cells, ROW), with (2, ROW) `units` each."""
    classes, _, cells, _ = quanta.shape
    for cell in prange(cells):
        for one in range(classes):
            for half in range(2):
                for column in range(ROW):
                    found[one, cell, half, column] = quanta[one, half, cell, column] * units[half, column]
