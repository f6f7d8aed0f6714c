"""Autotuner of the skin: finds the fastest one during the run.

Wide skins need rare but long lists, narrow skins frequent but short ones. With f, the skin over the largest radius of
a level, the time of a step is about

    T(f) = rest + b (t + k ((1 + f)^3 - 1)) + D(f) r(f),    r(f) ~ 1 / f,

where t is the number of touching candidates; the remaining ones, in proportion to k, fill the shell of the skin. b is
the time of a candidate in every step, D the time of a detection (in part proportional to the candidates) and r the
number of detections per step. All terms are measured in the run itself, so that further load of the machine slows all
of them alike. Before the first measurement, r follows from the speeds, and D is a usual value.
Results do not depend on the skin, to the bit: the tuner may use the clock.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Floats

WINDOW, FIRST_WINDOW = 200, 50
"""Steps after which the next detection may change the skin; fewer at first, doubled each time."""

SMALLEST, LARGEST = 0.02, 1.0
"""Limits of the skin over the largest radius of a level."""

CONTACT, PARTICLE = 8.0, 8.0
"""Times of a contact and of the motion of a particle, over the time of a candidate that does not touch."""

LISTED_CONTACT, LISTED_PARTICLE = 1.5, 6.0
"""Times of a contact and of a particle when lists are built, over the time of a candidate in this phase."""

ORDERED = 18.0
"""Extra time of a contact in the first step with new lists, when contacts are sorted, over the time of a candidate:
counted as time of pairs, but proportional to the number of detections."""

LISTING = 15.0
"""Usual time of a detection per candidate, contact and particle, over the time of a candidate in a step."""

GUESSED = 0.05, 0.5
"""Limits of a skin that follows from speeds, which often change at the begin of a run."""

_FRACTIONS = np.geomspace(SMALLEST, LARGEST, 48)
_LARGEST_CHANGE = 2.0
_LEAST_CHANGE = 1.15


@dataclass(frozen=True)
class TunedWindow:
    """Steps, detections and times of a run from its start, or between two times.

    Attributes
    ----------
    steps : int
        Number of steps.
    detections : int
        Number of detections.
    pairs, detecting : float
        Time spent on contacts between particles, and on building lists [s].
    """

    steps: int
    detections: int
    pairs: float
    detecting: float

    def since(self, other: TunedWindow) -> TunedWindow:
        """Return the difference to an earlier window."""
        return TunedWindow(
            self.steps - other.steps, self.detections - other.detections, self.pairs - other.pairs,
            self.detecting - other.detecting,
        )  # fmt: skip


@dataclass(frozen=True)
class ListSizes:
    """Lengths of lists: numbers of candidates, of contacts among them, of particles with ghosts."""

    candidates: int
    contacts: int
    particles: int


class SkinTuner:
    """Chooses the skin of the next lists, the same on every rank.

    Parameters
    ----------
    fraction : float
        Initial skin, over the largest radius of a level.
    """

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        self._settled = False
        self.start(0)

    def start(self, step: int) -> None:
        """Start counting at the step of a restart."""
        self._last, self._window, self._measures = TunedWindow(step, 0, 0.0, 0.0), 1, False

    def is_due(self, step: int) -> bool:
        """Return whether a detection at this step may change the skin."""
        return step - self._last.steps >= self._window

    def needs_detection(self, step: int) -> bool:
        """Return whether valid lists should be rebuilt at this step, since the skin is far from the best one.

        With wide skins and slow particles a list may otherwise last for thousands of steps.
        """
        return step >= self.next_detection

    @property
    def next_detection(self) -> int:
        """The step from which on `needs_detection` is true."""
        return sys.maxsize if self._settled else self._last.steps + self._window

    def next_fraction(
        self, done: TunedWindow, lists: ListSizes, decide: Callable[[int], int], life: float = math.inf
    ) -> float:
        """Return the skin of the next lists, over the largest radius of a level.

        The first time it follows from speeds, later from measured times.

        Parameters
        ----------
        done : TunedWindow
            Window from the start of the run, on this rank.
        lists : ListSizes
            Lengths of the present lists of this rank.
        decide : callable
            Returns the argument of rank 0 on every rank, an integer from 0 on.
        life : float
            Lifetime in steps of lists with a skin of 1 by the present speeds; the same on every rank.
        """
        window = done.since(self._last)
        self._last = done
        if not self._measures:
            self._measures, self._window = True, FIRST_WINDOW
            if math.isfinite(life):
                self.fraction = float(_FRACTIONS[decide(first_fraction_index(self.fraction, lists, life))])
            return self.fraction
        self._window = min(2 * self._window, WINDOW)
        index = decide(best_fraction_index(self.fraction, window, lists))
        wanted = float(_FRACTIONS[index])
        bounds = self.fraction / _LARGEST_CHANGE, self.fraction * _LARGEST_CHANGE
        self._settled = bounds[0] <= wanted <= bounds[1]
        if not 1.0 / _LEAST_CHANGE < wanted / self.fraction < _LEAST_CHANGE:
            self.fraction = min(max(wanted, bounds[0]), bounds[1])
        return self.fraction


def first_fraction_index(fraction: float, lists: ListSizes, life: float) -> int:
    """Return the index of the fraction with the fastest step by usual times; `fraction` belongs to the lists.

    Lists with a skin of 1 last `life` steps.
    """
    if not lists.candidates:
        return int(np.argmin(np.abs(_FRACTIONS - fraction)))
    apart = _apart(fraction, lists)
    made = _listed(lists) + lists.contacts + apart
    times = apart + (LISTING * made + ORDERED * lists.contacts) / np.maximum(life * _FRACTIONS, 1.0)
    return int(np.argmin(np.where((GUESSED[0] <= _FRACTIONS) & (GUESSED[1] >= _FRACTIONS), times, np.inf)))


def best_fraction_index(fraction: float, window: TunedWindow, lists: ListSizes) -> int:
    """Return the index of the fraction with the fastest step; `fraction` belongs to the window."""
    if lists.candidates <= lists.contacts:
        return int(np.argmin(np.abs(_FRACTIONS - fraction)))
    work = lists.candidates + CONTACT * lists.contacts + PARTICLE * lists.particles
    ordering = ORDERED * lists.contacts * window.detections
    each = window.pairs / (work * window.steps + ordering)
    apart, base = _apart(fraction, lists), _listed(lists)
    growth = (base + lists.contacts + apart) / (base + lists.candidates)
    making = (window.detecting + each * ordering) * growth * fraction / _FRACTIONS
    return int(np.argmin(each * window.steps * apart + making))


def _apart(fraction: float, lists: ListSizes) -> Floats:
    """Return the number of candidates that would not touch, by fraction; `fraction` belongs to the lists."""
    return (lists.candidates - lists.contacts) * _shell(_FRACTIONS) / _shell(np.array([fraction]))


def _listed(lists: ListSizes) -> float:
    """Return the time of making lists without candidates, over the time of one candidate."""
    return LISTED_CONTACT * lists.contacts + LISTED_PARTICLE * lists.particles


def _shell(fractions: Floats) -> Floats:
    """Return the volume of the shell of a skin over the volume of the sphere."""
    return (1.0 + fractions) ** 3 - 1.0
