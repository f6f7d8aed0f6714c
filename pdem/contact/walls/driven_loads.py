"""Loads of particles on driven walls, and the stiffness and damping of their contacts against the motion of the wall.

Sums are exact because they determine the motion: a driven wall moves with the same bits on any number of ranks.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.geometry.surface_arrays import POINT
from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.law.resistance import against, resistance_of
from pdem.numerics.geometry_kernels import sphere_mass
from pdem.numerics.kernel_factory import versioned_kernel
from pdem.numerics.sums import LIMBS, add_exactly, normalise

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.arguments import NearFacets, WallRecord
    from pdem.contact.walls.storage import Evaluated
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.motion.walls import MovingWalls

DRIVEN_LOADS = 8
"""Sums of a driven wall: force (3) [N], torque about its centre (3) [N m]; stiffness and damping of its contacts
against its travel, [N/m] and [N s/m] along an axis, [N m/rad] and [N m s/rad] about one."""


class DrivenWalls(NamedTuple):
    """The walls that are driven by particles, see `pdem.motion.walls.MovingWalls`.

    Attributes
    ----------
    row : (W,) int64 array
        Row of a wall among the driven ones, or -1.
    translation_axis, rotation_axis, centre : (W, 3) arrays
        A point at the arm a from the centre moves by ``translation_axis + rotation_axis x a`` per unit of travel.
    material : (W,) int32 array
        Material of each wall.
    """

    row: Integers
    translation_axis: Floats
    rotation_axis: Floats
    centre: Floats
    material: Int32s


class LoadedSpheres(NamedTuple):
    """Radius [m] and material of each particle, density of each material [kg/m^3]."""

    radius: Floats
    material: Int32s
    density: Floats


@cache
def driven_kernel(law: ContactLaw) -> Any:
    """Make the kernel that adds the `DRIVEN_LOADS` of all contacts with driven walls to exact sums.

    It works as `pdem.contact.walls.evaluate.add_loads`, with the flat pair table as a further argument.
    """
    resistance, may_pull = resistance_of(law), law.may_pull

    @versioned_kernel(law.version)
    def add_driven_loads(
        near: NearFacets, now: WallRecord, places: Floats, force: Floats,
        facet_wall: Int32s, walls: DrivenWalls, spheres: LoadedSpheres, coefficients: Floats,
        limbs: Integers,
    ) -> None:  # fmt: skip
        materials, history = len(spheres.density), now.history
        translation_axis, rotation_axis, centre = walls.translation_axis, walls.rotation_axis, walls.centre
        for q in range(len(near.near)):
            p = near.near[q]
            for c in range(near.start[q], near.start[q] + now.counts[q]):
                w = facet_wall[now.facet[c]]
                if walls.row[w] < 0:
                    continue
                fx, fy, fz = -force[c, 0], -force[c, 1], -force[c, 2]
                ax, ay, az = (
                    places[c, POINT] - centre[w, 0],
                    places[c, POINT + 1] - centre[w, 1],
                    places[c, POINT + 2] - centre[w, 2],
                )
                row = DRIVEN_LOADS * walls.row[w]
                add_exactly(limbs[row], fx)
                add_exactly(limbs[row + 1], fy)
                add_exactly(limbs[row + 2], fz)
                add_exactly(limbs[row + 3], ay * fz - az * fy - force[c, 3])
                add_exactly(limbs[row + 4], az * fx - ax * fz - force[c, 4])
                add_exactly(limbs[row + 5], ax * fy - ay * fx - force[c, 5])
                dx = translation_axis[w, 0] + rotation_axis[w, 1] * az - rotation_axis[w, 2] * ay
                dy = translation_axis[w, 1] + rotation_axis[w, 2] * ax - rotation_axis[w, 0] * az
                dz = translation_axis[w, 2] + rotation_axis[w, 0] * ay - rotation_axis[w, 1] * ax
                squared = dx * dx + dy * dy + dz * dz
                if squared == 0.0:
                    continue
                h = now.width * (c + 1)
                n = h + now.normal
                straight = (history[n] * dx + history[n + 1] * dy + history[n + 2] * dz) ** 2
                aside = max(squared - straight, 0.0)
                overlap = history[h + OVERLAP] if may_pull else max(history[h + OVERLAP], 0.0)
                mass = sphere_mass(spheres.density[spheres.material[p]], spheres.radius[p])
                pair = spheres.material[p] * materials + walls.material[w]
                found = resistance(overlap, spheres.radius[p], mass, pair, coefficients)
                stiffness, damping = against(found, straight, aside)
                add_exactly(limbs[row + 6], stiffness)
                add_exactly(limbs[row + 7], damping)

    return add_driven_loads


def sums_of_driven(
    law: ContactLaw, walls: MovingWalls, materials: Int32s, contacts: Evaluated, force: Floats,
    particles: Particles, parameters: ContactParameters,
) -> Integers:  # fmt: skip
    """Return the loads of the particles of a rank on the driven walls, as exact sums (D * `DRIVEN_LOADS`, limbs).

    `materials` are the materials of the walls, and `force` the forces on particles by contact, see
    `pdem.contact.walls.storage.WallRoom`.
    """
    limbs, column = np.zeros((len(walls.driven) * DRIVEN_LOADS, LIMBS), np.int64), particles.column
    driven_kernel(law)(
        contacts.near, contacts.now, contacts.found.places, force, walls.facet_wall,
        DrivenWalls(walls.driven_row, walls.translation_axis, walls.rotation_axis, walls.centre, materials),
        LoadedSpheres(column("radius"), column("material"), parameters.density), parameters.table.reshape(-1), limbs,
    )  # fmt: skip
    normalise(limbs)
    return limbs
