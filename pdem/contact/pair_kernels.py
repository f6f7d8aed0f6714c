"""Kernels of the contacts between particles: which candidates touch, and what the contact law says of these.

A candidate pair is oriented from the lower to the higher id. Touching candidates have *slots*, in the order of the
candidates; slot 0 holds zeros and stands for "does not touch".

How the arrays lie decides the speed. What a contact reads of a particle is *packed* into one row of
`PACKED` numbers, so that it comes from one or two cache lines at one address. Every result has a column of its
own, given as an array of its own: then, and only then, does the loop over contacts become vector code with plain
stores. Rows are masked by `ROW` before they are used, and slots are unsigned: known not to be negative, they need no
test for indices that count from the end.

A step would stream all of this through the caches once for each thing that is done with it, and most of its time went
into waiting for memory. Therefore candidates are looked at, evaluated and added up in small chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import TINY, contact_law, square_root
from pdem.contact.pair_sums import CHUNK, add_row
from pdem.foundation.geometry_kernels import nearest_image
from pdem.foundation.kernels import ROW, prange, uncounted_kernel
from pdem.motion.integration import PACKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES = 8
"""Contacts are evaluated in multiples of this, the most that any processor takes at once."""

RUN = 9
"""Numbers of a run of candidates that one worker takes. Given:"""

BEGIN, END, SLOT, LIMIT, TABLE = range(5)
"""first candidate, the one behind its last, its first slot, the one behind its last, where its chunks begin in `ready`;
and written:"""

STOP, CONTACTS, ENDED, DEEP = range(5, RUN)
"""where it has come to (`END` if it had enough slots), its contacts, how many have ended, and a candidate whose overlap
is beyond the limit + 1, or 0."""

ONE, TWO = np.uint64(1), np.uint64(2)


@uncounted_kernel
def evaluate_pairs(
    runs: NDArray[np.int64],
    owned: int,
    dt: float,
    step: float,
    largest_overlap: float,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    packed: NDArray[np.float64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    materials: int,
    coefficient: NDArray[np.float64],
    slot_before: NDArray[np.int32],
    old: NDArray[np.float64],
    mark: NDArray[np.int8],
    touching: NDArray[np.int32],
    ended: NDArray[np.int32],
    adds: bool,
    ready: NDArray[np.int64],
    order: NDArray[np.int32],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    touched: NDArray[np.int8],
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
    torque0: NDArray[np.float64],
    torque1: NDArray[np.float64],
    torque2: NDArray[np.float64],
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
    """Find the contacts among runs of candidates, evaluate their law, and add up what is complete.

    A worker takes `CHUNK` candidates of its run at a time: it looks which of them touch, lists those, evaluates the
    contact law for the list, and adds up the forces on particles none of whose candidates is still to come. So what
    has been read and written is used again while it is in the nearest caches. Velocities are those of the middle of
    the step until the sum of a particle lets its forces act.

    Parameters
    ----------
    runs : (RUN, workers) array
        See `RUN`; a worker that runs out of slots stops.
    owned : int
        Particles of this rank; a contact has ended for the rank that owns its lower particle.
    lower, higher, slot_before, mark, slot : arrays
        By candidate: rows of its particles, its slot in the last step or 0; written: 0 apart, 1 touching, 3 if the
        overlap exceeds `largest_overlap` smaller radii; its slot.
    packed
        As `pdem.motion.integration.pack` writes it.
    old : (HISTORY, n) array
        Histories of the last step by slot, zeros in slot 0.
    touching : int32 array
        Written: the candidate of each slot.
    ended : int32 array
        Written, from the first candidate of each run on: old slots of contacts that are none any more.
    adds : bool
        Whether sums are made here: of the particles ``order[ready[t]:ready[t + 1]]`` after chunk t.
    start, entry, touched : arrays
        ``entry[start[p]:start[p + 1]]`` are p's candidates, as ``2 k`` where p is the lower and ``2 k + 1`` where it
        is the higher particle; `touched` is zero, and 1 while contacts of a particle wait for their sum.
    new0, ..., force0, ..., torque0, ... : arrays
        Written, by slot: columns of the history, forces, torques.
    walls, wall : bool, (n, 6) array
        Force and torque from the walls, if there are any.
    half, gravity, free, density, material, ..., torque
        For how long forces act on the velocities [s], 0 for not at all, and what `half_kick` takes.
    """
    rate = 1.0 / step
    for worker in prange(runs.shape[1]):
        end = runs[END, worker]
        at = runs[SLOT, worker]
        bottom = ending = runs[BEGIN, worker]
        table = runs[TABLE, worker]
        beyond = 0
        while bottom < end and at + CHUNK + LANES <= runs[LIMIT, worker]:
            first = at
            top = min(end, bottom + CHUNK)
            for c in range(top - bottom):
                k = np.uint64(bottom) + np.uint64(c)
                i, j = PACKED * (lower[k] & ROW), PACKED * (higher[k] & ROW)
                dx = nearest_image(packed[j] - packed[i], period[0], frequency[0])
                dy = nearest_image(packed[j + 1] - packed[i + 1], period[1], frequency[1])
                dz = nearest_image(packed[j + 2] - packed[i + 2], period[2], frequency[2])
                squared = dx * dx + dy * dy + dz * dz
                reach = packed[i + 3] + packed[j + 3]
                close = reach - largest_overlap * min(packed[i + 3], packed[j + 3])
                mark[k] = (1 if squared < reach * reach else 0) + (2 if squared < close * close else 0)
            # no branches: what does not touch is overwritten by what follows
            for c in range(top - bottom):
                k = np.uint64(bottom) + np.uint64(c)
                touches = mark[k] & 1
                slot[k] = at if touches else 0
                touching[np.uint64(at)] = bottom + c
                at += touches
                ended[np.uint64(ending)] = slot_before[k]
                ending += (slot_before[k] > 0) & (touches == 0) & (lower[k] < owned)
                beyond = bottom + c + 1 if mark[k] > 1 else beyond
            # no single contacts behind the last whole vector: the last one is repeated instead
            whole = -(-(at - first) // LANES) * LANES
            for c in range(at - first, whole):
                touching[np.uint64(first) + np.uint64(c)] = touching[np.uint64(at - 1)]
            for c in range(whole):
                s = np.uint64(first) + np.uint64(c)
                k = touching[s] & ROW
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
                new0[s] = gx
                new1[s] = gy
                new2[s] = gz
                new3[s] = normal
                new4[s] = ux
                new5[s] = uy
                new6[s] = uz
                new7[s] = stored
                new8[s] = damped
                new9[s] = slid
                new10[s] = rolled
                new11[s] = overlap
                force0[s] = px + fx
                force1[s] = py + fy
                force2[s] = pz + fz
                torque0[TWO * s] = -arm_i * qx - ax
                torque0[TWO * s + ONE] = ax - arm_j * qx
                torque1[TWO * s] = -arm_i * qy - ay
                torque1[TWO * s + ONE] = ay - arm_j * qy
                torque2[TWO * s] = -arm_i * qz - az
                torque2[TWO * s + ONE] = az - arm_j * qz
            for c in range(at - first):
                k = touching[np.uint64(first) + np.uint64(c)] & ROW
                touched[lower[k] & ROW] = touched[higher[k] & ROW] = 1
            if adds:
                for place in range(ready[table], ready[table + 1]):
                    p = order[np.uint64(place)] & ROW
                    add_row(
                        p, start, entry, slot, touched, force0, force1, force2, torque0, torque1, torque2, walls,
                        wall, half, gravity, free, density, material, radius, velocity, angular_velocity, force,
                        torque,
                    )  # fmt: skip
            table += 1
            bottom = top
        runs[STOP, worker] = bottom
        runs[CONTACTS, worker] = at - runs[SLOT, worker]
        runs[ENDED, worker] = ending - runs[BEGIN, worker]
        runs[DEEP, worker] = beyond
