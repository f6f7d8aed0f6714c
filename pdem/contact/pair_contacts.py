"""The contacts between particles of one rank: candidates, slots, histories, forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact import pair_kernels as kernels
from pdem.contact.ended import add_ended
from pdem.contact.law import HISTORY
from pdem.containers.records import PairRecords
from pdem.detection import id_table, neighbours
from pdem.foundation.kernels import threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.particles import Particles
    from pdem.detection.neighbours import NearPairs
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
        self._mark = np.zeros(0, np.int8)
        self._slot = np.zeros(0, np.int32)
        self._slot_before = np.zeros(0, np.int32)
        self._found = np.zeros((4, 1), np.int64)
        self._ended = np.empty(0, np.int32)
        self._start = np.zeros(1, np.int64)
        self._entry = np.empty(0, np.int32)
        self._partner = np.empty(0, np.int64)
        self._packed = np.empty(0)
        self._touching = np.zeros(1, np.int32)
        self._kept = np.zeros(neighbours.SEGMENTS, np.int64)
        self._totals = np.zeros(neighbours.SEGMENTS, np.int64)
        self._cursor = np.empty(0, np.int32)
        self._row, self._other = np.empty(0, np.int32), np.empty(0, np.int64)
        self._row_now = np.empty(0, np.int32)
        self._lost = np.empty(0, np.int32)
        self._touched, self._no_walls = np.empty(0, np.int8), np.empty((0, 6))
        self._table = id_table.table_for(0)
        self._history, self._history_before = np.zeros((HISTORY, 1)), np.zeros((HISTORY, 1))
        self._forces = np.zeros((kernels.FORCES, 1))

    def carry(self, particles: Particles, order: NDArray[np.int32] | None = None) -> None:
        """Keep the contacts over the making of new lists, for particles that stay with this rank.

        Parameters
        ----------
        particles : Particles
            As they were when the present lists were made.
        order : (n,) int32 array, optional
            The present rows of the owned particles in the order they are going to have.
        """
        self._reserve_carried(self.count)
        if order is not None:
            if len(self._row_now) < len(order):
                self._row_now = np.empty(int(_GROWTH * len(order)) + 16, np.int32)
            neighbours.invert(order, self._row_now)
        neighbours.look_up_by_row(
            self.count, particles.count, self._touching[1:], self.lower, self.higher, particles.column("id"),
            order is not None, self._row_now, self._row, self._other,
        )  # fmt: skip

    def adopt(self, records: PairRecords, particles: Particles) -> None:
        """Have these contacts, known by ids, from the making of new lists on, instead of those there are.

        Parameters
        ----------
        records : PairRecords
            All contacts of owned particles.
        particles : Particles
            In the rows for which lists are going to be made.
        """
        self.count = len(records.lower)
        self._reserve_contacts(self.count)
        self._reserve_carried(self.count)
        self._history[:, 1 : self.count + 1] = records.history
        ids = particles.id
        self._table = id_table.indexed(ids, len(ids), self._table)
        id_table.look_up_by_id(records.lower, records.higher, ids, self._table, self._row, self._other)

    def take_candidates(self, pairs: NearPairs, particles: Particles, ended: ExactSums) -> None:
        """Make these pairs the candidates; contacts that were carried or adopted go on among them.

        The energies of contacts that are no candidates any more go to `ended`.
        """
        self._list_candidates(pairs, particles.column("id"), particles.count)
        self._slot[: self.candidates] = 0
        candidate = self._touching[1:]
        neighbours.find_candidates(
            self.count, self._row, self._other, self._start, self._partner, self._entry, self._slot, candidate
        )
        missing = neighbours.list_lost(self.count, self._row, candidate, self._lost)
        if missing > len(self._lost):
            self._lost = np.empty(missing, np.int32)
            neighbours.list_lost(self.count, self._row, candidate, self._lost)
        add_ended(ended, self._history, self._lost[:missing])

    def _list_candidates(self, pairs: NearPairs, ids: NDArray[np.int64], owned: int) -> None:
        """Write candidates and the rows of all owned particles."""
        parts = min(threads(), neighbours.SEGMENTS)
        self._reserve_candidates(pairs.total, owned, parts)
        neighbours.count_entries(parts, *pairs, owned, self._kept, self._cursor)
        neighbours.begin_rows(parts, owned, self._cursor, self._start, self._totals)
        neighbours.write_rows(
            parts, *pairs, owned, self._kept, ids, self._cursor, self.lower, self.higher, self._entry,
            self._partner,
        )  # fmt: skip
        neighbours.sort_rows(owned, self._start, self._partner, self._entry)
        self.candidates = int(self._kept.sum())

    def records(self, particles: Particles) -> PairRecords:
        """Return all contacts of the last evaluation by the ids of their particles (copies)."""
        rows = self._touching[1 : self.count + 1]
        ids = particles.column("id")
        return PairRecords(ids[self.lower[rows]], ids[self.higher[rows]], self.histories.copy())

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
        table : (M * M, 6) array
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
        self._pack(particles, density)
        beyond = self._find_touching(box, largest_overlap)
        self._compact(particles.count, ended)
        kernels.pair_forces(
            self.count, dt, step, self._touching[1:], self.lower, self.higher, self._packed, *box,
            len(density), table.reshape(-1), self._slot_before, self._history_before, *self._history[:, 1:],
            *self._forces[:, 1:],
        )  # fmt: skip
        return beyond

    def _pack(self, particles: Particles, density: NDArray[np.float64]) -> None:
        rows, column = particles.count + particles.ghosts, particles.column
        if len(self._packed) < rows * kernels.PACKED:
            self._packed = np.empty(len(column("id")) * kernels.PACKED)
        kernels.pack(
            rows, column("position"), column("velocity"), column("angular_velocity"), column("radius"),
            column("material"), density, self._packed,
        )  # fmt: skip

    def _find_touching(
        self, box: tuple[NDArray[np.float64], NDArray[np.float64]], largest_overlap: float
    ) -> int:
        """Mark the candidates that touch; return one that is too deep + 1, or 0."""
        kernels.mark_touching(
            self.candidates, self.lower, self.higher, self._packed, *box, largest_overlap, self._mark
        )
        kernels.count_touching(self.candidates, self._mark, self._found)
        if not self._found[1, : self._chunks].any():
            return 0
        return int(np.flatnonzero(self._mark[: self.candidates] > 1)[-1]) + 1

    def _compact(self, owned: int, ended: ExactSums) -> None:
        """Give slots to the contacts, and the energies of those that have ended to `ended`."""
        chunks = self._chunks
        self._found[2, 0] = 1
        np.cumsum(self._found[0, :chunks], out=self._found[2, 1 : chunks + 1])
        self._found[2, 1 : chunks + 1] += 1
        self.count = int(self._found[2, chunks]) - 1
        self._reserve_contacts(self.count)
        kernels.compact(
            self.candidates, owned, self.lower, self._mark, self._slot_before, self._found, self._slot,
            self._touching, self._ended,
        )  # fmt: skip
        number = kernels.gather_ended(chunks, self._found, self._ended)
        add_ended(ended, self._history_before, self._ended[:number])

    @property
    def _chunks(self) -> int:
        return -(-self.candidates // kernels.CHUNK)

    def add_up(
        self,
        particles: Particles,
        wall: NDArray[np.float64] | None,
        half: float,
        gravity: NDArray[np.float64],
        free: NDArray[np.float64],
        density: NDArray[np.float64],
    ) -> None:
        """Set force and torque of the owned particles, and let them act.

        Parameters
        ----------
        particles : Particles
            Owned and ghosts.
        wall : (n, 6) array or None
            Force and torque from walls, if there are any.
        half : float
            Time for which the forces then act on the velocities [s], 0 for none.
        gravity, free, density : arrays
            As `pdem.motion.integration.drift` takes them.
        """
        column = particles.column
        rows = particles.count + particles.ghosts
        if len(self._touched) < rows:
            self._touched = np.empty(len(column("id")), np.int8)
        # where most have contacts, looking for those without is in vain
        if self.count < particles.count // 2:
            kernels.flag_touching(
                rows, self.count, self._touching[1:], self.lower, self.higher, self._touched
            )
        else:
            self._touched[:rows] = 1
        kernels.sum_forces(
            particles.count, self._start, self._entry, self._slot, self._touched, self._forces,
            wall is not None, self._no_walls if wall is None else wall, half, gravity, free, density,
            *(column(name) for name in ("material", "radius", "velocity", "angular_velocity", "force", "torque")),
        )  # fmt: skip

    @property
    def histories(self) -> NDArray[np.float64]:
        """Histories of all contacts, shape (HISTORY, count); a view."""
        return self._history[:, 1 : self.count + 1]

    @property
    def touching(self) -> NDArray[np.int32]:
        """Candidate of each contact."""
        return self._touching[1 : self.count + 1]

    def rows(self, owned: int) -> NDArray[np.int64]:
        """Return the number of candidate pairs of each owned particle."""
        return np.diff(self._start[: owned + 1])

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def _reserve_carried(self, count: int) -> None:
        if count > len(self._row):
            room = int(_GROWTH * count) + 16
            self._row, self._other = np.empty(room, np.int32), np.empty(room, np.int64)

    def _reserve_candidates(self, pairs: int, owned: int, parts: int) -> None:
        if pairs > len(self.lower):
            room = int(_GROWTH * pairs) + 16
            chunks = -(-room // kernels.CHUNK)
            self.lower, self.higher = np.empty(room, np.int32), np.empty(room, np.int32)
            self._mark = np.zeros(room, np.int8)
            self._slot, self._slot_before = np.zeros(room, np.int32), np.zeros(room, np.int32)
            self._entry, self._partner = np.empty(2 * room, np.int32), np.empty(2 * room, np.int64)
            self._found = np.zeros((4, chunks + 1), np.int64)
            self._ended = np.empty(chunks * (kernels.CHUNK + 1), np.int32)
        if owned + 1 > len(self._start):
            self._start = np.zeros(int(_GROWTH * owned) + 16, np.int64)
        if parts * owned > len(self._cursor):
            self._cursor = np.empty(parts * (int(_GROWTH * owned) + 16), np.int32)

    def _reserve_contacts(self, count: int) -> None:
        """Make room for so many contacts, keeping the histories before and losing the present ones."""
        if count + 1 > self._history.shape[1]:
            room = int(_GROWTH * count) + 16
            before = self._history_before
            self._history, self._history_before = np.zeros((HISTORY, room)), np.zeros((HISTORY, room))
            self._history_before[:, : before.shape[1]] = before
            self._forces = np.zeros((kernels.FORCES, room))
        if count + self._chunks + 2 > len(self._touching):
            self._touching = np.zeros(self._history.shape[1] + self._chunks + 2, np.int32)
