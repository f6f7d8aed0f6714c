"""Results that several features share for one line of the series."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pdem.engine.views.acting_contacts import acting_contacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts


class SeriesLine:
    """Results that several features share for one line of the series, computed at the first access."""

    def __init__(self, system: System, loads: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._system = system
        self.loads = {} if loads is None else loads
        """Loads of walls in the present step, see `pdem.engine.walls.wall_output.loads_of_walls`."""

    @cached_property
    def contacts(self) -> ActingContacts:
        """The acting contacts of this rank. Collective."""
        return acting_contacts(self._system)
