"""Contacts while new lists are made: they follow their particles to new rows and to new ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.neighbours import ALL_STAY
from pdem.engine.clusters.steps import cluster_table, with_members_together
from pdem.engine.id_pairs.moves import pairs_that_leave, take_arrived

if TYPE_CHECKING:
    from pdem.contact.walls.facet_lists import Carried
    from pdem.containers.exchange import Migration, Records
    from pdem.containers.particles import Particles
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans


def migrate_and_carry(system: System) -> Carried | None:
    """Migrate particles and retain the contacts of the present lists; return the contacts with walls. Collective.

    Contacts of particles that stay are identified by rows; only contacts that leave are identified by id.
    """
    own = system.particles
    tables = pairs_that_leave(system)
    migration = system.exchange.migrate(own, system.contacts.records, cluster_table(system.clusters), tables)
    leaves = ALL_STAY if migration is None else migration.leaves
    system.contacts.pairs.carry(own, leaves)
    walls = None if system.contacts.walls is None else system.contacts.walls.carry(own, leaves)
    if migration is not None:
        take_arrived(system, own.id[~leaves], migration)
    return walls if migration is None else _add_arrived(system.particles, system.contacts, walls, migration)


def _add_arrived(
    particles: Particles, contacts: RankContacts, walls: Carried | None, migration: Migration
) -> Carried | None:
    """Exchange migrating particles, and add the contacts of arriving particles to the retained ones."""
    arrived = migration.arrived
    row_now, rows = particles.replace_rows(migration.leaves, arrived)
    contacts.pairs.renumber(row_now)
    contacts.pairs.append(migration.pairs, arrived["id"], arrived["radius"], rows)
    if walls is None:
        return None
    order = np.argsort(arrived["id"])
    places = np.searchsorted(arrived["id"], migration.walls.id, sorter=order)
    return walls.renumbered(row_now).joined(rows[order[places]], migration.walls)


def migrate_by_id(system: System, contacts: Records) -> Records:
    """Migrate particles with contacts by id; return the contacts of the particles owned afterwards. Collective."""
    own, (pairs, walls) = system.particles, contacts

    def leaving(leaves: Booleans) -> Records:
        gone = own.id[leaves]
        some = np.isin(pairs.lower, gone) | np.isin(pairs.higher, gone)
        return pairs.take(some), walls.take(np.isin(walls.id, gone))

    migration = system.exchange.migrate(own, leaving, cluster_table(system.clusters), pairs_that_leave(system))
    if migration is None:
        return contacts
    stayed = own.id[~migration.leaves]
    take_arrived(system, stayed, migration)
    own.replace_rows(migration.leaves, migration.arrived)
    pairs = pairs.take(np.isin(pairs.lower, stayed) | np.isin(pairs.higher, stayed))
    return pairs.joined(migration.pairs), walls.take(np.isin(walls.id, stayed)).joined(migration.walls)


def restore_contacts(system: System, contacts: Records) -> Carried | None:
    """Replace the contacts of the present lists by contacts by id; return the contacts with walls."""
    table = system.lists.rows_by_id()
    system.contacts.pairs.load_state(contacts[0], system.particles, table)
    walls = system.contacts.walls
    return None if walls is None else walls.load_state(contacts[1], system.particles, table)


def reorder(system: System, walls: Carried | None) -> Carried | None:
    """Sort particles by grid cells, and renumber retained contacts; return the contacts with walls."""
    particles = system.particles
    system.lists.measure_reaches(system.constants, system.box, system.progress.step)
    system.lists.search.set_cut_axes(system.exchange.cut_axes)
    order = system.lists.search.order(particles.position, system.lists.reach, particles.count)
    if system.clusters is not None:
        order = with_members_together(order, particles)
    row_now = system.lists.rows_of(order)
    particles.reorder(order)
    system.contacts.pairs.renumber(row_now)
    return None if walls is None else walls.renumbered(row_now)
