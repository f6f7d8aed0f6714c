"""Read access to the contacts between particles after an evaluation: touching candidates and their histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.records import PairRecords
from pdem.detection.neighbours import ALL_STAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.contact.pairs.history_storage import HistoryStorage
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

_PIECE = 1 << 16  # contacts


class PairReadings:
    """The read-only part of `pdem.contact.pairs.contacts.PairContacts`."""

    lower: Int32s
    higher: Int32s
    storage: HistoryStorage
    _start: Integers

    def records(self, particles: Particles, leaves: Booleans = ALL_STAY) -> PairRecords:
        """Return contacts of the last evaluation by the ids of their particles (copies).

        Contacts of the owned particles that leave, or all contacts if `leaves` is empty.
        """
        rows, indices, ids = self.touching, self.storage.indices, particles.column("id")
        if len(leaves):
            leaving = np.concatenate((leaves, np.zeros(particles.ghosts, np.bool_)))
            some = np.flatnonzero(leaving[self.lower[rows]] | leaving[self.higher[rows]])
            rows, indices = rows[some], indices[some]
        return PairRecords(ids[self.lower[rows]], ids[self.higher[rows]], self.storage.at(indices))

    def pieces(self) -> Iterator[tuple[Int32s, Floats]]:
        """Return `touching` and `histories` piece by piece, since copies of all contacts would double the memory."""
        known = self.storage.indices
        for first in range(0, len(known), _PIECE):
            indices = known[first : first + _PIECE]
            yield self.storage.candidate[indices], self.storage.at(indices)

    @property
    def touching(self) -> Int32s:
        """Candidate of each contact; a copy."""
        return self.storage.candidate[self.storage.indices]

    def rows(self, owned: int) -> Integers:
        """Return the number of candidate pairs of each owned particle."""
        return np.diff(self._start[: owned + 1])
