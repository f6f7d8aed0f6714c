"""Stress, fabric and coordination of all particles or of a region, as exact sums over all ranks.

With the force f of the first on the second body of a contact and the branch b from the first to the second, the contact
stress is the sum of f_i b_j over the volume (Love 1927; Weber 1966; Christoffersen, Mehrabadi, Nemat-Nasser, J. Appl.
Mech. 48 (1981) 339): pressure is positive. In a region each contact counts by the share of its branch inside, so that
the stresses of regions that fill a box add up to the stress of the box, and the stress of a layer is the mean of the
forces through its planes over their area. The kinetic stress is the sum of m v_i v_j over the volume, with velocities
relative to the mean velocity of the mass. Forces of features between particles, such as bonds, count as contact forces
do: each along its branch.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.case.columns import COMPONENTS
from pdem.engine.views.acting_contacts import acting_contacts
from pdem.engine.views.bodies import bodies_of
from pdem.engine.views.contact_numbers import contact_numbers, rows_of_bodies, without_rattlers
from pdem.engine.views.pair_forces import feature_pair_forces
from pdem.foundation import exact_math
from pdem.numerics.sums import ExactSums
from pdem.particles import regions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.containers.box_shape import BoxShape
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.engine.views.bodies import Bodies
    from pdem.engine.views.pair_forces import PairForces
    from pdem.foundation.array_types import Floats, Integers
    from pdem.particles.regions import Region

_TENSOR = tuple(product(range(3), range(3)))
_HALF = tuple(COMPONENTS.values())


class Stress(NamedTuple):
    """Stress, fabric and coordination of some particles.

    Attributes
    ----------
    contact, kinetic : (3, 3) arrays
        Stress of contacts and bonds, with the force as the first and the branch as the second index, and kinetic
        stress [Pa]; in 2D [N/m]. Pressure is positive.
    fabric : (3, 3) array
        Mean of n_i n_j over the contacts between particles, with normals n; NaN without contacts.
    pressure : float
        Mean of the diagonal of the total stress [Pa].
    particles, rattlers : int
        Numbers of particles and of rattlers, see `coordination_without_rattlers`. A cluster is one particle.
    coordination : float
        Mean number of contacts of a particle with particles and walls.
    mechanical_coordination : float
        Mean over particles with two or more contacts, without the ends of contacts at the remaining particles
        (Thornton, Geotechnique 50 (2000) 43): (2 N_c - N_1) / (N - N_0 - N_1).
    coordination_without_rattlers : float
        Mean without rattlers, which are particles with fewer contacts than balance requires: two with friction; without
        friction one more than dimensions, or as many as dimensions under gravity. Rattlers and their contacts are
        excluded repeatedly until none remains.
    """

    contact: Floats
    kinetic: Floats
    fabric: Floats
    pressure: float
    particles: int
    rattlers: int
    coordination: float
    mechanical_coordination: float
    coordination_without_rattlers: float

    @property
    def total(self) -> Floats:
        """Sum of contact stress and kinetic stress (3, 3) [Pa]."""
        return self.contact + self.kinetic

    @property
    def columns(self) -> list[float]:
        """Values of the columns `pdem.case.columns.stress_columns`, with the symmetric part of tensors."""
        tensors = [self.contact, self.kinetic, self.total]
        values = [0.5 * (one[a, b] + one[b, a]) for one in tensors for a, b in _HALF]
        return [
            *map(float, values), self.pressure, *(float(self.fabric[a, b]) for a, b in _HALF), self.coordination,
            self.mechanical_coordination, self.coordination_without_rattlers, self.rattlers,
        ]  # fmt: skip


def stress_of(system: System, region: Region | None = None, contacts: ActingContacts | None = None) -> Stress:
    """Return stress, fabric and coordination of a region, or of all particles over the domain's volume. Collective.

    `contacts` is the result of `acting_contacts`, if it has been computed before.
    """
    contacts = acting_contacts(system) if contacts is None else contacts
    bodies = bodies_of(system)
    inside, size = _inside(system, bodies, region)
    contact, fabric = _of_contacts(system, contacts, region)
    own_velocity = system.constants.own_velocity(bodies.position, bodies.velocity)
    kinetic = _kinetic(system, bodies.mass[inside], own_velocity[inside])
    counts = _coordination(system, contacts, inside)
    axes = system.constants.dimension
    pressure = exact_math.total(float(contact[a, a] + kinetic[a, a]) for a in range(axes)) / (axes * size)
    return Stress(contact / size, kinetic / size, fabric, pressure, *counts)


def _inside(system: System, bodies: Bodies, region: Region | None) -> tuple[Integers, float]:
    """Return the rows of bodies of this rank that count, and the volume [m^3]; in 2D the area [m^2]."""
    if region is None:
        domain, box = system.case.domain, system.box.moving
        size = math.prod(np.subtract(domain.upper, domain.lower)[: system.constants.dimension].tolist())
        if box is not None:
            size = box.volume(system.progress.step, system.constants.dimension)
        return np.arange(len(bodies.mass)), float(size)
    inside = regions.inside(region, bodies.position, system.constants.dimension)
    return np.flatnonzero(inside), regions.size(region, system.constants.dimension)


def added(system: System, *tables: Floats) -> Floats:
    """Return the exact sums of the rows of tables (r, n) over all ranks, one after another. Collective."""
    sums, first = ExactSums([str(number) for number in range(sum(map(len, tables)))]), 0
    for rows in tables:
        sums.add_rows(sums.names[first : first + len(rows)], rows)
        first += len(rows)
    sums.normalise()
    total = ExactSums(sums.names, system.exchange.add(sums.limbs))
    return np.array(list(total.values().values()))


def _of_contacts(system: System, contacts: ActingContacts, region: Region | None) -> tuple[Floats, Floats]:
    """Return the sum of f_i b_j (3, 3) [J], and the fabric (3, 3). Collective."""
    mine, others = contacts.of_this_rank, feature_pair_forces(system)
    share, products = _branch_products(system, mine, region)
    if others is not None:
        products = np.concatenate((products, _branch_products(system, others, region)[1]), axis=1)
    n, weight = mine.normal.T, np.where(mine.is_pair, share, 0.0)
    total = added(system, products, np.array([*(weight * n[i] * n[j] for i, j in _HALF), weight]))
    contact, normals, pairs = total[: len(_TENSOR)], total[len(_TENSOR) : -1], total[-1]
    fabric = symmetric(normals) / pairs if pairs else np.full((3, 3), np.nan)
    return contact.reshape(3, 3), fabric


def _branch_products(
    system: System, acting: ActingContacts | PairForces, region: Region | None
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the share of each branch in a region (n,), and the products of forces and branches inside (9, n) [J]."""
    share = np.ones(len(acting.first)) if region is None else branch_shares(system, acting, region)
    f, b = share * acting.force.T, acting.branch.T
    return share, np.array([f[i] * b[j] for i, j in _TENSOR])


def symmetric(components: Floats) -> Floats:
    """Return the tensor (3, 3) of the six components of `pdem.case.columns.COMPONENTS`."""
    tensor = np.empty((3, 3))
    for value, (a, b) in zip(components, _HALF, strict=True):
        tensor[a, b] = tensor[b, a] = value
    return tensor


def branch_shares(system: System, acting: ActingContacts | PairForces, region: Region) -> Floats:
    """Return the share (n,) of each branch in a region; a part beyond a periodic side is at the opposite side."""
    shape, way = system.constants.shape, acting.branch.copy()
    begin, level = shape.wrapped(acting.centre)[0], shape.level
    across = _beyond(shape, begin, way)[:, shape.gradient] if shape.leans else np.zeros(0)
    way[:, system.constants.dimension :] = 0.0
    share = _upright_shares(system.constants, region, begin, way)
    for side in (-1, 1):  # a part beyond a leaning side enters at a shifted point of the opposite side
        rows = np.flatnonzero(across == side)
        if len(rows):
            there = level.wrapped(begin[rows] - side * shape.across)[0]
            share[rows] += _upright_shares(system.constants, region, there, way[rows])
    return share


def _upright_shares(constants: Constants, region: Region, begin: Floats, way: Floats) -> Floats:
    """Return `branch_shares` with images along the axes without a lean of the box."""
    level, size = constants.shape.level, constants.dimension
    beyond = _beyond(level, begin, way)
    share = regions.share_inside(region, regions.in_plane(region, begin, size), way)
    for steps in _images(beyond):
        rows = np.flatnonzero(((beyond == steps) | (np.asarray(steps) == 0)).all(axis=1))
        moved = regions.in_plane(region, begin[rows] - np.asarray(steps) * level.period, size)
        share[rows] += regions.share_inside(region, moved, way[rows])
    return share


def _beyond(shape: BoxShape, begin: Floats, way: Floats) -> Integers:
    """Return for each periodic axis whether branches end beyond a side (n, 3): -1, 1, or 0 for inside."""
    end = begin + way
    beyond = np.where(end >= shape.lower + shape.period, 1, np.where(end < shape.lower, -1, 0))
    return beyond * (shape.period > 0.0)


def _images(beyond: Integers) -> Sequence[tuple[int, ...]]:
    """Return the images of the box, except itself, that branches beyond its sides reach."""
    sides = [sorted({0, *beyond[:, axis].tolist()}) for axis in range(3)]
    return [steps for steps in product(*sides) if any(steps)]


def _kinetic(system: System, mass: Floats, velocity: Floats) -> Floats:
    """Return the sum of m v_i v_j (3, 3) [J] of bodies of all ranks, less their mean velocity. Collective."""
    whole, *momentum = added(system, np.array([mass, *(mass * velocity.T)])).tolist()
    v = (velocity - np.array(momentum) / (whole or 1.0)).T
    return symmetric(added(system, np.array([mass * v[i] * v[j] for i, j in _HALF])))


def _coordination(system: System, contacts: ActingContacts, rows: Integers) -> tuple[Any, ...]:
    """Return numbers of particles and rattlers, and the three coordinations of `Stress`. Collective."""
    touching = contacts.take(contacts.overlap > 0.0)
    body = rows_of_bodies(system)
    every = contact_numbers(system, touching, body)[rows]
    core, carries = without_rattlers(system, touching, body)
    core, carries = core[rows], carries[rows]
    some = every >= 2
    mine = [len(rows), carries.sum(), every.sum(), some.sum(), every[some].sum(), core[carries].sum()]
    counted = system.exchange.add(np.array([mine], np.int64))[0].tolist()
    particles, carrying, ends, several, their_ends, core_ends = counted
    quotients = _quotient(ends, particles), _quotient(their_ends, several), _quotient(core_ends, carrying)
    return particles, particles - carrying, *quotients


def _quotient(one: int, other: int) -> float:
    return one / other if other else float("nan")
