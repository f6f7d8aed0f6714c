"""State of the observers of scripts, as a feature of the engine; `pdem.run.observation` calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.features.observers.observed import OBSERVED, OBSERVERS, ObservedState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.engine.feature import Columns, Groups
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine


class Observers(Feature):
    """Calls of observers, and the columns that they return.

    Attributes
    ----------
    state : ObservedState
        Last calls and last values of columns.
    """

    name, turn = "observers", Turn.MEASURE
    tables = (StateTable(OBSERVERS, observes=True), StateTable(OBSERVED, observes=True))

    def __init__(self) -> None:
        self.state = ObservedState()

    @classmethod
    def of(cls, system: System) -> Self:
        """Return observers that have not been called."""
        return cls()

    def groups(self, system: System) -> Groups:
        """Return the groups of a checkpoint, empty without observers."""
        return self.state.groups()

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue from the groups of a checkpoint."""
        self.state = ObservedState.of(groups)

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names and units of the columns that observers have returned."""
        return [(name, one.unit) for name, one in self.state.columns.items()]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the last values of these columns."""
        return {name: one.value for name, one in self.state.columns.items()}


def observed(system: System) -> ObservedState:
    """Return the state of the observers of a system."""
    return system.features.get(Observers).state
