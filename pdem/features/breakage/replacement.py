"""Fragments in place of particles that break: sizes, places, motion, and energies.

The fragments of a particle lie inside a sphere about its centre in which nothing else exerts a force. They overlap each
other, and particles that their parent overlapped without a force; these overlaps are the references of their contacts,
which begin without force and energy (`.first_contacts`). Their centre of mass is that of the particle, and they move as
its momentum and angular momentum require.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.parts import TINY
from pdem.engine.views.bodies import sphere_masses
from pdem.features.breakage.broken_bodies import Pieces, parents_of
from pdem.features.breakage.fragment_motion import fragment_motion
from pdem.features.breakage.fragment_places import LARGEST_IN_ROOM, fragment_places, spread_fragments
from pdem.features.breakage.fragment_sizes import fragment_radii
from pdem.features.breakage.particle_strengths import FRACTURE_ENERGY, FRACTURE_STRESS, GENERATION
from pdem.features.breakage.size_model import SizeModel
from pdem.foundation import exact_math
from pdem.numerics.random import keyed_uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.box_shape import BoxShape
    from pdem.features.breakage.particle_strengths import ParticleStrengths
    from pdem.foundation.array_types import Floats, Integers

    Columns = dict[str, NDArray[Any]]

FRAGMENT_SIZE_STREAM, FRAGMENT_PLACE_STREAM = 0x62726562, 0x62726563
"""Streams of the random numbers of sizes and places."""

INHERITED = ("temperature",)
"""Fields of particles that fragments have from their parent, if the case has them."""

_CLEAR = 1.0 - 1e-12
_SPREADS, _OUTWARD = 4, 1.5
"""How often fragments are moved outward, and by which factor."""


class FragmentSet(NamedTuple):
    """The fragments of one particle.

    Attributes
    ----------
    radius, offset : (n,) and (n, 3) arrays
        Radii, and places from the centre of the particle [m].
    velocity, angular_velocity : (n, 3) arrays
        Their motion [m/s, rad/s].
    mass : (n,) array
        Masses [kg].
    kept : float
        Share of the mass of the particle in them.
    energy : float
        Their kinetic energy [J].
    """

    radius: Floats
    offset: Floats
    velocity: Floats
    angular_velocity: Floats
    mass: Floats
    kept: float
    energy: float


class ReplacementPlan(NamedTuple):
    """The replacement of all particles that break in a step, the same on all ranks.

    Attributes
    ----------
    parents : (p,) int64 array
        Ids of the particles, of clusters of their first members.
    removed : (m,) int64 array
        Ids of all spheres that are removed.
    columns : dict
        Columns of the fragments, in the order of parents.
    """

    parents: Integers
    removed: Integers
    columns: Columns


class Replacement:
    """Fragments of the particles of a case.

    Parameters
    ----------
    strengths : ParticleStrengths
        Strengths of the particles.
    sizes : sequence of SizeModel or None
        Sizes of the fragments of each material.
    density : (M,) array
        Densities [kg/m^3].
    axes : {3, 2}
        Dimension of the case.
    """

    def __init__(
        self, strengths: ParticleStrengths, sizes: Sequence[SizeModel | None], density: Floats, axes: int
    ) -> None:
        self._strengths, self._sizes, self._density, self._axes = strengths, sizes, density, axes

    def plan(self, rows: Columns, shape: BoxShape) -> tuple[ReplacementPlan, Columns]:
        """Return the plan for particles that break, sorted by ids, and their events.

        `rows` are `.broken_bodies.with_bodies` with ``contact_energy`` and ``spring_energy``, what their contacts and
        the springs of these store [J].
        """
        parents, pieces = parents_of(rows, shape)
        mass, width = parents["body_mass"], 2.0 * parents["radius"]
        energy, stress = parents["energy"] / mass, parents["force"] / (width * width)
        t10 = self._strengths.t10(parents, energy, stress)
        parents["kinetic"] = 0.5 * mass * exact_math.inner(parents["velocity"], parents["velocity"])
        parents["kinetic"] += parents["body_rotation"]
        found = [
            self._fragments(parents, row, t10[row]) if one is None else self._of_cluster(parents, row, one)
            for row, one in enumerate(pieces)
        ]
        number = np.array([len(one.radius) for one in found], np.int64)
        kept, moving = np.array([one.kept for one in found]), np.array([one.energy for one in found])
        fines = [exact_math.total([whole, *(-one.mass)]) for whole, one in zip(mass.tolist(), found, strict=True)]
        released = parents["contact_energy"] + parents["kinetic"] * kept - moving
        by_force = FRACTURE_STRESS.name in parents
        strength = parents[FRACTURE_ENERGY.name]
        if by_force:
            strength = np.where(strength > 0.0, strength, parents[FRACTURE_STRESS.name])
        events = {
            "id": parents["id"], "material": parents["material"].astype(np.int64),
            "generation": parents[GENERATION.name], "position": parents["position"], "radius": parents["radius"],
            "mass": mass, "energy": energy, "stress": stress, "strength": strength, "partner": parents["partner"],
            "t10": t10, "fragments": number, "fines": np.array(fines), "released": released,
            "springs": parents["spring_energy"],
        }  # fmt: skip
        return ReplacementPlan(parents["id"], rows["id"], _columns(parents, found, number, shape)), events

    def _fragments(self, parents: Columns, row: int, t10: float) -> FragmentSet:
        """Return the fragments of one sphere."""
        material, radius, key = int(parents["material"][row]), float(parents["radius"][row]), parents["id"][row]
        sizes, seed, room = self._sizes[material], self._strengths.seeds[material], float(parents["room"][row]) * _CLEAR
        assert sizes is not None
        uniform = float(keyed_uniform(seed, FRAGMENT_SIZE_STREAM, key))
        radii = fragment_radii(sizes, radius, t10, uniform, LARGEST_IN_ROOM * room)
        if not len(radii):
            none = np.zeros((0, 3))
            return FragmentSet(radii, none, none, none, np.zeros(0), 0.0, 0.0)
        offset = fragment_places(radii, room, float(keyed_uniform(seed, FRAGMENT_PLACE_STREAM, key)), self._axes)
        return self._moving(parents, row, Pieces(radii, offset), room)

    def _of_cluster(self, parents: Columns, row: int, pieces: Pieces) -> FragmentSet:
        """Return the members of a cluster as its fragments."""
        return self._moving(parents, row, pieces, math.inf)

    def _moving(self, parents: Columns, row: int, pieces: Pieces, room: float) -> FragmentSet:
        """Return fragments with the motion of a body; they may be moved outward in a `room` [m]."""
        material = np.full(len(pieces.radius), parents["material"][row])
        masses = sphere_masses(pieces.radius, self._density[material])
        kept = exact_math.total(masses) / float(parents["body_mass"][row])
        spin, velocity = kept * parents["body_momentum"][row], parents["velocity"][row]
        available = float(parents["contact_energy"][row]) + kept * float(parents["kinetic"][row])
        motion, energy = _motion(masses, pieces, room, velocity, spin, available)
        return FragmentSet(pieces.radius, *motion, masses, kept, energy)


def _motion(
    mass: Floats, pieces: Pieces, room: float, velocity: Floats, spin: Floats, available: float
) -> tuple[tuple[Floats, Floats, Floats], float]:
    """Return places, velocities and angular velocities of fragments, and their kinetic energy [J].

    Their angular momentum is `spin` [kg m^2/s] about the centre. If that needs more energy than is `available` [J],
    they are moved outward, if the `room` [m] is finite. If even this does not suffice, which needs a fast spin and
    hardly any load, they turn as fast as the energy permits.
    """
    radius, offset = pieces
    speeds, turns, energy = fragment_motion(mass, radius, offset, velocity, spin)
    for _ in range(_SPREADS if math.isfinite(room) else 0):
        if energy <= available:
            break
        offset = spread_fragments(radius, offset, room, _OUTWARD)
        speeds, turns, energy = fragment_motion(mass, radius, offset, velocity, spin)
    if energy <= available:
        return (offset, speeds, turns), energy
    translation = 0.5 * exact_math.total(mass) * float(exact_math.inner(velocity, velocity))
    least = max(available - translation, 0.0) / max(energy - translation, TINY)
    speeds, turns, energy = fragment_motion(mass, radius, offset, velocity, spin * np.sqrt(min(least, 1.0)))
    return (offset, speeds, turns), min(energy, available)


def _columns(parents: Columns, found: Sequence[FragmentSet], number: Integers, shape: BoxShape) -> Columns:
    """Return the columns of all fragments."""
    parent = np.repeat(np.arange(len(number)), number)
    joined = {
        name: np.concatenate([getattr(one, name) for one in found])
        for name in ("radius", "offset", "velocity", "angular_velocity")
    }
    position, turns = shape.wrapped(parents["position"][parent] + joined.pop("offset"))
    return joined | {
        "position": position,
        "image": parents["image"][parent] + turns.astype(np.int32),
        "material": parents["material"][parent],
        GENERATION.name: parents[GENERATION.name][parent] + 1,
        **{name: parents[name][parent] for name in INHERITED if name in parents},
    }
