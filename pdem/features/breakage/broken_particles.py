"""The particles of a rank that break now, with the loads and energies of their contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.law.parts import LARGEST_ENERGY, LARGEST_FORCE, STRAIN_ENERGY
from pdem.contact.strength_watch import mark_broken
from pdem.engine.energy_terms import Role
from pdem.engine.views.bodies import rows_of_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.strength_watch import Strengths
    from pdem.containers.exchange import Records
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Columns = dict[str, NDArray[Any]]


class EndLoads(NamedTuple):
    """The ends of contacts at owned particles, n in all: two for a contact of two owned particles.

    Attributes
    ----------
    row : (n,) int64 array
        Row of the particle.
    partner : (n,) int64 array
        Id of the other particle, or -1 - the number of the wall.
    share : (n,) array
        Share of the particle in the energy of the contact.
    strain, largest : (n,) arrays
        Present and largest strain energy of the contact [J].
    force, overlap : (n,) arrays
        Largest normal force [N], 0 unless the law has it, and the overlap beyond the reference [m].
    springs : (accounts, n) array
        Energies of the springs of friction, rolling and twisting [J], see `spring_accounts`.
    """

    row: Integers
    partner: Integers
    share: Floats
    strain: Floats
    largest: Floats
    force: Floats
    overlap: Floats
    springs: Floats


def end_loads(system: System, share: Floats, contacts: Records) -> EndLoads:
    """Return the ends of the present contacts of this rank."""
    pairs, walls = contacts
    own, law = system.particles, system.constants.law
    material = own.column("material")
    lower, higher, at_wall = (rows_of_ids(own, ids) for ids in (pairs.lower, pairs.higher, walls.id))
    facet_wall = np.zeros(0, np.int64) if system.walls is None else system.walls.facet_wall
    wall = facet_wall[walls.facet].astype(np.int64)
    wall_material = np.zeros(0, np.int32) if system.contacts.walls is None else system.contacts.walls.wall_materials
    first, second = lower < own.count, higher < own.count
    row = np.concatenate((lower[first], higher[second], at_wall))
    others = material[higher[first]], material[lower[second]], wall_material[wall] + len(share)

    def column(place: int) -> Floats:
        return np.concatenate((pairs.history[place, first], pairs.history[place, second], walls.history[place]))

    springs = [column(place) for place, _ in spring_accounts(system)]
    has_force = law.has(LARGEST_FORCE.name)
    return EndLoads(
        row, np.concatenate((pairs.higher[first], pairs.lower[second], -1 - wall)),
        share[material[row], np.concatenate(others)], column(law.place(STRAIN_ENERGY.name)),
        column(law.place(LARGEST_ENERGY.name)),
        column(law.place(LARGEST_FORCE.name)) if has_force else np.zeros(len(row)),
        np.maximum(column(OVERLAP), 0.0), np.array(springs).reshape(len(springs), len(row)),
    )  # fmt: skip


def spring_accounts(system: System) -> list[tuple[int, str]]:
    """Return columns of histories with energies of springs, and the terms to which these go when a contact ends."""
    law, stored = system.constants.law, system.features.terms.with_role(Role.STORED)
    return [(law.first_energy + place, one.ended) for place, one in enumerate(law.energies) if one.lasting in stored]


def broken_rows(ends: EndLoads, strengths: Strengths, step: int) -> Booleans:
    """Return which owned particles (n,) break at a step, see `pdem.contact.strength_watch.mark_broken`."""
    found = np.empty(len(strengths.limit), np.bool_)
    mark_broken(ends.row, ends.share, ends.strain, ends.largest, ends.force, step, tuple(strengths), found)
    return found


def broken_columns(system: System, ends: EndLoads, strengths: Strengths, broken: Booleans) -> Columns:
    """Return the columns of the owned particles that break, sorted by row, with their loads.

    Besides fields of particles these are ``energy``, its share of the largest energy of a contact [J], ``force`` [N],
    ``partner`` of this contact, and ``room``, the radius less the largest overlap [m].
    """
    own = system.particles
    rows = np.flatnonzero(broken)
    columns = {name: own[name][rows].copy() for name in own.fields}
    place = np.full(own.count, -1)
    place[rows] = np.arange(len(rows))
    mine = place[ends.row] >= 0
    at, energy = place[ends.row[mine]], (ends.share * ends.largest)[mine]
    overlap, force = np.zeros(len(rows)), np.zeros(len(rows))
    np.maximum.at(overlap, at, ends.overlap[mine])
    np.maximum.at(force, at, ends.force[mine])
    # the contact with the largest energy; of several equal ones the partner with the highest number
    order = np.lexsort((ends.partner[mine], energy))
    partner, largest = np.full(len(rows), own.id[rows]), np.zeros(len(rows))
    partner[at[order]], largest[at[order]] = ends.partner[mine][order], energy[order]
    ended = strengths.overload[rows]
    partner = np.where(ended > largest, own.id[rows], partner)
    return columns | {
        "energy": np.maximum(largest, ended), "force": force, "partner": partner,
        "room": own.radius[rows] - overlap,
    }  # fmt: skip


def released_energies(
    system: System, ends: EndLoads, broken: Booleans, gone: Integers
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the strain energies (k,), and the energies of springs (accounts, k), of the particles that break [J].

    They are sums over contacts. Two particles that break, both among the ids `gone`, have their shares of the energies
    of their contact. Rows are the rows of `broken_columns`.
    """
    own = system.particles
    rows = np.flatnonzero(broken)
    place = np.full(own.count, -1)
    place[rows] = np.arange(len(rows))
    counted = place[ends.row] >= 0
    share = np.where(np.isin(ends.partner, gone), ends.share, 1.0)[counted]
    at, order = place[ends.row[counted]], np.lexsort((ends.partner[counted], ends.row[counted]))
    strain, springs = np.zeros(len(rows)), np.zeros((len(ends.springs), len(rows)))
    np.add.at(strain, at[order], (share * ends.strain[counted])[order])
    for account, one in zip(springs, ends.springs, strict=True):
        np.add.at(account, at[order], (share * one[counted])[order])
    return strain, springs
