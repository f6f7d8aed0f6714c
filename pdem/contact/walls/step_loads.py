"""Loads of the particles on walls over many steps: sums for their means, and maxima.

The size of a load is defined after the sum over the contacts of all ranks. Therefore each rank stores exact sums of the
loads of its own contacts step by step, and ranks add these up for many steps at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.walls.evaluate import LOADS, NARROW
from pdem.numerics.sums import NARROW_LIMBS, narrow_values, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.contact.walls.readings import WallReadings
    from pdem.foundation.array_types import Floats, Integers

VECTORS = (slice(0, 3), slice(3, 6))
"""Force and torque among the loads of a wall."""

_MOST_STEPS, _MOST_NUMBERS = 64, 1 << 18
"""Largest number of steps before ranks add up loads, and of numbers that these steps occupy."""


class LoadsSoFar(NamedTuple):
    """Sums and maxima of the loads of some walls over the steps of an interval, the same on all ranks.

    Attributes
    ----------
    begin : (w,) int64 array
        Step after which loads are counted.
    total : (w * LOADS, NARROW_LIMBS) int64 array
        Exact sums of the loads over these steps.
    largest : (w, 2) array
        Largest sizes of the force [N] and of the torque [N m] in a step.
    """

    begin: Integers
    total: Integers
    largest: Floats

    @classmethod
    def none(cls, walls: int, begin: int) -> LoadsSoFar:
        """Return the value for zero steps after `begin`."""
        total = np.zeros((walls * LOADS, NARROW_LIMBS), np.int64)
        return cls(np.full(walls, begin, np.int64), total, np.zeros((walls, len(VECTORS))))

    def followed_by(self, loads: Integers, last: int, interval: int) -> LoadsSoFar:
        """Return sums and maxima after further steps up to `last`, of at most one interval.

        Parameters
        ----------
        loads : (steps, w * LOADS, NARROW_LIMBS) int64 array
            Sums over the contacts of all ranks.
        last : int
            The last of these steps.
        interval : int
            Counting begins again at each multiple of this number of steps.
        """
        walls, before = len(self.begin), last - len(loads)
        anew = self.begin < (last - 1) // interval * interval
        total = np.where(np.repeat(anew, LOADS)[:, None], 0, self.total) + loads.sum(axis=0)
        normalise(total)
        sizes = _sizes(narrow_values(loads.reshape(-1, NARROW_LIMBS)).reshape(-1, walls, LOADS))
        return LoadsSoFar(
            np.where(anew, before, self.begin), total,
            np.maximum(np.where(anew[:, None], 0.0, self.largest), sizes.max(axis=0)),
        )  # fmt: skip

    def means(self, step: int) -> Floats:
        """Return the mean loads (w, LOADS) over the steps up to `step`; NaN for zero steps."""
        steps = (step - self.begin).astype(np.float64)[:, None]
        sums = narrow_values(self.total).reshape(-1, LOADS)
        return np.divide(sums, steps, out=np.full(sums.shape, np.nan), where=steps > 0.0)


def _sizes(loads: Floats) -> Floats:
    """Return the sizes (..., 2) of force and torque of loads (..., LOADS)."""
    squared = [loads[..., part] * loads[..., part] for part in VECTORS]
    return np.stack([np.sqrt(one[..., 0] + one[..., 1] + one[..., 2]) for one in squared], axis=-1)


class StepLoads:
    """The loads on some walls, step by step.

    Parameters
    ----------
    measured : sequence of int
        Numbers of the walls.
    walls : int
        Number of walls.
    interval : int
        Number of steps, see `LoadsSoFar.followed_by`.

    Attributes
    ----------
    so_far : LoadsSoFar
        Sums and maxima up to the step `joined`.
    joined : int
        Step up to which ranks have added up the loads.
    """

    def __init__(self, measured: Sequence[int], walls: int, interval: int) -> None:
        self.interval, self.joined, self.so_far = interval, 0, LoadsSoFar.none(len(measured), 0)
        self._row = np.full(walls, -1, np.int64)
        self._row[list(measured)] = np.arange(len(measured))
        size = len(measured) * LOADS * NARROW_LIMBS
        most = max(1, min(_MOST_STEPS, _MOST_NUMBERS // size))
        self._loads = np.zeros((most, len(measured) * LOADS, NARROW_LIMBS), np.int64)

    def begin_at(self, step: int, so_far: LoadsSoFar) -> None:
        """Continue at a step, with the sums and maxima up to it."""
        self.joined, self.so_far = step, so_far
        self._loads[:] = 0

    @property
    def next_step(self) -> int:
        """Step at which ranks add up the loads at the latest."""
        return min(self.joined + len(self._loads), (self.joined // self.interval + 1) * self.interval)

    def add(self, contacts: WallReadings, step: int) -> None:
        """Add the loads of the contacts of the last evaluation, in a step not after `next_step`."""
        contacts.add_loads(self._row, NARROW, self._loads[step - self.joined - 1])

    def not_joined(self, step: int) -> Integers:
        """Return the loads of this rank in the steps after `joined` up to `step`; a view."""
        return self._loads[: step - self.joined]

    def join(self, step: int, add: Callable[[Integers], Integers]) -> None:
        """Add up the loads of all ranks, by `add`, up to a step. Collective."""
        mine = self.not_joined(step)
        if len(mine):
            self.so_far = self.so_far.followed_by(add(mine), step, self.interval)
            mine[:] = 0
            self.joined = step
