"""The kernel of a step for the forces of contacts between particles and walls, and for the loads on walls.

The kernel of `pdem.contact.walls.search` lists the contacts of particles near a wall, in the order of particles; this
kernel evaluates their law block by block.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.geometry.surface_arrays import NORMAL, POINT, Found, SurfaceArrays
from pdem.contact.law.contact_law import BOX_WORK
from pdem.contact.pairs.largest_energy import strain_energy_of
from pdem.contact.pairs.law_stages import stages_of
from pdem.contact.pairs.layout import BLOCK
from pdem.contact.pairs.stages import NO_MATERIALS, gather_coefficients
from pdem.contact.walls.arguments import NearFacets, WallMotion, WallParameters, WallRecord, WallWork
from pdem.contact.walls.due_facets import TILE
from pdem.contact.walls.kinematics import surface_velocity, walls_kinematics
from pdem.contact.walls.search import tile_at
from pdem.contact.walls.stages import (
    OVERLAP_ENERGETIC,
    WALL_COLUMNS,
    add_box_work_at_walls,
    clear_totals,
    gather_geometry,
    gather_of,
    row3,
    scatter_of,
    scatter_wall_forces,
    wall_member_masses,
)
from pdem.motion.surfaces import SPIN as SURFACE_SPIN
from pdem.motion.time_step import TimeStep
from pdem.numerics.kernel_factory import inlined_closure, versioned_kernel
from pdem.numerics.kernels import inlined, kernel, prange
from pdem.numerics.simd.transposition import whole_lanes
from pdem.numerics.sums import NARROW_BELOW, NARROW_LARGEST, WIDE_BELOW, add_in_window
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.motion.surfaces import SurfaceMotion

LOADS = 7
"""Columns of a wall's loads: force (3) [N], torque about its centre (3) [N m], power delivered [W]."""


def evaluation_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the law of listed contacts, block by block."""
    stages, gather, scatter, width, coefficients, clusters = (
        stages_of(law), gather_of(law), scatter_of(law), law.columns, law.width, law.has_clusters
    )  # fmt: skip
    write_energies = strain_energy_of(law, int(OVERLAP_ENERGETIC))
    counts_box_work, column = law.has(BOX_WORK), BLOCK * law.place(BOX_WORK)

    @inlined_closure
    def evaluate_wall_law(
        listed: tuple[int, int, int], materials: float, near: NearFacets, parameters: WallParameters,
        surface: SurfaceArrays, motion: WallMotion, found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> float:  # fmt: skip
        """Evaluate the law of contacts; `listed` are the worker, the begin of their list, and their number.

        `materials` is the pair of materials with coefficients in the columns; the pair afterwards is returned.
        """
        worker, begin, count = listed
        at, slot = worker * WALL_COLUMNS, worker * BLOCK
        history, step = width * slot, TimeStep(parameters.dt, parameters.rate)
        for block in range(0, count, BLOCK):
            place, many = begin + block, min(BLOCK, whole_lanes(count - block))
            gather(at, history, place, many, near.packed, before, work)
            gather_geometry(at, place, many, found, work)
            if clusters:
                wall_member_masses(at, place, many, parameters.tensors, work)
            others = walls_kinematics(
                at, history, place, many, materials, surface.facet_wall, found, parameters, motion, work
            )
            if others > 0:
                materials = gather_coefficients(at, many, coefficients, parameters.coefficients, work.columns)
            stages(at, slot, many, step, work.columns, work.history)
            write_energies(at, slot, many, work.columns, work.history)
            if counts_box_work:
                add_box_work_at_walls(at, history + column, place, many, parameters, near.packed, work)
            scatter(at, history, place, many, parameters.dt, work, now)
            scatter_wall_forces(at, place, min(BLOCK, count - block), work)
        return materials

    return evaluate_wall_law


def particles_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the wall contacts of the particles of one worker, tile by tile."""
    evaluate_wall_law = evaluation_of(law)

    @inlined_closure
    def evaluate_particles(
        worker: int, near: NearFacets, parameters: WallParameters, surface: SurfaceArrays, motion: WallMotion,
        found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> None:  # fmt: skip
        low, high = share_of(worker, work.seen.shape[1], len(near.near))
        materials = NO_MATERIALS
        for tile in range(low, high, TILE):
            first, last, begin = tile_at(tile, high, worker, near)
            number = 0
            for q in range(first, last):
                number += now.counts[q]
            clear_totals(first, last, work)
            materials = evaluate_wall_law(
                (worker, begin, number), materials, near, parameters, surface, motion, found, work, now, before
            )

    return evaluate_particles


@cache
def wall_kernel(law: ContactLaw) -> Any:
    """Make the kernel that evaluates the listed contacts of the particles near a wall by a law.

    Its arguments are classes of `pdem.contact.walls.arguments` and `pdem.contact.geometry.surface_arrays` as plain
    tuples of their fields: near, parameters, surface, motion, found, work, now, before.
    """
    evaluate_particles = particles_of(law)

    @versioned_kernel(law.version, threaded=True)
    def evaluate_walls(
        near: NearFacets, parameters: WallParameters, surface: SurfaceArrays, motion: WallMotion, found: Found,
        work: WallWork, now: WallRecord, before: WallRecord,
    ) -> None:  # fmt: skip
        for worker in prange(WallWork(*work).seen.shape[1]):
            # in the loop over threads the worker has a different type, for which everything would be compiled again
            evaluate_particles(
                np.int64(worker), NearFacets(*near), WallParameters(*parameters), SurfaceArrays(*surface),
                WallMotion(*motion), Found(*found), WallWork(*work), WallRecord(*now), WallRecord(*before),
            )  # fmt: skip

    return evaluate_walls


class LoadedWalls(NamedTuple):
    """The walls with loads to add up.

    Attributes
    ----------
    row : (W,) int64 array
        Index of a wall in the sums, -1 for walls without sums.
    centre, spin, velocity : (W, 3) arrays
        Centre of torques [m], angular velocity [rad/s], velocity of the centre [m/s].
    """

    row: Integers
    centre: Floats
    spin: Floats
    velocity: Floats


class LoadWindow(NamedTuple):
    """The range of exact sums: bits below 1, and an upper limit; larger numbers are ignored."""

    below: int
    largest: float


WIDE, NARROW = LoadWindow(WIDE_BELOW, math.inf), LoadWindow(NARROW_BELOW, NARROW_LARGEST)
"""Ranges of sums of `LIMBS` and of `NARROW_LIMBS`."""


@inlined
def add_number(limbs: Integers, value: float, window: LoadWindow) -> None:
    """Add a number to an exact sum."""
    if abs(value) < window.largest:
        add_in_window(limbs, value, window.below)


@inlined
def add_load(row: int, force: tuple[float, float, float], torque: tuple[float, float, float], power: float,
             window: LoadWindow, limbs: Integers) -> None:  # fmt: skip
    """Add force, torque and power to the exact sums of a wall, from a row on."""
    for axis in range(3):
        add_number(limbs[row + axis], force[axis], window)
        add_number(limbs[row + 3 + axis], torque[axis], window)
    add_number(limbs[row + 6], power, window)


@kernel
def add_loads(
    near: NearFacets, counts: Int32s, found: Found, facet_wall: Int32s,
    force: Floats, moving: LoadedWalls, surfaces: SurfaceMotion, window: LoadWindow,
    limbs: Integers,
) -> None:  # fmt: skip
    """Add force, torque about the centre and power of the particles on each wall to exact sums (rows * 7)."""
    centre, spin, velocity = moving.centre, moving.spin, moving.velocity
    for q in range(len(near.near)):
        for c in range(near.start[q], near.start[q] + counts[q]):
            w = facet_wall[found.facet[c]]
            if moving.row[w] < 0:
                continue
            fx, fy, fz = -force[c, 0], -force[c, 1], -force[c, 2]
            ax, ay, az = (
                found.places[c, POINT] - centre[w, 0],
                found.places[c, POINT + 1] - centre[w, 1],
                found.places[c, POINT + 2] - centre[w, 2],
            )
            tx = ay * fz - az * fy - force[c, 3]
            ty = az * fx - ax * fz - force[c, 4]
            tz = ax * fy - ay * fx - force[c, 5]
            power = fx * velocity[w, 0] + fy * velocity[w, 1] + fz * velocity[w, 2]
            power += tx * spin[w, 0] + ty * spin[w, 1] + tz * spin[w, 2]
            if surfaces.moves[w]:
                state = surfaces.state[w]
                q = surface_velocity(row3(found.places, c, POINT), row3(found.places, c, NORMAL), state)
                o = row3(state, SURFACE_SPIN)
                power += fx * q[0] + fy * q[1] + fz * q[2]
                power -= force[c, 3] * o[0] + force[c, 4] * o[1] + force[c, 5] * o[2]
            add_load(LOADS * moving.row[w], (fx, fy, fz), (tx, ty, tz), -power, window, limbs)
