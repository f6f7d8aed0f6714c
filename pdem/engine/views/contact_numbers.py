"""Numbers of contacts of bodies, with and without rattlers. All are integers.

Bodies are those of `pdem.engine.views.bodies`, in their order: single spheres, then clusters with all their members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.views.bodies import count_of_bodies, singles_of
from pdem.foundation import exact_math
from pdem.foundation.packed_row import PACKED

if TYPE_CHECKING:
    from pdem.containers.clusters import ShapeArrays
    from pdem.containers.exchange import Exchange
    from pdem.engine.clusters.rigid_clusters import RigidClusters
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.foundation.array_types import Booleans, Floats, Integers


def rows_of_bodies(system: System) -> Integers:
    """Return for each owned particle (n,) the number of its body among the bodies of this rank.

    Fixed particles share the number after the last body.
    """
    own, single = system.particles, singles_of(system)
    if isinstance(single, slice):
        return np.arange(own.count)
    count = int(np.count_nonzero(single))
    rows = np.full(own.count, count_of_bodies(system))
    rows[single] = np.arange(count)
    if system.clusters is not None:
        member = own.cluster != 0
        rows[member] = count + system.clusters.table.rows_of(own.cluster[member])
    return rows


def contact_numbers(
    system: System, contacts: ActingContacts, body: Integers, carries: Booleans | None = None
) -> Integers:
    """Return the number of contacts of each body of this rank, with particles and walls.

    Parameters
    ----------
    system : System
        State of this rank.
    contacts : ActingContacts
        Contacts of its particles.
    body : (n,) int64 array
        Bodies of its particles, see `rows_of_bodies`.
    carries : (m,) bool array, optional
        Which owned particles and ghosts carry load: contacts with particles that do not carry are not counted.
    """
    owned, pair = system.particles.count, contacts.is_pair
    if carries is not None:
        counts = carries[contacts.first] & (carries[contacts.second] | ~pair)
        contacts, pair = contacts.take(counts), pair[counts]
    ends = np.concatenate((contacts.first, contacts.second[pair]))
    return np.bincount(body[ends[ends < owned]], minlength=int(body.max(initial=-1)) + 1)


def without_rattlers(system: System, contacts: ActingContacts, body: Integers) -> tuple[Integers, Booleans]:
    """Return the numbers of contacts among load-carrying bodies, and which bodies carry. Collective.

    A body with fewer contacts than `fewest_contacts` is a rattler and is excluded; this is repeated until all remaining
    bodies have enough contacts.
    """
    owned, ghosts = system.particles.count, system.particles.ghosts
    carries, core = np.ones(owned + ghosts, np.bool_), np.ones(int(body.max(initial=-1)) + 1, np.bool_)
    bodies = min(count_of_bodies(system), len(core))
    # fixed particles always carry
    least = np.concatenate(
        (fewest_contacts(system.constants, system.clusters, bodies), np.zeros(len(core) - bodies, np.int64))
    )
    while True:
        numbers = contact_numbers(system, contacts, body, carries)
        fewer = core & (numbers < least)
        if not system.exchange.largest(np.array([np.count_nonzero(fewer)]))[0]:
            return np.where(core, numbers, 0), core
        core &= ~fewer
        carries[:owned] = core[body]
        _tell_ghosts(system.exchange, carries)


def fewest_contacts(constants: Constants, clusters: RigidClusters | None, bodies: int) -> Integers:
    """Return the number of contacts that each body of this rank needs for static balance.

    With friction two opposite contacts suffice. Without friction the normal forces have to balance in all directions,
    and their torques about all axes about which normal forces can rotate the body: no axis for a sphere, two for
    spheres in a row, three in general. The number is one more than the number of these directions and axes, or equal to
    it under gravity.
    """
    if constants.law.tangential is not None:
        return np.full(bodies, 2)
    free = np.full(bodies, constants.dimension)
    if clusters is not None and len(clusters.table):
        table = clusters.table
        free[-len(table) :] += _axes_of_turning(table.shapes, constants.dimension)[table.shape.astype(np.int64)]
    return free + (0 if constants.gravity.any() else 1)


def _axes_of_turning(shapes: ShapeArrays, dimension: int) -> Integers:
    """Return the number of axes about which normal forces can rotate each shape, from the positions of its spheres."""
    ends = zip(shapes.begin[:-1], shapes.begin[1:], strict=True)
    ranks = []
    for begin, end in ends:
        offset = shapes.offset[begin:end]
        ranks.append(_rank(offset - offset[0], 1e-9 * float(shapes.radius[begin:end].max())))
    turns = (0, 1, 1, 1) if dimension == 2 else (0, 2, 3, 3)
    return np.array([turns[rank] for rank in ranks], np.int64)


def _rank(ways: Floats, tolerance: float) -> int:
    """Return the number of independent directions of vectors (n, 3), of parts longer than a tolerance."""
    for rank in range(3):
        length = exact_math.norm(ways)
        longest = int(length.argmax())
        if length[longest] <= tolerance:
            return rank
        direction = ways[longest] / length[longest]
        ways = ways - exact_math.inner(ways, direction)[:, None] * direction
    return 3


def _tell_ghosts(exchange: Exchange, carries: Booleans) -> None:
    """Write the results of owners to ghosts. Collective."""
    rows = np.zeros((len(carries), PACKED))
    rows[:, 0] = carries
    exchange.begin_update(rows)
    exchange.finish_update()
    carries[:] = rows[:, 0] > 0.5
