"""Where the forces of contacts are kept until they have been summed."""

from __future__ import annotations

import numpy as np

from pdem.contact.pairs.layout import BLOCK
from pdem.foundation.array_types import Booleans, Int32s, Integers
from pdem.numerics.arrays import lengthened, line_zeros, with_spare


class ForceStorage:
    """What contacts do to their particles, by force index; index 0 stands for "no contact".

    Most chunks leave theirs to a later chunk of the same worker, so that they stay in the caches. Chunks with a
    particle whose forces are summed at the end of the step keep theirs until then.

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
        """Return a writable flag for each chunk, uninitialised: True if it keeps its forces to the end of the step."""
        if len(self._persistent) < chunks:
            room = with_spare(chunks)
            self._persistent, self.begin = np.zeros(room, np.bool_), np.zeros(room, np.int64)
        return self._persistent[:chunks]

    def mark_again(self) -> None:
        """Let the same chunks keep their forces as before all of them did."""
        self._persistent[: len(self._marks)] = self._marks

    def assign(self, begins: Integers, window: int, most: int, capacity: Int32s) -> None:
        """Give force indices to the chunks.

        Parameters
        ----------
        begins : int64 array
            First chunks of the workers, and the one behind the last of these.
        window : int
            After so many chunks a worker reuses force indices, but for those of persistent chunks; 0 for never.
        most : int
            Force indices that any chunk can need.
        capacity : int32 array
            Force indices that each chunk needs if it keeps them.
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
        """The first force index that nobody has, 0 if no chunk keeps its own until the end of the step."""
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
        """Make room for all rows, keeping what is there."""
        if self._next > len(self.forces):
            self.forces = lengthened(self.forces, with_spare(self._next))
