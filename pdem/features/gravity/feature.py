"""Gravity that changes, as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pdem.case.gravity import gravity_changes
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.engine.named_events import NEVER
from pdem.features.gravity.course import course_of
from pdem.features.gravity.events import change_gravity, set_gravity

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.features.gravity.course import GravityCourse


class ChangingGravity(Feature):
    """Changing gravity of a case.

    Attributes
    ----------
    course : GravityCourse or None
        Gravity at any time; None if it is constant.
    """

    acts_when_frozen = False
    name, turn = "gravity", Turn.CHANGE_GRAVITY
    energy_terms = (EnergyTerm("gravity_work", Role.SUPPLIED, summed=True, before="own_forces"),)

    def __init__(self, course: GravityCourse | None = None) -> None:
        self.course = course

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the gravity of a case. Collective.

        Raises
        ------
        CaseError
            On all ranks, if the file of a table cannot be used.
        """
        return cls(course_of(system.case, system.exchange, system.constants.time_step.dt))

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the name of the work of changes of gravity, nothing if gravity is constant."""
        return ("gravity_work",) if gravity_changes(case) else ()

    @property
    def next_step(self) -> int:
        """Step of the next change by a table, `NEVER` if there is none."""
        return NEVER if self.course is None else self.course.next_step

    def act(self, system: System, phases: Phases) -> None:
        """Change gravity as its table says."""
        self.change_stage(system)

    def enter_stage(self, system: System) -> None:
        """Set the gravity of a loaded system to its value at its step and stage."""
        if self.course is not None:
            set_gravity(system, self.course)

    def change_stage(self, system: System) -> None:
        """Change gravity to its value at the present stage and step."""
        if self.course is not None:
            change_gravity(system, self.course)

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names and units of the components of gravity, none if it never changes."""
        return [] if self.course is None else [(f"gravity_{axis}", "m/s2") for axis in "xyz"]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return present gravity."""
        names = [name for name, *_ in self.columns(system)]
        return dict(zip(names, system.constants.gravity.tolist(), strict=False))
