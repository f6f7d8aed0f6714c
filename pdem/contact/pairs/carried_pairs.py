"""Contacts that continue while new lists of candidates are made: which pairs of particles they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.detection import id_table, neighbours
from pdem.foundation.id_sets import rows_among
from pdem.numerics.arrays import lengthened, with_spare

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Candidates
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers


class CarriedPairs:
    """A row and the id of the partner there for each contact, see `pdem.detection.neighbours.look_up_by_row`.

    Contacts have the order of their histories in `pdem.contact.pairs.history_storage.HistoryStorage.indices`.
    """

    def __init__(self) -> None:
        self._count = 0
        self._row, self._other = np.empty(0, np.int32), np.empty(0, np.int64)
        self._candidate, self._lost = np.empty(0, np.int32), np.empty(0, np.int32)

    @property
    def scratch(self) -> Floats:
        """Room for one number of each contact; free after `find`."""
        return self._other.view(np.float64)

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(array.nbytes for array in (self._row, self._other, self._candidate, self._lost))

    def take(
        self, touching: Int32s, candidates: Candidates, radius: Floats,
        leaves: Booleans,
    ) -> None:  # fmt: skip
        """Record the contacts of the present candidates, if at least one of the two particles stays.

        Parameters
        ----------
        touching : (n,) int32 array
            Candidate of each contact.
        candidates : Candidates
            Candidates of the lists that will be replaced.
        radius : array
            Radii of the particles in their rows [m].
        leaves : array
            Which of the owned particles leave; empty if all stay.
        """
        self._reserve(len(touching))
        neighbours.look_up_by_row(
            self._count, candidates.owned, touching, candidates.lower, candidates.higher, candidates.ids, radius,
            leaves, self._row, self._other,
        )  # fmt: skip

    def take_by_id(self, records: PairRecords, particles: Particles, table: Int32s) -> None:
        """Record contacts from records that name particles by id; `table` is the table of ids of owned particles."""
        self._count = 0
        self.add_by_id(records, particles, table)

    def add_by_id(self, records: PairRecords, particles: Particles, table: Int32s) -> None:
        """Record further contacts, as `take_by_id`."""
        before = self._count
        self._reserve(before + len(records.lower))
        rows = self._row[before : self._count], self._other[before : self._count]
        id_table.look_up_by_id(
            records.lower, records.higher, particles.id, particles.column("radius"), table, *rows
        )  # fmt: skip

    def append(
        self, records: PairRecords, ids: Integers, radius: Floats, rows: Int32s
    ) -> None:  # fmt: skip
        """Record contacts that have arrived with particles of these ids, radii [m] and rows."""
        before = self._count
        row, other = self._row[:before], self._other[:before]
        ghosts = np.flatnonzero(row < neighbours.NOT_OWNED)
        owned_now = ghosts[rows_among(other[ghosts], ids)]
        row[owned_now] = -2 - row[owned_now]  # the lower particle was a ghost, and is owned now
        self._reserve(before + len(records.lower))
        row, other = self._row[before : self._count], self._other[before : self._count]
        id_table.look_up_by_id(records.lower, records.higher, ids, radius, id_table.indexed(ids), row, other)
        neighbours.renumber(len(row), rows, row)

    def renumber(self, row_now: Int32s) -> None:
        """Renumber the particles of contacts: `row_now` is the present row by the row before."""
        neighbours.renumber(self._count, row_now, self._row)

    def find(self, candidates: Candidates, start: Integers, entries: tuple[Int32s, Int32s]) -> Int32s:
        """Write the contacts to ``force_index`` of their candidates; return each contact without a candidate once.

        Rows of candidates are written by `pdem.detection.neighbours.write_rows`.
        """
        neighbours.find_candidates(
            self._count, self._row, self._other, start, candidates.lower, candidates.higher, candidates.ids, entries,
            candidates.force_index, self._candidate,
        )  # fmt: skip
        missing = neighbours.list_lost(self._count, self._row, self._candidate, self._lost)
        if missing > len(self._lost):
            self._lost = np.empty(missing, np.int32)
            neighbours.list_lost(self._count, self._row, self._candidate, self._lost)
        return self._lost[:missing]

    def _reserve(self, count: int) -> None:
        self._count = count
        if count > len(self._row):
            room = with_spare(count)
            self._row, self._other = lengthened(self._row, room), lengthened(self._other, room)
            self._candidate = np.empty(room, np.int32)
