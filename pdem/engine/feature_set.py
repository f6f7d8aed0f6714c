"""The features of a system, the order of their events, and their groups of a checkpoint; see `pdem.engine.feature`."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pdem.engine.energy_terms import EnergyTerms
from pdem.engine.named_events import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pdem.case.sections.schema import CaseData
    from pdem.foundation.fields import Field

    AnyFeature = TypeVar("AnyFeature")


class Turn(IntEnum):
    """Order of features with events at the same step."""

    MEASURE = 10
    """Before anything changes: the forces of contacts are those of the step."""
    COLLECT = 20
    """Sums of the steps until now are added up over ranks."""
    BREAK = 25
    """Particles are replaced by fragments, as long as the forces of the contacts of the step can be read."""
    LEAVE = 30
    """Particles outside the domain are removed."""
    CHANGE_GRAVITY = 40
    """Gravity changes."""
    END_STAGE = 50
    """The conditions of the present stage are checked."""
    COUNT = 60
    """Particles are counted and removed."""
    INSERT = 70
    """Particles are inserted."""
    DEFORM = 80
    """The rates of a deforming box are chosen, after all changes."""


class StateTable(NamedTuple):
    """A group of a checkpoint.

    Attributes
    ----------
    name : str
        Name of the group.
    keys : tuple of str
        Columns that sort its rows if they are distributed over ranks; empty if every rank has all rows.
    observes : bool
        Whether it does not influence the motion, and is left out of the digest of the motion.
    motion : tuple of str
        Columns by which two runs are compared step by step (`pdem compare --first`): they describe the motion as the
        positions of particles do, and no parameters. Empty for a group that is not compared.
    row : str
        Words for a row before its keys, such as ``bond of particles``.
    """

    name: str
    keys: tuple[str, ...] = ()
    observes: bool = False
    motion: tuple[str, ...] = ()
    row: str = ""


class Features:
    """The features of a system, in the order of the registry.

    Parameters
    ----------
    features : iterable of Feature
        One of each type.
    """

    def __init__(self, features: Iterable[Any] = ()) -> None:
        self._all = tuple(features)
        self._by_type = {type(one): one for one in self._all}
        self._by_name = {one.name: one for one in self._all}
        self.by_turn = tuple(sorted(self._all, key=lambda one: one.turn))
        """Features in the order of their events."""
        self.wall_watchers = tuple(one for one in self._all if one.watches_walls)
        self.pair_watchers = tuple(one for one in self._all if one.watches_pairs)
        """Features that read contacts in each step."""
        self.kicking: tuple[Any, ...] = ()
        """Features that act on velocities in every step at present."""
        self.find_kicking()
        self.terms = EnergyTerms(self._all)
        """The terms of the energy balance, including the terms of the engine."""
        self.step_actors = tuple(one for one in self._all if one.acts_each_step)
        """Features that act at the begin of each step."""
        self.pair_tables = tuple(table for one in self._all for table in one.pair_tables)
        """Tables of pairs by ids of all features."""
        self.drifting = tuple(one for one in self._all if one.drifts)
        """Features that move their fields of particles in each step."""
        self.forcing = tuple(one for one in self._all if one.has_forces)
        """Features with forces that are added to contact forces."""
        self.loss_takers = tuple(one for one in self._all if one.receives_losses)
        """Features that receive what contacts lose until they end."""
        self.breaking = tuple(one for one in self._all if one.watches_strengths)
        """Features whose events contacts request."""
        self.row_keys = row_keys(self._all)
        """Columns that sort the rows of distributed groups."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all)

    def get(self, kind: type[AnyFeature]) -> AnyFeature:
        """Return the feature of a type; in a system without features one without events."""
        found = self._by_type.get(kind)
        return found if isinstance(found, kind) else kind()

    def place(self, feature: Any) -> int:
        """Return the index of a feature in the order of the registry."""
        return self._all.index(feature)

    def at(self, place: int) -> Any:
        """Return the feature with an index."""
        return self._all[place]

    def find_kicking(self) -> None:
        """Select the features that kick: before steps, and when a stage begins or a script adds a force."""
        self.kicking = tuple(one for one in self._all if one.kicks)

    @property
    def in_two_passes(self) -> bool:
        """Whether the end of a step and the begin of the next are two passes, since features act in between."""
        return bool(self.kicking or self.drifting or self.forcing)

    @property
    def requested_step(self) -> int:
        """Step of the next event that contacts have requested; `NEVER` without one."""
        return min((one.next_step for one in self.breaking), default=NEVER)

    def named(self, name: str) -> Any:
        """Return the feature with a name."""
        return self._by_name[name]

    def acting(self, *, frozen: bool) -> tuple[Any, ...]:
        """Return the features with events, in the order of these; in a `frozen` stage without those of motion."""
        return tuple(one for one in self.by_turn if one.acts_when_frozen) if frozen else self.by_turn

    def next_step(self, *, forces: bool, frozen: bool) -> int:
        """Return the step of the next event of features that need contact forces, or of features that do not."""
        acting = (one for one in self.acting(frozen=frozen) if one.needs_forces is forces)
        return min((one.next_step for one in acting), default=NEVER)


def fields_in(features: Iterable[Any], case: CaseData) -> tuple[Field, ...]:
    """Return the further fields of particles of a case, feature by feature."""
    return tuple(field for one in features for field in one.fields_in(case))


def row_keys(features: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Return the columns that sort the rows of distributed groups, by group."""
    return {table.name: table.keys for one in features for table in one.tables if table.keys}


def observing(features: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of the groups that do not influence the motion."""
    return tuple(table.name for one in features for table in one.tables if table.observes)
