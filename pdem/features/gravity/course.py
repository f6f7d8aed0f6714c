"""Gravity that changes while a case runs, by tables and stages: its value from a step on, and the next change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import gravity_changes, table_values
from pdem.containers.group import on_first_rank
from pdem.engine.named_events import NEVER
from pdem.foundation.interpolation import interpolated

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.case.sections.gravity import GravityTable
    from pdem.containers.exchange import Exchange
    from pdem.engine.stages.timeline import Stages
    from pdem.foundation.array_types import Floats

STEPS_OF_TABLE = 20
"""Default number of steps between two values of a table."""


class TabulatedGravity:
    """Gravity by a table, constant over intervals of some steps: the value at the middle of each interval.

    Parameters
    ----------
    case : Case
        The case.
    table : GravityTable
        Table of the case.
    step : float
        Time step [s].

    Raises
    ------
    CaseError
        If its file cannot be used.
    """

    def __init__(self, case: Case, table: GravityTable, step: float) -> None:
        self._times, self._values = table_values(case, table)
        self._interval = STEPS_OF_TABLE if table.every is None else max(1, round(table.every / step))
        self._step = step

    def at(self, steps: int) -> Floats:
        """Return gravity (3,) [m/s^2] from `steps` steps after the begin of the table on."""
        middle = (steps // self._interval + 0.5) * self._interval * self._step
        return np.asarray(interpolated(middle, self._times, self._values))

    def next_change(self, steps: int) -> int:
        """Return the number of steps after which gravity may change, `NEVER` after the end of the table."""
        length = self._interval * self._step
        if (steps // self._interval + 0.5) * length >= self._times[-1]:
            return NEVER
        # before the table begins nothing changes
        first = int(max(self._times[0], 0.0) / length)
        return max(steps // self._interval + 1, first) * self._interval


class GravityCourse:
    """Gravity of a run, and its next change.

    Parameters
    ----------
    case : Case
        The case.
    step : float
        Time step [s].

    Attributes
    ----------
    next_step : int
        Step of the next change by a table, `NEVER` if there is none.

    Raises
    ------
    CaseError
        If the file of a table cannot be used.
    """

    def __init__(self, case: Case, step: float) -> None:
        self._given: list[TabulatedGravity | Floats | None] = [
            self._of(case, case.domain.gravity, case.domain.gravity_table, step),
            *(self._of(case, stage.gravity, stage.gravity_table, step) for stage in case.stages),
        ]
        self.next_step = NEVER

    @staticmethod
    def _of(
        case: Case, constant: tuple[float, ...] | None, table: GravityTable | None, step: float
    ) -> TabulatedGravity | Floats | None:
        if table is not None:
            return TabulatedGravity(case, table, step)
        return None if constant is None else np.array(constant, np.float64)

    def plan(self, stages: Stages, step: int) -> None:
        """Find the step of the next change, after a step in the present stage."""
        given, begin = self._present(stages)
        following = given.next_change(step - begin) if isinstance(given, TabulatedGravity) else NEVER
        self.next_step = NEVER if following == NEVER else begin + following

    def at(self, stages: Stages, step: int) -> Floats:
        """Return gravity (3,) from a step on in the present stage [m/s^2]."""
        given, begin = self._present(stages)
        return given.at(step - begin) if isinstance(given, TabulatedGravity) else given

    def _present(self, stages: Stages) -> tuple[TabulatedGravity | Floats, int]:
        """Return the gravity of the last stage that sets one, and the step from which it holds."""
        for number in range(min(stages.present, len(stages.states) - 1), -1, -1):
            given = self._given[1 + number]
            if given is not None:
                return given, max(stages.states[number].begin, 0)
        base = self._given[0]
        assert base is not None
        return base, 0


def course_of(case: Case, exchange: Exchange, step: float) -> GravityCourse | None:
    """Return the course of gravity of a case, None if gravity is constant, with a time step [s]. Collective.

    Raises
    ------
    CaseError
        On all ranks, if the file of a table cannot be used.
    """
    staged = any(stage.gravity is not None for stage in case.stages)
    if not (gravity_changes(case) or staged):
        return None
    return on_first_rank(exchange, lambda: GravityCourse(case, step))
