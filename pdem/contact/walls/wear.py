"""Wear of walls: the volume that particles remove from each facet, by sliding (Archard) or by impacts (Finnie).

Volumes are exact sums over contacts and steps: the same for any ranks and threads. The mesh does not change.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.geometry.surface_arrays import NORMAL, POINT
from pdem.contact.walls.kinematics import surface_velocity
from pdem.contact.walls.stages import row3
from pdem.foundation.packed_row import INVERSE_MASS, MATERIAL, PACKED, SPEED
from pdem.motion.inverse_masses import inverse_mass_along
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import kernel
from pdem.numerics.sums import NARROW_BELOW, NARROW_LIMBS, add_in_window, narrow_values, normalise
from pdem.numerics.vectors import exact_cross3, exact_dot3, exact_minus3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import Evaluated
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.motion.surfaces import SurfaceMotion
    from pdem.motion.walls import MovingWalls
    from pdem.numerics.vectors import Vector

NONE, ARCHARD, FINNIE = 0, 1, 2
"""Models of wear."""

STEEP = 0.1
"""Square of the sine of the angle of impact with tangent 1/3; below it a particle leaves while it still cuts."""

_MOST = 2**28


class WearOfWalls(NamedTuple):
    """Models and coefficients of the wear of walls.

    Attributes
    ----------
    model, material : (W,) int64 and int32 arrays
        `NONE`, `ARCHARD` or `FINNIE`; material of each wall.
    coefficient : (W,) array
        K over hardness, or C over pressure [1/Pa].
    sliding : int
        Column of histories with the energy lost by sliding.
    friction, drop : int
        Columns of the pair table with the friction, and with the relative drop to dynamic friction; -1 without.
    width : int
        Columns of the pair table.
    """

    model: Integers
    material: Int32s
    coefficient: Floats
    sliding: int
    friction: int
    drop: int
    width: int


class WallVelocities(NamedTuple):
    """Velocities of walls (W, 3) [m/s] at centres (W, 3) [m], angular velocities (W, 3) [rad/s], and their surfaces."""

    centre: Floats
    velocity: Floats
    spin: Floats
    surfaces: SurfaceMotion


@inlined_geometry
def finnie(sine: float) -> float:
    """Return Finnie's function of the sine of the angle of impact (Wear 3 (1960) 87, for K = 2)."""
    squared = min(sine * sine, 1.0)
    if squared <= STEEP:
        return 2.0 * sine * math.sqrt(1.0 - squared) - 3.0 * squared
    return (1.0 - squared) / 3.0


@inlined_geometry
def impact_energy(velocity: Vector, normal: Vector) -> float:
    """Return v^2 f of an impact with a velocity relative to the wall; 0 for a particle that does not approach."""
    along, squared = exact_dot3(velocity, normal), exact_dot3(velocity, velocity)
    if along >= 0.0 or squared == 0.0:
        return 0.0
    return squared * finnie(-along / math.sqrt(squared))


@inlined_geometry
def velocity_at(point: Vector, normal: Vector, wall: int, walls: WallVelocities) -> Vector:
    """Return the velocity of a wall at a point [m/s]."""
    turning = exact_cross3(row3(walls.spin, wall), exact_minus3(point, row3(walls.centre, wall)))
    v = row3(walls.velocity, wall)
    v = v[0] + turning[0], v[1] + turning[1], v[2] + turning[2]
    if walls.surfaces.moves[wall]:
        s = surface_velocity(point, normal, walls.surfaces.state[wall])
        v = v[0] + s[0], v[1] + s[1], v[2] + s[2]
    return v


@inlined_geometry
def slid_volume(c: int, w: int, p: int, contacts: Evaluated, table: Floats, wear: WearOfWalls) -> float:
    """Return K / H times normal force times slip of the last step, which is sliding work over friction [m^3]."""
    now, before = contacts.now, contacts.before
    old = before.history[before.width * contacts.match[c] + wear.sliding]
    work = now.history[now.width * (c + 1) + wear.sliding] - old
    pair = int(contacts.near.packed[PACKED * p + MATERIAL]) * contacts.materials + wear.material[w]
    friction = table[wear.width * pair + wear.friction]
    if wear.drop >= 0:
        friction *= 1.0 - table[wear.width * pair + wear.drop]
    return wear.coefficient[w] * work / friction if friction > 0.0 else 0.0


@inlined_geometry
def cut_volume(
    c: int, w: int, p: int, contacts: Evaluated, walls: WallVelocities, tensors: Floats, wear: WearOfWalls
) -> float:
    """Return C / p times m v^2 f of a new contact [m^3]."""
    if contacts.match[c] > 0:
        return 0.0
    packed, at = contacts.near.packed, PACKED * p
    normal, point = row3(contacts.found.places, c, NORMAL), row3(contacts.found.places, c, POINT)
    own = packed[at + SPEED], packed[at + SPEED + 1], packed[at + SPEED + 2]
    energy = impact_energy(exact_minus3(own, velocity_at(point, normal, w, walls)), normal)
    inverse = inverse_mass_along(p, normal, tensors) if len(tensors) > 0 else packed[at + INVERSE_MASS]
    return wear.coefficient[w] * energy / inverse if inverse > 0.0 else 0.0


@kernel
def add_wear(
    contacts: Evaluated, walls: WallVelocities, table: Floats, tensors: Floats, wear: WearOfWalls,
    limbs: Integers,
) -> int:  # fmt: skip
    """Add the worn volumes of the last step to exact sums [m^3]; return how many contacts have worn a facet."""
    near, number = contacts.near, 0
    for q in range(len(near.near)):
        p = near.near[q]
        for c in range(near.start[q], near.start[q] + contacts.now.counts[q]):
            facet = contacts.now.facet[c]
            w = contacts.facet_wall[facet]
            volume = 0.0
            if wear.model[w] == ARCHARD:
                volume = slid_volume(c, w, p, contacts, table, wear)
            elif wear.model[w] == FINNIE:
                volume = cut_volume(c, w, p, contacts, walls, tensors, wear)
            add_in_window(limbs[facet], volume, NARROW_BELOW)
            number += 1
    return number


class WallWear:
    """The worn volumes of walls by the contacts of this rank.

    Parameters
    ----------
    law : ContactLaw
        Contact law of the case.
    walls : MovingWalls
        All walls.
    materials, models, coefficients : sequences
        Material, model of wear and its coefficient [1/Pa], for each wall.

    Attributes
    ----------
    limbs : (F, NARROW_LIMBS) int64 array
        Exact sums of all facets [m^3].
    """

    def __init__(
        self, law: ContactLaw, walls: MovingWalls, materials: Sequence[int], models: Sequence[int],
        coefficients: Sequence[float],
    ) -> None:  # fmt: skip
        self._walls = walls
        friction, drop = (_column_of(law, name) for name in ("friction", "drop"))
        self._wear = WearOfWalls(
            np.array(models, np.int64), np.array(materials, np.int32), np.array(coefficients, np.float64),
            law.place("sliding") if law.has("sliding") else 0, max(friction, 0), drop, law.width,
        )  # fmt: skip
        self.limbs = np.zeros((walls.mesh.facet_count, NARROW_LIMBS), np.int64)
        self._added = 0

    def add(self, contacts: Evaluated, parameters: ContactParameters) -> None:
        """Add the worn volumes of the last step."""
        walls = self._walls
        velocities = WallVelocities(walls.centre, walls.velocity, walls.angular_velocity, walls.surfaces.now)
        table = parameters.table.reshape(-1)
        self._added += add_wear(contacts, velocities, table, parameters.tensors, self._wear, self.limbs)
        if self._added > _MOST:
            self.normalise()

    def normalise(self) -> None:
        """Bring the exact sums into their unique normal form."""
        normalise(self.limbs)
        self._added = 0


def depths(limbs: Integers, areas: Floats) -> Floats:
    """Return the mean depth of wear of facets with these areas [m^2], in m."""
    volumes = narrow_values(limbs)
    return np.divide(volumes, areas, out=np.zeros(len(areas)), where=areas > 0.0)


def _column_of(law: ContactLaw, name: str) -> int:
    """Return the column of the pair table with a coefficient of the tangential force, -1 without."""
    places = [] if law.tangential is None else law.places_of_coefficients(law.tangential)
    return next((place for place in places if law.coefficients[place].endswith(f".{name}")), -1)
