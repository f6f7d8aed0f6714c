"""The energy ledger: where the energy is, and where it has gone.

Every sum over particles and contacts is exact (`pdem.foundation.sums`), so the ledger has the same bits for
any number of ranks and threads. A contact between ranks is counted by the owner of its lower particle.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.forces import OVERLAP, ROLLED, STORED
from pdem.contact.law.pair_table import HERTZIAN, STIFFNESS
from pdem.foundation.kernels import kernel
from pdem.foundation.sums import ExactSums, add_exactly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.particles import Particles
    from pdem.simulation.setup import Constants
    from pdem.simulation.system import System

STORES = ("translation", "rotation", "gravity", "elastic", "tangential", "body_motion", "body_gravity")
"""Where energy is: of particles and contacts, and of the walls that are free bodies."""

LOSSES = ("normal_damping", "sliding", "rolling")
"""Where it has gone."""

TERMS = (*STORES, *LOSSES, "wall_work", "outflow")


@kernel
def _pair_energies(
    owned: int,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    radius: NDArray[np.float64],
    material: NDArray[np.int32],
    materials: int,
    table: NDArray[np.float64],
    history: NDArray[np.float64],
    limbs: NDArray[np.int64],
) -> tuple[int, float]:
    """Add the energies of contacts whose lower particle is owned; return their number and largest overlap.

    `limbs` holds elastic, tangential, normal damping, sliding, rolling.
    """
    number = 0
    largest = 0.0
    for c in range(len(lower)):
        i, j = lower[c], higher[c]
        if i >= owned:
            continue
        number += 1
        overlap = max(history[OVERLAP, c], 0.0)
        effective = radius[i] * radius[j] / (radius[i] + radius[j])
        pair = material[i] * materials + material[j]
        add_exactly(limbs[0], elastic_energy(overlap, effective, table, pair))
        for column in range(STORED, ROLLED + 1):
            add_exactly(limbs[1 + column - STORED], history[column, c])
        largest = max(largest, overlap / min(radius[i], radius[j]))
    return number, largest


@kernel
def elastic_energy(overlap: float, radius: float, table: NDArray[np.float64], pair: int) -> float:
    """Return the energy of an elastic contact [J]: 2/5 of force times overlap for Hertz, half if linear."""
    if table[pair, HERTZIAN] > 0.5:
        return 4.0 / 15.0 * table[pair, STIFFNESS] * math.sqrt(radius * overlap) * overlap * overlap
    return 0.5 * table[pair, STIFFNESS] * overlap * overlap


def elastic_energies(
    overlap: NDArray[np.float64],
    radius: NDArray[np.float64],
    table: NDArray[np.float64],
    pair: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the energies of elastic contacts [J], as `elastic_energy`; negative overlaps are none."""
    overlap = np.maximum(overlap, 0.0)
    stiffness = table[pair, STIFFNESS] * overlap**2
    hertzian = 4.0 / 15.0 * stiffness * np.sqrt(radius * overlap)
    return np.where(table[pair, HERTZIAN] > 0.5, hertzian, 0.5 * stiffness)


class Measures:
    """What is measured at one time, over all ranks.

    Attributes
    ----------
    energies : dict of str to float
        The `TERMS` of the ledger [J].
    particles, pair_contacts, wall_contacts : int
        Numbers.
    largest_overlap : float
        Over the smaller radius.
    """

    def __init__(self, system: System) -> None:
        sums = ExactSums(TERMS)
        _add_particles(system, sums)
        pairs, largest = _add_pairs(system, sums)
        walls, largest_wall = _add_walls(system, sums)
        _add_driven(system, sums)
        for name, row in zip(system.ended.names, system.ended.limbs, strict=True):
            sums.limbs[TERMS.index(name)] += row
        sums.normalise()
        counts = np.array([[system.particles.count, pairs, walls]], np.int64)
        total = system.exchange.add(sums.limbs)
        self.particles, self.pair_contacts, self.wall_contacts = system.exchange.add(counts)[0].tolist()
        self.energies = ExactSums(TERMS, total).values()
        bits = np.array([max(largest, largest_wall)]).view(np.int64)  # positive doubles order like their bits
        self.largest_overlap = float(system.exchange.largest(bits).view(np.float64)[0])

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
        return math.fsum(self.energies[name] for name in LOSSES)

    @property
    def balance(self) -> float:
        """Stored, lost and gone minus delivered by walls [J]: constant but for the error of integration."""
        terms = (*STORES, *LOSSES, "outflow")
        return math.fsum((*(self.energies[name] for name in terms), -self.energies["wall_work"]))

    @property
    def contacts_per_particle(self) -> float:
        """Mean number of contacts that a particle has."""
        return (2 * self.pair_contacts + self.wall_contacts) / max(self.particles, 1)


def _add_particles(system: System, sums: ExactSums) -> None:
    energies = particle_energies(system.particles, system.constants)
    names = ["translation", "rotation", *(len(energies) - 2) * ["gravity"]]
    sums.add_rows(names, np.array(energies))


def particle_energies(
    columns: Particles | Mapping[str, NDArray[Any]], constants: Constants
) -> list[NDArray[np.float64]]:
    """Return energies of particles [J]: of translation, of rotation, in gravity along each axis that has some."""
    radius, speed, spin = columns["radius"], columns["velocity"], columns["angular_velocity"]
    mass = constants.density[columns["material"]] * (4.0 / 3.0 * math.pi) * radius**3
    energies = [
        0.5 * mass * (speed[:, 0] ** 2 + speed[:, 1] ** 2 + speed[:, 2] ** 2),
        0.2 * mass * radius**2 * (spin[:, 0] ** 2 + spin[:, 1] ** 2 + spin[:, 2] ** 2),
    ]
    for axis in np.flatnonzero(constants.gravity * constants.free[:3]):
        height = columns["position"][:, axis] + constants.period[axis] * columns["image"][:, axis]
        energies.append(-constants.gravity[axis] * mass * height)
    return energies


def _add_pairs(system: System, sums: ExactSums) -> tuple[int, float]:
    pairs, constants, column = system.pairs, system.constants, system.particles.column
    limbs = np.zeros((5, sums.limbs.shape[1]), np.int64)
    number, largest = 0, 0.0
    for touching, histories in pairs.pieces():
        seen, overlap = _pair_energies(
            system.particles.count, pairs.lower[touching], pairs.higher[touching], column("radius"),
            column("material"), len(constants.density), constants.table, histories, limbs,
        )  # fmt: skip
        number, largest = number + seen, max(largest, overlap)
    for name, row in zip(("elastic", "tangential", *LOSSES), limbs, strict=True):
        sums.limbs[TERMS.index(name)] += row
    return int(number), float(largest)


def _add_walls(system: System, sums: ExactSums) -> tuple[int, float]:
    if system.walls is None:
        return 0, 0.0
    particle, overlap, material = system.walls.elastic_state()
    own, constants = system.particles, system.constants
    radius = own.radius[particle]
    pair = own.material[particle] * len(constants.density) + material
    elastic = elastic_energies(overlap, radius, constants.table, pair)
    names = ("elastic", "tangential", *LOSSES, "wall_work")
    for name, values in zip(names, (elastic, *system.walls.energies()), strict=True):
        if len(values):
            sums.add(name, values)
    return len(overlap), float((overlap / radius).max(initial=0.0))


def _add_driven(system: System, sums: ExactSums) -> None:
    """Add energies of free bodies and the work on driven walls, which every rank knows, once."""
    if system.walls is None or system.exchange.rank != 0:
        return
    for drive in system.walls.walls.driven:
        sums.add("body_motion", np.array([drive.kinetic()]))
        sums.add("body_gravity", np.array([drive.potential()]))
        sums.add("wall_work", np.array([drive.work]))
