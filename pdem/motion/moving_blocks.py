"""Particles that go on to the next step, several at a time.

A particle needs little arithmetic, one operation after the other, and most of it three times. As columns of a block of
particles it is vector code. It says what `pdem.motion.integration.move` says of one particle, to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.kernels import ROW
from pdem.foundation.transposition import ROWS, columns_to_rows, rows_to_columns, whole_lanes
from pdem.motion.integration import (
    FINE,
    GONE,
    LOST,
    PACKED,
    STALE,
    half_kick,
    move_along,
    went_too_far,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 32
"""Particles that are moved at a time."""

(
    X, Y, Z, R, U, V, W, L, P, Q, S, _, FX, FY, FZ, TX, TY, TZ, X0, Y0, Z0, SKIN, TURNS_X, TURNS_Y, TURNS_Z, FAR,
) = (np.uint64(BLOCK * column) for column in range(PACKED + 14))  # fmt: skip
"""Where columns begin: what is packed; force and torque; place when lists were made, skin; written: how many periods
they are taken back along each axis, and whether they went too far."""

COLUMNS = BLOCK * (PACKED + 14)
"""Numbers of all columns."""

_bring = rows_to_columns(PACKED, BLOCK)
_take = columns_to_rows(PACKED, BLOCK)


@inlined_geometry
def _go_on(
    at: int, count: int, dt: float, gravity: NDArray[np.float64], free: NDArray[np.float64],
    sides: NDArray[np.float64], work: NDArray[np.float64],
) -> tuple[int, int]:  # fmt: skip
    """Kick by both halves and let drift what stands in columns.

    Returns the largest code but `LOST`, and how many particles are to be looked at one by one. Vectors are filled up
    with what happens to stand there, which does not count.
    """
    half = 0.5 * dt
    worst = odd = 0
    for c in range(whole_lanes(count)):
        w = np.uint64(at) + np.uint64(c)
        inverse_mass, radius = work[w + L], work[w + R]
        force, torque = (work[w + FX], work[w + FY], work[w + FZ]), (work[w + TX], work[w + TY], work[w + TZ])
        u0, u1, u2, s0, s1, s2 = half_kick(
            half, inverse_mass, radius, gravity, free, (work[w + U], work[w + V], work[w + W]),
            (work[w + P], work[w + Q], work[w + S]), force, torque,
        )  # fmt: skip
        u0, u1, u2, s0, s1, s2 = half_kick(
            half, inverse_mass, radius, gravity, free, (u0, u1, u2), (s0, s1, s2), force, torque
        )
        a, b, c0 = dt * u0, dt * u1, dt * u2
        x, tx, dx, left = move_along(0, a, work[w + X], work[w + X0], sides)
        y, ty, dy, right = move_along(1, b, work[w + Y], work[w + Y0], sides)
        z, tz, dz, down = move_along(2, c0, work[w + Z], work[w + Z0], sides)
        skin = work[w + SKIN]
        away = dx * dx + dy * dy + dz * dz
        counts, far = c < count, went_too_far(a, b, c0, away, radius)
        stale = STALE if away > skin * skin else FINE
        worst = max(worst, (GONE if left | right | down else stale) if counts else FINE)
        odd += 1 if counts & (far | (tx != 0.0) | (ty != 0.0) | (tz != 0.0)) else 0
        work[w + X], work[w + Y], work[w + Z] = x, y, z
        work[w + U], work[w + V], work[w + W] = u0, u1, u2
        work[w + P], work[w + Q], work[w + S] = s0, s1, s2
        work[w + TURNS_X], work[w + TURNS_Y], work[w + TURNS_Z] = tx, ty, tz
        work[w + FAR] = 1.0 if far else 0.0
    return worst, odd


@inlined_geometry
def _look_at(
    at: int, first: int, count: int, order: NDArray[np.int32], image: NDArray[np.int32], work: NDArray[np.float64]
) -> int:  # fmt: skip
    """Count periods of those that crossed a side; return the largest code."""
    code = FINE
    for c in range(count):
        w, p = np.uint64(at) + np.uint64(c), order[np.uint64(first + c)] & ROW
        for axis in range(3):
            turns = work[w + TURNS_X + np.uint64(BLOCK * axis)]
            if turns != 0.0:
                image[p, axis] += np.int32(turns)
        code = max(code, LOST + p if work[w + FAR] > 0.0 else FINE)
    return code


@inlined_geometry
def _row(place: int, last: int, order: NDArray[np.int32]) -> int:
    """Return where a particle's packed row begins; behind the last one it is the last one's."""
    return PACKED * (order[np.uint64(min(place, last))] & ROW)


@inlined_geometry
def move_block(
    at: int,
    first: int,
    count: int,
    order: NDArray[np.int32],
    dt: float,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    sides: NDArray[np.float64],
    image: NDArray[np.int32],
    packed: NDArray[np.float64],
    work: NDArray[np.float64],
) -> int:
    """End a step and begin the next for the particles ``order[first:first + count]``, at most `BLOCK`.

    Force and torque, the place when lists were made and the skin of each must stand in their columns, which begin at
    `at`. What is returned, and all else, as by `pdem.motion.integration.move`.
    """
    last = first + count - 1
    for c in range(0, count, ROWS):
        k = first + c
        _bring(
            packed, _row(k, last, order), _row(k + 1, last, order), _row(k + 2, last, order),
            _row(k + 3, last, order), work, np.uint64(at) + np.uint64(c),
        )  # fmt: skip
    code, odd = _go_on(at, count, dt, gravity, free, sides, work)
    if odd > 0:
        code = max(code, _look_at(at, first, count, order, image, work))
    whole = count & -ROWS
    for c in range(0, whole, ROWS):
        k = first + c
        _take(
            work, np.uint64(at) + np.uint64(c), packed, _row(k, last, order), _row(k + 1, last, order),
            _row(k + 2, last, order), _row(k + 3, last, order),
        )  # fmt: skip
    for c in range(whole, count):
        row = np.uint64(_row(first + c, last, order))
        for column in range(PACKED):
            packed[row + np.uint64(column)] = work[np.uint64(at) + np.uint64(c) + np.uint64(BLOCK * column)]
    return code
