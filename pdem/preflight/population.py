"""The particles of all ranks for checks: their number, extremes, and the first or worst particle of a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.containers.exchange import Alone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.foundation.array_types import Booleans, Floats, Integers


class Row(NamedTuple):
    """A particle on any rank.

    Attributes
    ----------
    number : int
        Its id; without ids the index of its row.
    values : dict
        Values of its fields, by name.
    """

    number: int
    values: dict[str, Any]


class Population:
    """The particles of all ranks. All methods with communication are collective.

    Parameters
    ----------
    columns : mapping of str to ndarray
        Columns of the particles of this rank.
    over : Exchange, optional
        The ranks; by default this process alone.

    Attributes
    ----------
    count : int
        Number of all particles.
    radii : ndarray
        Smallest and largest radius [m]; one number for a single particle, empty without particles.
    lower, upper : (3,) arrays
        Corners of the bounding box of all spheres [m]; infinite without particles.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]], over: Exchange | None = None) -> None:
        self.columns, self.over = columns, Alone() if over is None else over
        radius, position = columns["radius"], columns["position"]
        self._numbers = columns.get("id", np.arange(len(radius)))
        self.count = int(self.over.add(np.array([len(radius)]))[0])
        most = np.array([-radius.min(initial=np.inf), radius.max(initial=-np.inf)])
        ends = np.concatenate((radius[:, None] - position, position + radius[:, None]), axis=1)
        most = self.over.largest(np.concatenate((most, ends.max(axis=0, initial=-np.inf))))
        self.radii = np.array([-most[0], most[1]])[: self.count]
        self.lower, self.upper = -most[2:5], most[5:]

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column of the particles of this rank."""
        return self.columns[name]

    def moving(self) -> Population:
        """Return the population without fixed particles. Collective."""
        fixed = self.columns.get("fixed")
        if fixed is None:
            return self
        return Population({name: column[fixed == 0] for name, column in self.columns.items()}, self.over)

    def marked(self, mask: Booleans) -> tuple[int, Row | None]:
        """Return the number of particles in a mask (n,) over all ranks, and the particle with the lowest number."""
        number = int(self.over.add(np.array([mask.sum()]))[0])
        return number, self._row(np.flatnonzero(mask)) if number else None

    def worst(self, values: Floats) -> tuple[float, Row | None]:
        """Return the largest of values (n,) over all ranks, and its particle with the lowest number."""
        most = float(self.over.largest(np.array([values.max(initial=-np.inf)]))[0])
        return most, self._row(np.flatnonzero(values == most))

    def _row(self, rows: Integers) -> Row | None:
        """Return the particle with the lowest number among rows of all ranks."""
        numbers = self._numbers[rows]
        lowest = -int(self.over.largest(np.array([-numbers.min(initial=2**62)]))[0])
        mine = rows[numbers == lowest]
        found = None
        if len(mine):
            values = {name: column[mine[0]].tolist() for name, column in self.columns.items()}
            found = Row(lowest, values)
        row: Row | None = self.over.first(found)
        return row
