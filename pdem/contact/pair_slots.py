"""Where contacts between particles keep their histories: slots, in a region for each chunk of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact import slot_kernels as kernels
from pdem.contact.law import HISTORY
from pdem.contact.load_rows import LoadRows
from pdem.contact.pair_kernels import BEGIN, END, ENDS, RUN, SEATS, SEATS_END, SLOTS, SLOTS_END, STOP
from pdem.contact.pair_stages import BLOCK, WORK
from pdem.contact.slot_kernels import CHUNK, SPARE
from pdem.foundation.arrays import lengthened, line_zeros, with_spare
from pdem.foundation.transposition import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARGIN = 1.05  # less than for other arrays: slots take most of the memory

_MOVES = 8  # chunks of a worker that can be moved in a step before it has to stop for others to make room; at least 2


class PairSlots:
    """Histories of contacts by slot, and what finds them.

    How many contacts a chunk of candidates is going to have is not known when lists are made: its region has some slots
    to spare, and is moved when these do not suffice, to where a worker has larger ones in reserve.

    Attributes
    ----------
    size : int
        Candidates of a chunk.
    inner, candidates : int
        Candidates between owned particles, and all.
    history : (room / BLOCK, HISTORY, BLOCK) array
        Histories of contacts, in blocks of slots.
    loads : LoadRows
        What contacts do to their particles.
    work : (workers * WORK,) array
        Room for the stages of the contact law.
    touching : (room,) int32 array
        Candidate of each slot.
    region, room, live : arrays by chunk
        First slot, number of slots, number of contacts.
    ended : (4, workers * ENDS) array
        Energies of contacts that have just ended.
    """

    def __init__(self) -> None:
        self.size, self.inner, self.candidates = CHUNK, 0, 0
        self.history = np.zeros((0, HISTORY, BLOCK))
        self.loads, self.work = LoadRows(), np.zeros(0)
        self.touching = np.zeros(0, np.int32)
        self.region, self._ends = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.room, self.live = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.ended = np.zeros((4, 0))
        self._source = np.zeros(0, np.int32)
        self._known = np.zeros(0, np.int32)
        self._reserved = np.zeros((RUN - SLOTS, 0), np.int64)
        self._listed: int | None = 0
        self._next = BLOCK
        self._reserve(self._next)

    @property
    def chunks(self) -> int:
        """Number of chunks of candidates, the last ones those of candidates with a ghost."""
        return self.inner_chunks + chunks_in(self.candidates - self.inner, self.size)

    @property
    def most(self) -> int:
        """Slots, or seats, that a chunk needs if all of its candidates touch."""
        return BLOCK * _blocks(self.size + LANES)

    @property
    def inner_chunks(self) -> int:
        """Number of chunks of candidates between owned particles."""
        return chunks_in(self.inner, self.size)

    @property
    def count(self) -> int:
        """Contacts."""
        return int(self.live[: self.chunks].sum()) if self._listed is None else self._listed

    @property
    def known(self) -> NDArray[np.int32]:
        """Slots of all contacts; a view."""
        count = self.count
        if self._listed is None:
            self._listed = count
            chunks = self.chunks
            self._reserve_known(count)
            np.cumsum(self.live[:chunks], out=self._ends[:chunks])
            kernels.list_slots(chunks, self.region, self.live, self._ends, self._known)
        return self._known[:count]

    @property
    def histories(self) -> NDArray[np.float64]:
        """Histories of all contacts, (HISTORY, count), in the order of `known`; a copy."""
        return self.in_slots(self.known)

    def in_slots(self, slots: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the histories in some slots, (HISTORY, n); a copy."""
        histories: NDArray[np.float64] = self.history[slots // BLOCK, :, slots % BLOCK].T
        return histories

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        arrays = (value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return self.loads.memory + sum(arrays)

    def hold(self, histories: NDArray[np.float64]) -> None:
        """Have contacts with these histories, (HISTORY, count), instead of those there are, until lists are made."""
        count = histories.shape[1]
        self._reserve(BLOCK + count)
        self._reserve_known(count)
        slots = self._known[:count]
        slots[:] = np.arange(BLOCK, BLOCK + count)
        self.history[slots // BLOCK, :, slots % BLOCK] = histories.T
        self._listed = count

    def settle(
        self,
        size: int,
        inner: int,
        candidates: int,
        lower: NDArray[np.int32],
        higher: NDArray[np.int32],
        seat: NDArray[np.int32],
        bound: NDArray[np.int32],
        begins: NDArray[np.int64],
        window: int,
        scratch: NDArray[np.float64],
    ) -> None:
        """Divide slots and seats among new candidates, and bring the histories of contacts that go on there.

        Parameters
        ----------
        size, inner, candidates, lower, higher
            Candidates of a chunk; those between owned particles, and all; their rows.
        seat : int32 array
            By candidate, one more than the place of its contact in `known`, or 0; written: its seat, or 0.
        bound : int32 array
            Zeros; written: `UNORDERED` for particles with contacts.
        begins, window
            As `LoadRows.divide` takes them.
        scratch : (contacts,) array
            Written.
        """
        known = self.known
        self.size, self.inner, self.candidates = size, inner, candidates
        if len(self.work) < WORK * (len(begins) - 1):
            self.work = line_zeros(WORK * (len(begins) - 1))
        chunks = self.chunks
        if len(self.live) < chunks:
            most = with_spare(chunks)
            self.region, self._ends = np.zeros(most, np.int64), np.zeros(most, np.int64)
            self.room, self.live = np.zeros(most, np.int32), np.zeros(most, np.int32)
        kernels.count_known(chunks, size, self.most, inner, candidates, SPARE, seat, self.live, self.room)
        live, room = self.live[:chunks], self.room[:chunks]
        self.loads.divide(begins, window, self.most, room)
        np.cumsum(room, out=self._ends[:chunks])
        self.region[:chunks] = BLOCK + self._ends[:chunks] - room
        self._next = BLOCK + int(room.sum())
        self._reserve(self._next)
        self._reserved = self._reserved[:, :0]
        kernels.give_slots(
            chunks, size, inner, candidates, self.region, self.loads.first, known, lower, higher, seat, self.touching,
            bound, self._source,
        )  # fmt: skip
        np.cumsum(live, out=self._ends[:chunks])
        kernels.move_histories(
            chunks, self.region, self.live, self._ends, self._source, self.history.reshape(-1), scratch
        )
        self._listed = None

    def plan(self, ghosts: bool, workers: int) -> NDArray[np.int64] | None:
        """Return runs (RUN, workers) of chunks: of those with ghosts or of those without; None if there is none."""
        first, last = (self.inner_chunks, self.chunks) if ghosts else (0, self.inner_chunks)
        if first == last:
            return None
        if self.ended.shape[1] < workers * ENDS:
            self.ended = np.zeros((4, workers * ENDS))
        self._listed = None
        runs = np.zeros((RUN, workers), np.int64)
        begins = worker_begins(first, last, workers)
        runs[BEGIN], runs[END] = begins[:-1], begins[1:]
        if self._reserved.shape[1] == workers:
            runs[SLOTS:] = self._reserved
        self._reserved = runs[SLOTS:]
        self._restock(runs)
        return runs

    def rest(self, runs: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return runs of what workers had no room for, None if they had."""
        if (runs[STOP] == runs[END]).all():
            return None
        runs[BEGIN] = runs[STOP]
        self._restock(runs)
        return runs

    def _restock(self, runs: NDArray[np.int64]) -> None:
        """See that every worker has slots and seats in reserve."""
        most = _MOVES * self.most
        for worker in np.flatnonzero(runs[SLOTS_END] - runs[SLOTS] < most // 2):
            runs[SLOTS, worker], runs[SLOTS_END, worker] = self._next, self._next + most
            self._next += most
        self._reserve(self._next)
        if self.loads.keeps:
            for worker in np.flatnonzero(runs[SEATS_END] - runs[SEATS] < most // 2):
                first = self.loads.more(most)
                runs[SEATS, worker], runs[SEATS_END, worker] = first, first + most

    def _reserve_known(self, count: int) -> None:
        if len(self._known) < count:
            self._known = np.zeros(with_spare(count), np.int32)

    def _reserve(self, slots: int) -> None:
        """Make room for so many slots, keeping what is there."""
        if slots <= len(self.touching):
            return
        room = BLOCK * _blocks(int(_MARGIN * slots) + self.size)
        self.history = lengthened(self.history, room // BLOCK)
        self.touching, self._source = lengthened(self.touching, room), lengthened(self._source, room)


def chunks_in(candidates: int, size: int) -> int:
    """Return into how many chunks of this size so many candidates are divided."""
    return -(-candidates // size)


def worker_begins(first: int, last: int, workers: int) -> NDArray[np.int64]:
    """Return the first of the chunks `first` to `last` - 1 that each worker takes, and `last`."""
    begins: NDArray[np.int64] = first + np.arange(workers + 1) * (last - first) // workers
    return begins


def _blocks(slots: int) -> int:
    """Return how many blocks hold so many slots."""
    return -(-slots // BLOCK)
