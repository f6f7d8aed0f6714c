"""Where contacts with walls are kept: their histories, and what is found of them in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.contact_rows import REAL_COLUMNS
from pdem.contact.law import HISTORY, OVERLAP
from pdem.contact.pairs.history import UNKNOWN
from pdem.contact.pairs.layout import BLOCK
from pdem.contact.signed_patches import SIGNED_COLUMNS
from pdem.contact.wall_kernels import TILE
from pdem.contact.wall_stages import LOAD, WALL_HISTORY, WALL_WORK
from pdem.foundation.arrays import line_zeros, with_spare
from pdem.foundation.transposition import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray


class WallRows:
    """Contacts of one evaluation: kind, feature, facet and history by row; their number by particle near a wall.

    Histories, of shape (rows + 1, `WALL_HISTORY`), are one row on: row 0 is that of a contact that begins.
    """

    def __init__(self, rows: int, particles: int) -> None:
        self.kind = np.zeros(rows, np.int8)
        self.feature = np.zeros(rows, np.int64)
        self.facet = np.zeros(rows, np.int64)
        self.history = line_zeros((rows + 1, WALL_HISTORY))
        self.history[0, OVERLAP] = UNKNOWN
        self.counts = np.zeros(particles, np.int32)

    def arrays(self) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return what the kernel takes."""
        return self.kind, self.feature, self.facet, self.history.reshape(-1)


class WallRoom:
    """What is found of contacts with walls in one step.

    Parameters
    ----------
    rows : int
        For so many contacts.
    largest_order : int
        Vertices of the largest facet for the signed contact sum, 0 for the double hierarchy.

    Attributes
    ----------
    force : (rows, LOAD) array
        What contacts do to their particles.
    scratch : tuple of ndarray
        Two tables of `pdem.contact.signed_sum.resolve_signed`, point, normal, overlap, overlap by energy, weight and
        the row of the history that goes on.
    tally : (rows, 1 + 2 largest_order) int32 array or None
        The third table.
    lists : tuple of 3 int32 arrays
        Contacts as they are evaluated: their rows, their particles, and which of those near a wall these are.
    kept, work : arrays
        Columns of each worker.
    """

    def __init__(self, rows: int, largest_order: int) -> None:
        self.force = np.zeros((rows, LOAD))
        self.scratch: tuple[NDArray[Any], ...] = (
            np.empty((rows, REAL_COLUMNS)), np.empty((rows, SIGNED_COLUMNS), np.int64),
            np.empty((rows, 3)), np.empty((rows, 3)), np.empty(rows), np.empty(rows),
            np.empty(rows, np.int64), np.empty(rows, np.int64),
        )  # fmt: skip
        self.tally = np.empty((rows, 1 + 2 * largest_order), np.int32) if largest_order else None
        self.lists: tuple[NDArray[np.int32], ...] = ()
        self.kept, self.work = np.empty(0), np.empty(0)

    @property
    def point(self) -> NDArray[np.float64]:
        """Where forces act [m], (rows, 3)."""
        return self.scratch[2]

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        arrays = (*self.scratch, *self.lists, self.force, self.kept, self.work)
        return sum(one.nbytes for one in arrays) + (0 if self.tally is None else self.tally.nbytes)

    def reserve_columns(self, near: int, workers: int) -> None:
        """Make room for the lists of so many particles near a wall, and for the columns of so many workers."""
        room = len(self.force) + LANES * (near // TILE + workers + 1)
        if not self.lists or room > len(self.lists[0]):
            self.lists = tuple(np.empty(with_spare(room), np.int32) for _ in range(3))
        if workers * WALL_WORK > len(self.work):
            self.kept, self.work = line_zeros(workers * HISTORY * BLOCK), line_zeros(workers * WALL_WORK)
