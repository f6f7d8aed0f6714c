"""Contacts with walls, a block at a time: what is known of them brought into columns, and what follows from it.

The contact law itself is that of contacts between particles, stage by stage (`pdem.contact.pairs.stages`): the wall
is the first body, the sphere the second one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import HISTORY, TINY, square_root
from pdem.contact.pairs.history import UNKNOWN
from pdem.contact.pairs.layout import (
    ARM_I,
    ARM_J,
    BLOCK,
    CONTACT_X,
    CONTACT_Y,
    CONTACT_Z,
    FORCE_J_X,
    FORCE_J_Y,
    FORCE_J_Z,
    H_OVERLAP,
    INERTIA,
    INVERSE_MASS,
    INVERSE_MASS_J,
    MASS,
    MATERIAL_J,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    OVERLAP_BEGIN,
    OVERLAP_END,
    PAIR,
    RADIUS,
    RADIUS_J,
    ROLLING_X,
    ROLLING_Y,
    ROLLING_Z,
    SLIP_X,
    SLIP_Y,
    SLIP_Z,
    SPIN,
    STAGED,
    TORQUE_I_X,
    TORQUE_I_Y,
    TORQUE_I_Z,
    TORQUE_J_X,
    VX_J,
    VY_J,
    VZ_J,
    WX_J,
    WY_J,
    WZ_J,
    X_J,
)
from pdem.contact.pairs.stages import ONE, THREE, TWO
from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.kernels import ROW, inlined
from pdem.foundation.transposition import ROWS, columns_to_rows, rows_to_columns
from pdem.motion.integration import PACKED

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

WALL_HISTORY = HISTORY + 4
"""Columns of a wall contact's history: those of the law, the normal (3), the work done by the wall [J]."""

(
    P0, P1, P2, OLD0, OLD1, OLD2, WORKED, E0, E1, E2, O0, O1, O2, ENERGETIC, MANY, DEPTH, COUNTED,
) = (np.uint64(BLOCK * column) for column in range(STAGED, STAGED + 17))  # fmt: skip
"""Columns behind those of `pdem.contact.pairs.stages`: point of the contact; normal of the last step and the work of the
wall, which history has behind what is the law's; velocity of the wall there at the end of the step, and its angular
velocity; overlap by energy; how many features a patch has; overlap; and 1 where the wall's work is counted."""

WALL_WORK = BLOCK * (STAGED + 17) + 64
"""Numbers of the columns of one worker, and some that keep those of the next away."""

LOAD = 6
"""Numbers of what a contact does to its particle: force (3) [N], moment about the contact (3) [N m]."""

_bring_sphere = rows_to_columns(PACKED, BLOCK)
_bring_law = rows_to_columns(HISTORY, BLOCK)
_bring_rest = rows_to_columns(WALL_HISTORY - HISTORY, BLOCK)
_take_law = columns_to_rows(HISTORY, BLOCK)
_take_rest = columns_to_rows(WALL_HISTORY - HISTORY, BLOCK)


@inlined
def bring_contacts(
    at: int, first: int, count: int, listed: NDArray[np.int32], particle: NDArray[np.int32],
    packed: NDArray[np.float64], match: NDArray[np.int64], old: NDArray[np.float64], law: int,
    kept: NDArray[np.float64], work: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write what is packed of the particles of contacts, and the histories that these continue, into columns.

    Contacts are in the rows ``listed[first:first + count]``, `particle` is by place in the list. Histories stand in
    `kept`, in a block from the number `law` on, and what they have besides the law's in `work`.
    """
    for c in range(0, count, ROWS):
        k = np.uint64(first) + np.uint64(c)
        w = np.uint64(at) + np.uint64(c)
        _bring_sphere(
            packed, PACKED * (particle[k] & ROW), PACKED * (particle[k + ONE] & ROW),
            PACKED * (particle[k + TWO] & ROW), PACKED * (particle[k + THREE] & ROW), work, w + X_J,
        )  # fmt: skip
        i, j, m, n = (
            WALL_HISTORY * match[listed[k] & ROW],
            WALL_HISTORY * match[listed[k + ONE] & ROW],
            WALL_HISTORY * match[listed[k + TWO] & ROW],
            WALL_HISTORY * match[listed[k + THREE] & ROW],
        )
        _bring_law(old, i, j, m, n, kept, np.uint64(law) + np.uint64(c))
        _bring_rest(old, i + HISTORY, j + HISTORY, m + HISTORY, n + HISTORY, work, w + OLD0)


@inlined
def bring_geometry(
    at: int, first: int, count: int, listed: NDArray[np.int32], point: NDArray[np.float64],
    normal: NDArray[np.float64], overlap: NDArray[np.float64], energetic: NDArray[np.float64],
    weight: NDArray[np.int64], work: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write where contacts are into columns."""
    for c in range(count):
        row, w = listed[np.uint64(first) + np.uint64(c)] & ROW, np.uint64(at) + np.uint64(c)
        work[w + P0], work[w + P1], work[w + P2] = point[row, 0], point[row, 1], point[row, 2]
        work[w + NORMAL_X], work[w + NORMAL_Y], work[w + NORMAL_Z] = (
            normal[row, 0],
            normal[row, 1],
            normal[row, 2],
        )
        work[w + DEPTH], work[w + ENERGETIC], work[w + MANY] = overlap[row], energetic[row], weight[row]


@inlined_geometry
def meet_wall(
    at: int, begin: int, end: int, dt: float, shortened: float, materials: int, filled: float, law: int, wall: int,
    walls: tuple[Any, ...], kept: NDArray[np.float64], work: NDArray[np.float64],
) -> int:  # fmt: skip
    """Find arms, motion at the contact, effective mass and inertia, for contacts that follow each other at one wall.

    Returns how many are of another pair of materials than `filled`. Compiled without contraction: how many of them go
    in one vector depends on which stand in a block together.
    """
    (wall_material, centre, wall_spin, wall_velocity, mean_turn, mean_velocity, wall_lightness, wall_turning,
     counted) = walls  # fmt: skip
    # what all of them need is read once: what is written might change it, as far as a compiler can tell
    pair, counts = float(wall_material[wall]), float(counted[wall])
    b0, b1, b2 = centre[wall, 0], centre[wall, 1], centre[wall, 2]
    o0, o1, o2 = wall_spin[wall, 0], wall_spin[wall, 1], wall_spin[wall, 2]
    f0, f1, f2 = wall_velocity[wall, 0], wall_velocity[wall, 1], wall_velocity[wall, 2]
    g0, g1, g2 = mean_velocity[wall, 0], mean_velocity[wall, 1], mean_velocity[wall, 2]
    turn, ease = mean_turn[wall], wall_turning[wall]
    t00, t01, t02 = turn[0, 0], turn[0, 1], turn[0, 2]
    t10, t11, t12 = turn[1, 0], turn[1, 1], turn[1, 2]
    t20, t21, t22 = turn[2, 0], turn[2, 1], turn[2, 2]
    i00, i01, i02 = ease[0, 0], ease[0, 1], ease[0, 2]
    i10, i11, i12 = ease[1, 0], ease[1, 1], ease[1, 2]
    i20, i21, i22 = ease[2, 0], ease[2, 1], ease[2, 2]
    l0, l1, l2 = wall_lightness[wall, 0], wall_lightness[wall, 1], wall_lightness[wall, 2]
    trace = i00 + i11 + i22
    others = 0
    for c in range(begin, end):
        w, h = np.uint64(at) + np.uint64(c), np.uint64(law) + np.uint64(c)
        nx, ny, nz = work[w + NORMAL_X], work[w + NORMAL_Y], work[w + NORMAL_Z]
        mx, my, mz = nx + work[w + OLD0], ny + work[w + OLD1], nz + work[w + OLD2]
        inverse = 1.0 / max(square_root(mx * mx + my * my + mz * mz), TINY)
        mx, my, mz = mx * inverse, my * inverse, mz * inverse  # the normal of the middle of the step
        radius, overlap, energetic = work[w + RADIUS_J], work[w + DEPTH], work[w + ENERGETIC]
        # friction acts at the radius, where a sphere that turns with its wall does not slip, or at the wall
        # if the case asks for it; the wall's velocity there at the end of the step, and its mean over the step
        arm = radius - shortened * overlap
        ax, ay, az = work[w + P0] - b0, work[w + P1] - b1, work[w + P2] - b2
        ex, ey, ez = f0 + (o1 * az - o2 * ay), f1 + (o2 * ax - o0 * az), f2 + (o0 * ay - o1 * ax)
        vx = work[w + VX_J] - (g0 + (t00 * ax + t01 * ay + t02 * az))
        vy = work[w + VY_J] - (g1 + (t10 * ax + t11 * ay + t12 * az))
        vz = work[w + VZ_J] - (g2 + (t20 * ax + t21 * ay + t22 * az))
        sx, sy, sz = work[w + WX_J], work[w + WY_J], work[w + WZ_J]
        ux = vx - arm * (sy * mz - sz * my)
        uy = vy - arm * (sz * mx - sx * mz)
        uz = vz - arm * (sx * my - sy * mx)
        um = ux * mx + uy * my + uz * mz
        # a body that particles drive gives way: it shares in the effective mass of the contact
        kx, ky, kz = ay * nz - az * ny, az * nx - ax * nz, ax * ny - ay * nx
        lightness = work[w + INVERSE_MASS_J] + (
            l0 * nx * nx + l1 * ny * ny + l2 * nz * nz
            + kx * (i00 * kx + i01 * ky + i02 * kz)
            + ky * (i10 * kx + i11 * ky + i12 * kz)
            + kz * (i20 * kx + i21 * ky + i22 * kz)
        )  # fmt: skip
        known = kept[h + H_OVERLAP] > UNKNOWN
        earlier = overlap + dt * (vx * mx + vy * my + vz * mz)
        # the force of a patch does not follow from the way along its normal
        scaled = overlap * kept[h + H_OVERLAP] / max(energetic, TINY)
        bulk = 0.4 * radius * radius
        turning = bulk / (work[w + INVERSE_MASS_J] + bulk * trace)
        kind = work[w + MATERIAL_J] * materials + pair
        work[w + CONTACT_X], work[w + CONTACT_Y], work[w + CONTACT_Z] = ux, uy, uz
        work[w + SLIP_X], work[w + SLIP_Y], work[w + SLIP_Z] = ux - um * mx, uy - um * my, uz - um * mz
        work[w + ROLLING_X], work[w + ROLLING_Y], work[w + ROLLING_Z] = sx - o0, sy - o1, sz - o2
        work[w + OVERLAP_BEGIN] = scaled if (work[w + MANY] > 1.0) & known else earlier
        work[w + SPIN] = 0.5 * ((sx + o0) * nx + (sy + o1) * ny + (sz + o2) * nz)
        work[w + RADIUS], work[w + MASS], work[w + INVERSE_MASS] = radius, 1.0 / lightness, lightness
        work[w + INERTIA], work[w + PAIR], work[w + OVERLAP_END] = turning, kind, overlap
        work[w + ARM_I], work[w + ARM_J] = 0.0, arm
        work[w + E0], work[w + E1], work[w + E2] = ex, ey, ez
        work[w + O0], work[w + O1], work[w + O2] = o0, o1, o2
        work[w + COUNTED] = counts
        others += 1 if kind != filled else 0
    return others


@inlined
def meet_walls(
    at: int, first: int, count: int, dt: float, shortened: float, materials: int, filled: float, law: int,
    listed: NDArray[np.int32], facet: NDArray[np.int64], facet_wall: NDArray[np.int32], walls: tuple[Any, ...],
    kept: NDArray[np.float64], work: NDArray[np.float64],
) -> int:  # fmt: skip
    """Do so for all contacts of a block, wall by wall."""
    begin = others = 0
    while begin < count:
        wall = facet_wall[facet[listed[first + begin]]]
        end = begin + 1
        while end < count and facet_wall[facet[listed[first + end]]] == wall:
            end += 1
        others += meet_wall(at, begin, end, dt, shortened, materials, filled, law, wall, walls, kept, work)
        begin = end
    return others


@inlined_geometry
def take_contacts(
    at: int, first: int, count: int, dt: float, listed: NDArray[np.int32], law: int, kept: NDArray[np.float64],
    work: NDArray[np.float64], new: NDArray[np.float64],
) -> None:  # fmt: skip
    """Add the work of the walls, and write histories of contacts to their rows."""
    for c in range(count):
        w, h = np.uint64(at) + np.uint64(c), np.uint64(law) + np.uint64(c)
        work[w + OLD0], work[w + OLD1], work[w + OLD2] = (
            work[w + NORMAL_X],
            work[w + NORMAL_Y],
            work[w + NORMAL_Z],
        )
        power = (
            work[w + FORCE_J_X] * work[w + E0] + work[w + FORCE_J_Y] * work[w + E1] + work[w + FORCE_J_Z] * work[w + E2]
            - (work[w + TORQUE_I_X] * work[w + O0] + work[w + TORQUE_I_Y] * work[w + O1] + work[w + TORQUE_I_Z] * work[w + O2])
        )  # fmt: skip
        work[w + WORKED] += work[w + COUNTED] * power * dt
        kept[h + H_OVERLAP] = work[w + ENERGETIC]
    for c in range(0, count, ROWS):
        k, w = np.uint64(first) + np.uint64(c), np.uint64(at) + np.uint64(c)
        a, b, d, e = (
            WALL_HISTORY * ((listed[k] & ROW) + 1),
            WALL_HISTORY * ((listed[k + ONE] & ROW) + 1),
            WALL_HISTORY * ((listed[k + TWO] & ROW) + 1),
            WALL_HISTORY * ((listed[k + THREE] & ROW) + 1),
        )
        _take_law(kept, np.uint64(law) + np.uint64(c), new, a, b, d, e)
        _take_rest(work, w + OLD0, new, a + HISTORY, b + HISTORY, d + HISTORY, e + HISTORY)


@inlined
def take_loads(
    at: int, first: int, count: int, listed: NDArray[np.int32], owner: NDArray[np.int32], work: NDArray[np.float64],
    force: NDArray[np.float64], total: NDArray[np.float64],
) -> None:  # fmt: skip
    """Write what contacts do to their particles, and add it to the rows of `total` that these have."""
    for c in range(count):
        k, w = np.uint64(first) + np.uint64(c), np.uint64(at) + np.uint64(c)
        row, mine = listed[k] & ROW, owner[k] & ROW
        for axis in range(3):
            along = np.uint64(BLOCK * axis)
            force[row, axis] = work[w + FORCE_J_X + along]
            force[row, 3 + axis] = -work[w + TORQUE_I_X + along]
            total[mine, axis] += work[w + FORCE_J_X + along]
            total[mine, 3 + axis] += work[w + TORQUE_J_X + along]
