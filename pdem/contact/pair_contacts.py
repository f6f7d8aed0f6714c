"""The contacts between particles of one rank: candidates, slots, histories, forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact import pair_kernels as kernels
from pdem.contact.law import HISTORY
from pdem.containers.records import PairRecords
from pdem.detection import neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.particles import Particles
    from pdem.foundation.sums import ExactSums

_GROWTH = 1.3


class PairContacts:
    """Candidate pairs of one detection and the contacts among them.

    Attributes
    ----------
    candidates : int
        Number of candidate pairs.
    count : int
        Number of contacts of the last evaluation, in slots 1 to `count`.
    lower, higher : int32 arrays
        Rows of the particles of each candidate, by id.
    """

    def __init__(self) -> None:
        self.candidates = 0
        self.count = 0
        self.lower = np.empty(0, np.int32)
        self.higher = np.empty(0, np.int32)
        self._slot = np.zeros(0, np.int32)
        self._slot_before = np.zeros(0, np.int32)
        self._touching = np.empty(0, np.int32)
        self._found = np.zeros((3, 0), np.int64)
        self._start = np.zeros(1, np.int64)
        self._entry = np.empty(0, np.int32)
        self._partner = np.empty(0, np.int64)
        self._history = np.zeros((HISTORY, 16))
        self._history_before = np.zeros((HISTORY, 16))
        self._forces = np.zeros((kernels.FORCES, 16))
        self._ended = np.empty(0, np.int32)
        self._table = neighbours.table_for(0)

    def take_candidates(
        self,
        first: NDArray[np.int32],
        second: NDArray[np.int32],
        particles: Particles,
        records: PairRecords,
        ended: ExactSums,
    ) -> None:
        """Make these pairs the candidates; contacts among them go on with the histories of `records`.

        The energies of records that are no candidates any more go to `ended`.
        """
        ids, owned = particles.column("id"), particles.count
        self._reserve_candidates(len(first), owned)
        self.candidates = neighbours.orient(first, second, ids, owned, self.lower, self.higher)
        neighbours.count_rows(self.candidates, self.lower, self.higher, owned, self._start)
        neighbours.fill_rows(
            self.candidates, self.lower, self.higher, ids, owned, self._start, self._entry, self._partner
        )
        neighbours.sort_rows(owned, self._start, self._partner, self._entry)
        self._adopt(records, particles, ended)

    def _adopt(self, records: PairRecords, particles: Particles, ended: ExactSums) -> None:
        rows, number = particles.count + particles.ghosts, len(records.lower)
        if len(self._table) < 2 * rows:
            self._table = neighbours.table_for(rows)
        ids = particles.column("id")
        neighbours.index_ids(ids, rows, self._table)
        self._reserve_contacts(number)
        self._history[:, 1 : number + 1] = records.history
        self.count = number
        self._slot[: self.candidates] = 0
        if number + 1 > len(self._touching):
            self._touching = np.empty(number + 1, np.int32)
        lost = np.empty(number, np.int32)
        missing = neighbours.find_candidates(
            records.lower, records.higher, ids, self._table, particles.count, self._start, self._partner,
            self._entry, self._slot, self._touching, lost,
        )  # fmt: skip
        ended.add_columns(self._history, lost[:missing])

    def records(self, particles: Particles) -> PairRecords:
        """Return all contacts of the last evaluation by the ids of their particles (copies)."""
        rows = self._touching[1 : self.count + 1]
        ids = particles.column("id")
        return PairRecords(
            ids[self.lower[rows]], ids[self.higher[rows]], self._history[:, 1 : self.count + 1].copy()
        )

    def evaluate(
        self,
        particles: Particles,
        box: tuple[NDArray[np.float64], NDArray[np.float64]],
        density: NDArray[np.float64],
        table: NDArray[np.float64],
        dt: float,
        step: float,
        largest_overlap: float,
        ended: ExactSums,
    ) -> int:
        """Find the contacts among the candidates and their forces; return a candidate beyond the limit + 1.

        Parameters
        ----------
        particles : Particles
            Owned and ghosts; velocities of the middle of the step.
        box : (period, frequency)
            Arrays (3,): length of periodic axes [m], 0 on open ones, and its inverse or 0.
        density : (M,) array
            By material [kg/m^3].
        table : (6, M * M) array
            `pdem.contact.coefficients.pair_table`.
        dt, step : float
            Time by which histories grow, and time step [s].
        largest_overlap : float
            Over the smaller radius; the return value is 0 if no contact exceeds it.
        ended : ExactSums
            Takes the energies of contacts that have ended.
        """
        self._slot, self._slot_before = self._slot_before, self._slot
        self._history, self._history_before = self._history_before, self._history
        column = particles.column
        where = column("position"), column("radius")
        kernels.find_touching(
            self.candidates, self.lower, self.higher, *where, *box, largest_overlap, self._slot, self._found
        )
        before, chunks = self.count, -(-self.candidates // kernels.CHUNK)
        self._found[2, :chunks] = 1 + np.cumsum(self._found[0, :chunks]) - self._found[0, :chunks]
        self.count = int(self._found[0, :chunks].sum())
        self._reserve_contacts(self.count)
        kernels.compact(self.candidates, self._found, self._slot, self._touching)
        if before:
            self._flush_ended(before, particles.count, ended)
        kernels.pair_forces(
            self.count, dt, step, self._touching, self.lower, self.higher, column("position"),
            column("velocity"), column("angular_velocity"), column("radius"), column("material"), *box,
            density, table, self._slot_before, self._history_before, *self._history, *self._forces,
        )  # fmt: skip
        return int(self._found[1, :chunks].max(initial=0))

    def _flush_ended(self, before: int, owned: int, ended: ExactSums) -> None:
        if len(self._ended) < before:
            self._ended = np.empty(int(_GROWTH * before) + 16, np.int32)
        number = kernels.list_ended(
            self.candidates, self._slot_before, self._slot, self.lower, owned, self._ended
        )
        ended.add_columns(self._history_before, self._ended[:number])

    def add_up(self, particles: Particles, wall: NDArray[np.float64]) -> None:
        """Set force and torque of the owned particles; `wall` (n, 6) holds those from walls."""
        column = particles.column
        kernels.sum_forces(
            particles.count, self._start, self._entry, self._slot, self._forces, wall, column("force"),
            column("torque"),
        )  # fmt: skip

    @property
    def history(self) -> NDArray[np.float64]:
        """Histories by slot, shape (HISTORY, > count)."""
        return self._history

    @property
    def touching(self) -> NDArray[np.int32]:
        """Candidate of each slot."""
        return self._touching[: self.count + 1]

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def _reserve_candidates(self, pairs: int, owned: int) -> None:
        if pairs > len(self.lower):
            room = int(_GROWTH * pairs) + 16
            self.lower, self.higher = np.empty(room, np.int32), np.empty(room, np.int32)
            self._slot, self._slot_before = np.zeros(room, np.int32), np.zeros(room, np.int32)
            self._touching = np.empty(room + 1, np.int32)
            self._entry, self._partner = np.empty(2 * room, np.int32), np.empty(2 * room, np.int64)
            self._found = np.zeros((3, room // kernels.CHUNK + 1), np.int64)
        if owned + 1 > len(self._start):
            self._start = np.zeros(int(_GROWTH * owned) + 16, np.int64)

    def _reserve_contacts(self, count: int) -> None:
        if count + 1 > self._history.shape[1]:
            room = int(_GROWTH * count) + 16
            before = self._history_before
            self._history = np.zeros((HISTORY, room))
            self._history_before = np.zeros((HISTORY, room))
            self._history_before[:, : before.shape[1]] = before
            self._forces = np.zeros((kernels.FORCES, room))
