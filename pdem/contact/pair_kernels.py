"""Kernels of the contacts between particles: which candidates touch, their forces, the sum per particle.

A candidate pair is oriented from the lower to the higher id. Touching candidates are compacted into *slots*,
numbered from 1 in the order of the candidates; slot 0 holds zeros and stands for "does not touch".

How the arrays lie decides the speed. What a contact reads of a particle is *packed* into one row of
`PACKED` numbers, so that it comes from one or two cache lines at one address. Every result has a column of its
own, given as an array of its own that begins where the loop begins: then, and only then, does the loop over
contacts become vector code with plain stores. Rows are masked by `ROW` before they are used: known not to be
negative, they need no test for indices that count from the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import TINY, contact_law, square_root
from pdem.foundation.geometry_kernels import nearest_image, sphere_mass
from pdem.foundation.kernels import ROW, kernel, prange, threaded_kernel
from pdem.motion.integration import half_kick

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 4096
"""Candidates per piece of work when touching ones are compacted."""

PACKED = 12
"""Numbers per particle: position (3) [m], radius [m], velocity (3) [m/s], one over the mass [1/kg], angular
velocity (3) [rad/s], material."""

FORCES = 9
"""Columns of a contact's result: force on the higher particle (3) [N], torque on the lower (3) and on the
higher particle (3) [N m]."""


@threaded_kernel
def pack(
    rows: int,
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    radius: NDArray[np.float64],
    material: NDArray[np.int32],
    density: NDArray[np.float64],
    packed: NDArray[np.float64],
) -> None:
    """Write what contacts need of particles, `PACKED` numbers each."""
    for p in prange(rows):
        at = PACKED * p
        packed[at], packed[at + 1], packed[at + 2] = position[p, 0], position[p, 1], position[p, 2]
        packed[at + 3] = radius[p]
        packed[at + 4], packed[at + 5], packed[at + 6] = velocity[p, 0], velocity[p, 1], velocity[p, 2]
        packed[at + 7] = 1.0 / sphere_mass(density[material[p]], radius[p])
        packed[at + 8], packed[at + 9] = angular_velocity[p, 0], angular_velocity[p, 1]
        packed[at + 10] = angular_velocity[p, 2]
        packed[at + 11] = material[p]


@threaded_kernel
def mark_touching(
    count: int,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    packed: NDArray[np.float64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    largest_overlap: float,
    mark: NDArray[np.int8],
) -> None:
    """Mark each candidate: 0 apart, 1 touching, 3 if its overlap exceeds `largest_overlap` smaller radii."""
    for k in prange(count):
        i, j = PACKED * (lower[k] & ROW), PACKED * (higher[k] & ROW)
        dx = nearest_image(packed[j] - packed[i], period[0], frequency[0])
        dy = nearest_image(packed[j + 1] - packed[i + 1], period[1], frequency[1])
        dz = nearest_image(packed[j + 2] - packed[i + 2], period[2], frequency[2])
        squared = dx * dx + dy * dy + dz * dz
        reach = packed[i + 3] + packed[j + 3]
        close = reach - largest_overlap * min(packed[i + 3], packed[j + 3])
        mark[k] = (1 if squared < reach * reach else 0) + (2 if squared < close * close else 0)


@threaded_kernel
def count_touching(count: int, mark: NDArray[np.int8], found: NDArray[np.int64]) -> None:
    """Write how many candidates of each chunk touch (``found[0]``), and how many of them too deep (``found[1]``)."""
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        touching = 0
        deep = 0
        for k in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            touching += mark[k] & 1
            deep += mark[k] >> 1
        found[0, chunk] = touching
        found[1, chunk] = deep


@threaded_kernel
def compact(
    count: int,
    owned: int,
    lower: NDArray[np.int32],
    mark: NDArray[np.int8],
    slot_before: NDArray[np.int32],
    found: NDArray[np.int64],
    slot: NDArray[np.int32],
    touching: NDArray[np.int32],
    ended: NDArray[np.int32],
) -> None:
    """Give touching candidates their slots and list the candidate of each; list the old slots that ended.

    The slots of chunk c begin at ``found[2, c]``. ``ended[c * (CHUNK + 1):]`` takes its ``found[3, c]`` old slots
    of contacts that are none any more and whose lower particle is owned.
    """
    total = found[2, (count + CHUNK - 1) // CHUNK]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        at = found[2, chunk]
        first = chunk * (CHUNK + 1)
        ending = first
        # no branches: what does not touch is written to a place of this chunk behind all others
        waste = total + chunk
        for k in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            touches = mark[k] & 1
            slot[k] = at if touches else 0
            touching[at if touches else waste] = k
            at += touches
            ended[ending] = slot_before[k]
            ending += (slot_before[k] > 0) & (touches == 0) & (lower[k] < owned)
        found[3, chunk] = ending - first


@kernel
def gather_ended(chunks: int, found: NDArray[np.int64], ended: NDArray[np.int32]) -> int:
    """Move the lists of all chunks together; return how many slots there are."""
    total = 0
    for chunk in range(chunks):
        for place in range(found[3, chunk]):
            ended[total + place] = ended[chunk * (CHUNK + 1) + place]
        total += found[3, chunk]
    return total


@threaded_kernel
def pair_forces(
    count: int,
    dt: float,
    step: float,
    touching: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    packed: NDArray[np.float64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    materials: int,
    coefficient: NDArray[np.float64],
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
    new11: NDArray[np.float64],
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
    """Evaluate the contact law for the `count` contacts `touching`; velocities are those of the middle of the step.

    `old` holds the last histories from slot 0 on, (HISTORY, n); `touching` and the columns `new0` ... of the
    history and `force0` ... of the forces begin with slot 1.
    """
    rate = 1.0 / step
    for c in prange(count):
        k = touching[c] & ROW
        i, j = PACKED * (lower[k] & ROW), PACKED * (higher[k] & ROW)
        ri, rj = packed[i + 3], packed[j + 3]
        vx, vy, vz = (
            packed[j + 4] - packed[i + 4],
            packed[j + 5] - packed[i + 5],
            packed[j + 6] - packed[i + 6],
        )
        dx = nearest_image(packed[j] - packed[i], period[0], frequency[0])
        dy = nearest_image(packed[j + 1] - packed[i + 1], period[1], frequency[1])
        dz = nearest_image(packed[j + 2] - packed[i + 2], period[2], frequency[2])
        distance = max(square_root(dx * dx + dy * dy + dz * dz), TINY)
        scale = 1.0 / distance
        nx, ny, nz = dx * scale, dy * scale, dz * scale
        mx, my, mz = dx - 0.5 * dt * vx, dy - 0.5 * dt * vy, dz - 0.5 * dt * vz
        middle = max(square_root(mx * mx + my * my + mz * mz), TINY)
        scale = 1.0 / middle
        mx, my, mz = mx * scale, my * scale, mz * scale
        overlap = ri + rj - distance
        # the contact point divides the overlap so that forces at it turn neither particle against the other
        share = rj / (ri + rj)
        arm_i, arm_j = ri - overlap * share, rj - overlap * (1.0 - share)
        deep = ri + rj - middle
        mid_i, mid_j = ri - deep * share, rj - deep * (1.0 - share)
        wix, wiy, wiz = packed[i + 8], packed[i + 9], packed[i + 10]
        wjx, wjy, wjz = packed[j + 8], packed[j + 9], packed[j + 10]
        sx, sy, sz = mid_i * wix + mid_j * wjx, mid_i * wiy + mid_j * wjy, mid_i * wiz + mid_j * wjz
        ux = vx - (sy * mz - sz * my)
        uy = vy - (sz * mx - sx * mz)
        uz = vz - (sx * my - sy * mx)
        lightness = packed[i + 7] + packed[j + 7]
        mass = 1.0 / lightness
        smaller = min(ri, rj)
        h = slot_before[k] & ROW
        px, py, pz, fx, fy, fz, ax, ay, az, gx, gy, gz, normal, stored, damped, slid, rolled = contact_law(
            dt, rate, overlap, overlap + dt * (vx * mx + vy * my + vz * mz), (nx, ny, nz), (mx, my, mz),
            (ux, uy, uz), 0.5 * ((wix + wjx) * nx + (wiy + wjy) * ny + (wiz + wjz) * nz),
            (wjx - wix, wjy - wiy, wjz - wiz), ri * share, mass, lightness, 0.4 * mass * smaller * smaller,
            coefficient, int(packed[i + 11]) * materials + int(packed[j + 11]), h > 0,
            (old[0, h], old[1, h], old[2, h], old[3, h], old[4, h], old[5, h], old[6, h], old[7, h], old[8, h],
             old[9, h], old[10, h]),
        )  # fmt: skip
        qx, qy, qz = ny * fz - nz * fy, nz * fx - nx * fz, nx * fy - ny * fx
        new0[c] = gx
        new1[c] = gy
        new2[c] = gz
        new3[c] = normal
        new4[c] = ux
        new5[c] = uy
        new6[c] = uz
        new7[c] = stored
        new8[c] = damped
        new9[c] = slid
        new10[c] = rolled
        new11[c] = overlap
        force0[c] = px + fx
        force1[c] = py + fy
        force2[c] = pz + fz
        force3[c] = -arm_i * qx - ax
        force4[c] = -arm_i * qy - ay
        force5[c] = -arm_i * qz - az
        force6[c] = ax - arm_j * qx
        force7[c] = ay - arm_j * qy
        force8[c] = az - arm_j * qz


@threaded_kernel
def flag_touching(
    rows: int,
    count: int,
    touching: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    touched: NDArray[np.int8],
) -> None:
    """Write which particles have a contact; that two threads may write the same 1 does no harm."""
    touched[:rows] = 0
    for c in prange(count):
        k = touching[c] & ROW
        touched[lower[k] & ROW] = 1
        touched[higher[k] & ROW] = 1


@threaded_kernel
def sum_forces(
    owned: int,
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    touched: NDArray[np.int8],
    contact: NDArray[np.float64],
    walls: bool,
    wall: NDArray[np.float64],
    half: float,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    density: NDArray[np.float64],
    material: NDArray[np.int32],
    radius: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
) -> None:
    """Add up the contact forces of each owned particle in the order of its partners' ids, then its walls'.

    ``entry[start[p]:start[p + 1]]`` are p's candidates, as ``2 k`` where p is the lower and ``2 k + 1`` where
    it is the higher particle; `touched` tells who has any contact; `contact` holds the columns of forces by slot,
    `wall` force and torque (n, 6) from the walls, if there are any. If `half` is not 0 the forces then act for this
    time [s], which ends the step while they are at hand.
    """
    for p in prange(owned):
        fx = fy = fz = tx = ty = tz = 0.0
        for place in range(start[p], start[p + touched[p]]):
            which = entry[place] & ROW
            side = which & 1
            c = slot[which >> 1] & ROW
            sign = 2.0 * side - 1.0
            fx += sign * contact[0, c]
            fy += sign * contact[1, c]
            fz += sign * contact[2, c]
            tx += contact[3 + 3 * side, c]
            ty += contact[4 + 3 * side, c]
            tz += contact[5 + 3 * side, c]
        if walls:
            fx, fy, fz = fx + wall[p, 0], fy + wall[p, 1], fz + wall[p, 2]
            tx, ty, tz = tx + wall[p, 3], ty + wall[p, 4], tz + wall[p, 5]
        force[p, 0], force[p, 1], force[p, 2] = fx, fy, fz
        torque[p, 0], torque[p, 1], torque[p, 2] = tx, ty, tz
        if half != 0.0:
            mass = sphere_mass(density[material[p]], radius[p])
            half_kick(
                p,
                half,
                mass,
                radius[p],
                gravity,
                free,
                velocity,
                angular_velocity,
                (fx, fy, fz),
                (tx, ty, tz),
            )
