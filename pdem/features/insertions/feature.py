"""The insertions of a run as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pdem.containers.group import on_first_rank
from pdem.engine.feature import Feature, first_event
from pdem.engine.feature_set import Turn
from pdem.features.insertions.control import InsertionControl
from pdem.features.insertions.events import act_insertions
from pdem.features.insertions.source import InsertionSource
from pdem.features.insertions.state import TABLES, insertion_groups, load_insertions
from pdem.output.summary import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.engine.feature import Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine


class Insertions(Feature):
    """All insertions of a case.

    Attributes
    ----------
    sources : list of InsertionSource
        Insertions in the order of the case.
    """

    name, turn, tables = "insertions", Turn.INSERT, TABLES

    def __init__(self, sources: Sequence[InsertionSource] = ()) -> None:
        self.sources = list(sources)

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the insertions of a case at time 0. Collective.

        Raises
        ------
        CaseError
            On all ranks, if a file that an insertion names cannot be used, or a face is no plane.
        """
        case, step, clocks = system.case, system.constants.time_step.dt, system.stages.clocks
        if not case.insertions:
            return cls()
        numbers = range(len(case.insertions))
        sources = on_first_rank(
            system.exchange, lambda: [InsertionSource(case, index, step, clocks) for index in numbers]
        )
        for one in sources:
            one.follow(clocks)  # a copy from the first rank has a clock of its own
        return cls(sources)

    @property
    def next_step(self) -> int:
        """Step of the next event of any, `NEVER` if there is none."""
        return first_event(self.sources)

    @property
    def controls(self) -> dict[str, InsertionControl]:
        """Controls of the insertions for scripts, by name."""
        return {one.name: InsertionControl(one) for one in self.sources}

    def act(self, system: System, phases: Phases) -> None:
        """Insert the particles that are due at the present step. Collective."""
        act_insertions(system, self.sources, phases)

    def begin_stage(self, system: System) -> None:
        """Begin the insertions with a start that counts from the present stage."""
        for source in self.sources:
            if source.stage == system.stages.section.name:
                source.begin_at(system.progress.step)

    def groups(self, system: System) -> Groups:
        """Return the groups of a checkpoint, the same on every rank."""
        return insertion_groups(self.sources, system.progress.step)

    def load(self, system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Continue from the groups of a checkpoint; new insertions begin at the present step."""
        load_insertions(self.sources, system.progress.step, groups)

    @property
    def largest_radius(self) -> float:
        """Largest radius of particles that may be inserted [m]."""
        return max((one.sizes.largest for one in self.sources), default=0.0)

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column of one insertion."""
        return float(next(one for one in self.sources if one.name == owner).report()[name])

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns of all insertions."""
        return [column for one in self.sources for column in one.columns]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns."""
        return {name: value for one in self.sources for name, value in one.report().items()}

    def finish(self, system: System, folder: Path) -> list[str]:
        """Return a line on each insertion for the report that ends a run."""
        return [
            f"insertion {one.name}: {counted(one.state.came, 'particle')} of {one.state.asked} asked for came in, "
            f"{one.state.mass.values()['mass']:.6g} kg"
            + (f"; {one.state.waiting} still wait for a free place" if one.state.waiting else "")
            for one in self.sources
        ]
