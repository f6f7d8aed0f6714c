"""The forces on each particle: which of its contacts are complete when, and their sum in the order of partners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.load_sums import sum_loads
from pdem.contact.slot_kernels import chunk_of
from pdem.detection.neighbours import sort_row
from pdem.foundation.kernels import ROW, inlined, kernel, prange, threaded_kernel, uncounted_kernel
from pdem.motion.integration import LIGHTNESS, PACKED, SIZE, half_kick

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inlined
def order_row(
    begin: int, end: int, entry: NDArray[np.int32], partner: NDArray[np.int64], slot: NDArray[np.int32]
) -> int:
    """Put the candidates that touch before the others, in the order of partners; return how many touch."""
    behind = begin
    for place in range(begin, end):
        which, other = entry[place], partner[place]
        if slot[which >> 1] > 0:
            entry[place], partner[place] = entry[behind], partner[behind]
            entry[behind], partner[behind] = which, other
            behind += 1
    sort_row(begin, behind, partner, entry)
    return behind - begin


@inlined
def add_row(
    p: int,
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    partner: NDArray[np.int64],
    bound: NDArray[np.int32],
    loads: NDArray[np.float64],
    packed: NDArray[np.float64],
    walls: bool,
    wall: NDArray[np.float64],
    half: float,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
) -> None:
    """Add up the forces on one owned particle in the order of its partners' ids, then its walls', and let them act."""
    if bound[p] < 0:
        bound[p] = order_row(start[p], start[p + 1], entry, partner, slot)
    fx, fy, fz, tx, ty, tz = sum_loads(entry, slot, loads, start[p], start[p] + bound[p])
    if walls:
        fx, fy, fz = fx + wall[p, 0], fy + wall[p, 1], fz + wall[p, 2]
        tx, ty, tz = tx + wall[p, 3], ty + wall[p, 4], tz + wall[p, 5]
    force[p, 0], force[p, 1], force[p, 2] = fx, fy, fz
    torque[p, 0], torque[p, 1], torque[p, 2] = tx, ty, tz
    if half != 0.0:
        lightness, radius = packed[PACKED * p + LIGHTNESS], packed[PACKED * p + SIZE]
        half_kick(
            p, half, lightness, radius, gravity, free, velocity, angular_velocity, (fx, fy, fz), (tx, ty, tz)
        )


@uncounted_kernel
def sum_forces(
    rows: NDArray[np.int32],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    partner: NDArray[np.int64],
    bound: NDArray[np.int32],
    loads: NDArray[np.float64],
    packed: NDArray[np.float64],
    walls: bool,
    wall: NDArray[np.float64],
    half: float,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
) -> None:
    """Add up the forces on some owned particles, and let them act, as `evaluate_pairs` does."""
    for row in prange(len(rows)):
        add_row(
            rows[row] & ROW, start, entry, slot, partner, bound, loads, packed, walls, wall, half, gravity, free,
            velocity, angular_velocity, force, torque,
        )  # fmt: skip


@threaded_kernel
def note_chunks(
    owned: int,
    inner: int,
    begins: NDArray[np.int64],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    chunk: NDArray[np.int32],
) -> None:
    """Write after which chunk of candidates the contacts of each particle are complete.

    `begins` are the first chunks of the workers and the one behind all. The last stands for particles with a candidate
    from `inner` on, with candidates of several workers, or with none.
    """
    for p in prange(owned):
        first, last = inner, -1
        for place in range(start[p], start[p + 1]):
            first, last = min(first, entry[place] >> 1), max(last, entry[place] >> 1)
        chunk[p] = begins[-1]
        if 0 <= last < inner:
            low, high = chunk_of(first, inner), chunk_of(last, inner)
            worker = np.searchsorted(begins, high, side="right") - 1
            if begins[worker] <= low:
                chunk[p] = high


@kernel
def list_ready(
    owned: int, chunk: NDArray[np.int32], ready: NDArray[np.int64], order: NDArray[np.int32]
) -> None:
    """List particles by the chunk that completes them: ``order[ready[t]:ready[t + 1]]``, and then the others."""
    ready[:] = 0
    for p in range(owned):
        ready[chunk[p] + 1] += 1
    for t in range(1, len(ready)):
        ready[t] += ready[t - 1]
    for p in range(owned):
        order[ready[chunk[p]]] = p
        ready[chunk[p]] += 1
    for t in range(len(ready) - 1, 0, -1):
        ready[t] = ready[t - 1]
    ready[0] = 0
