"""Particles that leave the domain, as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from pdem.case.columns import LEFT, balance_columns
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER
from pdem.features.departures.events import EVERY, remove_escaped
from pdem.features.departures.left import Left
from pdem.features.departures.report import balance_values, departure_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pdem.engine.feature import Columns, Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine


class Departures(Feature):
    """Particles that have left the domain, and the step of the next check.

    Attributes
    ----------
    left : Left
        Numbers and masses by side.
    is_open : bool
        Whether the domain has sides through which particles can leave.
    """

    acts_when_frozen = False
    name, turn, needs_forces = "balance", Turn.LEAVE, False
    tables = (StateTable(LEFT, observes=True),)

    def __init__(self, *, is_open: bool = False) -> None:
        self.left, self.is_open, self._next = Left(), is_open, NEVER

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the departures of a case at time 0."""
        return cls(is_open=bool(np.isfinite(system.constants.lowest).any()))

    @property
    def next_step(self) -> int:
        """Step of the next check for particles outside, `NEVER` if none can leave."""
        return self._next if self.is_open else NEVER

    def act(self, system: System, phases: Phases) -> None:
        """Remove particles outside the domain. Collective."""
        remove_escaped(system, self.left, phases)
        self._plan(system.progress.step + 1)

    def _plan(self, first: int) -> None:
        """Set the step of the next check: the first due step from `first` on."""
        self._next = -(-first // EVERY) * EVERY

    def groups(self, system: System) -> Groups:
        """Return the group of a checkpoint."""
        return self.left.groups()

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue from the group of a checkpoint; earlier versions did not write it."""
        self.left.load(groups)
        self._plan(system.progress.step)

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column. Collective."""
        return float(balance_values(system, self.left)[name])

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns of the mass inside, and of the departures."""
        return list(balance_columns(system.case))

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns. Collective."""
        return balance_values(system, self.left)

    def finish(self, system: System, folder: Path) -> list[str]:
        """Return a line for the report, if anything has left the domain."""
        return departure_lines(system, self.left)
