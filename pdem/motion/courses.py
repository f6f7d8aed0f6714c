"""Quantities as functions of the time alone: growing steadily, to and fro, by tables.

Nothing here needs the compiler, so that a case can say what it means without it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

WORST = 32
"""Number of the fastest steps of a table that are returned."""


class Clock:
    """The time since something began, which may be while the case runs.

    Attributes
    ----------
    begin : float
        Simulated time at which it began [s]; infinite before.
    """

    def __init__(self, begin: float = math.inf) -> None:
        self.begin = begin

    @property
    def runs(self) -> bool:
        """Whether it has begun."""
        return self.begin < math.inf

    def since(self, time: float) -> float:
        """Return the time since it began [s], negative before and without end if it has not."""
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
        """Return times from which on it changes most within a step [s]: a few of the worst."""
        ...


@dataclass(frozen=True)
class Steady:
    """Growing at a constant rate.

    Attributes
    ----------
    rate : float
        Per second.
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
        """Return any time."""
        return (0.0,)


@dataclass(frozen=True)
class Oscillating:
    """``amplitude (sin(2 pi frequency t + phase) - sin phase)``.

    Attributes
    ----------
    amplitude, frequency, phase : float
        Of the quantity, in Hz, in rad.
    """

    amplitude: float
    frequency: float
    phase: float = 0.0

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]."""
        rate = 2.0 * math.pi * self.frequency
        phase = 2.0 * math.pi * math.remainder(self.frequency * time, 1.0) + self.phase
        value = self.amplitude * (math.sin(phase) - math.sin(self.phase))
        return value, self.amplitude * rate * math.cos(phase)

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        return abs(self.amplitude) * 2.0 * math.pi * self.frequency

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return half a step before its first passages through the middle."""
        cycles = -self.phase / (2.0 * math.pi)
        return tuple(((cycles + half) % 1.0) / self.frequency - 0.5 * step for half in (0.0, 0.5, 1.0, 1.5))


@dataclass(frozen=True)
class TabulatedCourse:
    """Straight lines between given values; before the first and after the last time nothing moves.

    Attributes
    ----------
    times, values : tuple of float
        Rising times [s], and the quantity then. What it is at time 0 is subtracted.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]; at a bend the slope of the line that begins there."""
        value, rate = self._given(time)
        return value - self._first, rate

    def _given(self, time: float) -> tuple[float, float]:
        """Return the value of the table and its rate."""
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
        """Return those of the times from or up to which a step changes the value most."""
        times = np.array(self.times)
        begins = np.concatenate((times, times - step, times - 0.5 * step))
        ends = (np.interp(begin, self.times, self.values) for begin in (begins, begins + step))
        worst = np.argsort(-np.abs(np.subtract(*ends)), kind="stable")[:WORST]
        return tuple(begins[worst].tolist())


@dataclass(frozen=True)
class Delayed:
    """A course that counts from when a clock begins; it rests until then.

    Attributes
    ----------
    course : Course
        What follows.
    clock : Clock
        Says when.
    """

    course: Course
    clock: Clock

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the value and its rate at a time [s]; at the begin itself it still rests."""
        since = self.clock.since(time)
        return self.course(since) if since > 0.0 else (0.0, 0.0)

    @property
    def largest_rate(self) -> float:
        """Largest absolute rate at any time."""
        return self.course.largest_rate

    def fastest(self, step: float) -> tuple[float, ...]:
        """Return times from which on it changes most within a step [s], since its begin."""
        return self.course.fastest(step)
