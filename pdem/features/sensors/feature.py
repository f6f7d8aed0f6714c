"""The sensors of a run as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pdem.containers.group import on_first_rank
from pdem.engine.feature import Feature, first_event
from pdem.engine.feature_set import Turn
from pdem.features.sensors import report
from pdem.features.sensors.events import act_sensors
from pdem.features.sensors.place import SensorPlace
from pdem.features.sensors.state import TABLES, load_sensors, sensor_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.engine.feature import Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine


class Sensors(Feature):
    """All sensors of a case.

    Attributes
    ----------
    places : list of SensorPlace
        Sensors in the order of the case.
    """

    acts_when_frozen = False
    name, turn, tables = "sensors", Turn.COUNT, TABLES

    def __init__(self, places: Sequence[SensorPlace] = ()) -> None:
        self.places = list(places)

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the sensors of a case at time 0. Collective.

        Raises
        ------
        CaseError
            On all ranks, if a file that a sensor names cannot be used, or a face is no plane.
        """
        case, step = system.case, system.constants.time_step.dt
        if not case.sensors:
            return cls()
        numbers = range(len(case.sensors))
        return cls(on_first_rank(system.exchange, lambda: [SensorPlace(case, index, step) for index in numbers]))

    @property
    def next_step(self) -> int:
        """Step of the next event of any, `NEVER` if there is none."""
        return first_event(self.places)

    def act(self, system: System, phases: Phases) -> None:
        """Evaluate all sensors that are due at the present step. Collective."""
        act_sensors(system, self.places, phases)

    def enter_stage(self, system: System) -> None:
        """Enter the present stage of a loaded state."""
        for one in self.places:
            one.enter(system.stages.present)

    def begin_stage(self, system: System) -> None:
        """Begin the present stage at the present step."""
        for one in self.places:
            one.begin(system.stages.present, system.progress.step)

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the groups of a checkpoint."""
        return sensor_groups(self.places)

    def load(self, system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Continue from the groups of a checkpoint; new sensors begin at the present step. Collective."""
        load_sensors(system, self.places, groups)

    def reported(self, system: System) -> dict[str, dict[str, float]]:
        """Return the values of all sensors, by name and by column without the name. Collective."""
        return report.reported(system, self.places)

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column of one sensor. Collective."""
        place = next(one for one in self.places if one.name == owner)
        return float(report.sensor_values(system, place)[name])

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns of all sensors."""
        return [column for one in self.places for column in one.columns]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns; flows of the next line are means since this line. Collective."""
        return report.line_values(system, self.places, line)

    def finish(self, system: System, folder: Path) -> list[str]:
        """Write the stays in each region into a folder; return lines for the report. Collective."""
        return report.finish_sensors(system, self.places, folder)
