"""Autotuner of the skin: finds the fastest one during the run.

Wide skins need rare but long lists, narrow skins frequent but short ones. With f, the skin over the largest radius of
a level, the time of a step is about

    T(f) = rest + b (t + k ((1 + f)^3 - 1)) + D(f) r(f),    r(f) ~ 1 / f,

where t is the number of candidates that touch; the others, in proportion to k, fill the shell of the skin. b is the
time of a candidate in every step, D that of a detection (in part proportional to the candidates) and r the number of
detections per step. All but f is measured in the run itself, so that other load of the machine slows all terms alike.
Before anything has been measured, r follows from the speeds, and D from what it usually is.
Results do not depend on the skin, to the bit: the tuner is free to follow the clock.
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
"""Steps after which the next detection may change the skin; at first fewer, twice as many each time."""

SMALLEST, LARGEST = 0.02, 1.0
"""Limits of the skin over the largest radius of a level."""

CONTACT, PARTICLE = 8.0, 8.0
"""Times of a contact and of the motion of a particle, over that of a candidate that does not touch."""

LISTED_CONTACT, LISTED_PARTICLE = 1.5, 6.0
"""Times of a contact and of a particle when lists are built, over that of a candidate then."""

ORDERED = 18.0
"""Extra time of a contact in the first step with new lists, when contacts are put in order, over that of a candidate:
counted as time of pairs, but proportional to the number of detections."""

LISTING = 15.0
"""Time of a detection for each candidate, contact and particle that counts then, over that of a candidate in a step:
what it usually is."""

GUESSED = 0.05, 0.5
"""Limits of the skin that speeds decide: at first they often change."""

_FRACTIONS = np.geomspace(SMALLEST, LARGEST, 48)
_LARGEST_CHANGE = 2.0
_LEAST_CHANGE = 1.15


@dataclass(frozen=True)
class TunedWindow:
    """Steps, detections and times of a run from its start, or between two times.

    Attributes
    ----------
    steps : int
        Their number.
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
        """Return the difference to an earlier one."""
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
        """Start counting at this step, that of a restart."""
        self._last, self._window, self._measures = TunedWindow(step, 0, 0.0, 0.0), 1, False

    def is_due(self, step: int) -> bool:
        """Return whether a detection at this step may change the skin."""
        return step - self._last.steps >= self._window

    def needs_detection(self, step: int) -> bool:
        """Return whether lists that are not stale are to be rebuilt at this step: the skin is far from the best one.

        With wide skins and slow particles a list may otherwise last for thousands of steps.
        """
        return step >= self.next_detection

    @property
    def next_detection(self) -> int:
        """The step from which on `needs_detection` says so."""
        return sys.maxsize if self._settled else self._last.steps + self._window

    def next_fraction(
        self, done: TunedWindow, lists: ListSizes, decide: Callable[[int], int], life: float = math.inf
    ) -> float:
        """Return the skin of the next lists, over the largest radius of a level.

        The first time the speeds decide, later what has been measured.

        Parameters
        ----------
        done : TunedWindow
            From the start of the run, on this rank.
        lists : ListSizes
            Lengths of the present lists of this rank.
        decide : callable
            Returns on every rank the argument of rank 0, a whole number from 0 on.
        life : float
            Steps that lists with a skin of 1 would last by the speeds of now; the same on every rank.
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
    """Return the index of the fraction with the fastest step by usual times; `fraction` is that of the lists.

    Lists with a skin of 1 last `life` steps.
    """
    if not lists.candidates:
        return int(np.argmin(np.abs(_FRACTIONS - fraction)))
    apart = _apart(fraction, lists)
    made = _listed(lists) + lists.contacts + apart
    times = apart + (LISTING * made + ORDERED * lists.contacts) / np.maximum(life * _FRACTIONS, 1.0)
    return int(np.argmin(np.where((GUESSED[0] <= _FRACTIONS) & (GUESSED[1] >= _FRACTIONS), times, np.inf)))


def best_fraction_index(fraction: float, window: TunedWindow, lists: ListSizes) -> int:
    """Return the index of the fraction with the fastest step; `fraction` was that of the window."""
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
    """Return how many candidates would not touch, by fraction; `fraction` is that of the lists."""
    return (lists.candidates - lists.contacts) * _shell(_FRACTIONS) / _shell(np.array([fraction]))


def _listed(lists: ListSizes) -> float:
    """Return what making lists costs besides the candidates, over the time of one of these."""
    return LISTED_CONTACT * lists.contacts + LISTED_PARTICLE * lists.particles


def _shell(fractions: Floats) -> Floats:
    """Return the volume of the shell of a skin over that of the sphere."""
    return (1.0 + fractions) ** 3 - 1.0
