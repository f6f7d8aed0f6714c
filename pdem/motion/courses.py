"""Quantities as functions of the time alone: steady, oscillating, or tabulated.

Nothing here needs the compiler, so that a case can be described without it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.interpolation import interpolated

WORST = 32
"""Number of the fastest intervals of a table that `TabulatedCourse.fastest` returns."""


class Clock:
    """Time since an event, which may happen during the run.

    Attributes
    ----------
    begin : float
        Simulated time of the event [s]; infinite before it.
    """

    def __init__(self, begin: float = math.inf) -> None:
        self.begin = begin

    @property
    def runs(self) -> bool:
        """Whether the event has happened."""
        return self.begin < math.inf

    def since(self, time: float) -> float:
        """Return the time since the event [s]: negative before it, minus infinity if it has not happened yet."""
        return time - self.begin


class Course(Protocol):
    """A quantity as a function of the time, 0 at time 0."""

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        ...

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        ...

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return a few times [s] from which on a step of length `step` [s] changes the value most."""
        ...


@dataclass(frozen=True)
class Steady:
    """A quantity that grows at a constant rate.

    Attributes
    ----------
    rate : float
        Rate per second.
    """

    rate: float

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        return self.rate * time, self.rate

    @property
    def largest_rate(self) -> float:
        """Absolute rate."""
        return abs(self.rate)

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return any time: the rate is the same everywhere."""
        return (0.0,)


@dataclass(frozen=True)
class Oscillating:
    """``amplitude (sin(2 pi frequency t + phase) - sin phase)``.

    Attributes
    ----------
    amplitude, frequency, phase : float
        Amplitude in the unit of the quantity, frequency in Hz, phase in rad.
    """

    amplitude: float
    frequency: float
    phase: float = 0.0

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        rate = 2.0 * math.pi * self.frequency
        phase = 2.0 * math.pi * math.remainder(self.frequency * time, 1.0) + self.phase
        value = self.amplitude * (exact_math.sin(phase) - exact_math.sin(self.phase))
        return value, self.amplitude * rate * exact_math.cos(phase)

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        return abs(self.amplitude) * 2.0 * math.pi * self.frequency

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return the times half a step before the first passages through the middle."""
        cycles = -self.phase / (2.0 * math.pi)
        return tuple(((cycles + half) % 1.0) / self.frequency - 0.5 * step for half in (0.0, 0.5, 1.0, 1.5))


@dataclass(frozen=True)
class TabulatedCourse:
    """Linear interpolation between tabulated values; constant before the first and after the last time.

    Attributes
    ----------
    times, values : tuple of float
        Increasing times [s], and the values at these times. The value at time 0 is subtracted.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]; at a tabulated time, the slope of the line after it."""
        value, rate = self._given(time)
        return value - self._first, rate

    def _given(self, time: float) -> tuple[float, float]:
        """Return the value of the table and its rate, without the subtraction."""
        after = bisect_right(self.times, time)
        if after in (0, len(self.times)):
            return self.values[max(after - 1, 0)], 0.0
        before, value = self.times[after - 1], self.values[after - 1]
        rate = (self.values[after] - value) / (self.times[after] - before)
        return rate * (time - before) + value, rate

    @cached_property
    def _first(self) -> float:
        return self._given(0.0)[0]

    @property
    def largest_rate(self) -> float:
        """Absolute slope of the steepest line."""
        return float(np.abs(np.diff(self.values) / np.diff(self.times)).max())

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return the times [s] of the table from which on, or up to which, a step changes the value most."""
        times = np.array(self.times)
        begins = np.concatenate((times, times - step, times - 0.5 * step))
        ends = (interpolated(begin, self.times, self.values) for begin in (begins, begins + step))
        worst = np.argsort(-np.abs(np.subtract(*ends)), kind="stable")[:WORST]
        return tuple(begins[worst].tolist())


@dataclass(frozen=True)
class Delayed:
    """A course that starts with a clock and is at rest before.

    Attributes
    ----------
    course : Course
        Value as a function of the time since the clock started.
    clock : Clock
        Gives the time of the start.
    """

    course: Course
    clock: Clock

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]; the rate at the moment of the start is 0."""
        since = self.clock.since(time)
        return self.course(since) if since > 0.0 else (0.0, 0.0)

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        return self.course.largest_rate

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times [s] since the start from which on a step of length `step` [s] changes the value most."""
        return self.course.fastest(step)
