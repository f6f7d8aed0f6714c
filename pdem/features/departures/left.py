"""Departures from the domain by side: numbers and exact masses, the same on every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.columns import LEFT, SIDES
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.foundation.array_types import Floats, Integers


class Left:
    """Particles that were removed because they have left the domain; a cluster counts as one.

    Attributes
    ----------
    count : (6,) int64 array
        Number by side, in the order of `pdem.case.columns.SIDES`.
    mass : ExactSums
        Mass by side [kg].
    """

    def __init__(self) -> None:
        self.count, self.mass = np.zeros(len(SIDES), np.int64), ExactSums(SIDES)

    def add(self, over: Exchange, side: Integers, mass: Floats) -> int:
        """Count particles of this rank that leave, by the number of the side (n,) and mass [kg] of each. Collective.

        Returns
        -------
        int
            Number of departures on all ranks.
        """
        number = int(over.add(np.array([len(side)], np.int64))[0])
        if not number:
            return 0
        found = ExactSums(SIDES)
        for number, name in enumerate(SIDES):
            found.add(name, mass[side == number])
        found.normalise()
        count = np.bincount(side, minlength=len(SIDES))
        total = over.add(np.concatenate((count[:, None], found.limbs), axis=1))
        self.count += total[:, 0]
        self.mass.limbs += total[:, 1:]
        self.mass.normalise()
        return number

    def groups(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the group of a checkpoint."""
        return {LEFT: {"count": self.count.copy(), "mass": self.mass.limbs.copy()}}

    def load(self, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Continue from the group of a checkpoint; earlier versions did not write it."""
        if LEFT in groups:
            self.count = np.array(groups[LEFT]["count"], np.int64)
            self.mass = ExactSums(SIDES, np.asarray(groups[LEFT]["mass"]))
