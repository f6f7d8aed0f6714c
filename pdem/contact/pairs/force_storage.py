"""Memory for the forces of contacts until they have been summed."""

from __future__ import annotations

import numpy as np

from pdem.contact.pairs.layout import BLOCK
from pdem.foundation.array_types import Booleans, Int32s, Integers
from pdem.numerics.arrays import lengthened, line_zeros, with_spare


class ForceStorage:
    """Forces and torques of contacts by force index; index 0 means "no contact".

    Most chunks share their rows with later chunks of the same worker, so that rows stay in the caches. Chunks with a
    particle that is summed at the end of the step have rows of their own until that sum.

    Parameters
    ----------
    width : int
        Numbers of a contact, see `pdem.contact.pairs.layout.force_row_of`.

    Attributes
    ----------
    forces : (indices, width) array
        The rows.
    begin : int64 array
        First force index of each chunk.
    any_persistent : bool
        Whether any chunk has force indices of its own until the end of the step.
    """

    def __init__(self, width: int) -> None:
        self.forces = line_zeros((BLOCK, width))
        self.begin = np.zeros(0, np.int64)
        self.any_persistent = False
        self._persistent, self._marks = np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        self._next = BLOCK

    def persistent(self, chunks: int) -> Booleans:
        """Return a writable flag for each chunk, uninitialised: True if its forces stay until the end of the step."""
        if len(self._persistent) < chunks:
            room = with_spare(chunks)
            self._persistent, self.begin = np.zeros(room, np.bool_), np.zeros(room, np.int64)
        return self._persistent[:chunks]

    def mark_again(self) -> None:
        """Restore the flags of persistent chunks from before all chunks were persistent."""
        self._persistent[: len(self._marks)] = self._marks

    def assign(self, begins: Integers, window: int, most: int, capacity: Int32s) -> None:
        """Assign force indices to the chunks.

        Parameters
        ----------
        begins : int64 array
            First chunks of the workers, and the end of all chunks.
        window : int
            Number of chunks after which a worker uses force indices again, except for persistent chunks; 0 for never.
        most : int
            Force indices that any chunk can need.
        capacity : int32 array
            Force indices of each chunk if it is persistent.
        """
        chunks = len(capacity)
        persistent, first = self.persistent(chunks), self.begin[:chunks]
        if window == 0:
            self._marks = persistent.copy()
            persistent[:] = True
        self.any_persistent = bool(persistent.any())
        number = np.arange(chunks)
        worker = np.searchsorted(begins[1:-1], number, side="right")
        first[:] = BLOCK + most * (worker * window + number % max(window, 1))
        self._next = BLOCK + most * window * (len(begins) - 1)
        own = np.where(persistent, capacity, 0)
        ends = self._next + np.cumsum(own)
        np.copyto(first, ends - own, where=persistent)
        self._next += int(own.sum())
        self._reserve()

    @property
    def following(self) -> int:
        """The first free force index, 0 if no chunk is persistent."""
        return self._next if self.any_persistent else 0

    def extend(self, following: int) -> None:
        """Make room for the force indices below this one."""
        if following > self._next:
            self._next = following
            self._reserve()

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return self.forces.nbytes + self.begin.nbytes + self._persistent.nbytes

    def _reserve(self) -> None:
        """Make room for all rows; rows stay as they are."""
        if self._next > len(self.forces):
            self.forces = lengthened(self.forces, with_spare(self._next))
