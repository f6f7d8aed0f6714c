"""The contact law of a block of contacts between particles, stage by stage.

A processor looks ahead some two hundred instructions. Of the whole law, which has more than six hundred, it sees less
than one vector of contacts at a time, and waits for one root or quotient after the other. Each stage is a short loop
over the block, of which several vectors are under way at once; what one stage finds for the next lies in columns of
`BLOCK` numbers that stay in the nearest cache.

Histories lie in the same way, block behind block, so that memory is read and written as one stream instead of one for
each column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.coefficients import COEFFICIENTS
from pdem.contact.law import (
    HISTORY,
    OVERLAP,
    TINY,
    limited_force,
    normal_force,
    square_root,
    tangential_force,
)
from pdem.foundation.geometry_kernels import nearest_image
from pdem.foundation.kernels import ROW, inlined
from pdem.foundation.prefetch import LINE, fetch
from pdem.foundation.transposition import ROWS, columns_to_rows, rows_to_columns
from pdem.motion.integration import PACKED
from pdem.motion.moving_blocks import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 32
"""Contacts, or candidates, that go through all stages at a time; a multiple of the lanes of a chunk."""

(
    XI, YI, ZI, RI, VXI, VYI, VZI, LI, WXI, WYI, WZI, MI, XJ, YJ, ZJ, RJ, VXJ, VYJ, VZJ, LJ, WXJ, WYJ, WZJ, MJ,
) = (np.uint64(BLOCK * column) for column in range(2 * PACKED))  # fmt: skip
"""Where columns begin that hold what is packed of the lower and of the higher particle."""

N0, N1, N2, V0, V1, V2, D0, D1, D2, REACHED, DEEP = XI, YI, ZI, VXI, VYI, VZI, XJ, YJ, ZJ, VXJ, VYJ
"""In their places, after the first stage: normal at the end of the step; relative velocity; normal in the middle of the
step; overlap then, at the end and in the middle;"""

(
    U0, U1, U2, S0, S1, S2, W0, W1, W2, BEFORE, SPIN, RADIUS, MASS, _, LIGHTNESS, TURNING, ARM_I, ARM_J, PAIR, LIMIT,
    STIFFNESS, DAMPING, SHRINK, SLIPS,
) = (np.uint64(BLOCK * column) for column in range(3, 27))  # fmt: skip
"""after the second: velocity at the contact, later what of it is tangential at the end of the step; what of it is
tangential in the middle, later the tangential force; relative angular velocity; overlap at the begin of the step; and
what the stages of `pdem.contact.law` tell each other."""

(HERTZIAN, MODULUS, RATIO, GAMMA, FRICTION, ROLLING, TANGENTIAL_ROOT) = (
    np.uint64(BLOCK * column) for column in range(27, 27 + COEFFICIENTS)
)
"""Columns of what the pair table says of the materials of each contact."""

(T0, T1, T2, T3, T4, T5, T6, T7, T8) = (
    np.uint64(BLOCK * column) for column in range(27 + COEFFICIENTS, 36 + COEFFICIENTS)
)
"""Columns of what contacts do to their particles, see `LOADS`."""

STAGED = 36 + COEFFICIENTS
"""Columns of all stages."""

WORK = max(BLOCK * STAGED, COLUMNS) + 64
"""Numbers of the columns of one worker, for contacts or particles that move on, and some that keep those of the next
away: a line of the cache that two workers write to goes to and fro between them."""

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)

LOADS = 9
"""Numbers that a contact has for the sums: torque on the lower particle (3) [N m], force on the higher one (3) [N],
torque on it (3)."""

UNKNOWN = -np.inf
"""Overlap in the history of a contact that was none in the last step."""

(H0, H1, H2, H3, H4, H5, H6, H7, H8, H9, H10, H11) = (np.uint64(BLOCK * column) for column in range(HISTORY))
"""Where the columns of a block of histories begin."""

_bring_places = rows_to_columns(4, BLOCK)
_bring = rows_to_columns(PACKED, BLOCK)
_take = columns_to_rows(LOADS, BLOCK)


@inlined
def history_of(s: int) -> int:
    """Return where the history of the contact in a slot begins; its numbers are `BLOCK` apart."""
    return s // BLOCK * (BLOCK * HISTORY) + s % BLOCK


@inlined
def begin_history(s: int, history: NDArray[np.float64]) -> None:
    """Have a contact in this slot that was none before."""
    at = history_of(s)
    for column in range(OVERLAP):
        history[at + BLOCK * column] = 0.0
    history[at + BLOCK * OVERLAP] = UNKNOWN


@inlined
def move_history(a: int, b: int, history: NDArray[np.float64]) -> None:
    """Copy the history in slot `a` to slot `b`."""
    there, here = history_of(a), history_of(b)
    for column in range(HISTORY):
        history[here + BLOCK * column] = history[there + BLOCK * column]


@inlined
def ask_for(first: int, count: int, history: NDArray[np.float64]) -> None:
    """Have as many numbers as `count` histories have, from the block of the slot `first` on, brought near in time."""
    for line in range((count * HISTORY + LINE - 1) // LINE):
        fetch(history, np.uint64(HISTORY * first + LINE * line))


@inlined
def bring_places(
    at: int, first: int, count: int, lower: NDArray[np.int32], higher: NDArray[np.int32], packed: NDArray[np.float64],
    work: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write places and radii of the particles of candidates, from `first` on, into columns."""
    for c in range(0, count, ROWS):
        k = np.uint64(first) + np.uint64(c)
        w = np.uint64(at) + np.uint64(c)
        _bring_places(
            packed,
            PACKED * (lower[k] & ROW),
            PACKED * (lower[k + ONE] & ROW),
            PACKED * (lower[k + TWO] & ROW),
            PACKED * (lower[k + THREE] & ROW),
            work,
            w,
        )
        _bring_places(
            packed,
            PACKED * (higher[k] & ROW),
            PACKED * (higher[k + ONE] & ROW),
            PACKED * (higher[k + TWO] & ROW),
            PACKED * (higher[k + THREE] & ROW),
            work,
            w + XJ,
        )


@inlined
def compare(
    at: int, first: int, count: int, largest_overlap: float, period: NDArray[np.float64],
    frequency: NDArray[np.float64], seat: NDArray[np.int32], mark: NDArray[np.int8], work: NDArray[np.float64],
) -> tuple[int, int]:  # fmt: skip
    """Mark the candidates from `first` on that touch, and those whose overlap is beyond the limit.

    Returns how many begin or end to touch, and how many are beyond the limit.
    """
    changes = deeper = 0
    for c in range(count):
        k, w = np.uint64(first) + np.uint64(c), np.uint64(at) + np.uint64(c)
        ri, rj = work[w + RI], work[w + RJ]
        dx = nearest_image(work[w + XJ] - work[w + XI], period[0], frequency[0])
        dy = nearest_image(work[w + YJ] - work[w + YI], period[1], frequency[1])
        dz = nearest_image(work[w + ZJ] - work[w + ZI], period[2], frequency[2])
        squared = dx * dx + dy * dy + dz * dz
        reach = ri + rj
        close = max(reach - largest_overlap * min(ri, rj), 0.0)
        touches = 1 if squared < reach * reach else 0
        deep = 1 if squared < close * close else 0
        mark[k] = touches + 2 * deep
        changes += touches ^ (1 if seat[k] > 0 else 0)
        deeper += deep
    return changes, deeper


@inlined
def bring(
    at: int, first: int, count: int, touching: NDArray[np.int32], lower: NDArray[np.int32], higher: NDArray[np.int32],
    packed: NDArray[np.float64], work: NDArray[np.float64], history: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write what is packed of the particles of contacts, in the slots from `first` on, into columns.

    Meanwhile the histories of the next block are asked for, a few at a time: many at once would have to wait.
    """
    for c in range(0, count, ROWS):
        s = np.uint64(first) + np.uint64(c)
        w = np.uint64(at) + np.uint64(c)
        ask_for(first + BLOCK + c, ROWS, history)
        k, m, n, o = (
            touching[s] & ROW,
            touching[s + ONE] & ROW,
            touching[s + TWO] & ROW,
            touching[s + THREE] & ROW,
        )
        _bring(
            packed,
            PACKED * (lower[k] & ROW),
            PACKED * (lower[m] & ROW),
            PACKED * (lower[n] & ROW),
            PACKED * (lower[o] & ROW),
            work,
            w,
        )
        _bring(
            packed,
            PACKED * (higher[k] & ROW),
            PACKED * (higher[m] & ROW),
            PACKED * (higher[n] & ROW),
            PACKED * (higher[o] & ROW),
            work,
            w + XJ,
        )


@inlined
def approach(
    at: int, count: int, dt: float, period: NDArray[np.float64], frequency: NDArray[np.float64],
    work: NDArray[np.float64],
) -> None:  # fmt: skip
    """First stage: normals and overlaps."""
    for c in range(count):
        w = np.uint64(at) + np.uint64(c)
        reach = work[w + RI] + work[w + RJ]
        vx, vy, vz = (
            work[w + VXJ] - work[w + VXI],
            work[w + VYJ] - work[w + VYI],
            work[w + VZJ] - work[w + VZI],
        )
        dx = nearest_image(work[w + XJ] - work[w + XI], period[0], frequency[0])
        dy = nearest_image(work[w + YJ] - work[w + YI], period[1], frequency[1])
        dz = nearest_image(work[w + ZJ] - work[w + ZI], period[2], frequency[2])
        distance = max(square_root(dx * dx + dy * dy + dz * dz), TINY)
        mx, my, mz = dx - 0.5 * dt * vx, dy - 0.5 * dt * vy, dz - 0.5 * dt * vz
        middle = max(square_root(mx * mx + my * my + mz * mz), TINY)
        # quotients are what the processor is slowest at: one for both lengths
        inverse = 1.0 / (distance * middle)
        scale = middle * inverse
        work[w + N0], work[w + N1], work[w + N2] = dx * scale, dy * scale, dz * scale
        scale = distance * inverse
        work[w + D0], work[w + D1], work[w + D2] = mx * scale, my * scale, mz * scale
        work[w + V0], work[w + V1], work[w + V2] = vx, vy, vz
        work[w + REACHED], work[w + DEEP] = reach - distance, reach - middle


@inlined
def meet(at: int, count: int, dt: float, materials: float, filled: float, work: NDArray[np.float64]) -> int:
    """Second stage: arms, motion at the contact, effective radius, mass and inertia.

    Returns how many contacts are of another pair of materials than `filled`.
    """
    others = 0
    for c in range(count):
        w = np.uint64(at) + np.uint64(c)
        ri, rj = work[w + RI], work[w + RJ]
        vx, vy, vz = work[w + V0], work[w + V1], work[w + V2]
        mx, my, mz = work[w + D0], work[w + D1], work[w + D2]
        overlap, deep = work[w + REACHED], work[w + DEEP]
        # the contact point divides the overlap so that forces at it turn neither particle against the other
        lightness = work[w + LI] + work[w + LJ]
        inverse = 1.0 / (lightness * (ri + rj))
        share, mass = lightness * rj * inverse, (ri + rj) * inverse
        mid_i, mid_j = ri - deep * share, rj - deep * (1.0 - share)
        wix, wiy, wiz = work[w + WXI], work[w + WYI], work[w + WZI]
        wjx, wjy, wjz = work[w + WXJ], work[w + WYJ], work[w + WZJ]
        sx, sy, sz = mid_i * wix + mid_j * wjx, mid_i * wiy + mid_j * wjy, mid_i * wiz + mid_j * wjz
        ux, uy, uz = vx - (sy * mz - sz * my), vy - (sz * mx - sx * mz), vz - (sx * my - sy * mx)
        um = ux * mx + uy * my + uz * mz
        spin = (wix + wjx) * work[w + N0] + (wiy + wjy) * work[w + N1] + (wiz + wjz) * work[w + N2]
        smaller, pair = min(ri, rj), work[w + MI] * materials + work[w + MJ]
        work[w + U0], work[w + U1], work[w + U2] = ux, uy, uz
        work[w + S0], work[w + S1], work[w + S2] = ux - um * mx, uy - um * my, uz - um * mz
        work[w + W0], work[w + W1], work[w + W2] = wjx - wix, wjy - wiy, wjz - wiz
        work[w + BEFORE] = overlap + dt * (vx * mx + vy * my + vz * mz)
        work[w + SPIN] = 0.5 * spin
        work[w + RADIUS], work[w + MASS], work[w + LIGHTNESS] = ri * share, mass, lightness
        work[w + TURNING] = 0.4 * mass * smaller * smaller
        work[w + ARM_I], work[w + ARM_J] = ri - overlap * share, rj - overlap * (1.0 - share)
        work[w + PAIR] = pair
        others += 1 if pair != filled else 0
    return others


@inlined
def look_up(at: int, count: int, coefficient: NDArray[np.float64], work: NDArray[np.float64]) -> float:
    """Write the coefficients of each contact into columns; return the pair of materials if it is the same of all.

    Then it is written for a whole block, and needs not be written again until another pair comes. Otherwise -1 is
    returned, which is no pair.
    """
    first, same = work[np.uint64(at) + PAIR], True
    for c in range(count):
        same &= work[np.uint64(at) + np.uint64(c) + PAIR] == first
    for c in range(BLOCK if same else count):
        w = np.uint64(at) + np.uint64(c)
        base = COEFFICIENTS * int(first if same else work[w + PAIR])
        for column in range(COEFFICIENTS):
            work[w + HERTZIAN + np.uint64(BLOCK * column)] = coefficient[base + column]
    return first if same else -1.0


@inlined
def push(
    at: int, first: int, count: int, dt: float, rate: float, work: NDArray[np.float64], history: NDArray[np.float64]
) -> None:  # fmt: skip
    """Third stage: normal forces of the contacts in a block of slots."""
    for c in range(count):
        h, w = np.uint64(HISTORY * first) + np.uint64(c), np.uint64(at) + np.uint64(c)
        ux, uy, uz = work[w + U0], work[w + U1], work[w + U2]
        normal, lost, tx, ty, tz, stiffness, damping, shrink, slips = normal_force(
            dt, rate, work[w + REACHED], work[w + BEFORE], (work[w + N0], work[w + N1], work[w + N2]), (ux, uy, uz),
            work[w + RADIUS], work[w + MASS], work[w + LIGHTNESS],
            (work[w + HERTZIAN], work[w + MODULUS], work[w + RATIO], work[w + GAMMA]), history[h + H11] > UNKNOWN,
            history[h + H3], (history[h + H4], history[h + H5], history[h + H6]),
        )  # fmt: skip
        history[h + H3] = normal
        history[h + H4], history[h + H5], history[h + H6] = ux, uy, uz
        history[h + H8] += lost
        history[h + H11] = work[w + REACHED]
        work[w + U0], work[w + U1], work[w + U2] = tx, ty, tz
        work[w + STIFFNESS], work[w + DAMPING] = stiffness, damping * work[w + TANGENTIAL_ROOT]
        work[w + SHRINK], work[w + SLIPS] = shrink, slips


@inlined
def shear(
    at: int, first: int, count: int, dt: float, rate: float, work: NDArray[np.float64], history: NDArray[np.float64]
) -> None:  # fmt: skip
    """Fourth stage: tangential forces, not yet all within Coulomb's limit."""
    for c in range(count):
        h, w = np.uint64(HISTORY * first) + np.uint64(c), np.uint64(at) + np.uint64(c)
        gx, gy, gz, stored, fx, fy, fz, limit = tangential_force(
            dt, rate, (work[w + N0], work[w + N1], work[w + N2]), (work[w + S0], work[w + S1], work[w + S2]),
            (history[h + H4], history[h + H5], history[h + H6]), work[w + SPIN], work[w + MASS], history[h + H3],
            work[w + STIFFNESS], work[w + DAMPING], work[w + SHRINK], work[w + SLIPS], work[w + FRICTION],
            (history[h + H0], history[h + H1], history[h + H2]),
        )  # fmt: skip
        history[h + H0], history[h + H1], history[h + H2] = gx, gy, gz
        history[h + H9] += history[h + H7] - stored
        history[h + H7] = stored
        work[w + S0], work[w + S1], work[w + S2] = fx, fy, fz
        work[w + LIMIT] = limit


@inlined
def load(
    at: int, first: int, count: int, dt: float, rate: float, work: NDArray[np.float64], history: NDArray[np.float64]
) -> None:  # fmt: skip
    """Last stage: Coulomb's limit, rolling resistance, and what these contacts do to their particles."""
    for c in range(count):
        h, w = np.uint64(HISTORY * first) + np.uint64(c), np.uint64(at) + np.uint64(c)
        nx, ny, nz = work[w + N0], work[w + N1], work[w + N2]
        rx, ry, rz = work[w + W0], work[w + W1], work[w + W2]
        normal, arm_i, arm_j = history[h + H3], work[w + ARM_I], work[w + ARM_J]
        fx, fy, fz, resistance, slid, rolled = limited_force(
            dt, rate, (work[w + S0], work[w + S1], work[w + S2]), work[w + LIMIT],
            (work[w + U0], work[w + U1], work[w + U2]), (rx, ry, rz),
            work[w + ROLLING] * work[w + RADIUS] * normal, work[w + TURNING],
        )  # fmt: skip
        history[h + H9] -= slid
        history[h + H10] -= rolled
        qx, qy, qz = ny * fz - nz * fy, nz * fx - nx * fz, nx * fy - ny * fx
        ax, ay, az = resistance * rx, resistance * ry, resistance * rz
        work[w + T0], work[w + T1], work[w + T2] = -arm_i * qx - ax, -arm_i * qy - ay, -arm_i * qz - az
        work[w + T3], work[w + T4], work[w + T5] = normal * nx + fx, normal * ny + fy, normal * nz + fz
        work[w + T6], work[w + T7], work[w + T8] = ax - arm_j * qx, ay - arm_j * qy, az - arm_j * qz


@inlined
def hand_out(at: int, seat: int, count: int, work: NDArray[np.float64], loads: NDArray[np.float64]) -> None:
    """Write what the contacts of a block do to their particles into the rows from `seat` on.

    What was stored a moment ago in vectors of one length can be loaded in vectors of another one only when it has
    reached the cache: this is best called when the next block has been begun.
    """
    for c in range(0, count, ROWS):
        row = np.uint64(LOADS * seat) + np.uint64(LOADS * c)
        _take(
            work,
            np.uint64(at) + np.uint64(c) + T0,
            loads,
            row,
            row + np.uint64(LOADS),
            row + np.uint64(2 * LOADS),
            row + np.uint64(3 * LOADS),
        )
