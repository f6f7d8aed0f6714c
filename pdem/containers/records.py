"""Contacts, identified by the ids of their particles, for migration between ranks and for checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Integers


@dataclass
class PairRecords:
    """Contacts between particles.

    Attributes
    ----------
    lower, higher : (n,) int64 arrays
        Ids of the particles.
    history : (h, n) float64 array
        History columns of the contact law, oriented from the lower to the higher id.
    """

    lower: Integers
    higher: Integers
    history: Floats

    @classmethod
    def none(cls, columns: int) -> PairRecords:
        """Return no records, for histories with this number of columns."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((columns, 0)))

    def take(self, rows: Integers | Booleans) -> PairRecords:
        """Return some of the records, in the order of `rows`."""
        return PairRecords(self.lower[rows], self.higher[rows], self.history[:, rows])

    def joined(self, others: PairRecords) -> PairRecords:
        """Return the concatenation of these records and `others`."""
        return PairRecords(
            np.concatenate((self.lower, others.lower)), np.concatenate((self.higher, others.higher)),
            np.concatenate((self.history, others.history), axis=1),
        )  # fmt: skip


@dataclass
class WallRecords:
    """Contacts between particles and walls, sorted by distance within each particle.

    Attributes
    ----------
    id : (n,) int64 array
        Id of the particle.
    kind, feature, facet : (n,) int8, int64, int64 arrays
        The touched feature, by its index in the joined walls, and a facet of this feature.
    history : (h, n) float64 array
        History columns.
    """

    id: Integers
    kind: NDArray[np.int8]
    feature: Integers
    facet: Integers
    history: Floats

    @classmethod
    def none(cls, columns: int) -> WallRecords:
        """Return no records, for histories with this number of columns."""
        empty = np.empty(0, np.int64)
        return cls(empty, np.empty(0, np.int8), empty.copy(), empty.copy(), np.empty((columns, 0)))

    def take(self, rows: Integers | Booleans) -> WallRecords:
        """Return some of the records, in the order of `rows`."""
        return WallRecords(self.id[rows], self.kind[rows], self.feature[rows], self.facet[rows], self.history[:, rows])

    def joined(self, others: WallRecords) -> WallRecords:
        """Return the concatenation of these records and `others`."""
        names = "id", "kind", "feature", "facet"
        columns = {name: np.concatenate((getattr(self, name), getattr(others, name))) for name in names}
        return WallRecords(**columns, history=np.concatenate((self.history, others.history), axis=1))
