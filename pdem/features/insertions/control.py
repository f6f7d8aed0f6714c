"""Control of an insertion by a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.named_events import NEVER
from pdem.output.summary import counted

if TYPE_CHECKING:
    from pdem.features.insertions.source import InsertionSource


class InsertionControl:
    """An insertion as a script sees it, the same on every rank.

    Parameters
    ----------
    source : InsertionSource
        The insertion.
    """

    def __init__(self, source: InsertionSource) -> None:
        self._source = source

    @property
    def count(self) -> int:
        """Number of inserted particles."""
        return self._source.state.came

    @property
    def mass(self) -> float:
        """Mass of inserted particles [kg]."""
        return self._source.state.mass.values()["mass"]

    @property
    def waiting(self) -> int:
        """Number of requested particles that have no free position yet."""
        return self._source.state.waiting

    @property
    def running(self) -> bool:
        """Whether further particles can be inserted."""
        return self._source.next_step != NEVER

    def stop(self) -> None:
        """Stop the insertion for good, also after a restart. Call it on all ranks, between steps."""
        self._source.state.stopped = True

    def __repr__(self) -> str:
        """Return its name, and number and mass of inserted particles."""
        name, came = self._source.name, counted(self.count, "particle")
        return f"InsertionControl({name!r}: {came}, {self.mass:.6g} kg, {self.waiting} waiting)"
