"""State of observers in checkpoints: the last call of each, and the last values of their columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.features.observers.observer import LONGEST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]

OBSERVERS, OBSERVED = "observers", "observed"
"""Names of the groups of a checkpoint: a row for each observer, and for each column."""


class Observed(NamedTuple):
    """The last value of a column.

    Attributes
    ----------
    observer, unit : str
        Name of the observer, and unit of the column.
    value : float
        The value.
    """

    observer: str
    unit: str
    value: float


@dataclass
class ObservedState:
    """State of all observers, the same on all ranks.

    Attributes
    ----------
    last : dict of str to int
        Step of the last call by observer.
    columns : dict of str to Observed
        Last values by name of the column.
    """

    last: dict[str, int] = field(default_factory=dict)
    columns: dict[str, Observed] = field(default_factory=dict)

    def copy(self) -> ObservedState:
        """Return a copy."""
        return ObservedState(dict(self.last), dict(self.columns))

    def groups(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the groups of a checkpoint, empty without observers."""
        if not self.last:
            return {}
        columns = list(self.columns.values())
        return {
            OBSERVERS: {"name": _coded(list(self.last)), "last": np.array([*self.last.values()], np.int64)},
            OBSERVED: {
                "name": _coded(list(self.columns)), "observer": _coded([one.observer for one in columns]),
                "unit": _coded([one.unit for one in columns]),
                "value": np.array([one.value for one in columns], np.float64),
            },
        }  # fmt: skip

    @classmethod
    def of(cls, groups: Groups) -> ObservedState:
        """Return the state from the groups of a checkpoint."""
        if OBSERVERS not in groups:
            return cls()
        calls, columns = groups[OBSERVERS], groups[OBSERVED]
        values = zip(_texts(columns["observer"]), _texts(columns["unit"]), columns["value"].tolist(), strict=True)
        return cls(
            dict(zip(_texts(calls["name"]), calls["last"].tolist(), strict=True)),
            {name: Observed(*one) for name, one in zip(_texts(columns["name"]), values, strict=True)},
        )


def _coded(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return texts as rows of their bytes, filled up with 0."""
    rows = np.zeros((len(texts), LONGEST_NAME), np.uint8)
    for row, text in zip(rows, texts, strict=True):
        code = text.encode()
        row[: len(code)] = np.frombuffer(code, np.uint8)
    return rows


def _texts(rows: NDArray[np.uint8]) -> list[str]:
    return [bytes(row).rstrip(b"\0").decode() for row in rows]
