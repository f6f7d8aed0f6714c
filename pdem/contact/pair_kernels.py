"""Kernels of the contacts between particles: which candidates touch, their forces, the sum per particle.

A candidate pair is oriented from the lower to the higher id. Touching candidates are compacted into *slots*,
numbered from 1 in the order of the candidates; slot 0 holds zeros and stands for "does not touch".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import HISTORY, TINY, contact_law
from pdem.foundation.kernels import inlined, kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 4096
"""Candidates per piece of work when touching ones are compacted."""

FORCES = 9
"""Columns of a contact's result: force on the higher particle (3) [N], torque on the lower (3) and on the
higher particle (3) [N m]."""

_SPHERE = 4.0 / 3.0 * math.pi


@inlined
def nearest(difference: float, period: float, frequency: float) -> float:
    """Return a difference of coordinates reduced to the nearest periodic image."""
    return difference - period * np.floor(difference * frequency + 0.5)


@threaded_kernel
def find_touching(
    count: int,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    position: NDArray[np.float64],
    radius: NDArray[np.float64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    largest_overlap: float,
    slot: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:
    """Give the touching candidates of each chunk numbers from 0 (-1: does not touch).

    ``found[0, c]`` is the number of chunk c, ``found[1, c]`` its last candidate whose overlap exceeds
    `largest_overlap` (over the smaller radius) plus 1, or 0.
    """
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        touching = 0
        worst = 0
        for k in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            i, j = lower[k], higher[k]
            dx = nearest(position[j, 0] - position[i, 0], period[0], frequency[0])
            dy = nearest(position[j, 1] - position[i, 1], period[1], frequency[1])
            dz = nearest(position[j, 2] - position[i, 2], period[2], frequency[2])
            squared = dx * dx + dy * dy + dz * dz
            reach = radius[i] + radius[j]
            close = reach - largest_overlap * min(radius[i], radius[j])
            touches = squared < reach * reach
            slot[k] = touching if touches else -1
            touching += 1 if touches else 0
            worst = k + 1 if squared < close * close else worst
        found[0, chunk] = touching
        found[1, chunk] = worst


@threaded_kernel
def compact(
    count: int, found: NDArray[np.int64], slot: NDArray[np.int32], touching: NDArray[np.int32]
) -> None:
    """Turn numbers within chunks into slots and list the candidate of each; ``found[2]`` = first slots."""
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        offset = found[2, chunk]
        for k in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            number = slot[k]
            if number >= 0:
                touching[offset + number] = k
            slot[k] = offset + number if number >= 0 else 0


@kernel
def list_ended(
    count: int,
    slot_before: NDArray[np.int32],
    slot: NDArray[np.int32],
    lower: NDArray[np.int32],
    owned: int,
    ended: NDArray[np.int32],
) -> int:
    """List the old slots of contacts that have ended and whose lower particle is owned; return how many."""
    number = 0
    for k in range(count):
        if slot_before[k] > 0 and slot[k] == 0 and lower[k] < owned and number < len(ended):
            ended[number] = slot_before[k]
            number += 1
    return number


@threaded_kernel
def pair_forces(
    count: int,
    dt: float,
    step: float,
    touching: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    radius: NDArray[np.float64],
    material: NDArray[np.int32],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    density: NDArray[np.float64],
    table: NDArray[np.float64],
    slot_before: NDArray[np.int32],
    old: NDArray[np.float64],
    new0: NDArray[np.float64],
    new1: NDArray[np.float64],
    new2: NDArray[np.float64],
    new3: NDArray[np.float64],
    new4: NDArray[np.float64],
    new5: NDArray[np.float64],
    new6: NDArray[np.float64],
    new7: NDArray[np.float64],
    new8: NDArray[np.float64],
    new9: NDArray[np.float64],
    new10: NDArray[np.float64],
    force0: NDArray[np.float64],
    force1: NDArray[np.float64],
    force2: NDArray[np.float64],
    force3: NDArray[np.float64],
    force4: NDArray[np.float64],
    force5: NDArray[np.float64],
    force6: NDArray[np.float64],
    force7: NDArray[np.float64],
    force8: NDArray[np.float64],
) -> None:
    """Evaluate the contact law for slots 1 to `count`; velocities are those of the middle of the step.

    Every result has a column of its own (`new0` ... by history column, `force0` ... by force column): stores to
    several rows of one array would keep the loop from becoming vector code.
    """
    materials = len(density)
    rate = 1.0 / step
    for c in prange(1, count + 1):
        k = touching[c]
        i, j = lower[k], higher[k]
        ri, rj = radius[i], radius[j]
        vx = velocity[j, 0] - velocity[i, 0]
        vy = velocity[j, 1] - velocity[i, 1]
        vz = velocity[j, 2] - velocity[i, 2]
        dx = nearest(position[j, 0] - position[i, 0], period[0], frequency[0])
        dy = nearest(position[j, 1] - position[i, 1], period[1], frequency[1])
        dz = nearest(position[j, 2] - position[i, 2], period[2], frequency[2])
        distance = max(math.sqrt(dx * dx + dy * dy + dz * dz), TINY)
        nx, ny, nz = dx / distance, dy / distance, dz / distance
        bx, by, bz = dx - dt * vx, dy - dt * vy, dz - dt * vz
        before = math.sqrt(bx * bx + by * by + bz * bz)
        mx, my, mz = dx - 0.5 * dt * vx, dy - 0.5 * dt * vy, dz - 0.5 * dt * vz
        middle = max(math.sqrt(mx * mx + my * my + mz * mz), TINY)
        mx, my, mz = mx / middle, my / middle, mz / middle
        overlap = ri + rj - distance
        # the contact point divides the overlap so that forces at it turn neither particle against the other
        arm_i = ri - overlap * rj / (ri + rj)
        arm_j = rj - overlap * ri / (ri + rj)
        deep = ri + rj - middle
        mid_i, mid_j = ri - deep * rj / (ri + rj), rj - deep * ri / (ri + rj)
        wix, wiy, wiz = angular_velocity[i, 0], angular_velocity[i, 1], angular_velocity[i, 2]
        wjx, wjy, wjz = angular_velocity[j, 0], angular_velocity[j, 1], angular_velocity[j, 2]
        sx, sy, sz = mid_i * wix + mid_j * wjx, mid_i * wiy + mid_j * wjy, mid_i * wiz + mid_j * wjz
        ux = vx - (sy * mz - sz * my)
        uy = vy - (sz * mx - sx * mz)
        uz = vz - (sx * my - sy * mx)
        mass_i = _SPHERE * density[material[i]] * ri * ri * ri
        mass_j = _SPHERE * density[material[j]] * rj * rj * rj
        turn_i, turn_j = 0.4 * mass_i * ri * ri, 0.4 * mass_j * rj * rj
        px, py, pz, fx, fy, fz, ax, ay, az, gx, gy, gz, damped, slid, rolled, stored, push = contact_law(
            dt, rate, overlap, ri + rj - before, (nx, ny, nz), (mx, my, mz), (ux, uy, uz),
            0.5 * ((wix + wjx) * nx + (wiy + wjy) * ny + (wiz + wjz) * nz),
            (wjx - wix, wjy - wiy, wjz - wiz),
            ri * rj / (ri + rj), mass_i * mass_j / (mass_i + mass_j), turn_i * turn_j / (turn_i + turn_j),
            table, material[i] * materials + material[j], old, slot_before[k],
        )  # fmt: skip
        qx = ny * fz - nz * fy
        qy = nz * fx - nx * fz
        qz = nx * fy - ny * fx
        force0[c] = px + fx
        force1[c] = py + fy
        force2[c] = pz + fz
        force3[c] = -arm_i * qx - ax
        force4[c] = -arm_i * qy - ay
        force5[c] = -arm_i * qz - az
        force6[c] = -arm_j * qx + ax
        force7[c] = -arm_j * qy + ay
        force8[c] = -arm_j * qz + az
        new0[c] = gx
        new1[c] = gy
        new2[c] = gz
        new3[c] = ux
        new4[c] = uy
        new5[c] = uz
        new6[c] = damped
        new7[c] = slid
        new8[c] = rolled
        new9[c] = stored
        new10[c] = push


@threaded_kernel
def sum_forces(
    owned: int,
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    contact: NDArray[np.float64],
    wall: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
) -> None:
    """Add up the contact forces of each owned particle in the order of its partners' ids, then its walls'.

    ``entry[start[p]:start[p + 1]]`` are p's candidates, as ``2 k`` where p is the lower and ``2 k + 1`` where
    it is the higher particle; `wall` holds force and torque (n, 6) from the walls.
    """
    for p in prange(owned):
        fx = fy = fz = tx = ty = tz = 0.0
        for place in range(start[p], start[p + 1]):
            side = entry[place] & 1
            c = slot[entry[place] >> 1]
            sign = 2.0 * side - 1.0
            fx += sign * contact[0, c]
            fy += sign * contact[1, c]
            fz += sign * contact[2, c]
            tx += contact[3 + 3 * side, c]
            ty += contact[4 + 3 * side, c]
            tz += contact[5 + 3 * side, c]
        force[p, 0] = fx + wall[p, 0]
        force[p, 1] = fy + wall[p, 1]
        force[p, 2] = fz + wall[p, 2]
        torque[p, 0] = tx + wall[p, 3]
        torque[p, 1] = ty + wall[p, 4]
        torque[p, 2] = tz + wall[p, 5]


__all__ = [
    "CHUNK",
    "FORCES",
    "HISTORY",
    "compact",
    "find_touching",
    "list_ended",
    "pair_forces",
    "sum_forces",
]
