"""The end of a step and the start of the next step for a block of particles at a time.

The arithmetic of one particle is short, but a chain of dependent operations. In a block of particles whose numbers are
stored as columns it becomes vector code. The results equal those of `pdem.motion.integration.move` for each particle,
to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.packed_row import NUMBERS, PACKED
from pdem.motion.displacement import FREQUENCY, LOWER, box_work_in_frame, drifted, went_too_far
from pdem.motion.integration import FINE, LOST, STALE, Motion, Travel, half_kick
from pdem.numerics.box_images import frame3, images_in, squared_from_reference, wrapped
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.simd.listed_rows import GROUP, columns_to_listed_rows, listed_rows_to_columns
from pdem.numerics.simd.transposition import ROWS, columns_to_rows, rows_to_columns, whole_lanes
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import exact_dot3, get3, put3, row3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.numerics.box_images import Images
    from pdem.numerics.vectors import Vector

BLOCK = 32
"""Particles in a block."""

_PLACES = [np.uint64(BLOCK * column) for column in range(1 + PACKED + 16)]
LONGEST = _PLACES[0]
X, Y, Z, RADIUS, VX, VY, VZ, INVERSE_MASS, WX, WY, WZ, _ = (_PLACES[1 + number] for number in NUMBERS)
(
    FX, FY, FZ, TX, TY, TZ, X0, Y0, Z0, SKIN, INVERSE_INERTIA, PERIODS_X, PERIODS_Y, PERIODS_Z, FAR, BOX_WORK,
) = _PLACES[1 + PACKED :]  # fmt: skip
"""First indices of the columns:

===============================  =====================================================================================
`LONGEST`                        maximum so far: square of the longest displacement of particles in this lane
`X` ... `WZ` and one more        the packed row: position, radius, velocity, inverse mass, angular velocity, material
`FX` ... `TZ`                    force and torque
`X0`, `Y0`, `Z0`                 position when lists were made
`SKIN`, `INVERSE_INERTIA`        see `pdem.motion.integration.FixedColumns`
`PERIODS_X` ... `PERIODS_Z`      written: number of periods subtracted from the position along each axis
`FAR`                            written: 1 if the particle moved too far, else 0
`BOX_WORK`                       written, if the box deforms: work of the deformation on the particle's motion [J]
===============================  =====================================================================================
"""

STRIDE = np.uint64(BLOCK)
"""Numbers in a column."""

COLUMNS = BLOCK * len(_PLACES)
"""Numbers in all columns."""

_gather_group = listed_rows_to_columns(PACKED, BLOCK, PACKED)
_scatter_group = columns_to_listed_rows(PACKED, BLOCK, PACKED)
_gather = rows_to_columns(PACKED, BLOCK)
_scatter = columns_to_rows(PACKED, BLOCK)


@inlined_geometry
def _kicked(w: int, dt: float, motion: Motion, work: Floats) -> tuple[Vector, Vector]:
    """Return velocity and angular velocity of a particle in the columns after the kicks by both halves."""
    half, inverse_mass, inverse_inertia = 0.5 * dt, work[w + INVERSE_MASS], work[w + INVERSE_INERTIA]
    force, torque = get3(work, w + FX, STRIDE), get3(work, w + TX, STRIDE)
    u0, u1, u2, s0, s1, s2 = half_kick(
        half, inverse_mass, inverse_inertia, motion, get3(work, w + VX, STRIDE), get3(work, w + WX, STRIDE), force,
        torque,
    )  # fmt: skip
    u0, u1, u2, s0, s1, s2 = half_kick(
        half, inverse_mass, inverse_inertia, motion, (u0, u1, u2), (s0, s1, s2), force, torque
    )
    return (u0, u1, u2), (s0, s1, s2)


@inlined_geometry
def _kick_and_drift(at: int, count: int, dt: float, motion: Motion, box: Any, work: Floats) -> tuple[int, int]:
    """Kick the particles in the columns by both halves and let them drift; `box` are the images of a deforming box.

    Returns the largest code below `LOST`, and the number of particles that have crossed a side or went too far. Vectors
    are padded with old numbers past the last particle, which are not counted.
    """
    if box is not None:
        odd = _drift_in_box(at, count, dt, motion, work)
        if odd > 0:
            _wrap(at, count, motion, box, work)
        return _look_at_box(at, count, dt, motion, box, work), odd
    worst = odd = 0
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        u, s = _kicked(w, dt, motion, work)
        way = dt * u[0], dt * u[1], dt * u[2]
        x, u, turns, away = drifted(way, get3(work, w + X, STRIDE), u, get3(work, w + X0, STRIDE), motion.sides, None)
        skin = work[w + SKIN]
        counts, far = c < count, went_too_far(way[0], way[1], way[2], away, work[w + RADIUS])
        stale = STALE if away > skin * skin else FINE
        worst = max(worst, stale if counts else FINE)
        longest, squared = work[w + LONGEST], exact_dot3(way, way) if counts else 0.0
        work[w + LONGEST] = squared if squared > longest else longest
        odd += 1 if counts & (far | (turns[0] != 0.0) | (turns[1] != 0.0) | (turns[2] != 0.0)) else 0
        put3(work, w + X, STRIDE, x)
        put3(work, w + VX, STRIDE, u)
        put3(work, w + WX, STRIDE, s)
        put3(work, w + PERIODS_X, STRIDE, turns)
        work[w + FAR] = 1.0 if far else 0.0
    return worst, odd


@inlined_geometry
def _drift_in_box(at: int, count: int, dt: float, motion: Motion, work: Floats) -> int:
    """Kick and drift in a deforming box, without wrapping; return the same values as `_kick_and_drift`.

    Nearly all particles stay in the box; this loop only detects the few particles that leave it.
    """
    sides, odd = motion.sides, 0
    lower, inverse = row3(sides, LOWER), row3(sides, FREQUENCY)
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        u, s = _kicked(w, dt, motion, work)
        way, before = (dt * u[0], dt * u[1], dt * u[2]), get3(work, w + X, STRIDE)
        x = before[0] + way[0], before[1] + way[1], before[2] + way[2]
        turns = (
            np.floor((x[0] - lower[0]) * inverse[0]), np.floor((x[1] - lower[1]) * inverse[1]),
            np.floor((x[2] - lower[2]) * inverse[2]),
        )  # fmt: skip
        far = went_too_far(way[0], way[1], way[2], x[0] + x[1] + x[2], work[w + RADIUS])
        odd += 1 if (c < count) & (far | (turns[0] != 0.0) | (turns[1] != 0.0) | (turns[2] != 0.0)) else 0
        put3(work, w + X, STRIDE, x)
        put3(work, w + VX, STRIDE, u)
        put3(work, w + WX, STRIDE, s)
        put3(work, w + PERIODS_X, STRIDE, turns)
        work[w + FAR] = 1.0 if far else 0.0
    return odd


@inlined_geometry
def _wrap(at: int, count: int, motion: Motion, box: Images, work: Floats) -> None:
    """Wrap the particles in the columns that have left the box, and give them the velocities of these images."""
    lower = row3(motion.sides, LOWER)
    for c in range(count):
        w = offset(at, c)
        turns = get3(work, w + PERIODS_X, STRIDE)
        if (turns[0] != 0.0) | (turns[1] != 0.0) | (turns[2] != 0.0):
            x, v, turns = wrapped(get3(work, w + X, STRIDE), get3(work, w + VX, STRIDE), lower, box)
            put3(work, w + X, STRIDE, x)
            put3(work, w + VX, STRIDE, v)
            put3(work, w + PERIODS_X, STRIDE, turns)


@inlined_geometry
def _look_at_box(at: int, count: int, dt: float, motion: Motion, box: Images, work: Floats) -> int:
    """Write the work of a deforming box on the motion of the particles; return the largest code below `LOST`."""
    frame, worst = box.frame, 0
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        x, u = frame3(work, w + X, STRIDE, frame), frame3(work, w + VX, STRIDE, frame)
        away, skin = squared_from_reference(x, frame3(work, w + X0, STRIDE, frame), frame), work[w + SKIN]
        stale = STALE if away > skin * skin else FINE
        worst = max(worst, stale if c < count else FINE)
        work[w + BOX_WORK] = box_work_in_frame(x, u, work[w + INVERSE_MASS], dt, frame)
    return worst


@inlined_geometry
def _count_images(
    at: int, first: int, count: int, order: Int32s, image: Int32s, work: Floats
) -> int:  # fmt: skip
    """Add to the images of particles that have crossed a side; return `LOST` + the row of one that moved too far."""
    code = FINE
    for c in range(count):
        w, p = offset(at, c), order[np.uint64(first + c)] & ROW
        for axis in range(3):
            periods = work[w + PERIODS_X + np.uint64(BLOCK * axis)]
            if periods != 0.0:
                image[p, axis] += np.int32(periods)
        code = max(code, LOST + p if work[w + FAR] > 0.0 else FINE)
    return code


@inlined_geometry
def _add_box_work(
    at: int, first: int, count: int, order: Int32s, box_work: Floats,
    work: Floats,
) -> None:  # fmt: skip
    """Add the work of the deformation of the box on the motion of the particles in the columns."""
    for c in range(count):
        box_work[order[np.uint64(first + c)] & ROW] += work[offset(at, c) + BOX_WORK]


@inlined_geometry
def _row_begin(place: int, last: int, order: Int32s) -> int:
    """Return the first index of a particle's packed row; past the last particle, that of the last particle."""
    return PACKED * (order[np.uint64(min(place, last))] & ROW)


@inlined_geometry
def move_block(
    at: int,
    first: int,
    count: int,
    order: Int32s,
    dt: float,
    motion: Motion,
    travel: Travel,
    packed: Floats,
    work: Floats,
) -> int:
    """End a step and begin the next for the particles ``order[first:first + count]``, at most `BLOCK`.

    Force and torque of each particle, its position when lists were made, skin and inverse inertia must be in their
    columns, which begin at `at`. Results and return value are the same as by `pdem.motion.integration.move`.
    """
    last = first + count - 1
    groups, whole = count & -GROUP, count & -ROWS
    for c in range(0, groups, GROUP):
        _gather_group(packed, (order,), offset(first, c), work, offset(at, c) + X)
    for c in range(groups, count, ROWS):
        k = first + c
        _gather(
            packed, _row_begin(k, last, order), _row_begin(k + 1, last, order), _row_begin(k + 2, last, order),
            _row_begin(k + 3, last, order), work, offset(at, c) + X,
        )  # fmt: skip
    code, odd = _kick_and_drift(at, count, dt, motion, images_in(motion.box), work)
    if odd > 0:
        code = max(code, _count_images(at, first, count, order, travel.image, work))
    if motion.box is not None:
        _add_box_work(at, first, count, order, travel.box_work, work)
    for c in range(0, groups, GROUP):
        _scatter_group(work, offset(at, c) + X, packed, (order,), offset(first, c))
    for c in range(groups, whole, ROWS):
        k = first + c
        _scatter(
            work, offset(at, c) + X, packed, _row_begin(k, last, order), _row_begin(k + 1, last, order),
            _row_begin(k + 2, last, order), _row_begin(k + 3, last, order),
        )  # fmt: skip
    for c in range(whole, count):
        row = np.uint64(_row_begin(first + c, last, order))
        for column in range(PACKED):
            packed[row + np.uint64(column)] = work[offset(at, c) + X + np.uint64(BLOCK * column)]
    return code
