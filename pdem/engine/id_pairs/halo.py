"""Ghosts with a reach so long that a rank has both particles of each of its pairs, at any distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.detection.id_table import find_rows, indexed
from pdem.engine.clusters.steps import cluster_table
from pdem.engine.id_pairs.pair_places import pair_box
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers

SPARE_DISTANCE = 1.1
"""Ratio of the pair distance for the next ghosts to the present longest pair: a margin, since pairs may get longer."""


def make_ghosts(system: System) -> None:
    """Make ghosts: all particles that may touch owned particles, and all their partners in tables. Collective.

    The reach of the skins is enough for most pairs. If a partner is missing on any rank, all ranks make ghosts again
    with a longer reach, and keep this reach for the next ghosts.

    Raises
    ------
    InputError
        On all ranks, if no rank has the partner of a particle.
    """
    tables = system.features.pair_tables
    _make(system)
    if not tables:
        return
    while any_missing(system, _find(system, tables)):
        _make(system)


def any_missing(system: System, found: list[tuple[PairTable, Integers, float]]) -> bool:
    """Return whether a particle of a pair is missing on any rank, and choose the reach of the next ghosts. Collective.

    `found` has for each table its pairs with a missing particle on this rank, and the longest complete pair [m].

    Raises
    ------
    InputError
        On all ranks, if the reach of ghosts already exceeds all distances between particles.
    """
    here = [float(any(len(pairs) for _, pairs, _ in found)), max(longest for *_, longest in found)]
    missing, longest = system.exchange.largest(np.array(here)).tolist()
    if not missing:
        system.lists.set_pair_distance(SPARE_DISTANCE * longest)
        return False
    distance = system.lists.pair_distance
    if distance > 2.0 * _diagonal(system):
        raise InputError(system.exchange.first(_text(system, found)))
    system.lists.set_pair_distance(2.0 * max(distance, float(system.lists.skins.radii[-1])))
    return True


def _diagonal(system: System) -> float:
    """Return the diagonal of a box around all particles [m]. Collective."""
    position = system.particles.position
    ends = np.concatenate((position, -position), axis=1).max(axis=0, initial=-np.inf)
    ends = system.exchange.largest(ends)
    return exact_math.hypot(*(ends[:3] + ends[3:]).tolist())


def _text(system: System, found: list[tuple[PairTable, Integers, float]]) -> str | None:
    """Return the message on the first pair with a missing particle; None if this rank has no such pair."""
    ids = system.particles.column("id")[: system.particles.count + system.particles.ghosts]
    for table, pairs, _ in found:
        for pair in pairs[:1].tolist():
            both = np.array([table.lower[pair], table.higher[pair]])
            gone = both[~np.isin(both, ids)][0]
            return (
                f"{table.name}: particle {gone} of the pair {both[0]}, {both[1]} is on no rank; remove particles with "
                "simulation.remove, which takes their pairs along"
            )
    return None


def _make(system: System) -> None:
    """Make ghosts within the reach of skins, and at least within `NeighbourLists.pair_distance` between centres."""
    distance = system.lists.pair_distance

    def reach(radius: Floats, velocity: Floats, position: Floats) -> Any:
        return np.maximum(system.reach_of(radius, velocity, position), 0.5 * distance)

    particles = system.particles
    particles.ghosts = 0
    wanted = system.reach_of if distance == 0.0 else reach
    system.exchange.make_ghosts(particles, wanted, system.lists.skins.radii, cluster_table(system.clusters))


def _find(system: System, tables: Sequence[PairTable]) -> list[tuple[PairTable, Integers, float]]:
    """Let tables find their particles; return each with its incomplete pairs, and its longest complete pair [m]."""
    particles, results = system.particles, []
    ids = particles.column("id")[: particles.count + particles.ghosts]
    rows_of_ids = indexed(ids)
    for table in tables:
        found = np.empty(2 * len(table), np.int32)
        find_rows(np.concatenate((table.lower, table.higher)), ids, rows_of_ids, found)
        results.append((table, *table.find_rows(particles, found.astype(np.int64), pair_box(system))))
    return results
