"""The forces on each particle: the sum of what its contacts do to it, in the order of partners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.load_sums import sum_loads
from pdem.contact.pair_stages import WORK
from pdem.detection.neighbours import sort_row
from pdem.foundation.kernels import ROW, inlined, prange, uncounted_kernel
from pdem.motion.integration import FINE, move, unpack_particle
from pdem.motion.moving_blocks import BLOCK, FX, FY, FZ, SKIN, TX, TY, TZ, X0, Y0, Z0, move_block

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inlined
def order_row(
    begin: int, end: int, entry: NDArray[np.int32], seat: NDArray[np.int32], lower: NDArray[np.int32],
    higher: NDArray[np.int32], ids: NDArray[np.int64],
) -> int:  # fmt: skip
    """Put the candidates that touch before the others, in the order of partners; return how many touch."""
    behind = begin
    for place in range(begin, end):
        which = entry[place]
        if seat[which >> 1] > 0:
            entry[place], entry[behind] = entry[behind], which
            behind += 1
    sort_row(begin, behind, lower, higher, ids, entry)
    return behind - begin


@inlined
def sum_row(
    p: int,
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    seat: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    ids: NDArray[np.int64],
    bound: NDArray[np.int32],
    loads: NDArray[np.float64],
    wall: NDArray[np.float64],
    wall_row: NDArray[np.int32],
) -> tuple[float, float, float, float, float, float]:
    """Return force and torque on one owned particle, in the order of its partners' ids, then its walls'."""
    if bound[p] < 0:
        bound[p] = order_row(start[p], start[p + 1], entry, seat, lower, higher, ids)
    fx, fy, fz, tx, ty, tz = sum_loads(entry, seat, loads, start[p], start[p] + bound[p])
    if len(wall) > 0:
        w = wall_row[p] & ROW  # the row of zeros is added, too: 0 has a sign
        fx, fy, fz = fx + wall[w, 0], fy + wall[w, 1], fz + wall[w, 2]
        tx, ty, tz = tx + wall[w, 3], ty + wall[w, 4], tz + wall[w, 5]
    return fx, fy, fz, tx, ty, tz


@inlined
def add_rows(
    at: int,
    first: int,
    last: int,
    order: NDArray[np.int32],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    seat: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    ids: NDArray[np.int64],
    bound: NDArray[np.int32],
    loads: NDArray[np.float64],
    wall: NDArray[np.float64],
    wall_row: NDArray[np.int32],
    half: float,
    ahead: bool,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    sides: NDArray[np.float64],
    reference: NDArray[np.float64],
    skin: NDArray[np.float64],
    image: NDArray[np.int32],
    packed: NDArray[np.float64],
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
    work: NDArray[np.float64],
) -> int:
    """Add up the forces on the owned particles ``order[first:last]``, and let them act.

    With `ahead` they go on with the next step at once, and nobody looks at their columns; what is returned see
    `pdem.motion.integration.FINE`. `work` has `COLUMNS` numbers to write to from `at` on.
    """
    code = FINE
    for block in range(first, last, BLOCK):
        count = min(BLOCK, last - block)
        for c in range(count):
            p, w = order[np.uint64(block + c)] & ROW, np.uint64(at) + np.uint64(c)
            fx, fy, fz, tx, ty, tz = sum_row(
                p, start, entry, seat, lower, higher, ids, bound, loads, wall, wall_row
            )
            if ahead:
                work[w + FX], work[w + FY], work[w + FZ] = fx, fy, fz
                work[w + TX], work[w + TY], work[w + TZ] = tx, ty, tz
                work[w + X0], work[w + Y0], work[w + Z0] = reference[p, 0], reference[p, 1], reference[p, 2]
                work[w + SKIN] = skin[p]
            else:
                force[p, 0], force[p, 1], force[p, 2] = fx, fy, fz
                torque[p, 0], torque[p, 1], torque[p, 2] = tx, ty, tz
                move(
                    p, 2.0 * half, gravity, free, sides, reference, skin, image, packed, (fx, fy, fz), (tx, ty, tz),
                    0 if half == 0.0 else 1, False,
                )  # fmt: skip
                unpack_particle(p, packed, position, velocity, angular_velocity)
        if ahead:
            moved = move_block(at, block, count, order, 2.0 * half, gravity, free, sides, image, packed, work)
            code = max(code, moved)
    return code


@uncounted_kernel
def sum_forces(
    worst: NDArray[np.int64],
    rows: NDArray[np.int32],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    seat: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    ids: NDArray[np.int64],
    bound: NDArray[np.int32],
    loads: NDArray[np.float64],
    work: NDArray[np.float64],
    wall: NDArray[np.float64],
    wall_row: NDArray[np.int32],
    half: float,
    ahead: bool,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    sides: NDArray[np.float64],
    reference: NDArray[np.float64],
    skin: NDArray[np.float64],
    image: NDArray[np.int32],
    packed: NDArray[np.float64],
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
) -> None:
    """Add up the forces on some owned particles, and let them act, as `evaluate_pairs` does.

    Every worker writes the largest code of its particles to `worst`.
    """
    workers = len(worst)
    for worker in prange(workers):
        worst[worker] = add_rows(
            worker * WORK, worker * len(rows) // workers, (worker + 1) * len(rows) // workers, rows, start, entry,
            seat, lower, higher, ids, bound, loads, wall, wall_row, half, ahead, gravity, free, sides,
            reference, skin, image, packed, position, velocity, angular_velocity, force, torque, work,
        )  # fmt: skip
