"""What a feature is to the engine: hooks that do nothing unless a feature has them.

A feature is a part of a case beside the motion of particles and walls: sensors, insertions, continuum fields. Each has
a room of its own in `pdem/features` and a line in `pdem.features.registry`; the engine knows these hooks alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pdem.engine.acting_contacts import acting_contacts
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.engine.acting_contacts import ActingContacts
    from pdem.engine.phases import Phases
    from pdem.engine.system import System

    Columns = Mapping[str, NDArray[Any]]
    Groups = dict[str, dict[str, NDArray[Any]]]


class SeriesLine:
    """What several features look at for one line of the series, computed when the first one asks for it."""

    def __init__(self, system: System) -> None:
        self._system = system

    @cached_property
    def contacts(self) -> ActingContacts:
        """The acting contacts of this rank. Collective."""
        return acting_contacts(self._system)


class Feature:
    """A part of a case beside the motion, and its hooks: each does nothing unless a feature has its own.

    Attributes
    ----------
    name : str
        Under which the engine asks for it: the section of the case file.
    turn : Turn
        When it acts at a step.
    needs_forces : bool
        Whether its events ask for the forces of contacts, which are kept in their steps.
    tables : tuple of StateTable
        Its groups of a checkpoint.
    next_step : int
        Step of its next event, `NEVER` if there is none.
    """

    name: ClassVar[str]
    turn: ClassVar[Turn]
    needs_forces: ClassVar[bool] = True
    tables: ClassVar[tuple[StateTable, ...]] = ()
    next_step: int = NEVER

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the feature of the case of a system at time 0. Collective.

        Raises
        ------
        CaseError
            On all ranks, if a file that the case names cannot be used.
        """
        raise NotImplementedError(f"{cls.__name__} does not say how it is made from a case")

    def act(self, system: System, phases: Phases) -> None:
        """Let the event of the present step happen. Collective, with columns of particles that are up to date."""

    def enter_stage(self, system: System) -> None:
        """Be in the present stage of a state that has been loaded."""

    def begin_stage(self, system: System) -> None:
        """Begin the present stage at the present step."""

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the groups of a checkpoint, those of `tables` that there are."""
        return {}

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Go on from the groups of a checkpoint; what it lacks begins at the present step. Collective."""

    @property
    def largest_radius(self) -> float:
        """Largest radius of particles that it may bring in [m]."""
        return 0.0

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column, for the condition of a stage. Collective."""
        raise NotImplementedError(f"{self.name} has no quantities")

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of its columns of the series."""
        return []

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns for a line of the series that is written now. Collective."""
        return {}

    @property
    def output_intervals(self) -> list[int]:
        """Steps between its outputs, at which a run stops."""
        return []

    def finish(self, system: System, folder: Path) -> list[str]:
        """Write what is left at the end of a run; return lines for its report. Collective."""
        return []


def features_of(system: System) -> Iterator[Feature]:
    """Yield the features of a system, in the order of the registry."""
    yield from system.features
