"""Particles that have left the part of their rank, and their contacts, go to their new owners, wherever these are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from decomposition.packing import pack, pack_pairs, pack_walls, state_type, unpack, unpack_pairs, unpack_walls
from pdem.containers.exchange import Migration
from pdem.foundation.id_sets import rows_among

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from decomposition.messages import Messages
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.foundation.array_types import Booleans, Integers

    Records = tuple[PairRecords, WallRecords]


def rows_leaving(rank: int, owner: Integers) -> Integers:
    """Return the rows of this rank that other ranks shall have, by new owner."""
    rows = np.flatnonzero(owner != rank)
    return rows[np.argsort(owner[rows], kind="stable")]


def counts_for(targets: Integers, owner: Integers) -> Integers:
    """Return how many rows go to each of these ranks (k,), by the owners of the rows, rising."""
    return np.searchsorted(owner, targets, side="right") - np.searchsorted(owner, targets)


class _Leaving:
    """The particles that leave a rank: their rows by new owner, and the new owner of each id."""

    def __init__(self, rank: int, owner: Integers, ids: Integers) -> None:
        self.rows = rows_leaving(rank, owner)
        self.owner = owner[self.rows]
        self.targets = np.unique(self.owner)
        order = np.argsort(ids[self.rows])
        self._ids, self._owners = ids[self.rows][order], self.owner[order]

    def owners_of(self, ids: Integers) -> Integers:
        """Return the new owner of particles by their ids, -1 of those that do not leave."""
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
) -> Migration | None:
    """Send particles to their owners; return which have gone and what has come, None if nothing. Collective.

    First ranks are told how much they get: all partners, where no particle of any rank goes elsewhere, which is nearly
    always so; else only those that get something, and these do not know of it. Then rows are sent.

    Parameters
    ----------
    messages : Messages
        To the other ranks.
    rank : int
        This one.
    owner : (n,) int64 array
        Rank that each particle of this rank shall have.
    particles : Particles
        Those of this rank.
    records : callable
        Returns the contacts of those that leave, a mask of all.
    partners : (k,) int64 array, optional
        Ranks, rising, each of which has this one among its own; on no rank does a particle go to any other one.
    """
    leaves = owner != rank
    leaving = _Leaving(rank, owner, particles.id)
    parcels = _parcels(leaving, particles, records(leaves))
    sent = np.stack([counts_for(leaving.targets, to) for _, to in parcels], axis=1)
    sources, received = (
        messages.notify(leaving.targets, sent)
        if partners is None
        else messages.tell_partners(partners, leaving.targets, sent)
    )
    arrived, new_pairs, new_walls = (
        messages.deliver(leaving.targets, rows, sent[:, kind], sources, received[:, kind])
        for kind, (rows, _) in enumerate(parcels)
    )
    if not len(sources) and not len(leaving.rows):
        return None
    pairs = _without_known(unpack_pairs(new_pairs), particles.id[~leaves])
    return Migration(leaves, unpack(arrived), pairs, unpack_walls(new_walls))


def _without_known(pairs: PairRecords, stayed: Integers) -> PairRecords:
    """Return each contact once, without those that this rank has because it owned one of the particles before."""
    known = stayed[rows_among(stayed, np.concatenate((pairs.lower, pairs.higher)))]
    new = pairs.take(~(np.isin(pairs.lower, known) | np.isin(pairs.higher, known)))
    _, first = np.unique(np.stack((new.lower, new.higher)), axis=1, return_index=True)
    return new.take(np.sort(first))


def _parcels(leaving: _Leaving, particles: Particles, records: Records) -> list[tuple[NDArray[Any], Integers]]:
    """Return rows of particles, pair contacts and wall contacts that leave, with the ranks they go to, rising."""
    pairs, walls = records
    one, other = leaving.owners_of(pairs.lower), leaving.owners_of(pairs.higher)
    first, second = one >= 0, (other >= 0) & (other != one)  # a contact goes with both of its particles
    rows = np.concatenate((np.flatnonzero(first), np.flatnonzero(second)))
    to = np.concatenate((one[first], other[second]))
    order = np.lexsort((rows, to))
    wall_to = leaving.owners_of(walls.id)
    wall_rows = np.flatnonzero(wall_to >= 0)
    wall_rows = wall_rows[np.argsort(wall_to[wall_rows], kind="stable")]
    return [
        (pack(particles, leaving.rows, state_type(particles)), leaving.owner),
        (pack_pairs(pairs.take(rows[order])), to[order]),
        (pack_walls(walls.take(wall_rows)), wall_to[wall_rows]),
    ]
