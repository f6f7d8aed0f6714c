"""The length of a time step, in a form that kernels and Python share."""

from __future__ import annotations

from typing import NamedTuple


class TimeStep(NamedTuple):
    """The length of a time step.

    Attributes
    ----------
    dt : float
        Time by which particles move and histories grow [s]: the time step, or 0 where forces are only measured.
    rate : float
        One over the time step [1/s], also where `dt` is 0.
    """

    dt: float
    rate: float

    @classmethod
    def of(cls, length: float) -> TimeStep:
        """Return a time step of a length [s]."""
        return cls(length, 1.0 / length)

    @property
    def half(self) -> float:
        """Time for which forces act at the end of a step, and again at the begin of the next [s]."""
        return 0.5 * self.dt

    def at_rest(self) -> TimeStep:
        """Return a step for the measurement of forces: particles do not move, and histories do not grow."""
        return self._replace(dt=0.0)


UNIT_RATE = TimeStep(0.0, 1.0)
"""Step at rest with a rate of 1, for measurements that do not depend on the rate."""
