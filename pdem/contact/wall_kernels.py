"""Kernels of the contacts between particles and walls.

Lists are kept for the particles that are near a wall only, in their order, and so are counts. The rows of one
particle's facet candidates also hold its contacts, so nothing can overflow and threads never meet.
By the double hierarchy contacts come nearest first, and histories go on by feature (facet, edge, vertex), and from one
feature to the next of the same wall where the normal has hardly turned: a sphere that rolls across an edge keeps
its friction. By the signed contact sum contacts are patches (`pdem.contact.patch_history`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.hierarchy import resolve_h2
from pdem.contact.law import DAMPED, HISTORY, OVERLAP, ROLLED, SLID, STORED, TINY, contact_law
from pdem.contact.patch_history import match_patches
from pdem.contact.signed_sum import resolve_signed
from pdem.foundation.geometry_kernels import sphere_mass
from pdem.foundation.kernels import ROW, inlined, kernel, prange, uncounted_kernel
from pdem.foundation.sums import add_exactly
from pdem.motion.integration import MATERIAL, PACKED, PLACE, SIZE, SPEED, SPIN, ask_for_row

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

WALL_HISTORY = HISTORY + 4
"""Columns of a wall contact's history: those of the law, the normal (3), the work done by the wall [J]."""

SAME_PATCH = 0.9
"""Cosine between old and new normal from which on a contact on a new feature continues an old one."""

SOON = 4
"""So many particles ahead memory is asked for the next."""

LOADS = 7
"""Columns of a wall's loads: force (3) [N], torque about its centre (3) [N m], power delivered [W]."""


@inlined
def _match(
    first: int,
    count: int,
    old_count: int,
    kind: NDArray[np.int8],
    feature: NDArray[np.int64],
    facet: NDArray[np.int64],
    normal: NDArray[np.float64],
    old_kind: NDArray[np.int8],
    old_feature: NDArray[np.int64],
    old_facet: NDArray[np.int64],
    old: NDArray[np.float64],
    facet_wall: NDArray[np.int32],
    match: NDArray[np.int64],
) -> None:
    """Write for each new contact the history row (from 1) it continues, 0 for none; marks used ones."""
    for c in range(first, first + count):
        match[c] = 0
        for o in range(first, first + old_count):
            if old_kind[o] == kind[c] and old_feature[o] == feature[c]:
                match[c] = o + 1
                old_kind[o] = -1
                break
    for c in range(first, first + count):
        best = SAME_PATCH
        for o in range(first, first + old_count if match[c] == 0 else first):
            if old_kind[o] >= 0 and facet_wall[old_facet[o]] == facet_wall[facet[c]]:
                along = (
                    normal[c, 0] * old[HISTORY, o + 1]
                    + normal[c, 1] * old[HISTORY + 1, o + 1]
                    + normal[c, 2] * old[HISTORY + 2, o + 1]
                )
                if along > best:
                    best = along
                    match[c] = o + 1
        if match[c] > 0:
            old_kind[match[c] - 1] = -1


@uncounted_kernel
def wall_forces(
    signed: bool,
    shortened: float,
    near: NDArray[np.int32],
    dt: float,
    step: float,
    largest_overlap: float,
    packed: NDArray[np.float64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    candidates: NDArray[np.int64],
    walls: tuple[Any, ...],
    topology: tuple[Any, ...],
    scratch: tuple[Any, ...],
    result: tuple[Any, ...],
    counts: NDArray[np.int32],
    before: tuple[Any, ...],
    counts_before: NDArray[np.int32],
    density: NDArray[np.float64],
    coefficient: NDArray[np.float64],
    force: NDArray[np.float64],
    total: NDArray[np.float64],
    deep: NDArray[np.bool_],
) -> None:
    """Evaluate the wall contacts of the particles `near`; write which of them are beyond the overlap limit.

    Contacts are resolved by the signed contact sum or the double hierarchy. The lever arm of friction is the radius
    less `shortened` overlaps (0 or 1: multiplied, neither rounds, and the default costs no branch).
    Facets to test are ``candidates[start[q]:end[q]]`` for ``near[q]``. `packed` are rows of particles as
    `pdem.motion.integration` has them; `walls` vertices, normals, facet_wall, facet_side, facet_body, vertex_euler,
    material, centre, angular velocity, velocity, mean_turn, mean_velocity, inverse mass along each axis,
    inverse inertia, and 1 or 0 by whether its work is counted; `result` and `before` kind, feature, facet and history;
    `scratch` the three tables of `resolve_signed`, point, normal, overlap, overlap by energy, weight and the matches.
    Contact forces and moments on the particles go to `force` (6, rows + 1), their sums to `total`, from row 1
    on in the order of `near`.
    """
    (vertices, normals, facet_wall, facet_side, facet_body, vertex_euler, wall_material, centre, wall_spin,
     wall_velocity, mean_turn, mean_velocity, wall_lightness, wall_turning, counted) = walls  # fmt: skip
    real, integer, tally, point, normal, overlap, energetic, weight, match = scratch
    kind, feature, facet, new = result
    old_kind, old_feature, old_facet, old = before
    (facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
     vertex_facets) = topology  # fmt: skip
    materials = len(density)
    rate = 1.0 / step
    for q in prange(len(near)):
        ask_for_row(near[min(q + SOON, len(near) - 1)], packed)
        at = PACKED * (near[q] & ROW)
        x, y, z, r = packed[at + PLACE], packed[at + PLACE + 1], packed[at + PLACE + 2], packed[at + SIZE]
        sx, sy, sz = packed[at + SPIN], packed[at + SPIN + 1], packed[at + SPIN + 2]
        material = int(packed[at + MATERIAL])
        first, last = start[q], end[q]
        if signed:
            count = resolve_signed(
                x, y, z, r, candidates, first, last, vertices, normals,
                facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
                vertex_facets, facet_side, facet_body, vertex_euler, facet_wall, wall_material, coefficient,
                material * materials, real, integer, tally, kind, feature, facet, point, normal, overlap, energetic,
                weight, signed, first, last,  # features make patches: the same machine code as for users
            )  # fmt: skip
            match_patches(
                r, first, count, counts_before[q], facet, normal, overlap, old_kind, old_facet, old, facet_wall,
                match,
            )  # fmt: skip
        else:
            count = resolve_h2(
                x, y, z, r, candidates, first, last, vertices, normals,
                facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
                vertex_facets, real, integer, first, last, kind, feature, facet, point, normal, overlap, first,
                last,
            )  # fmt: skip
            for c in range(first, first + count):
                energetic[c], weight[c] = overlap[c], 1
            _match(
                first, count, counts_before[q], kind, feature, facet, normal, old_kind, old_feature, old_facet,
                old, facet_wall, match,
            )  # fmt: skip
        counts[q] = count
        mass = sphere_mass(density[material], r)
        fx = fy = fz = tx = ty = tz = 0.0
        deep[q] = False
        for c in range(first, first + count):
            w = facet_wall[facet[c]]
            nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
            mx, my, mz = nx, ny, nz
            if match[c] > 0:  # the normal of the middle of the step
                mx += old[HISTORY, match[c]]
                my += old[HISTORY + 1, match[c]]
                mz += old[HISTORY + 2, match[c]]
                length = math.sqrt(mx * mx + my * my + mz * mz)
                mx, my, mz = mx / max(length, TINY), my / max(length, TINY), mz / max(length, TINY)
            # friction acts at the radius, where a sphere that turns with its wall does not slip, or at the wall
            # if the case asks for it; the wall's velocity there at the end of the step, and its mean over the step
            arm = r - shortened * overlap[c]
            for axis in range(3):
                point[c, axis] -= (1.0 - shortened) * overlap[c] * normal[c, axis]
            ax, ay, az = point[c, 0] - centre[w, 0], point[c, 1] - centre[w, 1], point[c, 2] - centre[w, 2]
            ox, oy, oz = wall_spin[w, 0], wall_spin[w, 1], wall_spin[w, 2]
            cx, cy, cz = oy * az - oz * ay, oz * ax - ox * az, ox * ay - oy * ax
            ex, ey, ez = wall_velocity[w, 0] + cx, wall_velocity[w, 1] + cy, wall_velocity[w, 2] + cz
            hx = mean_turn[w, 0, 0] * ax + mean_turn[w, 0, 1] * ay + mean_turn[w, 0, 2] * az
            hy = mean_turn[w, 1, 0] * ax + mean_turn[w, 1, 1] * ay + mean_turn[w, 1, 2] * az
            hz = mean_turn[w, 2, 0] * ax + mean_turn[w, 2, 1] * ay + mean_turn[w, 2, 2] * az
            vx = packed[at + SPEED] - (mean_velocity[w, 0] + hx)
            vy = packed[at + SPEED + 1] - (mean_velocity[w, 1] + hy)
            vz = packed[at + SPEED + 2] - (mean_velocity[w, 2] + hz)
            ux = vx - arm * (sy * mz - sz * my)
            uy = vy - arm * (sz * mx - sx * mz)
            uz = vz - arm * (sx * my - sy * mx)
            # a body that particles drive gives way: it shares in the effective mass of the contact
            kx, ky, kz = ay * nz - az * ny, az * nx - ax * nz, ax * ny - ay * nx
            turning = wall_turning[w]
            give = (
                wall_lightness[w, 0] * nx * nx + wall_lightness[w, 1] * ny * ny + wall_lightness[w, 2] * nz * nz
                + kx * (turning[0, 0] * kx + turning[0, 1] * ky + turning[0, 2] * kz)
                + ky * (turning[1, 0] * kx + turning[1, 1] * ky + turning[1, 2] * kz)
                + kz * (turning[2, 0] * kx + turning[2, 1] * ky + turning[2, 2] * kz)
            )  # fmt: skip
            lightness = 1.0 / mass + give
            effective = mass if give == 0.0 else 1.0 / lightness
            inertia = 0.4 * mass * r * r
            inertia /= 1.0 + inertia * (turning[0, 0] + turning[1, 1] + turning[2, 2])
            h = match[c]
            earlier = overlap[c] + dt * (vx * mx + vy * my + vz * mz)
            if weight[c] > 1 and h > 0:  # the force of a patch does not follow from the way along its normal
                earlier = overlap[c] * old[OVERLAP, h] / max(energetic[c], TINY)
            px, py, pz, qx, qy, qz, bx, by, bz, jx, jy, jz, push, stored, damped, slid, rolled = contact_law(
                dt, rate, overlap[c], earlier, (nx, ny, nz), (mx, my, mz), (ux, uy, uz),
                0.5 * ((sx + ox) * nx + (sy + oy) * ny + (sz + oz) * nz), (sx - ox, sy - oy, sz - oz), r,
                effective, lightness, inertia, coefficient, material * materials + wall_material[w], h > 0,
                (old[0, h], old[1, h], old[2, h], old[3, h], old[4, h], old[5, h], old[6, h], old[7, h],
                 old[8, h], old[9, h], old[10, h]),
            )  # fmt: skip
            gx, gy, gz = px + qx, py + qy, pz + qz
            fx, fy, fz = fx + gx, fy + gy, fz + gz
            tx += bx - arm * (ny * qz - nz * qy)
            ty += by - arm * (nz * qx - nx * qz)
            tz += bz - arm * (nx * qy - ny * qx)
            row = c + 1
            force[0, row], force[1, row], force[2, row] = gx, gy, gz
            force[3, row], force[4, row], force[5, row] = bx, by, bz
            new[0, row], new[1, row], new[2, row], new[3, row] = jx, jy, jz, push
            new[4, row], new[5, row], new[6, row] = ux, uy, uz
            new[STORED, row], new[DAMPED, row], new[SLID, row] = stored, damped, slid
            new[ROLLED, row], new[OVERLAP, row] = rolled, energetic[c]
            new[HISTORY, row], new[HISTORY + 1, row], new[HISTORY + 2, row] = nx, ny, nz
            work = gx * ex + gy * ey + gz * ez + bx * ox + by * oy + bz * oz
            new[HISTORY + 3, row] = old[HISTORY + 3, match[c]] + counted[w] * work * dt
            deep[q] |= overlap[c] > largest_overlap * r
        total[q + 1, 0], total[q + 1, 1], total[q + 1, 2] = fx, fy, fz
        total[q + 1, 3], total[q + 1, 4], total[q + 1, 5] = tx, ty, tz


@kernel
def list_ended(
    near: int,
    start: NDArray[np.int64],
    counts: NDArray[np.int32],
    kind: NDArray[np.int8],
    ended: NDArray[np.int32],
) -> int:
    """List the history rows, of so many particles near a wall, that nothing continues; return how many."""
    number = 0
    for q in range(near):
        for row in range(start[q], start[q] + counts[q]):
            if kind[row] >= 0:
                ended[number] = row + 1
                number += 1
    return number


@kernel
def add_loads(
    near: int,
    start: NDArray[np.int64],
    counts: NDArray[np.int32],
    facet: NDArray[np.int64],
    point: NDArray[np.float64],
    facet_wall: NDArray[np.int32],
    centre: NDArray[np.float64],
    spin: NDArray[np.float64],
    velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    limbs: NDArray[np.int64],
) -> None:
    """Add force, torque about the centre and power of the particles on each wall to exact sums (W * 7)."""
    for q in range(near):
        for c in range(start[q], start[q] + counts[q]):
            w = facet_wall[facet[c]]
            fx, fy, fz = -force[0, c + 1], -force[1, c + 1], -force[2, c + 1]
            ax, ay, az = point[c, 0] - centre[w, 0], point[c, 1] - centre[w, 1], point[c, 2] - centre[w, 2]
            tx = ay * fz - az * fy - force[3, c + 1]
            ty = az * fx - ax * fz - force[4, c + 1]
            tz = ax * fy - ay * fx - force[5, c + 1]
            power = fx * velocity[w, 0] + fy * velocity[w, 1] + fz * velocity[w, 2]
            power += tx * spin[w, 0] + ty * spin[w, 1] + tz * spin[w, 2]
            row = LOADS * w
            add_exactly(limbs[row], fx)
            add_exactly(limbs[row + 1], fy)
            add_exactly(limbs[row + 2], fz)
            add_exactly(limbs[row + 3], tx)
            add_exactly(limbs[row + 4], ty)
            add_exactly(limbs[row + 5], tz)
            add_exactly(limbs[row + 6], -power)


@kernel
def lay_out(
    owned: int,
    found_start: NDArray[np.int64],
    found: NDArray[np.int64],
    owner: NDArray[np.int32],
    near: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    candidates: NDArray[np.int64],
    number_of: NDArray[np.int32],
) -> int:
    """Give each owned particle rows for the facets found near it, or for its contacts if these are more.

    Parameters
    ----------
    owned : int
        Number of particles.
    found_start, found
        Facets near each particle, in one array.
    owner
        Particle of each contact, or -1.
    near, start, end, candidates
        Written: the particles that have rows; the first row of each and the one behind the last of all; the end of
        those with a facet to test; their facets.
    number_of
        Written: the number of each owned particle among those, from 1 on, or 0.

    Returns
    -------
    int
        How many of those there are.
    """
    for p in range(owned):
        number_of[p] = 0
    for contact in range(len(owner)):
        if owner[contact] >= 0:
            number_of[owner[contact]] += 1
    number = 0
    start[0] = 0
    for p in range(owned):
        tested = found_start[p + 1] - found_start[p]
        rows = max(tested, number_of[p])
        number_of[p] = 0
        if rows > 0:
            first = start[number]
            for row in range(rows):
                candidates[first + row] = found[found_start[p] + row] if row < tested else 0
            near[number], end[number] = p, first + tested
            number += 1
            start[number] = first + rows
            number_of[p] = number
    return number


@kernel
def scatter_records(
    owner: NDArray[np.int32],
    number_of: NDArray[np.int32],
    start: NDArray[np.int64],
    kind: NDArray[np.int8],
    feature: NDArray[np.int64],
    facet: NDArray[np.int64],
    history: NDArray[np.float64],
    new_kind: NDArray[np.int8],
    new_feature: NDArray[np.int64],
    new_facet: NDArray[np.int64],
    new_history: NDArray[np.float64],
    counts: NDArray[np.int32],
    lost: NDArray[np.int32],
) -> int:
    """Put records into the rows of their particles; list those that find no room, return how many."""
    missing = 0
    for record in range(len(owner)):
        q = number_of[owner[record]] - 1 if owner[record] >= 0 else -1
        if q < 0 or counts[q] >= start[q + 1] - start[q]:
            lost[missing] = record
            missing += 1
            continue
        row = start[q] + counts[q]
        counts[q] += 1
        new_kind[row] = kind[record]
        new_feature[row] = feature[record]
        new_facet[row] = facet[record]
        for column in range(history.shape[0]):
            new_history[column, row + 1] = history[column, record]
    return missing
