"""State of insertions in checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.feature_set import StateTable
from pdem.features.insertions.source import InsertionState
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.features.insertions.source import InsertionSource

STATES, WAITING = "insertions", "insertions_waiting"
"""Names of the groups of a checkpoint: a row for each insertion, and a row for each particle without a position."""

TABLES = (StateTable(STATES), StateTable(WAITING))
"""These groups, the same on every rank."""

_COLUMNS = {
    "begin": np.float64, "last": np.int64, "events": np.int64, "demand": np.float64, "asked": np.int64,
    "asked_mass": np.float64, "tried": np.int64, "came": np.int64, "complete": np.bool_, "stopped": np.bool_,
}  # fmt: skip


def insertion_groups(sources: Sequence[InsertionSource], step: int) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the groups of a checkpoint for insertions, empty without any; the same on every rank."""
    if not sources:
        return {}
    keys = np.array([one.key for one in sources], np.int64)
    states = [one.state for one in sources]
    for one in states:
        one.mass.normalise()
    columns: dict[str, NDArray[Any]] = {
        name: np.array([getattr(one, name) for one in states], kind) for name, kind in _COLUMNS.items()
    }
    columns["due"] = np.array([one.due(step) for one in sources])
    return {
        STATES: {"key": keys, **columns, "mass": np.concatenate([one.mass.limbs for one in states])},
        WAITING: {
            "key": np.repeat(keys, [len(one.skipped) for one in states]),
            "number": np.concatenate([one.skipped for one in states]),
        },
    }


def load_insertions(
    sources: Sequence[InsertionSource], step: int, groups: Mapping[str, Mapping[str, NDArray[Any]]]
) -> None:
    """Set the state of insertions from the groups of a checkpoint; new insertions begin at the present step."""
    stored, waiting = groups.get(STATES, {"key": np.zeros(0)}), groups.get(WAITING, {})
    for source in sources:
        rows = np.flatnonzero(stored["key"] == source.key)
        if not len(rows):
            source.begin_at(step)
            continue
        row = int(rows[0])
        source.state = InsertionState(**{name: stored[name][row].item() for name in _COLUMNS})
        source.state.mass = ExactSums(("mass",), stored["mass"][row : row + 1])
        source.state.skipped = waiting["number"][waiting["key"] == source.key].astype(np.int64)
        # earlier versions did not write the amount that is due between two events
        source.go_on(step, float(stored["due"][row]) if "due" in stored else None)
