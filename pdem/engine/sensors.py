"""The sensors of a run: which there are, when the next of them acts, and what they report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.containers.group import on_first_rank
from pdem.engine.named_events import NEVER
from pdem.engine.sensor import SensorPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange


class Sensors:
    """All sensors of a case.

    Attributes
    ----------
    places : list of SensorPlace
        In the order of the case.
    next_step : int
        Step of the next event of any, `NEVER` if there is none.
    """

    def __init__(self, places: Sequence[SensorPlace] = ()) -> None:
        self.places = list(places)
        self.plan()

    def plan(self) -> None:
        """Find the step of the next event."""
        self.next_step = min((one.next_step for one in self.places), default=NEVER)

    def enter(self, stage: int) -> None:
        """Be in a stage of a loaded run, by its number."""
        for one in self.places:
            one.enter(stage)
        self.plan()

    def begin(self, stage: int, step: int) -> None:
        """Begin a stage, by its number, at a step."""
        for one in self.places:
            one.begin(stage, step)
        self.plan()


def sensors_of(case: Case, exchange: Exchange, step: float) -> Sensors:
    """Return the sensors of a case at time 0, with a time step [s]. Collective.

    Raises
    ------
    CaseError
        On all ranks, if a file that a sensor names cannot be used, or a face is no plane.
    """
    if not case.sensors:
        return Sensors()
    numbers = range(len(case.sensors))
    places = on_first_rank(exchange, lambda: [SensorPlace(case, index, step) for index in numbers])
    return Sensors(places)
