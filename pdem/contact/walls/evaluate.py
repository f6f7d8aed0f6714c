"""The kernel of a step for contacts between particles and walls, and what these do to the walls.

Lists are kept for the particles that are near a wall only, in their order, and so are counts. The rows of one
particle's facet candidates also hold its contacts, so nothing can overflow and threads never meet.
By the double hierarchy contacts come nearest first and histories go on by feature; by the signed contact sum contacts
are patches (`pdem.contact.walls.history_matching`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.geometry.double_hierarchy import resolve_h2
from pdem.contact.geometry.signed_patches import Powers
from pdem.contact.geometry.signed_sum import resolve_signed
from pdem.contact.geometry.surface_arrays import Found, Scratch, Sphere, SurfaceArrays
from pdem.contact.law.parts import Step
from pdem.contact.pairs.law_stages import stages_of
from pdem.contact.pairs.layout import BLOCK
from pdem.contact.pairs.stages import NO_MATERIALS, gather_coefficients
from pdem.contact.walls.arguments import NearFacets, WallMotion, WallParameters, WallRecord, WallWork
from pdem.contact.walls.history_matching import match_features, match_patches
from pdem.contact.walls.stages import (
    WALL_COLUMNS,
    clear_totals,
    fill_wall_lanes,
    gather_geometry,
    gather_of,
    list_contact,
    move_point,
    scatter_of,
    scatter_wall_forces,
    walls_kinematics,
)
from pdem.contact.walls.stretched import stretched_of
from pdem.foundation.kernel_factory import inlined_closure, versioned_kernel
from pdem.foundation.kernels import ROW, inlined, kernel, prange
from pdem.foundation.sums import add_exactly
from pdem.foundation.transposition import LANES, whole_lanes
from pdem.motion.integration import MATERIAL, PACKED, PLACE, SIZE, prefetch_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw

SOON = 4
"""So many particles ahead the packed row is prefetched."""

TILE = 64
"""Particles whose contacts are found before these are evaluated, several to a block."""

SEEN = 2
ENDED, DEEP = range(SEEN)
"""Rows of ``seen[field, worker]``, both written: the number of contacts that have ended, and one more than a particle
whose overlap is beyond the limit, or 0."""

LOADS = 7
"""Columns of a wall's loads: force (3) [N], torque about its centre (3) [N m], power delivered [W]."""


@inlined
def find_contacts(
    q: int,
    tally: NDArray[np.int32] | None,
    near: NearFacets,
    parameters: WallParameters,
    surface: SurfaceArrays,
    found: Found,
    before: WallRecord,
    work: WallWork,
) -> int:
    """Find the contacts of one particle near a wall, and which histories they continue; return their number."""
    at = PACKED * (near.near[q] & ROW)
    packed, first, last = near.packed, near.start[q], near.end[q]
    sphere = Sphere(packed[at + PLACE], packed[at + PLACE + 1], packed[at + PLACE + 2], packed[at + SIZE])
    scratch = Scratch(work.real, work.integer, tally)
    if tally is not None:
        powers = Powers(parameters.powers, int(packed[at + MATERIAL]) * parameters.materials)
        count = resolve_signed(
            sphere, near.candidates, first, last, surface, powers, scratch, found, True, last - first
        )
        match_patches(
            sphere.radius, first, count, before.counts[q], surface.facet_wall, found, before, work.match
        )
    else:
        count = resolve_h2(sphere, near.candidates, first, last, surface, scratch, found, last - first)
        match_features(first, count, before.counts[q], surface.facet_wall, found, before, work.match)
    return count


def listing_of(law: ContactLaw) -> Any:
    """Make the function that finds the contacts of some particles and lists them."""
    keep_stretched = stretched_of(law)

    @inlined_closure
    def list_contacts(
        tile: tuple[int, int, int], tally: NDArray[np.int32] | None, near: NearFacets, parameters: WallParameters,
        surface: SurfaceArrays, found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> tuple[int, int, int]:  # fmt: skip
        """Do so.

        `tile` are the first of the particles near a wall, the one behind the last, and the place of the list from which
        on their contacts stand. The list is filled up to whole lanes with its last contact. Returns how many there are,
        how many of the last step none of them continues, and one more than a particle beyond the limit, or 0.
        """
        first, last, begin = tile
        number = begin
        ended = deepest = 0
        for q in range(first, last):
            prefetch_row(near.near[min(q + SOON, len(near.near) - 1)], near.packed)
            count = find_contacts(q, tally, near, parameters, surface, found, before, work)
            count = keep_stretched(q, count, near, parameters, surface, found, before, work)
            now.counts[q] = count
            ended += before.counts[q]
            bottom, particle = near.start[q], near.near[q]
            limit = parameters.largest_overlap * near.packed[PACKED * (particle & ROW) + SIZE]
            for c in range(bottom, bottom + count):
                ended -= 1 if work.match[c] > 0 else 0
                deepest = particle + 1 if found.overlap[c] > limit else deepest
                move_point(c, parameters.shortened, found)
                list_contact(number, c, particle, q + 1, work)
                number += 1
        fill_wall_lanes(begin, number, whole_lanes(number - begin), work)
        return number - begin, ended, deepest

    return list_contacts


def evaluation_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the law of listed contacts, a block after the other."""
    stages, gather, scatter, width, coefficients = (
        stages_of(law), gather_of(law), scatter_of(law), law.columns, law.width
    )  # fmt: skip

    @inlined_closure
    def evaluate_wall_law(
        listed: tuple[int, int, int], materials: float, near: NearFacets, parameters: WallParameters,
        surface: SurfaceArrays, motion: WallMotion, found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> float:  # fmt: skip
        """Do so, as `pdem.contact.pairs.evaluate.evaluation_of` does.

        `listed` are the worker, the place of the list from which on they stand, and their number.
        """
        worker, begin, count = listed
        at, slot = worker * WALL_COLUMNS, worker * BLOCK
        history, step = width * slot, Step(parameters.dt, parameters.rate)
        for block in range(0, count, BLOCK):
            place, many = begin + block, min(BLOCK, whole_lanes(count - block))
            gather(at, history, place, many, near.packed, before, work)
            gather_geometry(at, place, many, found, work)
            others = walls_kinematics(
                at, history, place, many, materials, surface.facet_wall, found, parameters, motion, work
            )
            if others > 0:
                materials = gather_coefficients(at, many, coefficients, parameters.coefficients, work.columns)
            stages(at, slot, many, step, work.columns, work.history)
            scatter(at, history, place, many, parameters.dt, work, now)
            scatter_wall_forces(at, place, min(BLOCK, count - block), work)
        return materials

    return evaluate_wall_law


def particles_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the wall contacts of the particles of one worker, some particles at a time."""
    list_contacts, evaluate_wall_law = listing_of(law), evaluation_of(law)

    @inlined_closure
    def evaluate_particles(
        worker: int, tally: NDArray[np.int32] | None, near: NearFacets, parameters: WallParameters,
        surface: SurfaceArrays, motion: WallMotion, found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> None:  # fmt: skip
        workers, count = work.seen.shape[1], len(near.near)
        high = (worker + 1) * count // workers
        materials = NO_MATERIALS
        ended = deepest = 0
        for first in range(worker * count // workers, high, TILE):
            last = min(first + TILE, high)
            begin = near.start[first] + LANES * (first // TILE + worker)
            number, ends, deep = list_contacts(
                (first, last, begin), tally, near, parameters, surface, found, work, now, before
            )
            ended, deepest = ended + ends, max(deepest, deep)
            clear_totals(first, last, work)
            materials = evaluate_wall_law(
                (worker, begin, number),
                materials,
                near,
                parameters,
                surface,
                motion,
                found,
                work,
                now,
                before,
            )
        work.seen[ENDED, worker], work.seen[DEEP, worker] = ended, deepest

    return evaluate_particles


@cache
def wall_kernel(law: ContactLaw) -> Any:
    """Make the kernel that evaluates the contacts of the particles near a wall by a law.

    A worker takes some particles at a time: it finds their contacts, by the signed contact sum or the double hierarchy,
    and evaluates the law of these, a block after the other.

    Its arguments are the table of `Scratch`, or None for the double hierarchy: only one of the two is compiled; then
    those of `pdem.contact.walls.arguments` and `pdem.contact.geometry.surface_arrays` as plain tuples of their fields:
    near, parameters, surface, motion, found, work, now, before.
    """
    evaluate_particles = particles_of(law)

    @versioned_kernel(law.version, threaded=True)
    def evaluate_walls(
        tally: NDArray[np.int32] | None, near: NearFacets, parameters: WallParameters, surface: SurfaceArrays,
        motion: WallMotion, found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> None:  # fmt: skip
        for worker in prange(WallWork(*work).seen.shape[1]):
            # within the loop over threads the worker is of another type, for which all would be compiled once more
            evaluate_particles(
                np.int64(worker), tally, NearFacets(*near), WallParameters(*parameters), SurfaceArrays(*surface),
                WallMotion(*motion), Found(*found), WallWork(*work), WallRecord(*now), WallRecord(*before),
            )  # fmt: skip

    return evaluate_walls


@inlined
def add_load(w: int, force: tuple[float, float, float], torque: tuple[float, float, float], power: float,
             limbs: NDArray[np.int64]) -> None:  # fmt: skip
    """Add force, torque and power to the exact sums of a wall."""
    row = LOADS * w
    for axis in range(3):
        add_exactly(limbs[row + axis], force[axis])
        add_exactly(limbs[row + 3 + axis], torque[axis])
    add_exactly(limbs[row + 6], power)


@kernel
def add_loads(
    near: NearFacets, counts: NDArray[np.int32], found: Found, facet_wall: NDArray[np.int32],
    force: NDArray[np.float64], centre: NDArray[np.float64], spin: NDArray[np.float64],
    velocity: NDArray[np.float64], limbs: NDArray[np.int64],
) -> None:  # fmt: skip
    """Add force, torque about the centre and power of the particles on each wall to exact sums (W * 7)."""
    for q in range(len(near.near)):
        for c in range(near.start[q], near.start[q] + counts[q]):
            w = facet_wall[found.facet[c]]
            fx, fy, fz = -force[c, 0], -force[c, 1], -force[c, 2]
            ax, ay, az = (
                found.point[c, 0] - centre[w, 0],
                found.point[c, 1] - centre[w, 1],
                found.point[c, 2] - centre[w, 2],
            )
            tx = ay * fz - az * fy - force[c, 3]
            ty = az * fx - ax * fz - force[c, 4]
            tz = ax * fy - ay * fx - force[c, 5]
            power = fx * velocity[w, 0] + fy * velocity[w, 1] + fz * velocity[w, 2]
            power += tx * spin[w, 0] + ty * spin[w, 1] + tz * spin[w, 2]
            add_load(w, (fx, fy, fz), (tx, ty, tz), -power, limbs)
