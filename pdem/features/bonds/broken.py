"""The bonds that have broken: one event for each bond, on the rank that owned the lower end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.features.bonds.columns import MODES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.group import Group
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]

EVENT_KEYS = ("step", "lower", "higher")
"""Columns by which events are sorted."""

_EVENT: Mapping[str, tuple[Any, tuple[int, ...]]] = {
    "step": (np.int64, ()), "lower": (np.int64, ()), "higher": (np.int64, ()), "position": (np.float64, (3,)),
    "mode": (np.int64, ()), "energy": (np.float64, ()), "kind": (np.int64, ()),
}  # fmt: skip
"""Columns of events: step, ids, middle of the bond [m], mode, energy [J], number of the kind of bond."""


class BrokenBonds:
    """Events of this rank, in the order in which they happened here.

    Attributes
    ----------
    columns : dict of (n, ...) arrays
        The columns `EVENT_KEYS`, and ``position`` [m], ``mode``, ``energy`` [J] and ``kind``.
    """

    def __init__(self) -> None:
        self.columns: Columns = {name: np.empty((0, *shape), kind) for name, (kind, shape) in _EVENT.items()}

    def __len__(self) -> int:
        return len(self.columns["step"])

    def add(self, events: Columns) -> None:
        """Add events of one step."""
        self.columns = {name: np.concatenate((self.columns[name], events[name])) for name in _EVENT}

    def load(self, columns: Mapping[str, NDArray[Any]] | None) -> None:
        """Load this rank's share of the events of a checkpoint; None for a new run."""
        if columns is not None:
            self.columns = {name: np.asarray(columns[name], kind) for name, (kind, _) in _EVENT.items()}

    def counts(self, over: Group) -> Integers:
        """Return the number of bonds of all ranks that have broken in each mode (4,). Collective."""
        mode = self.columns["mode"]
        return over.add(np.bincount(mode, minlength=len(MODES) + 1)[1:].astype(np.int64))

    def collected(self, over: Group) -> Columns | None:
        """Return the events of all ranks, sorted by step and ids, on the first rank; None elsewhere. Collective."""
        joined = over.collect(self.columns)
        if joined is None:
            return None
        order = np.lexsort([joined[name] for name in reversed(EVENT_KEYS)])
        return {name: column[order] for name, column in joined.items()}
