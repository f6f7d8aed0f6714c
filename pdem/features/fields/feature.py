"""The continuum fields of a run as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pdem.continuum.sums import Rooms
from pdem.engine.feature import Feature, first_event
from pdem.engine.feature_set import Turn
from pdem.features.fields.averages import FieldAverage
from pdem.features.fields.sampling import take_samples
from pdem.features.fields.state import TABLES, average_groups, load_averages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.engine.feature import Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System


class Fields(Feature):
    """All continuum fields of a case.

    Attributes
    ----------
    averages : list of FieldAverage
        Averages in the order of the case.
    rooms : Rooms
        Work arrays that all averages share.
    """

    name, turn, tables = "fields", Turn.MEASURE, TABLES

    def __init__(self, averages: Sequence[FieldAverage] = ()) -> None:
        self.averages, self.rooms = list(averages), Rooms()

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the fields of a case at time 0."""
        case, step = system.case, system.constants.time_step.dt
        return cls([FieldAverage(case, index, step) for index in range(len(case.fields))])

    @property
    def next_step(self) -> int:
        """Step of the next event of any, `NEVER` if there is none."""
        return first_event(self.averages)

    def act(self, system: System, phases: Phases) -> None:
        """Take the samples that are due at the present step. Collective."""
        take_samples(system, [one for one in self.averages if one.next_step <= system.progress.step], self.rooms)
        phases.lap("fields")

    def groups(self, system: System) -> Groups:
        """Return the groups of a checkpoint, the same on every rank."""
        return average_groups(self.averages)

    def load(self, system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Continue from the groups of a checkpoint; averages that are new or have new cells begin now."""
        load_averages(self.averages, system.progress.step, groups)

    @property
    def output_intervals(self) -> list[int]:
        """Steps between two outputs of each of the fields."""
        return [one.window for one in self.averages]
