"""The skin with which a run is fastest, chosen while it runs.

A wide skin makes lists rarely but long, a narrow one often but short. With f, the skin over the largest radius of
a level, the time of a step is about

    T(f) = rest + b (t + k ((1 + f)^3 - 1)) + D(f) r(f),    r(f) ~ 1 / f,

where t of the candidates touch, the others fill the shell of the skin, b is the time a candidate takes in every
step, D the time of a detection (a part of which goes with the candidates) and r detections per step. All but f is
measured in the run itself, so that what slows the machine slows all terms alike. Results do not depend on the
skin, to the bit: tuning is free to follow the clock.
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
"""Time of a contact, law and all, and of a particle that moves on, over that of a candidate that does not touch."""

LISTED_CONTACT, LISTED_PARTICLE = 1.5, 6.0
"""What each of these costs when lists are made, over what a candidate costs."""

ORDERED = 18.0
"""What a contact costs in the first step with new lists, when its particles bring theirs in order, over what a
candidate costs: the time is spent on pairs, but goes with the lists."""

_FRACTIONS = np.geomspace(SMALLEST, LARGEST, 48)
_LARGEST_CHANGE = 2.0
_WORTHWHILE = 1.15


@dataclass(frozen=True)
class Window:
    """What a run has done up to some step, or between two.

    Attributes
    ----------
    steps : int
        Their number.
    detections : int
        How often lists were made.
    pairs, detecting : float
        Time spent on contacts between particles, and on making lists [s].
    """

    steps: int
    detections: int
    pairs: float
    detecting: float

    def since(self, other: Window) -> Window:
        """Return what has been done since another."""
        return Window(
            self.steps - other.steps, self.detections - other.detections, self.pairs - other.pairs,
            self.detecting - other.detecting,
        )  # fmt: skip


@dataclass(frozen=True)
class Lists:
    """How long lists are: numbers of candidates, of contacts among them, of particles with ghosts."""

    candidates: int
    contacts: int
    particles: int


class SkinTuner:
    """Decides which skin comes next; the same on every rank.

    Parameters
    ----------
    fraction : float
        Skin to begin with, over the largest radius of a level.
    """

    def __init__(self, fraction: float) -> None:
        self.fraction = fraction
        self._settled = False
        self.begin(0)

    def begin(self, step: int) -> None:
        """Have a run that begins with so many steps taken before."""
        self._last = Window(step, 0, 0.0, 0.0)

    def is_due(self, step: int) -> bool:
        """Tell whether a detection at this step may change the skin."""
        return step - self._last.steps >= WINDOW

    def wants_lists(self, step: int) -> bool:
        """Tell whether lists shall be made at this step though they still hold: the skin is far from the best one.

        Wide skins of slow particles may hold for thousands of steps.
        """
        return not self._settled and self.is_due(step)

    def next_fraction(self, done: Window, lists: Lists, decide: Callable[[int], int]) -> float:
        """Return the skin of the next lists, over the largest radius of a level.

        Parameters
        ----------
        done : Window
            Since the beginning of the run, on this rank.
        lists : Lists
            The present ones of this rank.
        decide : callable
            Returns on every rank what the first rank gives it, a whole number from 0 on.
        """
        window = done.since(self._last)
        self._last = done
        place = decide(best_place(self.fraction, window, lists))
        wanted = float(_FRACTIONS[place])
        bounds = self.fraction / _LARGEST_CHANGE, self.fraction * _LARGEST_CHANGE
        self._settled = bounds[0] <= wanted <= bounds[1]
        if not 1.0 / _WORTHWHILE < wanted / self.fraction < _WORTHWHILE:
            self.fraction = min(max(wanted, bounds[0]), bounds[1])
        return self.fraction


def best_place(fraction: float, window: Window, lists: Lists) -> int:
    """Return which of the fractions tried makes a step fastest; `fraction` was that of the window."""
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
