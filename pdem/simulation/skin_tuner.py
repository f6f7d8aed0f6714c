"""Autotuner of the skin: finds the fastest one during the run.

Wide skins need rare but long lists, narrow skins frequent but short ones. With f, the skin over the largest radius of
a level, the time of a step is about

    T(f) = rest + b (t + k ((1 + f)^3 - 1)) + D(f) r(f),    r(f) ~ 1 / f,

where t is the number of candidates that touch; the others, in proportion to k, fill the shell of the skin. b is the
time of a candidate in every step, D that of a detection (in part proportional to the candidates) and r the number of
detections per step. All but f is measured in the run itself, so that other load of the machine slows all terms alike.
Results do not depend on the skin, to the bit: the tuner is free to follow the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WINDOW = 200
"""Steps after which the next detection may change the skin."""

SMALLEST, LARGEST = 0.02, 1.0
"""Limits of the skin over the largest radius of a level."""

CONTACT, PARTICLE = 8.0, 8.0
"""Times of a contact and of the motion of a particle, over that of a candidate that does not touch."""

LISTED_CONTACT, LISTED_PARTICLE = 1.5, 6.0
"""Times of a contact and of a particle when lists are built, over that of a candidate then."""

ORDERED = 18.0
"""Extra time of a contact in the first step with new lists, when contacts are put in order, over that of a candidate:
counted as time of pairs, but proportional to the number of detections."""

_FRACTIONS = np.geomspace(SMALLEST, LARGEST, 48)
_LARGEST_CHANGE = 2.0
_LEAST_CHANGE = 1.15


@dataclass(frozen=True)
class Window:
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

    def since(self, other: Window) -> Window:
        """Return the difference to an earlier one."""
        return Window(
            self.steps - other.steps, self.detections - other.detections, self.pairs - other.pairs,
            self.detecting - other.detecting,
        )  # fmt: skip


@dataclass(frozen=True)
class Lists:
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
        self._last = Window(step, 0, 0.0, 0.0)

    def is_due(self, step: int) -> bool:
        """Return whether a detection at this step may change the skin."""
        return step - self._last.steps >= WINDOW

    def needs_detection(self, step: int) -> bool:
        """Return whether lists that are not stale are to be rebuilt at this step: the skin is far from the best one.

        With wide skins and slow particles a list may otherwise last for thousands of steps.
        """
        return not self._settled and self.is_due(step)

    def next_fraction(self, done: Window, lists: Lists, decide: Callable[[int], int]) -> float:
        """Return the skin of the next lists, over the largest radius of a level.

        Parameters
        ----------
        done : Window
            From the start of the run, on this rank.
        lists : Lists
            Lengths of the present lists of this rank.
        decide : callable
            Returns on every rank the argument of rank 0, a whole number from 0 on.
        """
        window = done.since(self._last)
        self._last = done
        index = decide(best_fraction_index(self.fraction, window, lists))
        wanted = float(_FRACTIONS[index])
        bounds = self.fraction / _LARGEST_CHANGE, self.fraction * _LARGEST_CHANGE
        self._settled = bounds[0] <= wanted <= bounds[1]
        if not 1.0 / _LEAST_CHANGE < wanted / self.fraction < _LEAST_CHANGE:
            self.fraction = min(max(wanted, bounds[0]), bounds[1])
        return self.fraction


def best_fraction_index(fraction: float, window: Window, lists: Lists) -> int:
    """Return the index of the fraction with the fastest step; `fraction` was that of the window."""
    if lists.candidates <= lists.contacts:
        return int(np.argmin(np.abs(_FRACTIONS - fraction)))
    work = lists.candidates + CONTACT * lists.contacts + PARTICLE * lists.particles
    ordering = ORDERED * lists.contacts * window.detections
    each = window.pairs / (work * window.steps + ordering)
    apart = (lists.candidates - lists.contacts) * _shell(_FRACTIONS) / _shell(np.array([fraction]))
    base = LISTED_CONTACT * lists.contacts + LISTED_PARTICLE * lists.particles
    growth = (base + lists.contacts + apart) / (base + lists.candidates)
    making = (window.detecting + each * ordering) * growth * fraction / _FRACTIONS
    return int(np.argmin(each * window.steps * apart + making))


def _shell(fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the volume of the shell of a skin over that of the sphere."""
    return (1.0 + fractions) ** 3 - 1.0
