"""The particles that have broken: one event for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.group import Group

    Columns = dict[str, NDArray[Any]]

BREAK_KEYS = ("step", "id")
"""Columns by which events are sorted."""

BREAK_EVENT: Mapping[str, tuple[Any, tuple[int, ...]]] = {
    "step": (np.int64, ()), "id": (np.int64, ()), "material": (np.int64, ()), "generation": (np.int64, ()),
    "position": (np.float64, (3,)), "radius": (np.float64, ()), "mass": (np.float64, ()), "energy": (np.float64, ()),
    "stress": (np.float64, ()), "strength": (np.float64, ()), "partner": (np.int64, ()), "t10": (np.float64, ()),
    "fragments": (np.int64, ()), "first_fragment": (np.int64, ()), "fines": (np.float64, ()),
    "released": (np.float64, ()),
}  # fmt: skip
"""Columns of events: step, id, index of the material, generation, centre [m], radius [m], mass [kg]; share of the
largest energy of a contact over the mass [J/kg], largest force over the squared diameter [Pa], strength at this moment
[J/kg or Pa]; id of the partner of this contact, -1 - the number of a wall, or the own id if the contact has ended; t10
in percent; number of fragments, id of the first one (they are consecutive), mass of fines [kg]; and the energy that
breakage has taken out of motion and contacts [J]."""


class BreakEvents:
    """Events of this rank, in the order in which they happened.

    Attributes
    ----------
    columns : dict of (n, ...) arrays
        The columns `BREAK_EVENT`.
    """

    def __init__(self) -> None:
        self.columns: Columns = {name: np.empty((0, *shape), kind) for name, (kind, shape) in BREAK_EVENT.items()}
        self._new: list[Columns] = []

    def add(self, events: Mapping[str, NDArray[Any]]) -> None:
        """Add events of one step."""
        self._new.append({name: events[name] for name in BREAK_EVENT})

    def joined(self) -> Columns:
        """Return the columns of all events of this rank."""
        if self._new:
            parts = [self.columns, *self._new]
            self.columns = {name: np.concatenate([one[name] for one in parts]) for name in BREAK_EVENT}
            self._new = []
        return self.columns

    def load(self, columns: Mapping[str, NDArray[Any]] | None) -> None:
        """Load this rank's share of the events of a checkpoint; None for a new run."""
        if columns is not None:
            self.columns = {name: np.asarray(columns[name], kind) for name, (kind, _) in BREAK_EVENT.items()}

    def collected(self, over: Group) -> Columns | None:
        """Return the events of all ranks, sorted by step and id, on the first rank; None elsewhere. Collective."""
        whole = over.collect(self.joined())
        if whole is None:
            return None
        order = np.lexsort([whole[name] for name in reversed(BREAK_KEYS)])
        return {name: column[order] for name, column in whole.items()}
