"""What ranks have to do when they begin, counted without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdem.containers.exchange import Traffic

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers


@dataclass(frozen=True)
class Division:
    """The numbers of particles, ghosts and messages of P ranks, with L levels of size.

    Attributes
    ----------
    owner : (n,) int64 array
        Rank of each particle.
    owned, ghosts, sent : (P, L) int64 arrays
        Particles of each rank, copies it has of others', copies of its own that others have.
    neighbours : (P,) int64 array
        Ranks that each exchanges copies with, one way or both.
    sends, receives : (P,) int64 arrays
        Messages of each rank in a step.
    sent_bytes, received_bytes : (P,) int64 arrays
        Of these messages.
    """

    owner: Integers
    owned: Integers
    ghosts: Integers
    sent: Integers
    neighbours: Integers
    sends: Integers
    receives: Integers
    sent_bytes: Integers
    received_bytes: Integers

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.owned)

    def traffic(self, rank: int) -> Traffic:
        """Return what a rank has to do with others in a step."""
        columns = self.sends, self.receives, self.sent_bytes, self.received_bytes
        return Traffic(*(int(column[rank]) for column in columns))
