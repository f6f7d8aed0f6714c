"""The contacts between particles and walls of one step, and what they do to the walls.

Lists are kept for the particles that are near a wall only, in their order, and so are counts. The rows of one
particle's facet candidates also hold its contacts, so nothing can overflow and threads never meet.
By the double hierarchy contacts come nearest first, and histories go on by feature (facet, edge, vertex), and from one
feature to the next of the same wall where the normal has hardly turned: a sphere that rolls across an edge keeps
its friction. By the signed contact sum contacts are patches (`pdem.contact.patch_history`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.hierarchy import resolve_h2
from pdem.contact.law import HISTORY
from pdem.contact.pairs.layout import BLOCK
from pdem.contact.pairs.stages import (
    gather_coefficients,
    normal_force_stage,
    resultant_stage,
    tangential_force_stage,
)
from pdem.contact.patch_history import match_patches
from pdem.contact.signed_sum import resolve_signed
from pdem.contact.wall_stages import (
    LOAD,
    WALL_HISTORY,
    WALL_WORK,
    bring_contacts,
    bring_geometry,
    meet_walls,
    take_contacts,
    take_loads,
)
from pdem.foundation.kernels import ROW, inlined, kernel, prange, uncounted_kernel
from pdem.foundation.sums import add_exactly
from pdem.foundation.transposition import LANES, whole_lanes
from pdem.motion.integration import MATERIAL, PACKED, PLACE, SIZE, ask_for_row

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

SAME_PATCH = 0.9
"""Cosine between old and new normal from which on a contact on a new feature continues an old one."""

SOON = 4
"""So many particles ahead memory is asked for the next."""

TILE = 64
"""Particles whose contacts are found before these are evaluated, several to a block."""

SEEN = 2
"""Numbers of what a worker has seen:"""

ENDED, DEEP = range(SEEN)
"""how many contacts have ended, and a particle whose overlap is beyond the limit + 1, or 0."""

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
                n = WALL_HISTORY * (o + 1) + HISTORY
                along = normal[c, 0] * old[n] + normal[c, 1] * old[n + 1] + normal[c, 2] * old[n + 2]
                if along > best:
                    best = along
                    match[c] = o + 1
        if match[c] > 0:
            old_kind[match[c] - 1] = -1


@inlined
def _list_contacts(
    first: int,
    last: int,
    begin: int,
    tally: NDArray[np.int32] | None,
    shortened: float,
    largest_overlap: float,
    near: NDArray[np.int32],
    packed: NDArray[np.float64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    candidates: NDArray[np.int64],
    surface: tuple[Any, ...],
    topology: tuple[Any, ...],
    scratch: tuple[Any, ...],
    lists: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    result: tuple[Any, ...],
    counts: NDArray[np.int32],
    before: tuple[Any, ...],
    counts_before: NDArray[np.int32],
    coefficient: NDArray[np.float64],
    materials: int,
) -> tuple[int, int, int]:
    """Find the contacts of the particles ``near[first:last]`` and list them from the place `begin` on.

    The list is filled up to whole lanes with its last contact. Returns how many there are, how many of the last step
    none of them continues, and a particle beyond the limit + 1, or 0.
    """
    vertices, normals, facet_wall, facet_side, facet_body, vertex_euler, wall_material = surface
    real, integer, point, normal, overlap, energetic, weight, match = scratch
    listed, particle, owner = lists
    kind, feature, facet, _ = result
    old_kind, old_feature, old_facet, old = before
    (facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
     vertex_facets) = topology  # fmt: skip
    number = begin
    ended = beyond = 0
    for q in range(first, last):
        ask_for_row(near[min(q + SOON, len(near) - 1)], packed)
        at = PACKED * (near[q] & ROW)
        x, y, z, r = packed[at + PLACE], packed[at + PLACE + 1], packed[at + PLACE + 2], packed[at + SIZE]
        bottom, top = start[q], end[q]
        if tally is not None:
            count = resolve_signed(
                x, y, z, r, candidates, bottom, top, vertices, normals,
                facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
                vertex_facets, facet_side, facet_body, vertex_euler, facet_wall, wall_material, coefficient,
                int(packed[at + MATERIAL]) * materials, real, integer, tally, kind, feature, facet, point, normal,
                overlap, energetic, weight, True, bottom, top,
            )  # fmt: skip
            match_patches(
                r, bottom, count, counts_before[q], facet, normal, overlap, old_kind, old_facet, old, facet_wall,
                match,
            )  # fmt: skip
        else:
            count = resolve_h2(
                x, y, z, r, candidates, bottom, top, vertices, normals,
                facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
                vertex_facets, real, integer, bottom, top, kind, feature, facet, point, normal, overlap, bottom,
                top,
            )  # fmt: skip
            for c in range(bottom, bottom + count):
                energetic[c], weight[c] = overlap[c], 1
            _match(
                bottom, count, counts_before[q], kind, feature, facet, normal, old_kind, old_feature, old_facet,
                old, facet_wall, match,
            )  # fmt: skip
        counts[q] = count
        ended += counts_before[q]
        for c in range(bottom, bottom + count):
            ended -= 1 if match[c] > 0 else 0
            beyond = near[q] + 1 if overlap[c] > largest_overlap * r else beyond
            for axis in range(3):
                point[c, axis] -= (1.0 - shortened) * overlap[c] * normal[c, axis]
            listed[number], particle[number], owner[number] = c, near[q], q + 1
            number += 1
    for place in range(number, begin + whole_lanes(number - begin)):
        listed[place], particle[place] = listed[number - 1], particle[number - 1]
    return number - begin, ended, beyond


@uncounted_kernel
def wall_forces(
    seen: NDArray[np.int64],
    tally: NDArray[np.int32] | None,
    shortened: float,
    near: NDArray[np.int32],
    dt: float,
    step: float,
    largest_overlap: float,
    packed: NDArray[np.float64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    candidates: NDArray[np.int64],
    surface: tuple[Any, ...],
    walls: tuple[Any, ...],
    topology: tuple[Any, ...],
    scratch: tuple[Any, ...],
    lists: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    kept: NDArray[np.float64],
    work: NDArray[np.float64],
    result: tuple[Any, ...],
    counts: NDArray[np.int32],
    before: tuple[Any, ...],
    counts_before: NDArray[np.int32],
    materials: int,
    coefficient: NDArray[np.float64],
    force: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Evaluate the wall contacts of the particles `near`.

    A worker takes some particles at a time: it finds their contacts, by the signed contact sum or the double hierarchy,
    and evaluates the law of these, a block after the other.

    Parameters
    ----------
    seen : (SEEN, workers) array
        Written, see `SEEN`; the particles are divided among so many workers.
    tally : int32 array or None
        The third table of `resolve_signed`, or None for the double hierarchy: only one of the two is compiled.
    shortened : float
        By how many overlaps the lever arm of friction is less than the radius (0 or 1: multiplied, neither rounds, and
        the default costs no branch).
    near, start, end, candidates
        Facets to test are ``candidates[start[q]:end[q]]`` for ``near[q]``.
    packed
        Rows of particles, see `pdem.motion.integration.PACKED`.
    surface : tuple
        vertices, normals, facet_wall, facet_side, facet_body, vertex_euler, material of each wall.
    walls : tuple
        material, centre, angular velocity, velocity, mean_turn, mean_velocity, inverse mass along each axis,
        inverse inertia, and 1 or 0 by whether its work is counted.
    scratch : tuple
        The other two tables, point, normal, overlap, overlap by energy, weight and the matches.
    lists : tuple of 3 int32 arrays
        Written: row, particle and row of `total` of each contact, those of some particles behind each other.
    kept, work : (workers * HISTORY * BLOCK,) and (workers * WALL_WORK,) arrays
        Columns of each worker.
    result, before : tuple
        kind, feature, facet and histories, flat; the row 0 of these is that of a contact that begins.
    force, total
        Written: contact forces and moments on the particles, (rows, LOAD); their sums, from row 1 on in the order of
        `near`.
    """
    rate = 1.0 / step
    _, _, point, normal, overlap, energetic, weight, match = scratch
    listed, particle, owner = lists
    workers = seen.shape[1]
    for worker in prange(workers):
        at, slot = worker * WALL_WORK, worker * BLOCK
        law = HISTORY * slot
        filled = -1.0
        ending = deepest = 0
        high = (worker + 1) * len(near) // workers
        for first in range(worker * len(near) // workers, high, TILE):
            last = min(first + TILE, high)
            begin = start[first] + LANES * (first // TILE + worker)
            count, ended, beyond = _list_contacts(
                first, last, begin, tally, shortened, largest_overlap, near, packed, start, end, candidates, surface,
                topology, scratch, lists, result, counts, before, counts_before, coefficient, materials,
            )  # fmt: skip
            ending, deepest = ending + ended, max(deepest, beyond)
            for row in range(first + 1, last + 1):
                for component in range(LOAD):
                    total[row, component] = 0.0
            for block in range(0, count, BLOCK):
                place, many = begin + block, min(BLOCK, whole_lanes(count - block))
                bring_contacts(at, place, many, listed, particle, packed, match, before[3], law, kept, work)
                bring_geometry(at, place, many, listed, point, normal, overlap, energetic, weight, work)
                others = meet_walls(
                    at, place, many, dt, shortened, materials, filled, law, listed, result[2], surface[2], walls,
                    kept, work,
                )  # fmt: skip
                if others > 0:
                    filled = gather_coefficients(at, many, coefficient, work)
                normal_force_stage(at, slot, many, dt, rate, work, kept)
                tangential_force_stage(at, slot, many, dt, rate, work, kept)
                resultant_stage(at, slot, many, dt, rate, work, kept)
                take_contacts(at, place, many, dt, listed, law, kept, work, result[3])
                take_loads(at, place, min(BLOCK, count - block), listed, owner, work, force, total)
        seen[ENDED, worker], seen[DEEP, worker] = ending, deepest


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
            fx, fy, fz = -force[c, 0], -force[c, 1], -force[c, 2]
            ax, ay, az = point[c, 0] - centre[w, 0], point[c, 1] - centre[w, 1], point[c, 2] - centre[w, 2]
            tx = ay * fz - az * fy - force[c, 3]
            ty = az * fx - ax * fz - force[c, 4]
            tz = ax * fy - ay * fx - force[c, 5]
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
