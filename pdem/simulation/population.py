"""Particles that come and go while a simulation goes on: their ids, their energy, and the levels of the grid.

Who has left the box is decided in every step, whenever lists are made: results do not depend on it. What comes or
goes is known on every rank by id, and lists are made anew at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.law.dissipation import add_dissipated
from pdem.contact.law.elastic import elastic_energies
from pdem.foundation.errors import InputError
from pdem.foundation.fields import FIELDS
from pdem.simulation.energy import particle_energies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.exchange import Records
    from pdem.simulation.system import System

CHANGE = 0.2
"""Part of the particles that may have come or gone before the levels of the grid are chosen anew."""


def remove_escaped_particles(system: System) -> Records:
    """Take out the particles that are outside the box; return the contacts of those that stay. Collective."""
    position, constants = system.particles.position, system.constants
    outside = ((position < constants.lowest) | (position > constants.highest)).any(axis=1)
    return remove_particles(system, system.particles.id[outside], 0.5 * constants.step)


def remove_particles(system: System, ids: NDArray[np.int64], late: float = 0.0) -> Records:
    """Take out particles of this rank by id; return the contacts of those that stay. Collective.

    Their energy goes to ``outflow``, that of their contacts too where it is elastic; the contacts end. Lists have
    to be made anew. `late` is the time by which velocities are behind positions [s].
    """
    gone = _of_all_ranks(system, ids)
    own = system.particles
    pairs, walls = system.records()
    away = np.isin(own.id, gone)
    _note_outflow(system, gone, away, late)
    ends = np.isin(pairs.lower, gone) | np.isin(pairs.higher, gone)
    law, mine = system.constants.law, _rows(ends & np.isin(pairs.lower, own.id))
    add_dissipated(system.ended, law, pairs.history[law.first_energy :, mine])
    ends_at_wall = np.isin(walls.id, gone)
    if system.walls is not None:
        system.walls.end(walls.history, _rows(ends_at_wall), system.ended)
    own.replace({name: own[name][~away] for name in FIELDS})
    system.changed += len(gone)
    return pairs.take(~ends), walls.take(~ends_at_wall)


def _rows(chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.flatnonzero(chosen).astype(np.int32)


def _of_all_ranks(system: System, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids that any rank has named, sorted."""
    joined = system.exchange.collect({"id": ids})
    found: NDArray[np.int64] = system.exchange.share(None if joined is None else np.unique(joined["id"]))
    return found


def _note_outflow(system: System, gone: NDArray[np.int64], away: NDArray[np.bool_], late: float) -> None:
    """Add the energy of particles and their elastic contacts to what has left, each by one rank.

    `gone` are the ids on all ranks, `away` tells which particles of this one are among them.
    """
    own, constants, ended = system.particles, system.constants, system.ended
    columns = {name: own[name][away] for name in FIELDS}
    columns["velocity"] += late * constants.gravity * constants.free[:3]
    for values in particle_energies(columns, constants):
        ended.add("outflow", values)
    pairs, column = system.pairs, system.particles.column
    lower, higher = pairs.lower[pairs.touching], pairs.higher[pairs.touching]
    ids, radius, material = column("id"), column("radius"), column("material")
    ends = (np.isin(ids[lower], gone) | np.isin(ids[higher], gone)) & (lower < own.count)
    lower, higher = lower[ends], higher[ends]
    effective = radius[lower] * radius[higher] / (radius[lower] + radius[higher])
    pair = material[lower] * len(constants.density) + material[higher]
    law, table = constants.law, constants.table
    ended.add("outflow", elastic_energies(law, table, pairs.histories[OVERLAP, ends], effective, pair))
    if system.walls is not None:
        particle, overlap, other = system.walls.elastic_state()
        ends = away[particle]
        particle, overlap, other = particle[ends], overlap[ends], other[ends]
        pair = own.material[particle] * len(constants.density) + other
        ended.add("outflow", elastic_energies(law, table, overlap, own.radius[particle], pair))


def insert_particles(
    system: System, columns: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.int64], Records]:
    """Add particles, the same columns on every rank; return their ids and the contacts there are. Collective.

    The first rank owns them until they migrate. Lists have to be made anew.
    """
    count = len(columns["radius"])
    ids = system.next_id + np.arange(count)
    system.next_id += count
    system.changed += count
    records = system.records()
    if system.exchange.rank == 0:
        new = {name: columns.get(name, field.allocate(count)) for name, field in FIELDS.items()} | {"id": ids}
        for values in particle_energies(new, system.constants):
            system.ended.add("outflow", -values)
        own = system.particles
        own.replace({name: np.concatenate((own[name], new[name])) for name in FIELDS})
    return ids, records


def renew_levels(system: System) -> None:
    """Choose the levels of the grid anew where the particles are no more those they were chosen for. Collective."""
    own = system.particles
    largest = np.array([own.radius.max(initial=0.0)]).view(np.int64)  # positive doubles order like their bits
    grown = float(system.exchange.largest(largest).view(np.float64)[0]) > system.skins.radii[-1]
    if system.changed <= CHANGE * system.population and not grown:
        return
    joined = system.exchange.collect({name: own[name] for name in ("radius", "position")})
    skins, count = system.exchange.share(
        None if joined is None else (system.choose_levels(joined), len(joined["radius"]))
    )
    skins.fraction = system.skins.fraction
    system.use_levels(skins, count)
    system.notices.append(f"step {system.step}: levels chosen anew for {count} particles: {skins}")


def check_known(system: System, ids: NDArray[np.int64]) -> None:
    """Require that every id is that of a particle. Collective, the same ids on every rank.

    Raises
    ------
    InputError
        If one is not.
    """
    here = np.isin(ids, system.particles.id).astype(np.int64)
    missing = np.flatnonzero(system.exchange.largest(here) == 0)
    if len(missing):
        raise InputError(
            f"there is no particle {ids[missing[0]]} to remove; give ids of particles that exist"
        )
