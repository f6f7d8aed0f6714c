"""Kernels of the contacts between particles: which candidates touch, and what the contact law says of these.

A candidate pair is oriented from the lower to the higher id. Touching candidates have *slots*; slot 0 holds zeros and
stands for "does not touch". A contact keeps its slot while it lasts, and its history is renewed in place.

How the arrays lie decides the speed. What a contact reads of a particle is *packed* into one row of
`PACKED` numbers, so that it comes from one or two cache lines at one address. Every column of the history and every
result has an array of its own: then, and only then, does the loop over contacts become vector code with plain
loads and stores. Rows are masked by `ROW` before they are used, and slots are unsigned: known not to be negative, they
need no test for indices that count from the end.

A step would stream all of this through the caches once for each thing that is done with it, and most of its time went
into waiting for memory. Therefore candidates are looked at, evaluated and added up in small chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import TINY, contact_law, square_root
from pdem.contact.pair_sums import add_row
from pdem.contact.slot_kernels import LANES, chunk_range, whole_lanes
from pdem.foundation.geometry_kernels import nearest_image
from pdem.foundation.kernels import ROW, inlined, prange, uncounted_kernel
from pdem.motion.integration import PACKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUN = 5
"""Numbers of a run of chunks that one worker takes. Given:"""

BEGIN, END = 0, 1
"""its first chunk and the one behind its last; and written:"""

STOP, ENDED, DEEP = range(2, RUN)
"""the chunk where it has come to (`END` if it had room for all), how many contacts have ended, and a candidate whose
overlap is beyond the limit + 1, or 0."""

ENDS = 4096
"""Contacts of a worker that may end before it stops to have their energies counted."""

UNKNOWN = -np.inf
"""Overlap in the history of a contact that was none in the last step."""

ONE, TWO = np.uint64(1), np.uint64(2)


@inlined
def begin_history(
    s: int,
    old0: NDArray[np.float64], old1: NDArray[np.float64], old2: NDArray[np.float64], old3: NDArray[np.float64],
    old4: NDArray[np.float64], old5: NDArray[np.float64], old6: NDArray[np.float64], old7: NDArray[np.float64],
    old8: NDArray[np.float64], old9: NDArray[np.float64], old10: NDArray[np.float64], old11: NDArray[np.float64],
) -> None:  # fmt: skip
    """Have a contact in this slot that was none before."""
    old0[s] = old1[s] = old2[s] = old3[s] = old4[s] = old5[s] = 0.0
    old6[s] = old7[s] = old8[s] = old9[s] = old10[s] = 0.0
    old11[s] = UNKNOWN


@inlined
def move_history(
    a: int, b: int,
    old0: NDArray[np.float64], old1: NDArray[np.float64], old2: NDArray[np.float64], old3: NDArray[np.float64],
    old4: NDArray[np.float64], old5: NDArray[np.float64], old6: NDArray[np.float64], old7: NDArray[np.float64],
    old8: NDArray[np.float64], old9: NDArray[np.float64], old10: NDArray[np.float64], old11: NDArray[np.float64],
) -> None:  # fmt: skip
    """Copy the history in slot `a` to slot `b`."""
    old0[b], old1[b], old2[b], old3[b], old4[b], old5[b] = (
        old0[a],
        old1[a],
        old2[a],
        old3[a],
        old4[a],
        old5[a],
    )
    old6[b], old7[b], old8[b], old9[b], old10[b], old11[b] = (
        old6[a],
        old7[a],
        old8[a],
        old9[a],
        old10[a],
        old11[a],
    )


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
    inner: int,
    candidates: int,
    region: NDArray[np.int64],
    room: NDArray[np.int32],
    live: NDArray[np.int32],
    mark: NDArray[np.int8],
    touching: NDArray[np.int32],
    ended: NDArray[np.float64],
    adds: bool,
    ready: NDArray[np.int64],
    order: NDArray[np.int32],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    slot: NDArray[np.int32],
    touched: NDArray[np.int8],
    old0: NDArray[np.float64],
    old1: NDArray[np.float64],
    old2: NDArray[np.float64],
    old3: NDArray[np.float64],
    old4: NDArray[np.float64],
    old5: NDArray[np.float64],
    old6: NDArray[np.float64],
    old7: NDArray[np.float64],
    old8: NDArray[np.float64],
    old9: NDArray[np.float64],
    old10: NDArray[np.float64],
    old11: NDArray[np.float64],
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
    """Find the contacts among chunks of candidates, evaluate their law, and add up what is complete.

    A worker takes one chunk at a time: it looks which candidates touch, has those begin that did not touch before and
    those end that did, evaluates the contact law of all contacts, and adds up the forces on particles none of whose
    candidates is still to come. So what has been read and written is used again while it is in the nearest caches.
    Velocities are those of the middle of the step until the sum of a particle lets its forces act.

    Parameters
    ----------
    runs : (RUN, workers) array
        See `RUN`; a worker stops before a chunk for whose contacts it has no room.
    owned : int
        Particles of this rank; a contact has ended for the rank that owns its lower particle.
    lower, higher, mark, slot : arrays
        By candidate: rows of its particles; written: 0 apart, 1 touching, 3 if the overlap exceeds
        `largest_overlap` smaller radii; its slot, or 0.
    packed
        As `pdem.motion.integration.pack` writes it.
    inner, candidates, region, room, live
        Candidates between owned particles, and all; by chunk: its first slot, how many it has, and its
        contacts.
    touching : int32 array
        The candidate of each slot.
    ended : (4, workers * ENDS) array
        Written: energies of contacts that have ended, those of worker w from ``w * ENDS`` on.
    adds : bool
        Whether sums are made here: of the particles ``order[ready[t]:ready[t + 1]]`` after chunk t.
    start, entry, touched : arrays
        ``entry[start[p]:start[p + 1]]`` are p's candidates, as ``2 k`` where p is the lower and ``2 k + 1`` where it
        is the higher particle; `touched` is 1 for particles with contacts.
    old0, ... : arrays
        Columns of the history by slot, renewed.
    force0, ..., torque0, ... : arrays
        Written, by slot: columns of forces and torques.
    walls, wall : bool, (n, 6) array
        Force and torque from the walls, if there are any.
    half, gravity, free, density, material, ..., torque
        For how long forces act on the velocities [s], 0 for not at all, and what `half_kick` takes.
    """
    rate = 1.0 / step
    for worker in prange(runs.shape[1]):
        chunk = runs[BEGIN, worker]
        ending = 0
        beyond = 0
        while chunk < runs[END, worker]:
            bottom, top = chunk_range(chunk, inner, candidates)
            first = region[chunk]
            changes = deeper = 0
            for c in range(top - bottom):
                k = np.uint64(bottom) + np.uint64(c)
                i, j = PACKED * (lower[k] & ROW), PACKED * (higher[k] & ROW)
                dx = nearest_image(packed[j] - packed[i], period[0], frequency[0])
                dy = nearest_image(packed[j + 1] - packed[i + 1], period[1], frequency[1])
                dz = nearest_image(packed[j + 2] - packed[i + 2], period[2], frequency[2])
                squared = dx * dx + dy * dy + dz * dz
                reach = packed[i + 3] + packed[j + 3]
                close = max(reach - largest_overlap * min(packed[i + 3], packed[j + 3]), 0.0)
                touches = 1 if squared < reach * reach else 0
                deep = 1 if squared < close * close else 0
                mark[k] = touches + 2 * deep
                changes += touches ^ (1 if slot[k] > 0 else 0)
                deeper += deep
            count = live[chunk]
            if min(count + changes, top - bottom) + LANES > room[chunk] or ending + changes > ENDS:
                break
            if changes + deeper > 0:
                for c in range(bottom, top):
                    beyond = c + 1 if mark[c] > 1 else beyond
                    at = slot[c]
                    if mark[c] > 0 and at == 0:
                        at = first + count
                        count += 1
                        touching[at], slot[c] = c, at
                        touched[lower[c]] = touched[higher[c]] = 1
                        begin_history(
                            at, old0, old1, old2, old3, old4, old5, old6, old7, old8, old9, old10, old11
                        )
                    elif mark[c] == 0 and at > 0:
                        if lower[c] < owned:
                            place = worker * ENDS + ending
                            ended[0, place], ended[1, place] = old7[at], old8[at]
                            ended[2, place], ended[3, place] = old9[at], old10[at]
                            ending += 1
                        # the last contact of the chunk fills the gap
                        count -= 1
                        last = first + count
                        move_history(
                            last, at, old0, old1, old2, old3, old4, old5, old6, old7, old8, old9, old10, old11
                        )  # fmt: skip
                        touching[at] = touching[last]
                        slot[touching[last]] = at
                        slot[c] = 0
                live[chunk] = count
                whole = count & -LANES
                for lane in range(count - whole, whole_lanes(count) - whole):
                    s = np.uint64(first + whole) + np.uint64(lane)
                    touching[s] = bottom
                    begin_history(s, old0, old1, old2, old3, old4, old5, old6, old7, old8, old9, old10, old11)
            for c in range(whole_lanes(count)):
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
                mx, my, mz = dx - 0.5 * dt * vx, dy - 0.5 * dt * vy, dz - 0.5 * dt * vz
                middle = max(square_root(mx * mx + my * my + mz * mz), TINY)
                # quotients are what the processor is slowest at: one for both lengths, and one below for two more
                inverse = 1.0 / (distance * middle)
                scale = middle * inverse
                nx, ny, nz = dx * scale, dy * scale, dz * scale
                scale = distance * inverse
                mx, my, mz = mx * scale, my * scale, mz * scale
                overlap = ri + rj - distance
                # the contact point divides the overlap so that forces at it turn neither particle against the other
                lightness = packed[i + 7] + packed[j + 7]
                inverse = 1.0 / (lightness * (ri + rj))
                share, mass = lightness * rj * inverse, (ri + rj) * inverse
                arm_i, arm_j = ri - overlap * share, rj - overlap * (1.0 - share)
                deep = ri + rj - middle
                mid_i, mid_j = ri - deep * share, rj - deep * (1.0 - share)
                wix, wiy, wiz = packed[i + 8], packed[i + 9], packed[i + 10]
                wjx, wjy, wjz = packed[j + 8], packed[j + 9], packed[j + 10]
                sx, sy, sz = (
                    mid_i * wix + mid_j * wjx,
                    mid_i * wiy + mid_j * wjy,
                    mid_i * wiz + mid_j * wjz,
                )
                ux = vx - (sy * mz - sz * my)
                uy = vy - (sz * mx - sx * mz)
                uz = vz - (sx * my - sy * mx)
                smaller = min(ri, rj)
                px, py, pz, fx, fy, fz, ax, ay, az, gx, gy, gz, normal, stored, damped, slid, rolled = contact_law(
                    dt, rate, overlap, overlap + dt * (vx * mx + vy * my + vz * mz), (nx, ny, nz), (mx, my, mz),
                    (ux, uy, uz), 0.5 * ((wix + wjx) * nx + (wiy + wjy) * ny + (wiz + wjz) * nz),
                    (wjx - wix, wjy - wiy, wjz - wiz), ri * share, mass, lightness, 0.4 * mass * smaller * smaller,
                    coefficient, int(packed[i + 11]) * materials + int(packed[j + 11]), old11[s] > UNKNOWN,
                    (old0[s], old1[s], old2[s], old3[s], old4[s], old5[s], old6[s], old7[s], old8[s], old9[s],
                     old10[s]),
                )  # fmt: skip
                qx, qy, qz = ny * fz - nz * fy, nz * fx - nx * fz, nx * fy - ny * fx
                old0[s] = gx
                old1[s] = gy
                old2[s] = gz
                old3[s] = normal
                old4[s] = ux
                old5[s] = uy
                old6[s] = uz
                old7[s] = stored
                old8[s] = damped
                old9[s] = slid
                old10[s] = rolled
                old11[s] = overlap
                force0[s] = px + fx
                force1[s] = py + fy
                force2[s] = pz + fz
                torque0[TWO * s] = -arm_i * qx - ax
                torque0[TWO * s + ONE] = ax - arm_j * qx
                torque1[TWO * s] = -arm_i * qy - ay
                torque1[TWO * s + ONE] = ay - arm_j * qy
                torque2[TWO * s] = -arm_i * qz - az
                torque2[TWO * s + ONE] = az - arm_j * qz
            if adds:
                for place in range(ready[chunk], ready[chunk + 1]):
                    p = order[np.uint64(place)] & ROW
                    add_row(
                        p, start, entry, slot, touched, force0, force1, force2, torque0, torque1, torque2, walls,
                        wall, half, gravity, free, density, material, radius, velocity, angular_velocity, force,
                        torque,
                    )  # fmt: skip
            chunk += 1
        runs[STOP, worker], runs[ENDED, worker], runs[DEEP, worker] = chunk, ending, beyond
