"""Migration: particles that have left the part of their rank, and their contacts, move to their new owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.packing import pack, pack_pairs, pack_walls, state_type, unpack, unpack_pairs, unpack_walls
from pdem.containers.exchange import Migration, no_tables
from pdem.foundation.id_sets import rows_among

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from decomposition.messages import Messages
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.foundation.array_types import Booleans, Integers

    Records = tuple[PairRecords, WallRecords]
    Tables = tuple[PairRecords, ...]


def rows_leaving(rank: int, owner: Integers) -> Integers:
    """Return the rows of the particles that leave this rank, sorted by new owner."""
    rows = np.flatnonzero(owner != rank)
    return rows[np.argsort(owner[rows], kind="stable")]


def counts_for(targets: Integers, owner: Integers) -> Integers:
    """Return the number of rows for each target (k,), from the sorted owners of the rows."""
    return np.searchsorted(owner, targets, side="right") - np.searchsorted(owner, targets)


class _Leaving:
    """The particles that leave a rank: their rows sorted by new owner, and the new owner of each id."""

    def __init__(self, rank: int, owner: Integers, ids: Integers) -> None:
        self.rows = rows_leaving(rank, owner)
        self.owner = owner[self.rows]
        self.targets = np.unique(self.owner)
        order = np.argsort(ids[self.rows])
        self._ids, self._owners = ids[self.rows][order], self.owner[order]

    def owners_of(self, ids: Integers) -> Integers:
        """Return the new owners of particles by id; -1 for particles that stay."""
        if not len(self._ids):
            return np.full(len(ids), -1)
        place = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[place] == ids, self._owners[place], -1)


def migrate(
    messages: Messages,
    rank: int,
    owner: Integers,
    particles: Particles,
    records: Callable[[Booleans], Records],
    partners: Integers | None = None,
    tables: Callable[[Booleans], Tables] = no_tables,
) -> Migration | None:
    """Send particles to their owners; return departures and arrivals, None if this rank has neither. Collective.

    First the ranks announce numbers of rows: to all partners if particles move between partners only, which is nearly
    always the case; otherwise only to receiving ranks, which do not expect the message. Then rows are sent.

    Parameters
    ----------
    messages : Messages
        Messages to the other ranks.
    rank : int
        Number of this rank.
    owner : (n,) int64 array
        New owner of each particle of this rank.
    particles : Particles
        Particles of this rank.
    records : callable
        Returns the contacts of the leaving particles, for a mask of all particles.
    partners : (k,) int64 array, optional
        Neighbour ranks in increasing order; the relation is symmetric. Requires that particles move between
        neighbours only, on all ranks.
    tables : callable, optional
        Returns for each table of pairs by ids the pairs of the leaving particles; all ranks have as many tables.
    """
    leaves = owner != rank
    leaving = _Leaving(rank, owner, particles.id)
    parcels = _parcels(leaving, particles, records(leaves), tables(leaves))
    sent = np.stack([counts_for(leaving.targets, to) for _, to in parcels], axis=1)
    sources, received = (
        messages.notify(leaving.targets, sent)
        if partners is None
        else messages.tell_partners(partners, leaving.targets, sent)
    )
    arrived, new_walls, *new_pairs = (
        messages.deliver(leaving.targets, rows, sent[:, kind], sources, received[:, kind])
        for kind, (rows, _) in enumerate(parcels)
    )
    if not len(sources) and not len(leaving.rows):
        return None
    stayed = particles.id[~leaves]
    pairs, *others = (_without_known(unpack_pairs(some), stayed) for some in new_pairs)
    return Migration(leaves, unpack(arrived), pairs, unpack_walls(new_walls), tuple(others))


def _without_known(pairs: PairRecords, stayed: Integers) -> PairRecords:
    """Return each contact once, without contacts that this rank has already because it owns one of the particles."""
    known = stayed[rows_among(stayed, np.concatenate((pairs.lower, pairs.higher)))]
    new = pairs.take(~(np.isin(pairs.lower, known) | np.isin(pairs.higher, known)))
    _, first = np.unique(np.stack((new.lower, new.higher)), axis=1, return_index=True)
    return new.take(np.sort(first))


def _parcel_of_pairs(leaving: _Leaving, pairs: PairRecords) -> tuple[NDArray[Any], Integers]:
    """Return rows of pairs, each for the new owners of both of its particles, with the ranks they go to, rising."""
    one, other = leaving.owners_of(pairs.lower), leaving.owners_of(pairs.higher)
    first, second = one >= 0, (other >= 0) & (other != one)
    rows = np.concatenate((np.flatnonzero(first), np.flatnonzero(second)))
    to = np.concatenate((one[first], other[second]))
    order = np.lexsort((rows, to))
    return pack_pairs(pairs.take(rows[order])), to[order]


def _parcels(
    leaving: _Leaving, particles: Particles, records: Records, tables: Tables
) -> list[tuple[NDArray[Any], Integers]]:
    """Return rows of particles, of contacts with walls and between particles, and of the pairs of tables that leave.

    Each comes with the ranks that its rows go to, rising.
    """
    pairs, walls = records
    wall_to = leaving.owners_of(walls.id)
    wall_rows = np.flatnonzero(wall_to >= 0)
    wall_rows = wall_rows[np.argsort(wall_to[wall_rows], kind="stable")]
    return [
        (pack(particles, leaving.rows, state_type(particles)), leaving.owner),
        (pack_walls(walls.take(wall_rows)), wall_to[wall_rows]),
        *(_parcel_of_pairs(leaving, some) for some in (pairs, *tables)),
    ]
