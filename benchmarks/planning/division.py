"""Work and messages of ranks at the beginning of a run, counted without these ranks."""

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
        Particles of each rank, its ghosts, and its particles that are ghosts of other ranks.
    neighbours : (P,) int64 array
        Number of ranks with which each rank exchanges copies, in one or both directions.
    sends, receives : (P,) int64 arrays
        Messages of each rank in a step.
    sent_bytes, received_bytes : (P,) int64 arrays
        Size of these messages.
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
        """Return the messages and bytes of a rank in a step."""
        columns = self.sends, self.receives, self.sent_bytes, self.received_bytes
        return Traffic(*(int(column[rank]) for column in columns))
