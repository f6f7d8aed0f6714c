"""The feature of ended contacts of all ranks: counted for each reason, and listed on request of a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pdem.contact.ends import EVENT, JOINED, REASONS, WALL_REMOVED, ContactEnds
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import Evaluated
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.foundation.array_types import Integers

CONTACT_ENDS = "contact_ends"
"""Name of the group of a checkpoint: a row for contacts between particles, then a row for contacts with walls."""

_COUNTED = {
    f"{bodies}_{reason.replace(' ', '_')}": (row, number)
    for row, bodies in enumerate(("pairs", "wall_contacts"))
    for number, reason in enumerate(REASONS)
    if (row, number) not in {(0, WALL_REMOVED), (1, JOINED)}
}
"""Columns of the series, numbers since time 0, with their indices in `ContactEnds.counts`."""


class EndedContacts(Feature):
    """The contacts of a case that have ended.

    Parameters
    ----------
    ends : ContactEnds or None
        Ended contacts of this rank, None if the case does not ask for them.
    """

    name, turn = CONTACT_ENDS, Turn.COLLECT
    tables = (StateTable(CONTACT_ENDS, observes=True),)

    def __init__(self, ends: ContactEnds | None = None) -> None:
        self.ends = ends
        self._wall_material = np.zeros(0, np.int32)

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the feature with zero counts, and register the counts with the contacts between particles."""
        case = system.case
        if not case.output.contact_ends:
            return cls()
        ends = ContactEnds(system.constants.law, lambda: system.particles.column("id"))
        made = cls(ends)
        made._wall_material = np.array([case.material_index(wall.material) for wall in case.walls], np.int32)
        system.contacts.watch_ends(ends)
        return made

    @property
    def watches_walls(self) -> bool:
        """Whether ends of contacts with walls are counted."""
        return self.ends is not None

    @property
    def watches_pairs(self) -> bool:
        """Whether ends of contacts between particles are counted."""
        return self.ends is not None

    def after_walls(self, system: System, evaluated: Evaluated, parameters: ContactParameters) -> None:
        """Count the contacts with walls that have ended in a step."""
        contacts, walls = system.contacts.walls, system.walls
        if self.ends is not None and contacts is not None and walls is not None and contacts.ended:
            self.ends.count_walls(evaluated, parameters.table, self._wall_material, walls.present)

    def after_pairs(self, system: System, runs: Integers) -> None:
        """Count the contacts between particles that have ended in a step."""
        if self.ends is not None:
            system.contacts.pairs.show_ended(runs, self.ends)

    def on_end(self, system: System, reason: int, pairs: PairRecords, walls: WallRecords) -> None:
        """Count contacts that end because a particle or a wall is removed."""
        if self.ends is None:
            return
        mine = pairs.take(np.isin(pairs.lower, system.particles.id))
        self.ends.add(mine.lower, mine.higher, np.full(len(mine.lower), -1), reason)
        if system.walls is not None:
            wall = system.walls.facet_wall[walls.facet].astype(np.int64)
            self.ends.add(walls.id, np.full(len(wall), -1), wall, reason)

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the group of a checkpoint."""
        return {} if self.ends is None else {CONTACT_ENDS: {"counts": self.ends.counts.copy()}}

    def totals(self, system: System, local: Groups) -> Groups:
        """Sum the groups of all ranks to the group of a checkpoint. Collective."""
        return (
            {CONTACT_ENDS: {"counts": system.exchange.add(local[CONTACT_ENDS]["counts"])}}
            if CONTACT_ENDS in local
            else {}
        )

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Load the counts of a checkpoint on the first rank."""
        if self.ends is not None and CONTACT_ENDS in groups and not system.exchange.rank:
            counts = groups[CONTACT_ENDS]["counts"]
            self.ends.counts[:, : counts.shape[1]] = counts  # earlier versions wrote fewer reasons

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the series columns: numbers of ended contacts by reason."""
        return [] if self.ends is None else [(name, "1", "i8") for name in _COUNTED]

    def values(self, system: System, line: SeriesLine | None = None) -> dict[str, float]:
        """Return the values of `columns`. Collective."""
        if self.ends is None:
            return {}
        counts = system.exchange.add(self.ends.counts)
        return {name: int(counts[place]) for name, place in _COUNTED.items()}

    def take_events(self, system: System) -> dict[str, NDArray[Any]] | None:
        """Return the contacts that have ended since the last call, sorted by ids, on rank 0. Collective.

        Raises
        ------
        InputError
            On all ranks, if the case does not count ended contacts.
        """
        if self.ends is None:
            raise InputError("the case does not say why contacts end; give it output.contact_ends = true")
        mine = dict(zip(EVENT, self.ends.take_events(), strict=True))
        joined = system.exchange.collect(mine)
        if joined is None:
            return None
        order = np.lexsort([joined[name] for name in reversed(EVENT)])
        return {name: column[order] for name, column in joined.items()}
