"""The acting contacts of a rank: bodies, points, branch vectors and forces.

A contact acts from its *first* body, which has the particle with the lower id, on its *second* one, which has the
second particle or is a wall. Its *branch* leads from the centre of the first body to the centre of the second, or to
the point on the wall; the centre of a member of a cluster is the centre of its cluster. Branches in periodic boxes
follow from the pair itself, so that they do not depend on images. Each rank lists all contacts of its particles; only
the owner of the first particle counts a contact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.pairs.acting import PairGeometry, PairSources, write_pairs, write_ways
from pdem.contact.pairs.kept_forces import kept_forces, present_forces
from pdem.containers.clusters import CENTRE
from pdem.engine.clusters.steps import contact_parameters, states_to_share
from pdem.engine.walls.wall_output import measured_walls
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers

NONE = -1
"""Value for a missing row of a particle, or a missing number of a wall."""


class ActingContacts(NamedTuple):
    """Contacts of the particles of this rank: first contacts between particles, then contacts with walls.

    Attributes
    ----------
    first, second : (n,) int64 arrays
        Rows of the particles, owned or ghosts; `NONE` for a wall.
    wall : (n,) int64 array
        Number of the wall, `NONE` between particles.
    centre, branch, point : (n, 3) arrays
        Centre of the first body, vector from there to the second centre or to the wall, contact point [m].
    normal : (n, 3) array
        Unit vector from the first to the second body.
    force : (n, 3) array
        Force of the first on the second body [N].
    overlap : (n,) array
        Overlap [m]; negative for stretched contacts.
    counted : (n,) bool array
        Whether this rank owns the first particle: exactly one rank counts a contact.
    """

    first: Integers
    second: Integers
    wall: Integers
    centre: Floats
    branch: Floats
    point: Floats
    normal: Floats
    force: Floats
    overlap: Floats
    counted: Booleans

    @property
    def is_pair(self) -> Booleans:
        """Whether each contact is between particles (n,)."""
        return self.second >= 0

    @property
    def of_this_rank(self) -> ActingContacts:
        """The contacts that this rank counts."""
        return self if self.counted.all() else self.take(self.counted)

    def take(self, rows: Booleans | Integers) -> ActingContacts:
        """Return some of the contacts."""
        return ActingContacts._make(column[rows] for column in self)


def acting_contacts(system: System) -> ActingContacts:
    """Return the contacts of the particles of this rank at the present step. Collective.

    Forces come from the last step, if they are in memory and lists have not changed since. Otherwise they are computed
    from present positions, velocities and histories, as at the begin of a run: damping then uses the velocities of the
    present time instead of the middle of the last step.
    """
    parts = acting_parts(system)
    if len(parts) == 1:
        return parts[0]
    return ActingContacts._make(np.concatenate(both) for both in zip(*parts, strict=True))


def acting_parts(system: System) -> list[ActingContacts]:
    """Return the contacts between particles and, in a case with walls, the contacts with walls. Collective."""
    pairs, walls = _pairs(system), acting_on_walls(system)
    return [pairs] if walls is None else [pairs, walls]


def counted_ways(system: System) -> tuple[Floats, Floats, Floats]:
    """Return centre, branch and force (n, 3) of the contacts between particles that this rank counts. Collective."""
    source, force = _pair_sources(system)
    number = len(force)
    ends, vectors = np.empty((2, number), np.int64), np.empty((2, number, 3))
    write_ways(tuple(source), (*ends, *vectors))
    counted = ends[0] < system.particles.count
    centre, branch = vectors
    return (centre, branch, force) if counted.all() else (centre[counted], branch[counted], force[counted])


def _pair_sources(system: System) -> tuple[PairSources, Floats]:
    """Return the arrays of the contacts between particles, and their forces (n, 3) [N]. Collective."""
    pairs, particles = system.contacts.pairs, system.particles
    touching = pairs.touching
    if pairs.keeps_forces:
        force = kept_forces(pairs, particles, touching)
    else:
        refresh_packed_rows(system)
        force = present_forces(pairs, particles, system.constants.periods, contact_parameters(system, at_rest=True))
    rows, box = pairs.rows_to_share(particles), system.box.moving
    to_centre = np.zeros((0, 3)) if system.clusters is None else ways_to_centres(system, rows[:, PLACE : PLACE + 3])
    source = PairSources(
        touching, pairs.lower, pairs.higher, rows.reshape(-1), particles.column("radius"), to_centre,
        *system.constants.periods, None if box is None else box.images(system.progress.step),
    )  # fmt: skip
    return source, force


def _pairs(system: System) -> ActingContacts:
    source, force = _pair_sources(system)
    number = len(force)
    ends, vectors = np.empty((2, number), np.int64), np.empty((4, number, 3))
    columns = PairGeometry._make((*ends, *vectors, np.empty(number)))
    write_pairs(tuple(source), tuple(columns))
    first, second, centre, branch, point, normal, overlap = columns
    return ActingContacts(
        first, second, np.full(number, NONE, np.int64), centre, branch, point, normal, force, overlap,
        first < system.particles.count,
    )  # fmt: skip


def acting_on_walls(system: System) -> ActingContacts | None:
    """Return the contacts with walls; this rank counts all of them. None without walls."""
    contacts = measured_walls(system)
    if contacts is None:
        return None
    acting, count = contacts.acting(), contacts.count
    position = system.particles.position
    centre = (position + ways_to_centres(system, position))[acting.particle]
    return ActingContacts(
        acting.particle, np.full(count, NONE, np.int64), contacts.walls.facet_wall[acting.facet].astype(np.int64),
        centre, acting.point - centre, acting.point, -acting.normal, -acting.force, acting.overlap,
        np.ones(count, np.bool_),
    )  # fmt: skip


def ways_to_centres(system: System, position: Floats) -> Floats:
    """Return the vector (n, 3) from the centre of each particle to the centre of its body: not 0 in clusters.

    `position` has owned particles, or owned particles and ghosts [m].
    """
    way = np.zeros(position.shape)
    if system.clusters is not None:
        table, cluster = system.clusters.table, system.particles.column("cluster")[: len(position)]
        member = np.flatnonzero(cluster)
        rows = table.rows_of(cluster[member])
        centre = table.states[rows, CENTRE : CENTRE + 3]
        way[member] = np.where(rows[:, None] >= 0, system.constants.shape.nearest(centre - position[member]), 0.0)
    return way


def refresh_packed_rows(system: System) -> None:
    """Write packed rows: of owned particles from their columns, of ghosts from their owners. Collective.

    States of ghost clusters are refreshed as well.
    """
    pairs, particles, states = system.contacts.pairs, system.particles, states_to_share(system.clusters)
    pairs.begin(particles, system.constants.density, packed=False)
    rows = pairs.rows_to_share(particles)
    if states is not None:
        system.exchange.begin_update(rows, states)
        system.exchange.finish_update()
    system.exchange.begin_update(rows)
    system.exchange.finish_update()
