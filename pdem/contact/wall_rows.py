"""The contacts with walls of one evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.wall_kernels import WALL_HISTORY

if TYPE_CHECKING:
    from numpy.typing import NDArray


class WallRows:
    """Contacts of one evaluation: kind, feature, facet and history by row; their number by particle near a wall."""

    def __init__(self, rows: int, particles: int) -> None:
        self.kind = np.zeros(rows, np.int8)
        self.feature = np.zeros(rows, np.int64)
        self.facet = np.zeros(rows, np.int64)
        self.history = np.zeros((WALL_HISTORY, rows + 1))
        self.counts = np.zeros(particles, np.int32)

    def arrays(self) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return what the kernel takes."""
        return self.kind, self.feature, self.facet, self.history
