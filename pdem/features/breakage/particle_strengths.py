"""The strengths of the particles of a rank: drawn by id, and the arrays that kernels watch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.laws import material_properties
from pdem.contact.law.parts import LARGEST_ENERGY, LARGEST_FORCE, STRAIN_ENERGY
from pdem.contact.strength_watch import CUMULATIVE, NO_DAMAGE, Strengths
from pdem.engine.clusters.energy import cluster_masses
from pdem.engine.views.bodies import sphere_masses
from pdem.features.breakage.model_keys import SMALLEST_PARENT
from pdem.features.breakage.strength_models import StrengthModel, models_of
from pdem.foundation.fields import Field
from pdem.numerics.random import keyed_uniform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Columns = Mapping[str, NDArray[Any]]

FRACTURE_ENERGY = Field(
    "fracture_energy", np.float64, (), "J/kg", "specific energy of a contact at which it breaks, 0 without"
)
FRACTURE_STRESS = Field(
    "fracture_stress", np.float64, (), "Pa", "normal force over the squared diameter at which it breaks, 0 without"
)
OVERLOAD = Field(
    "overload", np.float64, (), "J", "largest energy at or beyond its strength of an ended contact", written=False
)
REACHED_STEP = Field(
    "reached_step", np.int64, (), "1", "step in which it has reached its strength", written=False, default=-1
)
GENERATION = Field("generation", np.int64, (), "1", "number of breaks from a particle of the case to it")

STRENGTH_STREAM = 0x62726561
"""Stream of the random numbers of strengths."""


def fields_of_breakage(case: CaseData) -> tuple[Field, ...]:
    """Return the fields of particles in a case with breakage."""
    kinds = {one.breakage.model == "stress" for one in case.materials.values() if one.breakage is not None}
    if not kinds:
        return ()
    by_force = (FRACTURE_STRESS,) if True in kinds else ()
    return (FRACTURE_ENERGY, *by_force, OVERLOAD, REACHED_STEP, GENERATION)


def energy_shares(case: CaseData) -> Floats:
    """Return the shares of a body in the energy of a contact (M, 2 M): with particles, then with walls, by material.

    The share is (1/k) / (1/k + 1/k') by the moduli k = E / (1 - nu^2) of both. A wall without modulus is rigid; two
    particles without modulus share equally.
    """
    soft = np.array([one.compliance for one in material_properties(case)])
    mine, other = np.broadcast_arrays(soft[:, None], soft[None, :])
    both = mine + other
    share = np.divide(mine, both, out=np.full(both.shape, 0.5), where=both > 0.0)
    of_walls = np.where(other == 0.0, 1.0, share)
    return np.ascontiguousarray(np.concatenate((share, of_walls), axis=1))


class ParticleStrengths:
    """Strengths of particles by the materials of a case.

    Parameters
    ----------
    case : CaseData
        Case with breakage.
    wall_materials : sequence of int
        Material of each wall.
    longest : int
        Largest number of steps from the strength to breakage, see `pdem.contact.strength_watch`.

    Attributes
    ----------
    models : list of StrengthModel or None
        Model of each material.
    share : (M, 2 M) array
        See `energy_shares`.
    seeds : list of int
        Seed of each material.
    """

    def __init__(self, case: CaseData, wall_materials: list[int], longest: int) -> None:
        sections = [one.breakage for one in case.materials.values()]
        self.models: list[StrengthModel | None] = models_of(case)
        self.share, self._longest = energy_shares(case), longest
        self.seeds = [0 if one is None else one.seed for one in sections]
        self.smallest = np.array([math.inf if one is None else one.smallest for one in sections])
        present = [NO_DAMAGE if one is None else one.exponent for one in self.models]
        self._exponent = np.array(present)
        self._threshold = np.array([0.0 if one is None else one.threshold for one in self.models])
        self._pieces = np.array([one is not None and one.pieces == "members" for one in sections])
        self._wall_material = np.array(wall_materials, np.int32) + np.int32(len(sections))
        self._energy = np.array([one is not None and not one.by_force for one in self.models])
        self._force = np.array([one is not None and one.by_force for one in self.models])
        self._counts, self._least = np.zeros(2, np.int64), np.zeros(1)
        self._damage, self._weakened = np.zeros(0, np.int64), np.zeros(0, np.int32)

    def may_break(self, columns: Columns | Particles) -> Booleans:
        """Return which particles may break: free spheres of twice the size of the smallest fragments, and clusters."""
        material, single = columns["material"], columns["cluster"] == 0
        large: Booleans = columns["radius"] >= SMALLEST_PARENT * self.smallest[material]
        return (columns["fixed"] == 0) & np.where(single, large, self._pieces[material])

    def complete(self, columns: Columns | Particles, clusters: Clusters | None) -> None:
        """Draw the strengths of particles that may break and have none yet, by their ids.

        Members of a cluster have the strength of the sphere of its volume, by the id of the first member.

        Raises
        ------
        CaseError
            If the function of a user fails.
        """
        new = self.may_break(columns)
        for number, model in enumerate(self.models):
            if model is None:
                continue
            column = columns[FRACTURE_STRESS.name if model.by_force else FRACTURE_ENERGY.name]
            rows = np.flatnonzero(new & (columns["material"] == number) & (column == 0.0))
            if len(rows):
                key, radius = columns["id"][rows], columns["radius"][rows]
                members = np.flatnonzero(columns["cluster"][rows])
                if clusters is not None and len(members):
                    cluster = columns["cluster"][rows[members]]
                    key, radius = key.copy(), radius.copy()
                    key[members], radius[members] = cluster - 1, clusters.radius[clusters.rows_of(cluster)]
                column[rows] = self._drawn(number, key, radius)

    def arrays(self, system: System, *, asks: bool) -> Strengths:
        """Return the arrays for kernels; `asks` as in `pdem.contact.strength_watch.Strengths`."""
        own, law = system.particles, system.constants.law
        mass, width = sphere_masses(own.radius, system.constants.density[own.material]), 2.0 * own.radius
        members = np.flatnonzero(own.cluster)
        if system.clusters is not None and len(members):
            table = system.clusters.table
            of = table.rows_of(own.cluster[members])
            mass[members], width[members] = cluster_masses(table, system.constants)[of], 2.0 * table.radius[of]
        if len(self._damage) < own.count:
            self._damage, self._weakened = np.zeros(own.count, np.int64), np.zeros(own.count, np.int32)
        breaks = self.may_break(own)
        limit = np.where(breaks & self._energy[own.material], mass * own["fracture_energy"], math.inf)
        force = np.zeros(0)
        if FRACTURE_STRESS.name in own.fields:
            force = np.where(breaks & self._force[own.material], own["fracture_stress"] * (width * width), math.inf)
        self._counts[:], self._least[0] = 0, limit.min(initial=math.inf)
        facets = np.zeros(0, np.int32) if system.walls is None else system.walls.facet_wall
        strain, largest, most = (law.place(one.name) for one in (STRAIN_ENERGY, LARGEST_ENERGY, LARGEST_FORCE))
        return Strengths(
            limit, force, own["fracture_energy"], own["overload"], mass, own["reached_step"], self._damage,
            self._weakened, self._counts, self._least, self._exponent, self._threshold, self.share,
            own.column("material"), self._wall_material, facets, strain, largest, most, 0, self._longest, int(asks),
        )  # fmt: skip

    def t10(self, parents: Columns, energy: Floats, stress: Floats) -> Floats:
        """Return t10 in percent of bodies that break at specific energies [J/kg] and stresses [Pa] of a contact.

        Where energies add up, earlier contacts count: by how much the strength has fallen since it was drawn.
        """
        material, radius, found = parents["material"], parents["radius"], np.zeros(len(energy))
        for number, model in enumerate(self.models):
            rows = np.flatnonzero(material == number)
            if model is None or not len(rows):
                continue
            load = (stress if model.by_force else energy)[rows]
            if model.exponent == CUMULATIVE:
                first = self._drawn(number, parents["id"][rows], radius[rows])
                load = load + (first - parents[FRACTURE_ENERGY.name][rows])
            found[rows] = model.t10(radius[rows], load)
        return found

    def _drawn(self, number: int, key: Integers, radius: Floats) -> Floats:
        """Return the strengths that particles of a material have at first, by their ids and radii [m]."""
        model = self.models[number]
        assert model is not None
        return model.quantile(radius, keyed_uniform(self.seeds[number], STRENGTH_STREAM, key))
