"""Which candidates that are apart have to be looked at in a step, and which of these begin to touch.

A candidate whose particles are a gap apart cannot touch before the particles together have moved as far. Whoever is
looked at therefore gets a *due* value: the path of the fastest particles, counted from when lists were made, from which
on it may touch. Until then nobody has to read its particles. In a bed at rest hardly any candidate is ever due, in fast
flow a quarter in a step.

Contacts do not depend on it: a candidate is looked at in more steps than it needs, never in fewer. Paths are rounded
up, due values down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.history_kernels import CHUNKS
from pdem.contact.pairs.layout import BLOCK, RADIUS_I, RADIUS_J, WAIT, WORK, X_I, X_J
from pdem.contact.pairs.stages import distance_vector, limits_of
from pdem.foundation.packed_row import PACKED, PLACE, SIZE, SPEED
from pdem.motion.moving_blocks import LONGEST
from pdem.numerics.arrays import with_spare
from pdem.numerics.box_images import images_in
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.simd.due_lanes import DUE_LANES, ROUNDED_DOWN, ROUNDED_UP, append_due, make_due
from pdem.numerics.simd.listed_rows import GROUP, listed_rows_to_columns
from pdem.numerics.simd.places import ROW, offset
from pdem.numerics.vectors import dot3, square_root

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.pairs.arguments import Candidates, StepParameters
    from pdem.foundation.array_types import Floats, Int32s

PATHS = 4
OWNED, ALL, STEP, ROUNDING = range(PATHS)
"""Fields of ``path``:

==============  ======================================================================================
`OWNED`         the longest path of an owned particle since lists were made, or more [m]
`ALL`           the same of ghosts as well
`STEP`          the part of this in the last step of owned particles; infinite if it is not known
`ROUNDING`      what the rounding of places may add to this in a step
==============  ======================================================================================
"""

LISTED = max(CHUNKS) + 2 * DUE_LANES
"""Room for the list of a worker."""

ROUNDING_UNITS = 16.0
"""By how many units in its last place a coordinate may change in a step besides what the step is, or more."""

MARGIN = 1e-12
"""By which share of the reach of two spheres their gap may be smaller than it is found to be."""

_TOUCHES, _TOO_DEEP = -1.0, -2.0

_gather_position = listed_rows_to_columns(SIZE + 1, BLOCK, PACKED)  # position and radius


class DueValues:
    """When candidates that are apart have to be looked at, and what workers need for that.

    Attributes
    ----------
    due : (room,) float32 array
        By candidate.
    listed : (workers * LISTED,) int32 array
        The lists of workers.
    path : (PATHS,) array
        How far particles have moved.
    has_longest : bool
        Whether workers have noted how far particles have moved in their last step (`moving_blocks.LONGEST`).
    """

    def __init__(self) -> None:
        self.due, self.listed = np.zeros(0, np.float32), np.zeros(LISTED, np.int32)
        self.path, self.has_longest = np.zeros(PATHS), False

    @property
    def arrays(self) -> tuple[NDArray[np.float32], Int32s, Floats]:
        """All of them as `pdem.contact.pairs.arguments.Candidates` has them; views."""
        return self.due, self.listed, self.path

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(array.nbytes for array in self.arrays)

    def reserve(self, candidates: int) -> None:
        """Make room for so many candidates, and for looking at `DUE_LANES` together."""
        if candidates + DUE_LANES > len(self.due):
            self.due = np.zeros(with_spare(candidates), np.float32)

    def divide(self, workers: int) -> None:
        """Make room for the lists of so many workers."""
        if len(self.listed) < LISTED * workers:
            self.listed = np.zeros(LISTED * workers, np.int32)

    def look_at_all(self, candidates: int, rows: int, packed: Floats) -> None:
        """Have all candidates that are apart looked at in the next step: their particles may be anywhere.

        These are `rows` packed rows.
        """
        make_due(self.due[:candidates])
        self.path[:], self.has_longest = 0.0, False
        self.path[ROUNDING] = ROUNDING_UNITS * 2.0**-52 * largest_coordinate(rows, packed)


@inlined
def list_of(at: int) -> int:
    """Return where the list of a worker begins whose columns begin at `at`."""
    return LISTED * (at // WORK)


@inlined
def path_of(first: int, candidates: Candidates) -> float:
    """Return the path that counts for the chunk whose first candidate this is [m]."""
    return candidates.path[OWNED if first < candidates.inner else ALL]


@inlined
def list_due(first: int, end: int, at: int, path: float, candidates: Candidates) -> int:
    """List the candidates of a chunk that are due by their path, from the place `at` on; return how many.

    The list is filled up to whole groups with what does no harm.
    """
    limit, count = np.float32(path * ROUNDED_UP), 0
    for k in range(first, end, DUE_LANES):
        count += append_due(candidates.due, k, end - k, limit, candidates.listed, offset(at, count))
    for c in range(count, count + GROUP):
        candidates.listed[offset(at, c)] = first
    return count


@inlined
def gather_positions(
    at: int, first: int, count: int, candidates: Candidates, packed: Floats, work: Floats
) -> None:  # fmt: skip
    """Write positions and radii of the particles of candidates that are listed, from the place `first` on."""
    for c in range(0, count, GROUP):
        place, w = offset(first, c), offset(at, c)
        _gather_position(packed, (candidates.lower, candidates.listed), place, work, w + X_I)
        _gather_position(packed, (candidates.higher, candidates.listed), place, work, w + X_J)


@inlined
def find_waits(at: int, count: int, parameters: StepParameters, work: Floats) -> None:
    """Write how far both particles of a candidate may move before they touch, or that they do."""
    images = images_in(parameters.images)
    for c in range(count):
        w = offset(at, c)
        d = distance_vector(work, w, parameters, images)
        ri, rj = work[w + RADIUS_I], work[w + RADIUS_J]
        touch, deep = limits_of(ri, rj, parameters.largest_overlap)
        squared, reach = dot3(d, d), (1.0 + MARGIN) * (ri + rj)
        wait = 0.5 * max(square_root(squared) - reach, 0.0)
        work[w + WAIT] = (_TOO_DEEP if squared < deep else _TOUCHES) if squared < touch else wait


@inlined
def list_new(
    at: int, base: int, block: int, count: int, begin: int, path: float, candidates: Candidates,
    work: Floats,
) -> int:  # fmt: skip
    """List which of `count` candidates begin to touch, and write from when on the others, of this path, are due.

    The list of those that are due begins at `base`, the ones looked at `block` places behind. At its begin stand the
    `begin` candidates that were found before, and are written those found now, with all bits inverted if their overlap
    is beyond the limit. Returns how many stand there now. Until they are contacts they stay due.
    """
    for c in range(count):
        k, wait = candidates.listed[offset(base + block, c)], work[offset(at, c) + WAIT]
        if wait < 0.0:
            candidates.listed[offset(base, begin)] = k if wait == _TOUCHES else ~k
            begin += 1
        else:
            candidates.due[k & ROW] = np.float32((path + wait) * ROUNDED_DOWN)
    return begin


@inlined
def add_step(field: int, way: float, path: Floats) -> None:
    """Add to a path a step in which no particle has moved farther than `way` [m]."""
    path[field] += (1.0 + MARGIN) * way + path[ROUNDING]


@inlined
def take_longest(workers: int, work: Floats) -> float:
    """Return the longest displacement of the particles that workers have moved since this was asked for last [m]."""
    longest = 0.0
    for worker in range(workers):
        for c in range(BLOCK):
            place = offset(worker * WORK, c) + LONGEST
            longest, work[place] = max(longest, work[place]), 0.0
    return np.sqrt(longest)


@inlined
def squared_speed(p: int, packed: Floats) -> float:
    """Return the square of the speed of a particle [m^2/s^2]."""
    row = np.uint64(PACKED * (p & ROW) + SPEED)
    x, y, z = packed[row], packed[row + np.uint64(1)], packed[row + np.uint64(2)]
    return x * x + y * y + z * z


@inlined
def longest_way(first: int, last: int, dt: float, packed: Floats) -> float:
    """Return by the packed rows from `first` to `last` - 1 how far these have moved at most in their last step [m]."""
    squared = 0.0
    for p in range(first, last):
        squared = max(squared, squared_speed(p, packed))
    return dt * np.sqrt(squared)


@inlined
def add_step_of_all(dt: float, owned: int, rows: int, packed: Floats, path: Floats) -> None:
    """Add the last step of owned particles and ghosts, which are where they are now, to the path of all."""
    add_step(ALL, max(path[STEP], longest_way(owned, rows, dt, packed)), path)


@kernel
def longest_step(owned: int, dt: float, packed: Floats) -> float:
    """Return `longest_way` of the owned particles, for Python."""
    return longest_way(0, owned, dt, packed)


@kernel
def largest_coordinate(rows: int, packed: Floats) -> float:
    """Return the largest distance of particles from the origin along an axis [m]."""
    largest = 0.0
    for p in range(rows):
        for axis in range(3):
            largest = max(largest, abs(packed[PACKED * p + PLACE + axis]))
    return largest


@kernel
def count_step_of_all(dt: float, owned: int, rows: int, packed: Floats, path: Floats) -> None:
    """Do as `add_step_of_all`, for Python."""
    add_step_of_all(dt, owned, rows, packed, path)


@kernel
def longest_of_workers(workers: int, work: Floats) -> float:
    """Do as `take_longest`, for Python."""
    return take_longest(workers, work)
