"""Where it is remembered what contacts do to their particles, until that has been added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdem.contact.pair_stages import BLOCK, LOADS
from pdem.foundation.arrays import lengthened, with_spare


class LoadRows:
    """Rows of `LOADS` numbers, one for each contact of a chunk; row 0 stands for "no contact".

    Rows of most chunks are used again by a later chunk of the same worker, so that they stay in the caches. Those of
    chunks with a particle that is added up late are their own to the end of the step.

    Attributes
    ----------
    numbers : (rows * LOADS + spare,) array
        What contacts do to their particles, see `pdem.contact.pair_stages`.
    first : int64 array
        By chunk, the row of its first contact.
    keeps : bool
        Whether any chunk has rows of its own to the end of the step.
    """

    def __init__(self) -> None:
        self.numbers = np.zeros(LOADS * BLOCK)
        self.first = np.zeros(0, np.int64)
        self.keeps = False
        self._kept = np.zeros(0, np.bool_)
        self._next = BLOCK

    def kept(self, chunks: int) -> NDArray[np.bool_]:
        """Return where to say which chunks have rows of their own to the end; what stands there does not matter."""
        if len(self._kept) < chunks:
            room = with_spare(chunks)
            self._kept, self.first = np.zeros(room, np.bool_), np.zeros(room, np.int64)
        return self._kept[:chunks]

    def divide(self, begins: NDArray[np.int64], window: int, most: int, room: NDArray[np.int32]) -> None:
        """Give rows to the chunks.

        Parameters
        ----------
        begins : int64 array
            First chunks of the workers, and the one behind the last of these.
        window : int
            After so many chunks a worker uses rows again, but for those chunks that are `kept`; 0 for never.
        most : int
            Rows that any chunk can need.
        room : int32 array
            Rows that each chunk needs of its own.
        """
        chunks = len(room)
        kept, first = self.kept(chunks), self.first[:chunks]
        if window == 0:
            kept[:] = True
        self.keeps = bool(kept.any())
        number = np.arange(chunks)
        worker = np.searchsorted(begins[1:-1], number, side="right")
        first[:] = BLOCK + most * (worker * window + number % max(window, 1))
        self._next = BLOCK + most * window * (len(begins) - 1)
        own = np.where(kept, room, 0)
        ends = self._next + np.cumsum(own)
        np.copyto(first, ends - own, where=kept)
        self._next += int(own.sum())
        self._reserve()

    def more(self, rows: int) -> int:
        """Return the first of so many rows that no chunk has."""
        first = self._next
        self._next += rows
        self._reserve()
        return first

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return self.numbers.nbytes + self.first.nbytes + self._kept.nbytes

    def _reserve(self) -> None:
        """Make room for all rows, keeping what is there, and for one number that is read behind the last row."""
        if LOADS * self._next >= len(self.numbers):
            self.numbers = lengthened(self.numbers, LOADS * with_spare(self._next))
