"""Memory for the histories of contacts between particles: a range of history indices for each chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.losses import leaves_at_end
from pdem.contact.pairs import history_kernels as kernels
from pdem.contact.pairs.arguments import Chunks, Contacts
from pdem.contact.pairs.begin_and_end import ENDS
from pdem.contact.pairs.force_storage import ForceStorage
from pdem.contact.pairs.history_kernels import CHUNK, SPARE
from pdem.contact.pairs.layout import BLOCK, WORK, force_row_of
from pdem.contact.pairs.runs import FREE_FORCE, FREE_HISTORY, RUN, plan_runs, resume_runs
from pdem.numerics.arrays import lengthened, line_zeros, with_spare
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.pairs.arguments import Candidates
    from pdem.foundation.array_types import Floats, Int32s, Integers

_MARGIN = 1.05  # less than for other arrays: histories take most of the memory

_MOVES = 8  # chunks that a worker can move in a step before it has to stop and wait for more room; at least 2


class HistoryStorage:
    """Histories of contacts by history index, and the indices of chunks and contacts.

    The number of contacts that a chunk of candidates will have is unknown when lists are made. A chunk therefore gets
    spare indices; if they do not suffice, it moves into a larger range that its worker has in reserve.

    Parameters
    ----------
    law : ContactLaw
        Contact law with the columns of a history.

    Attributes
    ----------
    width : int
        Columns of a history.
    size : int
        Candidates of a chunk.
    inner, candidates : int
        Candidates between owned particles, and all.
    history : (room / BLOCK, width, BLOCK) array
        Histories of contacts, in blocks.
    forces : ForceStorage
        Forces and torques of contacts.
    work : (workers * WORK,) array
        Room for the stages of the contact law.
    candidate : (room,) int32 array
        Candidate of each history index.
    ended : (accounts + 1, workers * ENDS) array
        Accounts of contacts that ended in the last evaluation, and their candidates.
    left : (3, workers * ENDS) array
        What particles receive of contacts that end, see `pdem.contact.pairs.arguments.Contacts`.
    """

    def __init__(self, law: ContactLaw) -> None:
        self.width, self._accounts = law.columns, len(law.energies)
        self.size, self.inner, self.candidates = CHUNK, 0, 0
        self.history = np.zeros((0, self.width, BLOCK))
        self.forces, self.work = ForceStorage(force_row_of(law)), np.zeros(0)
        self.candidate, self._lower, self._higher = (np.zeros(0, np.int32) for _ in range(3))
        self._begin, self._ends = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._capacity, self._contacts = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self.ended, self.left = np.zeros((self._accounts + 1, 0)), np.zeros((3, 0))
        self._leaves_at_end = leaves_at_end(law)
        self._source = np.zeros(0, np.int32)
        self._listed = np.zeros(0, np.int32)
        self._runs = np.zeros((0, RUN), np.int64)
        self._count: int | None = 0
        self._chunks: Chunks | None = None
        self._next = BLOCK
        self._reserve(self._next)

    @property
    def number(self) -> int:
        """Number of chunks of candidates; chunks of candidates with a ghost come last."""
        return self.inner_number + chunks_in(self.candidates - self.inner, self.size)

    @property
    def most(self) -> int:
        """History or force indices that a chunk needs if all of its candidates touch."""
        return BLOCK * _blocks(self.size + LANES)

    @property
    def inner_number(self) -> int:
        """Number of chunks of candidates between owned particles."""
        return chunks_in(self.inner, self.size)

    @property
    def chunks(self) -> Chunks:
        """Chunks as arguments of kernels; views."""
        if self._chunks is None:
            persistent = self.forces.persistent(self.number)  # may allocate `begin` again, so that it comes first
            begin = self.forces.begin
            self._chunks = Chunks(self.size, self.most, self._begin, begin, persistent, self._capacity, self._contacts)
        return self._chunks

    @property
    def contacts(self) -> Contacts:
        """Contacts as arguments of kernels; views."""
        names = self.candidate, self._lower, self._higher
        return Contacts(*names, self.history.reshape(-1), self.forces.forces, self.ended, self.left, self.width)

    @property
    def count(self) -> int:
        """Number of contacts."""
        return int(self._contacts[: self.number].sum()) if self._count is None else self._count

    @property
    def indices(self) -> Int32s:
        """History indices of all contacts; a view."""
        count = self.count
        if self._count is None:
            self._count, number = count, self.number
            self._reserve_listed(count)
            np.cumsum(self._contacts[:number], out=self._ends[:number])
            kernels.list_contacts(number, self._begin, self._contacts, self._ends, self._listed)
        return self._listed[:count]

    @property
    def histories(self) -> Floats:
        """Histories of all contacts, (width, count), in the order of `indices`; a copy."""
        return self.at(self.indices)

    def at(self, indices: Int32s) -> Floats:
        """Return the histories with some indices, (width, n); a copy."""
        histories: Floats = self.history[indices // BLOCK, :, indices % BLOCK].T
        return histories

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        arrays = (value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return self.forces.memory + sum(arrays)

    def clear(self, columns: Sequence[int]) -> None:
        """Set some columns of all histories to 0."""
        indices = self.indices
        for column in columns:
            self.history[indices // BLOCK, column, indices % BLOCK] = 0.0

    def load(self, histories: Floats) -> None:
        """Replace all contacts by contacts with these histories, (width, count), until lists are made."""
        count = histories.shape[1]
        self._reserve(BLOCK + count)
        self._reserve_listed(count)
        indices = self._listed[:count]
        indices[:] = np.arange(BLOCK, BLOCK + count)
        self.history[indices // BLOCK, :, indices % BLOCK] = histories.T
        self._count = count

    def append(self, histories: Floats) -> None:
        """Append contacts with these histories, (width, n), until lists are made."""
        before, count = self.count, self.count + histories.shape[1]
        known = self.indices
        first, self._next = self._next, self._next + histories.shape[1]
        self._reserve(self._next)
        if len(self._listed) < count:
            self._listed = lengthened(known, with_spare(count))
        indices = self._listed[before:count]
        indices[:] = np.arange(first, self._next)
        self.history[indices // BLOCK, :, indices % BLOCK] = histories.T
        self._count = count

    def assign(
        self, size: int, candidates: Candidates, touching: Int32s, begins: Integers, window: int, scratch: Floats
    ) -> None:
        """Divide history and force indices among new candidates, and move the histories of continued contacts.

        Parameters
        ----------
        size : int
            Candidates of a chunk.
        candidates : Candidates
            ``force_index`` is one more than the position of the contact in `indices`, or 0; it is overwritten.
        touching : int32 array
            Zeros by particle; set to `UNORDERED` for particles with contacts.
        begins, window
            See `ForceStorage.assign`.
        scratch : (contacts,) array
            Overwritten.
        """
        listed = self.indices
        self.size, self.inner, self.candidates = size, candidates.inner, candidates.total
        self._chunks = None
        if len(self.work) < WORK * (len(begins) - 1):
            self.work = line_zeros(WORK * (len(begins) - 1))
        number = self.number
        if len(self._contacts) < number:
            most = with_spare(number)
            self._begin, self._ends = np.zeros(most, np.int64), np.zeros(most, np.int64)
            self._capacity, self._contacts = np.zeros(most, np.int32), np.zeros(most, np.int32)
            self._chunks = None
        kernels.count_contacts(number, SPARE, candidates, self.chunks)
        contacts, capacity, ends = self._contacts[:number], self._capacity[:number], self._ends[:number]
        self.forces.assign(begins, window, self.most, capacity)
        np.cumsum(capacity, out=ends)
        self._begin[:number] = BLOCK + ends - capacity
        self._next = BLOCK + int(capacity.sum())
        self._reserve(self._next)
        self._runs[:, FREE_HISTORY:] = 0
        kernels.assign_indices(number, listed, candidates, self.chunks, self.contacts, touching, self._source)
        np.cumsum(contacts, out=ends)
        kernels.move_histories(
            number, self.width, self._begin, contacts, ends, self._source, self.history.reshape(-1), scratch
        )
        self._count = None

    def place_forces(self, begins: Integers, window: int, candidates: Candidates, touching: Int32s) -> None:
        """Assign new force indices to all chunks, between two evaluations; histories do not move.

        Parameters
        ----------
        begins, window
            See `ForceStorage.assign`; with a window of 0 each contact has a row of its own until the next evaluation.
        candidates : Candidates
            Candidates of the present lists; ``force_index`` is overwritten.
        touching : int32 array
            Set to `UNORDERED` for particles with contacts.
        """
        number = self.number
        self.forces.assign(begins, window, self.most, self._capacity[:number])
        self._runs[:, FREE_FORCE:] = 0
        kernels.write_force_indices(number, self.candidate, candidates, self.chunks, touching)

    def plan(self, ghosts: bool, workers: int) -> Integers:
        """Return runs (workers, RUN) of the chunks with ghosts, or of the chunks without; runs may be empty."""
        first, last = (self.inner_number, self.number) if ghosts else (0, self.inner_number)
        if len(self._runs) != workers:
            self.ended = np.zeros((self._accounts + 1, workers * ENDS))
            self.left = np.zeros((3, workers * ENDS if self._leaves_at_end else 0))
            self._runs = np.zeros((workers, RUN), np.int64)
        self._count = None
        self._take(*plan_runs(self._runs, first, last, _MOVES * self.most, self._next, self.forces.following))
        return self._runs

    @property
    def reserve(self) -> int:
        """History indices that every worker has in reserve after `plan`, at least."""
        return _MOVES * self.most // 2

    def resume(self) -> None:
        """Give more room to the workers that could not finish their chunks."""
        self._take(*resume_runs(self._runs, _MOVES * self.most, self._next, self.forces.following))

    def _take(self, history: int, force: int) -> None:
        """Make room for the history and force indices below these."""
        self._next = history
        self._reserve(history)
        self.forces.extend(force)

    def _reserve_listed(self, count: int) -> None:
        if len(self._listed) < count:
            self._listed = np.zeros(with_spare(count), np.int32)

    def _reserve(self, indices: int) -> None:
        """Make room for `indices` history indices; histories stay as they are."""
        if indices <= len(self.candidate):
            return
        room = BLOCK * _blocks(int(_MARGIN * indices) + self.size)
        self.history = lengthened(self.history, room // BLOCK)
        self.candidate, self._source = lengthened(self.candidate, room), lengthened(self._source, room)
        self._lower, self._higher = lengthened(self._lower, room), lengthened(self._higher, room)


def chunks_in(candidates: int, size: int) -> int:
    """Return the number of chunks of a size for a number of candidates."""
    return -(-candidates // size)


def worker_begins(first: int, last: int, workers: int) -> Integers:
    """Return the first of the chunks `first` to `last` - 1 that each worker takes, and `last`."""
    begins: Integers = first + np.arange(workers + 1) * (last - first) // workers
    return begins


def _blocks(indices: int) -> int:
    """Return the number of blocks for a number of indices."""
    return -(-indices // BLOCK)
