"""Candidates that have to be tested in a step, and the ones among them that begin to touch.

Two particles with a gap cannot touch before their displacements together are as large as the gap. A tested candidate
therefore gets a *due* value: the path of the fastest particles since lists were made from which on it may touch. Until
then its particles need not be read. In a bed at rest hardly any candidate is due in a step, in fast flow a quarter.

Contacts do not depend on this: a candidate is tested in more steps than necessary, never in fewer. Paths are rounded
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
from pdem.numerics.simd.listed_rows import GROUP, listed_rows_to_columns
from pdem.numerics.simd.threshold_filter import DUE_LANES, ROUNDED_DOWN, ROUNDED_UP, append_due, make_due
from pdem.numerics.simd.unsigned_index import ROW, offset
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
`STEP`          the part of this in the last step of owned particles; infinite if it is unknown
`ROUNDING`      bound of the error of this displacement by rounding of positions
==============  ======================================================================================
"""

LISTED = max(CHUNKS) + 2 * DUE_LANES
"""Length of the list of a worker."""

ROUNDING_UNITS = 16.0
"""Upper bound of the rounding error of a coordinate in one step, in units in the last place."""

MARGIN = 1e-12
"""Upper bound of the rounding error of a gap, over the sum of the radii."""

_TOUCHES, _TOO_DEEP = -1.0, -2.0

_gather_position = listed_rows_to_columns(SIZE + 1, BLOCK, PACKED)  # position and radius


class DueValues:
    """Due values of candidates, and the lists and paths that workers need to test them.

    Attributes
    ----------
    due : (room,) float32 array
        Due value of each candidate [m].
    listed : (workers * LISTED,) int32 array
        The lists of workers.
    path : (PATHS,) array
        Displacements of particles since lists were made.
    has_longest : bool
        Whether workers have recorded the largest displacement of their last step (`moving_blocks.LONGEST`).
    """

    def __init__(self) -> None:
        self.due, self.listed = np.zeros(0, np.float32), np.zeros(LISTED, np.int32)
        self.path, self.has_longest = np.zeros(PATHS), False

    @property
    def arrays(self) -> tuple[NDArray[np.float32], Int32s, Floats]:
        """The arrays as fields of `pdem.contact.pairs.arguments.Candidates`; views."""
        return self.due, self.listed, self.path

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(array.nbytes for array in self.arrays)

    def reserve(self, candidates: int) -> None:
        """Make room for a number of candidates, of which `DUE_LANES` are tested together."""
        if candidates + DUE_LANES > len(self.due):
            self.due = np.zeros(with_spare(candidates), np.float32)

    def divide(self, workers: int) -> None:
        """Make room for the lists of a number of workers."""
        if len(self.listed) < LISTED * workers:
            self.listed = np.zeros(LISTED * workers, np.int32)

    def look_at_all(self, candidates: int, rows: int, packed: Floats) -> None:
        """Make all candidates due in the next step, since their particles may have moved by any distance.

        `packed` has `rows` rows.
        """
        make_due(self.due[:candidates])
        self.path[:], self.has_longest = 0.0, False
        self.path[ROUNDING] = ROUNDING_UNITS * 2.0**-52 * largest_coordinate(rows, packed)


@inlined
def list_of(at: int) -> int:
    """Return the index at which the list of a worker begins, if its columns begin at `at`."""
    return LISTED * (at // WORK)


@inlined
def path_of(first: int, candidates: Candidates) -> float:
    """Return the path of the particles of a chunk [m]; `first` is its first candidate."""
    return candidates.path[OWNED if first < candidates.inner else ALL]


@inlined
def list_due(first: int, end: int, at: int, path: float, candidates: Candidates) -> int:
    """List the candidates of a chunk that are due at a path, from the index `at` on; return their number.

    The list is filled up to whole groups with valid candidates.
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
    """Write positions and radii of the particles of listed candidates, from the index `first` of the list on."""
    for c in range(0, count, GROUP):
        place, w = offset(first, c), offset(at, c)
        _gather_position(packed, (candidates.lower, candidates.listed), place, work, w + X_I)
        _gather_position(packed, (candidates.higher, candidates.listed), place, work, w + X_J)


@inlined
def find_waits(at: int, count: int, parameters: StepParameters, work: Floats) -> None:
    """Write the displacement of both particles of a candidate before they can touch, or that they do touch."""
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
    """List the candidates among `count` that begin to touch, and write new due values of the rest, from this path on.

    The list of due candidates begins at `base`; the ones to test follow `block` indices later. Its first `begin`
    entries are touching candidates of earlier blocks, and this function appends further ones, with all bits inverted if
    the overlap is beyond the limit. Returns their number. Candidates stay due until they are contacts.
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
    """Add the largest displacement `way` [m] of a step to a path."""
    path[field] += (1.0 + MARGIN) * way + path[ROUNDING]


@inlined
def take_longest(workers: int, work: Floats) -> float:
    """Return the largest displacement that workers have recorded since the last call [m], and reset it."""
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
def largest_displacement_of(first: int, last: int, dt: float, packed: Floats) -> float:
    """Return the largest displacement in the last step [m] of the packed rows from `first` to `last` - 1."""
    squared = 0.0
    for p in range(first, last):
        squared = max(squared, squared_speed(p, packed))
    return dt * np.sqrt(squared)


@inlined
def add_step_of_all(dt: float, owned: int, rows: int, packed: Floats, path: Floats) -> None:
    """Add the largest displacement of owned particles and ghosts in the last step to the path of all."""
    add_step(ALL, max(path[STEP], largest_displacement_of(owned, rows, dt, packed)), path)


@kernel
def longest_step(owned: int, dt: float, packed: Floats) -> float:
    """Return `largest_displacement_of` of the owned particles, for Python."""
    return largest_displacement_of(0, owned, dt, packed)


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
    """Add the displacement of the last step to the path of all, called from Python."""
    add_step_of_all(dt, owned, rows, packed, path)


@kernel
def longest_of_workers(workers: int, work: Floats) -> float:
    """Return and reset the largest displacement that workers have recorded [m], called from Python."""
    return take_longest(workers, work)
