"""The energy balance: stored energies, losses, work and outflow; `pdem.engine.energy_terms` names the terms.

Every sum over particles and contacts is exact (`pdem.numerics.sums`), so that the balance has the same bits for
any number of ranks and threads. A contact between ranks is counted by the owner of its lower particle.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.law.elastic import elastic_energies, elastic_state
from pdem.engine.clusters.energy import cluster_energies
from pdem.engine.energy_terms import ENGINE_TERMS, OPTIONAL, Role
from pdem.engine.views.bodies import count_of_bodies, sphere_masses
from pdem.foundation import exact_math
from pdem.numerics.geometry_kernels import SPHERE_INERTIA
from pdem.numerics.kernels import kernel
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.engine.energy_terms import EnergyTerms
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.motion.walls import MovingWalls


def terms_of(law: ContactLaw, case: CaseData, terms: EnergyTerms, of_features: Iterable[str]) -> tuple[str, ...]:
    """Return the terms of the energy balance of a case with a contact law.

    Parameters
    ----------
    law : ContactLaw
        The contact law of the case.
    case : CaseData
        The case.
    terms : EnergyTerms
        All possible terms, in the order of the columns.
    of_features : iterable of str
        Names of the present terms of features.
    """
    used: set[str | None] = {one.name for one in ENGINE_TERMS if one.name not in OPTIONAL}
    used.update(of_features)
    used |= {term for one in law.energies for term in (one.lasting, one.ended)}
    used |= {"stages"} if case.stages else set()
    return tuple(one.name for one in terms.all if one.name in used and (law.has_ledger or one.of_state))


def terms_of_run(system: System) -> tuple[str, ...]:
    """Return the terms of the energy balance of a run."""
    of_features = (name for one in system.features for name in one.present_terms(system))
    return terms_of(system.constants.law, system.case, system.features.terms, of_features)


@kernel
def _owned_contact_columns(
    owned: int,
    lower: Int32s,
    higher: Int32s,
    radius: Floats,
    material: Int32s,
    materials: int,
    overlap: Floats,
    effective: Floats,
    pair: Int32s,
) -> tuple[int, float]:
    """Write effective radius [m] and pair of materials of owned contacts; return their number and the largest overlap.

    The overlap is over the smaller radius. The owner of the lower particle owns a contact; else its `pair` is -1.
    """
    number = 0
    largest = 0.0
    for c in range(len(lower)):
        i, j = lower[c], higher[c]
        pair[c] = -1
        if i >= owned:
            continue
        number += 1
        effective[c] = radius[i] * radius[j] / (radius[i] + radius[j])
        pair[c] = material[i] * materials + material[j]
        largest = max(largest, max(overlap[c], 0.0) / min(radius[i], radius[j]))
    return number, largest


class Measures:
    """Energies, contact numbers and the largest overlap at one time, over all ranks.

    Attributes
    ----------
    energies : dict of str to float
        The terms of the energy balance [J], see `terms_of`.
    particles, pair_contacts, wall_contacts : int
        Numbers of particles and contacts; a cluster is one particle, and fixed particles do not count.
    largest_overlap : float
        Largest overlap over the smaller radius.
    """

    def __init__(self, system: System) -> None:
        sums, pairs, walls, largest = local_sums(system)
        self._terms = system.features.terms
        counts = np.array([[count_of_bodies(system), pairs, walls, _with_fixed(system)]], np.int64)
        total = system.exchange.add(sums.limbs)
        self.particles, self.pair_contacts, self.wall_contacts, self._fixed = system.exchange.add(counts)[0].tolist()
        values = ExactSums(sums.names, total).values()
        self.energies = {name: values[name] for name in terms_of_run(system)}
        self.largest_overlap = float(system.exchange.largest(np.array([largest]))[0])

    def __repr__(self) -> str:
        """Return the numbers and the energies that are not zero."""
        energies = ", ".join(f"{name} {value:.6g} J" for name, value in self.energies.items() if value)
        return (
            f"Measures({self.particles} particles, {self.pair_contacts} pair and {self.wall_contacts} wall contacts, "
            f"largest overlap {100 * self.largest_overlap:.3g} %{', ' if energies else ''}{energies})"
        )

    @property
    def kinetic(self) -> float:
        """Energy of translation and rotation [J]."""
        return self.energies["translation"] + self.energies["rotation"]

    @property
    def dissipated(self) -> float:
        """Energy lost so far [J]."""
        return math.fsum(self.energies.get(name, 0.0) for name in self._terms.with_role(Role.LOST))

    @property
    def balance(self) -> float:
        """Stored energy, losses and outflow less work [J]: constant except for the error of integration."""
        return math.fsum(sign * self.energies.get(name, 0.0) for name, sign in self._terms.signs.items())

    @property
    def contacts_per_particle(self) -> float:
        """Mean number of contacts of a particle that can move."""
        return (2 * self.pair_contacts - self._fixed + self.wall_contacts) / max(self.particles, 1)


def _with_fixed(system: System) -> int:
    """Return how many contacts that this rank counts are between a free and a fixed particle."""
    if not system.constants.has_fixed:
        return 0
    pairs, fixed = system.contacts.pairs, system.particles.column("fixed")
    lower, higher = pairs.lower[pairs.touching], pairs.higher[pairs.touching]
    mine = lower < system.particles.count
    return int(np.count_nonzero((fixed[lower[mine]] != 0) | (fixed[higher[mine]] != 0)))


def local_sums(system: System) -> tuple[ExactSums, int, int, float]:
    """Return this rank's part of all terms, its numbers of pair and wall contacts, and their largest overlap."""
    sums = ExactSums(system.features.terms.names)
    _add_particles(system, sums)
    pairs, largest = _add_pairs(system, sums)
    walls, largest_wall = _add_walls(system, sums)
    _add_driven(system.walls, system.exchange, sums)
    for feature in system.features:
        feature.add_energies(system, sums)
    for name, row in zip(system.contacts.ended_energies.names, system.contacts.ended_energies.limbs, strict=True):
        sums.limbs[sums.names.index(name)] += row
    sums.normalise()
    return sums, pairs, walls, max(largest, largest_wall)


def _add_particles(system: System, sums: ExactSums) -> None:
    energies = particle_energies(system.particles, system.constants)
    names = ["translation", "rotation", *(len(energies) - 2) * ["gravity"]]
    sums.add_rows(names, np.array(energies))
    if system.clusters is not None:
        sums.add_rows(names, np.array(cluster_energies(system.clusters.table, system.constants)))
    for name, values in energies_of_features(system, system.particles):
        sums.add(name, values)


def energies_of_features(
    system: System, columns: Particles | Mapping[str, NDArray[Any]]
) -> Iterator[tuple[str, Floats]]:
    """Yield the terms of features by name with the value of each particle (n,) [J], from columns of particles."""
    for feature in system.features:
        yield from feature.particle_energies(system, columns).items()


def particle_energies(columns: Particles | Mapping[str, NDArray[Any]], constants: Constants) -> list[Floats]:
    """Return energies of particles [J]: translation, rotation, and gravity along each axis that has gravity.

    Energies of members of clusters are 0, since clusters have them (`pdem.engine.clusters.energy`), and so are energies
    of fixed particles. In a deforming box energies belong to the motion relative to the box.
    """
    radius, spin = columns["radius"], columns["angular_velocity"]
    speed = constants.own_velocity(columns["position"], columns["velocity"])
    mass = masses_of_spheres(columns, constants)
    return [
        0.5 * mass * exact_math.inner(speed, speed),
        0.5 * SPHERE_INERTIA * mass * (radius * radius) * exact_math.inner(spin, spin),
        *gravity_energies(columns, constants),
    ]


def masses_of_spheres(columns: Particles | Mapping[str, NDArray[Any]], constants: Constants) -> Floats:
    """Return the masses of single free spheres [kg], 0 for members of clusters and for fixed particles."""
    mass = sphere_masses(columns["radius"], constants.density[columns["material"]])
    mass = np.where(columns["cluster"] == 0, mass, 0.0) if constants.law.has_clusters else mass
    return np.where(columns["fixed"] == 0, mass, 0.0) if constants.has_fixed else mass


def gravity_energies(columns: Particles | Mapping[str, NDArray[Any]], constants: Constants) -> list[Floats]:
    """Return energies of particles in gravity [J], for each axis along which gravity acts."""
    mass = masses_of_spheres(columns, constants)
    return [
        -constants.gravity[axis]
        * mass
        * (columns["position"][:, axis] + constants.period[axis] * columns["image"][:, axis])
        for axis in np.flatnonzero(constants.gravity * constants.free[:3])
    ]


def _add_pairs(system: System, sums: ExactSums) -> tuple[int, float]:
    pairs, constants, column = system.contacts.pairs, system.constants, system.particles.column
    number, largest = 0, 0.0
    for touching, histories in pairs.pieces():
        overlap, count = histories[OVERLAP], len(touching)
        effective, pair = np.empty(count), np.empty(count, np.int32)
        owned, deepest = _owned_contact_columns(
            system.particles.count, pairs.lower[touching], pairs.higher[touching], column("radius"),
            column("material"), len(constants.density), overlap, effective, pair,
        )  # fmt: skip
        number, largest = number + owned, max(largest, deepest)
        is_owned = pair >= 0
        elastic = elastic_energies(
            constants.law, constants.table, elastic_state(pairs.law, histories).of(is_owned), effective[is_owned],
            pair[is_owned],
        )  # fmt: skip
        sums.add("elastic", elastic)
        _add_accounts(sums, pairs.law, histories[pairs.law.first_energy :, is_owned])
    return int(number), float(largest)


def _add_accounts(sums: ExactSums, law: ContactLaw, accounts: Floats) -> None:
    """Add the accounts (accounts, n) of present contacts to their terms of the energy balance."""
    rows = [(one.lasting, row) for one, row in zip(law.energies, accounts, strict=True) if one.lasting]
    if rows and accounts.size:
        sums.add_rows([name for name, _ in rows], np.array([row for _, row in rows]))


def _add_walls(system: System, sums: ExactSums) -> tuple[int, float]:
    walls = system.contacts.walls
    if walls is None:
        return 0, 0.0
    particle, state, material = walls.elastic_state()
    own, constants = system.particles, system.constants
    radius = own.radius[particle]
    pair = own.material[particle] * len(constants.density) + material
    sums.add("elastic", elastic_energies(constants.law, constants.table, state, radius, pair))
    if walls.law.has_ledger:
        *accounts, work = walls.energies()
        _add_accounts(sums, walls.law, np.array(accounts))
        sums.add("wall_work", work)
    return len(radius), float((state.overlap / radius).max(initial=0.0))


def _add_driven(walls: MovingWalls | None, exchange: Exchange, sums: ExactSums) -> None:
    """Add the energies of free bodies and driven walls, which are equal on all ranks, on rank 0 only."""
    if exchange.rank != 0:
        return
    if walls is None:
        return
    for wall, drive in zip(walls.drives, walls.driven, strict=True):
        sums.add("wall_work", np.array([drive.work]))
        if walls.present[wall]:
            sums.add("body_motion", np.array([drive.kinetic()]))
            sums.add("body_gravity", np.array([drive.potential()]))
