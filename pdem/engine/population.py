"""Insertion and removal of particles during a simulation: ids, energies, contacts, and the levels of the grid.

Every rank gets the ids of inserted particles, and of removed particles that it had as ghosts; lists are rebuilt
immediately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.initial_clusters import with_members
from pdem.contact.ends import PARTICLE_REMOVED
from pdem.contact.law.elastic import elastic_energies, elastic_state
from pdem.engine.clusters.energy import removed_energies
from pdem.engine.clusters.insertion import insert_clusters, numbers_of_members
from pdem.engine.clusters.steps import keep_clusters, whole_clusters
from pdem.engine.energy import energies_of_features, particle_energies
from pdem.engine.energy_terms import Role
from pdem.engine.feature import features_of
from pdem.engine.id_pairs.moves import remove_pairs
from pdem.foundation.errors import InputError
from pdem.numerics.quanta import whole_quanta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange, Records
    from pdem.containers.particles import Particles
    from pdem.engine.feature_set import Features
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Integers

RENEWAL_SHARE = 0.2
"""Inserted and removed particles, over all particles, after which the levels of the grid are chosen again."""


def remove_particles(system: System, ids: Integers, contacts: Records | None = None) -> Records:
    """Remove particles of this rank by id; return the remaining contacts. Collective.

    `contacts` are the present contacts of this rank, if the caller has them already. A cluster is removed with all of
    its members. Energies of removed particles, and elastic energies of their contacts, are added to ``outflow``; the
    contacts end. Lists have to be rebuilt.
    """
    own = system.particles
    ids = ids if system.clusters is None else whole_clusters(own, ids)
    removed = system.exchange.known_ids(ids)
    pairs, walls = system.contacts.records() if contacts is None else contacts
    pair_ends = np.isin(pairs.lower, removed) | np.isin(pairs.higher, removed)
    wall_contact_ends = np.isin(walls.id, removed)
    ended = pairs.take(pair_ends), walls.take(wall_contact_ends)
    system.contacts.end_pairs(ended[0])
    if system.contacts.walls is not None:
        rows = np.flatnonzero(wall_contact_ends).astype(np.int32)
        system.contacts.walls.end(walls.history, rows, system.contacts.ended_energies)
    for feature in features_of(system):
        feature.on_end(system, PARTICLE_REMOVED, *ended)
    is_removed = np.isin(own.id, removed)
    columns = {name: own[name][is_removed] for name in own.fields}
    _add_outflow(system, columns, removed, is_removed)
    for feature in features_of(system):
        feature.on_remove(system, columns)
    remove_pairs(system, removed)
    keep_clusters(system.clusters, own.cluster[is_removed])
    own.replace({name: own[name][~is_removed] for name in own.fields})
    system.lists.count_change(int(system.exchange.add(np.array([len(ids)]))[0]))
    return pairs.take(~pair_ends), walls.take(~wall_contact_ends)


def _add_outflow(system: System, columns: Mapping[str, NDArray[Any]], removed: Integers, is_removed: Booleans) -> None:
    """Add the energies of removed particles and their elastic contacts to ``outflow``, each on one rank.

    `columns` belong to the removed particles of this rank, which `is_removed` marks among its particles. `removed` are
    all removed ids of its owned particles and ghosts.
    """
    own, constants, ended = system.particles, system.constants, system.contacts.ended_energies
    for values in particle_energies(columns, constants):
        ended.add("outflow", values)
    for name, values in energies_of_features(system, columns):
        ended.add(_term_after(system.features, name), values)
    for values in removed_energies(system.clusters, system.constants, columns["cluster"]):
        ended.add("outflow", values)
    pairs, column = system.contacts.pairs, system.particles.column
    lower, higher = pairs.lower[pairs.touching], pairs.higher[pairs.touching]
    ids, radius, material = column("id"), column("radius"), column("material")
    ends = (np.isin(ids[lower], removed) | np.isin(ids[higher], removed)) & (lower < own.count)
    lower, higher = lower[ends], higher[ends]
    effective = radius[lower] * radius[higher] / (radius[lower] + radius[higher])
    pair = material[lower] * len(constants.density) + material[higher]
    law, table = constants.law, constants.table
    state = elastic_state(law, pairs.storage.histories[:, ends])
    ended.add("outflow", elastic_energies(law, table, state, effective, pair))
    if system.contacts.walls is not None:
        particle, state, other = system.contacts.walls.elastic_state()
        ends = is_removed[particle]
        particle, other = particle[ends], other[ends]
        pair = own.material[particle] * len(constants.density) + other
        ended.add("outflow", elastic_energies(law, table, state.of(ends), own.radius[particle], pair))


def _term_after(features: Features, name: str) -> str:
    """Return the term to which the energy of removed particles in a term is added."""
    return "outflow" if name in features.terms.with_role(Role.STORED) else name


def insert_particles(system: System, columns: Mapping[str, NDArray[Any]]) -> tuple[Integers, Records]:
    """Insert particles, the same columns on every rank; return their ids and all present contacts. Collective.

    With ``shape`` and ``orientation`` among the columns (`pdem.particles.clusters.cluster_members.cluster_columns`),
    particles may be clusters; the id of a cluster is the id of its first member.
    Amounts that contacts exchange (`pdem.engine.quantum_field`) are rounded down to whole quanta.
    Rank 0 owns the particles until they migrate. Lists have to be rebuilt.
    """
    records = system.contacts.records()
    return add_particles(system, columns), records


def add_particles(system: System, columns: Mapping[str, NDArray[Any]]) -> Integers:
    """Insert particles as `insert_particles`; return their ids. Lists have to be rebuilt with present contacts."""
    numbers = numbers_of_members(system.case, columns)
    total = int(numbers.sum())
    ids = system.progress.issue_ids(total) + np.cumsum(numbers) - numbers
    system.lists.count_change(total)
    if system.exchange.rank == 0:
        given = with_members(system.case, {**columns, "id": ids})
        count = len(given["id"])
        own = system.particles
        new = {name: given.get(name, field.allocate(count)) for name, field in own.fields.items()}
        for values in [*particle_energies(new, system.constants), *insert_clusters(system, given.clusters)]:
            system.contacts.ended_energies.add("outflow", -values)
        for feature in features_of(system):
            feature.on_insert(system, new)
        for name, quantum in system.contacts.quanta.items():
            new[name] = whole_quanta(new[name], quantum)
        for name, values in energies_of_features(system, new):
            system.contacts.ended_energies.add(_term_after(system.features, name), -values)
        own.replace({name: np.concatenate((own[name], new[name])) for name in own.fields})
    return ids


def renew_levels_if_due(system: System) -> None:
    """Choose the levels of the grid again after many changes, or for a particle larger than before. Collective."""
    own = system.particles
    largest = system.exchange.largest(np.array([own.radius.max(initial=0.0)]))
    grown = float(largest[0]) > system.lists.skins.radii[-1]
    if system.lists.population_change <= RENEWAL_SHARE * system.lists.population and not grown:
        return
    lists = system.lists
    lists.renew_levels(system.constants, system.exchange)
    system.progress.note(
        f"step {system.progress.step}: levels chosen anew for {lists.population} particles: {lists.skins}"
    )


def check_ids_exist(particles: Particles, exchange: Exchange, ids: Integers) -> None:
    """Require that a particle exists for every id. Collective, with the same ids on every rank.

    Raises
    ------
    InputError
        If there is no particle of an id.
    """
    here = np.isin(ids, particles.id).astype(np.int64)
    missing = np.flatnonzero(exchange.largest(here) == 0)
    if len(missing):
        raise InputError(f"there is no particle {ids[missing[0]]} to remove; give ids of particles that exist")
