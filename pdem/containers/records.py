"""Contacts by the ids of their particles: how they migrate between ranks and are kept in checkpoints."""

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
        Ids.
    history : (h, n) float64 array
        History columns of the contact law, oriented from the lower to the higher id.
    """

    lower: Integers
    higher: Integers
    history: Floats

    @classmethod
    def none(cls, columns: int) -> PairRecords:
        """Return no records, of histories with so many columns."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((columns, 0)))

    def take(self, rows: Integers | Booleans) -> PairRecords:
        """Return some of the records, in the order of `rows`."""
        return PairRecords(self.lower[rows], self.higher[rows], self.history[:, rows])

    def joined(self, others: PairRecords) -> PairRecords:
        """Return these records, and others behind them."""
        return PairRecords(
            np.concatenate((self.lower, others.lower)), np.concatenate((self.higher, others.higher)),
            np.concatenate((self.history, others.history), axis=1),
        )  # fmt: skip


@dataclass
class WallRecords:
    """Contacts between particles and walls, those of one particle in order of distance.

    Attributes
    ----------
    id : (n,) int64 array
        Particle.
    kind, feature, facet : (n,) int8, int64, int64 arrays
        What is touched, in the numbers of all walls joined, and a facet there.
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
        """Return no records, of histories with so many columns."""
        empty = np.empty(0, np.int64)
        return cls(empty, np.empty(0, np.int8), empty.copy(), empty.copy(), np.empty((columns, 0)))

    def take(self, rows: Integers | Booleans) -> WallRecords:
        """Return some of the records, in the order of `rows`."""
        return WallRecords(self.id[rows], self.kind[rows], self.feature[rows], self.facet[rows], self.history[:, rows])

    def joined(self, others: WallRecords) -> WallRecords:
        """Return these records, and others behind them."""
        names = "id", "kind", "feature", "facet"
        columns = {name: np.concatenate((getattr(self, name), getattr(others, name))) for name in names}
        return WallRecords(**columns, history=np.concatenate((self.history, others.history), axis=1))
