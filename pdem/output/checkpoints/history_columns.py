"""Histories of contacts as named columns for checkpoints: one number or one vector of three each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.dissipation import ENDED
from pdem.foundation.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats

_AXES = "xyz"
_NAMES_OF_OLD_HISTORY = (
    "tangential_force_x", "tangential_force_y", "tangential_force_z", "normal_force", "velocity_x", "velocity_y",
    "velocity_z", "tangential", "normal_damping", "sliding", "rolling", "overlap",
    "normal_x", "normal_y", "normal_z", "wall_work",
)  # fmt: skip
"""Columns of the array ``history`` in old checkpoints; contacts with walls have all of them, pairs the first."""


def numbers_by_column(names: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield the name of each column of a file, and the indices of its numbers in a history."""
    for number, name in enumerate(names):
        base, _, axis = name.rpartition("_")
        if axis not in _AXES or not base:
            yield name, [number]
        elif axis == "x":
            yield base, [number, number + 1, number + 2]


def columns_of(names: Sequence[str], history: Floats) -> dict[str, Floats]:
    """Return histories (len(names), n) as columns by name: (n,), or (n, 3) of ``name_x``, ``name_y``, ``name_z``."""
    return {
        name: history[numbers].T.copy() if len(numbers) > 1 else history[numbers[0]].copy()
        for name, numbers in numbers_by_column(names)
    }


def history_of(names: Sequence[str], columns: Mapping[str, NDArray[Any]], where: str) -> Floats:
    """Return histories (len(names), n) from columns by name.

    If the contact law has changed since the file was written, missing columns are set to 0, as in a new contact, and
    columns that are not among `names` are ignored.

    Raises
    ------
    CheckpointError
        If contacts have no overlap: then the columns are not those of contacts.
    """
    columns = upgraded_contacts(columns)
    history = np.zeros((len(names), len(next(iter(columns.values())))))
    if history.size and "overlap" not in columns:
        raise CheckpointError(f"{where}: contacts without a history; give a checkpoint written by pdem")
    for name, numbers in numbers_by_column(names):
        if name in columns:
            history[numbers] = columns[name].T
    return history


def upgraded_contacts(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of a group of contacts by name; old checkpoints have a single array ``history``."""
    found = dict(columns)
    if "history" in found:
        old = found.pop("history")
        found.update(columns_of(_NAMES_OF_OLD_HISTORY[: old.shape[1]], old.T))
    return found


def upgraded_groups(groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the groups of a checkpoint in the form of the present version.

    Columns of histories have names, and ``ended`` has a sum for every term of the energy balance.
    """
    found = {name: dict(columns) for name, columns in groups.items()}
    for name in ("contacts", "wall_contacts"):
        if name in found:
            found[name] = upgraded_contacts(found[name])
    ended = found.get("counters", {}).get("ended")
    if ended is not None and len(ended) < len(ENDED):
        missing = np.zeros((len(ENDED) - len(ended), *ended.shape[1:]), ended.dtype)
        found["counters"]["ended"] = np.concatenate((ended, missing))
    return found
