"""Masses of particles by size, as exact sums, and their passing sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math
from pdem.numerics.kernels import kernel
from pdem.numerics.sums import NARROW_BELOW, NARROW_LIMBS, add_in_window, narrow_values, normalise

if TYPE_CHECKING:
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Floats, Integers

CLASSES_PER_OCTAVE = 128
"""Classes of size for each factor of 2 of the diameter: all diameters of a class are within 0.55 %."""

CLASS_EDGES = exact_math.power(2.0, np.arange(CLASSES_PER_OCTAVE) / CLASSES_PER_OCTAVE - 1.0)
"""Lower edges of the classes of diameters from 0.5 to 1."""

OF_MASS, OF_MOMENT = 0, 1
"""Sums of a class: mass [kg], and mass times diameter [kg m]."""

_NONE = np.iinfo(np.int64).min


class SizeSums:
    """Masses by class of size and by kind of particle; the sums of all ranks are the same for any division.

    Parameters
    ----------
    kinds : int
        Number of kinds of particles.

    Attributes
    ----------
    first : int
        Number of the first class of size in `limbs`: see `class_of_size`.
    limbs : (kinds, n, 2, NARROW_LIMBS) int64 array
        `OF_MASS` and `OF_MOMENT` of each kind and class of size, as exact sums.
    """

    def __init__(self, kinds: int) -> None:
        self.first = 0
        self.limbs = np.zeros((kinds, 0, 2, NARROW_LIMBS), np.int64)

    def add(self, kind: Integers, radius: Floats, mass: Floats) -> None:
        """Add masses (n,) [kg] of particles of some kinds and radii [m]; a negative mass is subtracted."""
        if not len(mass):
            return
        diameter = 2.0 * radius
        number = class_of_size(diameter)
        self._reach(int(number.min()), int(number.max()) + 1)
        _add(self.limbs, kind, number - self.first, mass, mass * diameter)
        self._normalise()

    def add_sums(self, first: int, limbs: Integers) -> None:
        """Add sums (kinds, m, 2, NARROW_LIMBS) of the classes of size from `first` on."""
        if limbs.shape[1]:
            self._reach(first, first + limbs.shape[1])
            begin = first - self.first
            self.limbs[:, begin : begin + limbs.shape[1]] += limbs
            self._normalise()

    def joined(self, group: Group) -> SizeSums:
        """Return the sums of all ranks. Collective."""
        some, end = bool(self.limbs.shape[1]), self.first + self.limbs.shape[1]
        low, high = group.largest(np.array([-self.first, end] if some else [_NONE, _NONE])).tolist()
        found = SizeSums(len(self.limbs))
        if high != _NONE:
            found._reach(-low, high)
            found.add_sums(self.first, self.limbs)
            found.limbs = group.add(found.limbs)
            found._normalise()
        return found

    def passing(self, percents: tuple[float, ...], kind: int | None = None) -> list[float]:
        """Return the diameters that percents of the mass pass [m]; NaN without mass.

        The diameter of a class is its mean by mass: of particles of a single size exactly this size.

        Parameters
        ----------
        percents : tuple of float
            Percents of the mass, above 0 and at most 100.
        kind : int, optional
            The kind of particles; by default all.
        """
        limbs = self.limbs[0 if kind is None else kind].copy()
        for other in self.limbs[1:] if kind is None else ():
            limbs += other
        normalise(limbs.reshape(-1, NARROW_LIMBS))
        below = narrow_values(np.cumsum(limbs[:, OF_MASS], axis=0))
        if not len(below) or below[-1] <= 0.0:
            return [math.nan] * len(percents)
        mass, moment = (narrow_values(limbs[:, which]) for which in (OF_MASS, OF_MOMENT))
        rows = [int(np.argmax(below >= below[-1] * (one / 100.0))) for one in percents]
        return [self._diameter(row, float(mass[row]), float(moment[row])) for row in rows]

    def _diameter(self, row: int, mass: float, moment: float) -> float:
        """Return the mean diameter of a class by mass [m], within its edges."""
        low, high = edge_of_class(self.first + row), edge_of_class(self.first + row + 1)
        return min(max(moment / mass, low), high) if mass > 0.0 else low

    def _reach(self, first: int, end: int) -> None:
        """Extend the sums to the classes of size from `first` to `end`."""
        count = self.limbs.shape[1]
        if count:
            first, end = min(first, self.first), max(end, self.first + count)
        if end - first > count:
            wide = np.zeros((len(self.limbs), end - first, 2, NARROW_LIMBS), np.int64)
            begin = self.first - first if count else 0
            wide[:, begin : begin + count] = self.limbs
            self.first, self.limbs = first, wide

    def _normalise(self) -> None:
        normalise(self.limbs.reshape(-1, NARROW_LIMBS))


def class_of_size(diameter: Floats) -> Integers:
    """Return the number (n,) of the class of size of each diameter [m], `CLASSES_PER_OCTAVE` more for a factor 2."""
    fraction, exponent = np.frexp(diameter)
    return exponent.astype(np.int64) * CLASSES_PER_OCTAVE + np.searchsorted(CLASS_EDGES, fraction, side="right") - 1


def edge_of_class(number: int) -> float:
    """Return the smallest diameter of a class of size [m]."""
    return math.ldexp(float(CLASS_EDGES[number % CLASSES_PER_OCTAVE]), number // CLASSES_PER_OCTAVE)


@kernel
def _add(limbs: Integers, kind: Integers, number: Integers, mass: Floats, moment: Floats) -> None:
    """Add the mass of each particle, and its mass times its diameter, to the sums of its kind and class of size."""
    for k in range(len(mass)):
        add_in_window(limbs[kind[k], number[k], OF_MASS], mass[k], NARROW_BELOW)
        add_in_window(limbs[kind[k], number[k], OF_MOMENT], moment[k], NARROW_BELOW)
