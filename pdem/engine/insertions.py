"""The insertions of a run: which there are, and when the next of them acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.containers.group import on_first_rank
from pdem.engine.insertion_source import InsertionSource
from pdem.engine.named_events import NEVER
from pdem.output.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.motion.courses import Clock


class Insertions:
    """All insertions of a case.

    Attributes
    ----------
    sources : list of InsertionSource
        In the order of the case.
    next_step : int
        Step of the next event of any, `NEVER` if there is none.
    """

    def __init__(self, sources: Sequence[InsertionSource] = ()) -> None:
        self.sources = list(sources)
        self.plan()

    def plan(self) -> None:
        """Find the step of the next event."""
        self.next_step = min((one.next_step for one in self.sources), default=NEVER)


class InsertionControl:
    """What a script sees of an insertion, the same on every rank.

    Parameters
    ----------
    insertions : Insertions
        All insertions of a simulation.
    source : InsertionSource
        This one.
    """

    def __init__(self, insertions: Insertions, source: InsertionSource) -> None:
        self._insertions, self._source = insertions, source

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
        self._insertions.plan()

    def __repr__(self) -> str:
        """Return its name, and what has come in."""
        name, came = self._source.name, counted(self.count, "particle")
        return f"InsertionControl({name!r}: {came}, {self.mass:.6g} kg, {self.waiting} waiting)"


def report_lines(insertions: Insertions) -> list[str]:
    """Return a line on each insertion for the report that ends a run."""
    return [
        f"insertion {one.name}: {counted(one.state.came, 'particle')} of {one.state.asked} asked for came in, "
        f"{one.state.mass.values()['mass']:.6g} kg"
        + (f"; {one.state.waiting} still wait for a free place" if one.state.waiting else "")
        for one in insertions.sources
    ]


def insertions_of(
    case: Case, exchange: Exchange, step: float, clocks: Mapping[str, Clock] | None = None
) -> Insertions:
    """Return the insertions of a case at time 0, with a time step [s] and the clocks of its stages. Collective.

    Raises
    ------
    CaseError
        On all ranks, if a file that an insertion names cannot be used, or a face is no plane.
    """
    if not case.insertions:
        return Insertions()
    numbers = range(len(case.insertions))
    sources = on_first_rank(
        exchange, lambda: [InsertionSource(case, index, step, clocks) for index in numbers]
    )
    for one in sources:
        one.follow(clocks or {})  # a copy from the first rank has a clock of its own
    return Insertions(sources)
