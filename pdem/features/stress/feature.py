"""Stress, fabric and coordination of all particles, as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pdem.case.columns import stress_columns, writes_stress
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.engine.views.stress import stress_of

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine


class StressOfAll(Feature):
    """Columns of the stress of all particles, if the case has them, and the quantities of conditions."""

    name, turn = "stress", Turn.MEASURE

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the feature, which has no state."""
        return cls()

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column. Collective."""
        names = [column for column, *_ in stress_columns(system.constants.dimension)]
        return float(stress_of(system).columns[names.index(name)])

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns, empty if the case does not have them."""
        return list(stress_columns(system.constants.dimension)) if writes_stress(system.case) else []

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns. Collective."""
        names = [name for name, *_ in self.columns(system)]
        return dict(zip(names, stress_of(system, None, line.contacts).columns, strict=True)) if names else {}
