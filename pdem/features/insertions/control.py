"""What a script sees of an insertion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.named_events import NEVER
from pdem.output.summary import counted

if TYPE_CHECKING:
    from pdem.features.insertions.source import InsertionSource


class InsertionControl:
    """What a script sees of an insertion, the same on every rank.

    Parameters
    ----------
    source : InsertionSource
        The insertion.
    """

    def __init__(self, source: InsertionSource) -> None:
        self._source = source

    @property
    def count(self) -> int:
        """Number of particles that have come in."""
        return self._source.state.came

    @property
    def mass(self) -> float:
        """Their mass [kg]."""
        return self._source.state.mass.values()["mass"]

    @property
    def waiting(self) -> int:
        """Number of particles that were asked for and have found no free place yet."""
        return self._source.state.waiting

    @property
    def running(self) -> bool:
        """Whether more can come in."""
        return self._source.next_step != NEVER

    def stop(self) -> None:
        """Let nothing more come in, also not after a restart. Call it on all ranks, between steps."""
        self._source.state.stopped = True

    def __repr__(self) -> str:
        """Return its name, and what has come in."""
        name, came = self._source.name, counted(self.count, "particle")
        return f"InsertionControl({name!r}: {came}, {self.mass:.6g} kg, {self.waiting} waiting)"
