"""A periodic box that deforms until the stress in it is as wanted.

As a servo wall (`pdem.motion.servo`) it is a dashpot: where the pressure along an axis is less than wanted the box gets
shorter there, at ``gain (pressure - wanted)``; a shear goes on at ``gain (wanted - shear stress)``. A dashpot only
takes energy, and so cannot make any bed ring, except through the time between two looks. With an elastic modulus M and
a viscosity C of the bed against this way of deforming, and the interval T between two looks, the error of the stress
follows

    s(n+1) = s(n) - gain (T M s(n) + C (s(n) - s(n-1)))

at most, stable while ``gain (T M + 2 C) < 2``. M and C are sums over all contacts, sticking friction included, for all
that the servo changes together; the gain in use never exceeds ``SHARE / (T M + 2 C)``, a quarter of the limit. Grains
move with the box at once, so that nothing else is between the box and its stress, whatever its size; that they then
give way besides only softens it. To the modulus the motion of grains adds three times its stress, that of a gas along
one axis.

The gain unless that limits it is ``EAGERNESS largest_rate / |wanted|``: the box deforms at the largest rate until a
tenth of the stress is missing. The largest rate unless given is that of an inertial number ``rate d sqrt(rho / P)`` of
`INERTIAL_NUMBER`, with the largest stress P that is wanted, the mean diameter d by mass and the mean density rho of the
grains; in two dimensions P is a force per length and rho a mass per area.

A dashpot alone would hold ``rate / gain`` too much where the bed gives way at some rate all the time. So the box goes
on at ``gain s + G I`` with a slow integral of what is missing, a stress,

    I(n+1) = I(n) + a s(n).

Together, with G = gain, ``(z-1)^2 + gain (T M + C (z-1) / z) (z - 1 + a) = 0``: the limit becomes
``gain (T M + 2 C) < 2 / (1 - a/2)``, and the approach is without ringing while ``a < gain T M / 4``. The integral takes
the time of a strain of `SLOWNESS` at the largest rate or at that of `INERTIAL_NUMBER`, whichever is slower: ten times
``d sqrt(rho / P)``, in which grains rearrange, a hundred looks at least. Since a gas has a modulus of at least its
pressure, and its gain is not limited, ``gain T M / a`` is then 1 at least.

G is the gain for that slower rate and for the present resistance ``T M + 2 C``, or for the mean of that over the time
of the integral where it is larger: with the present one alone a bed that is struck would be moved mainly between the
blows. Whatever G is, I stays the same only while s vanishes on average. Since I is a stress, a bed that has got stiff
holds no more than I too much, where a rate from looser times would go on.

I does not wind up. By itself it asks for the largest rate at most. The mean error over that time, with the gain for
the mean resistance, asks for some rate as well; where that is more than half of a limit, less is left for I, and
nothing at the limit: the slower rate, or `TOLD` times those at which the box is told to strain or shear, where these
are larger. For what gives way follows what the box is told, and what is beyond is an approach: a loose bed offers
little resistance. When it jams, after a compression however long, I is next to nothing, and its stress does not shoot
over. A stiff bed that flows offers its resistance all the time, and I grows until the stress is the wanted one,
however little of it the bed holds at first. If without an integral that is a part h of what is wanted, it takes 1 / h
times as long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.motion.moving_box import EVERY, Rates
from pdem.motion.servo import EAGERNESS, SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats

INERTIAL_NUMBER = 0.01
"""Of the largest rate, unless that is given: the border of what is called quasi-static is a tenth of it."""

SLOWNESS = 0.1
"""Strain at the largest rate, or that of `INERTIAL_NUMBER`, in the time of the integral."""

TOLD = 2.0
"""Times the rates at which the box is told to strain or shear: faster than that nothing gives way."""

FASTEST = 0.01
"""Largest part of the time of the integral that passes between two looks."""

MEAN = 4
"""Place of the mean of all pressures in `Memory`, after the three axes and the shear."""

_NOTHING = np.zeros(4)

GAS = 3.0
"""Modulus of a gas against compression along one axis, over its pressure."""


class Targets(NamedTuple):
    """What shall become of a box.

    Attributes
    ----------
    rates : Rates
        Of what is not driven by stress.
    axes : tuple of (int, float)
        Axes with the pressure that is wanted along each [Pa].
    mean : float or None
        Mean of the pressures along all axes that is wanted [Pa].
    free : tuple of int
        Axes that strain for that, all at one rate.
    shear : float or None
        Shear stress that is wanted [Pa], positive where it drives a positive rate.
    largest_rate : float
        Of any of these [1/s].
    pace : float
        Rate at which the time of the integral is that of a strain of `SLOWNESS` [1/s]; nothing is
        integrated if it is 0.
    """

    rates: Rates
    axes: tuple[tuple[int, float], ...] = ()
    mean: float | None = None
    free: tuple[int, ...] = ()
    shear: float | None = None
    largest_rate: float = math.inf
    pace: float = 0.0

    @property
    def driven(self) -> bool:
        """Whether anything is driven by stress."""
        return bool(self.axes) or self.mean is not None or self.shear is not None

    @property
    def stresses(self) -> list[float]:
        """All stresses that are wanted [Pa]."""
        found = [stress for _, stress in self.axes]
        return found + [one for one in (self.mean, self.shear) if one is not None]

    @property
    def strains(self) -> Floats:
        """1 for what is driven by stress, the axes and the shear, else 0 (4,)."""
        found = np.zeros(4)
        found[[axis for axis, _ in self.axes]] = 1.0
        found[list(self.free)] = 1.0
        found[3] = 0.0 if self.shear is None else 1.0
        return found


class MeasuredStress(NamedTuple):
    """What was measured of all particles and contacts.

    Attributes
    ----------
    stress : (4,) array
        Pressure along each axis, and shear stress, positive where it drives a positive rate [Pa].
    modulus, viscosity : float
        Against all that strains together [Pa, Pa s].
    delivered : (4,) array
        By the forces of contacts: energy that the box delivers over the strain of each axis, and over that of the
        shear [J].
    """

    stress: Floats
    modulus: float
    viscosity: float
    delivered: Floats = _NOTHING


class Memory(NamedTuple):
    """What the servo keeps from look to look: of the pressure along each axis, the shear, and the mean pressure.

    Attributes
    ----------
    stress : tuple of 5 float
        Means over the time of the integral [Pa].
    lacking : tuple of 5 float
        Integrals of what is missing, positive where more is wanted [Pa]; 0 of what is not driven.
    resistance : float
        Mean of ``T M + 2 C`` over that time [Pa s].
    """

    stress: tuple[float, ...] = (0.0,) * (MEAN + 1)
    lacking: tuple[float, ...] = (0.0,) * (MEAN + 1)
    resistance: float = 0.0

    def towards(self, stress: Sequence[float], resistance: float, part: float) -> Memory:
        """Return it after a look, which takes a part of the time of the integral."""
        means = tuple(old + part * (new - old) for old, new in zip(self.stress, stress, strict=True))
        return Memory(means, self.lacking, self.resistance + part * (resistance - self.resistance))


class _Look(NamedTuple):
    """All that one look of the servo takes into account."""

    targets: Targets
    stress: list[float]
    resistance: float
    memory: Memory
    part: float

    def answer(self, place: int, wanted: float) -> tuple[float, float]:
        """Return the rate until the next look, positive where it adds to the stress, and the integral from then on.

        The integral [Pa] counts in the direction of what is wanted, a tension or a pressure.
        """
        largest, sign = self.targets.largest_rate, math.copysign(1.0, wanted)
        unit = abs(wanted) or _reference(self.targets.stresses)
        missing = abs(wanted) - sign * self.stress[place]
        before, mean = self.memory.lacking[place], self.memory.resistance
        slow = _gain(self.targets.pace / unit, max(self.resistance, mean))
        rate = _clipped(slow * before + _gain(largest / unit, self.resistance) * missing, -largest, largest)
        if wanted == 0.0 or self.part == 0.0:
            return sign * rate, before
        limit = max(self.targets.pace, TOLD * self.targets.rates.fastest)
        asked = _gain(limit / unit, mean) * (abs(wanted) - sign * self.memory.stress[place]) / limit
        most = largest / _gain(self.targets.pace / unit, mean)
        least = -most * _clipped(2.0 + 2.0 * asked, 0.0, 1.0)
        most *= _clipped(2.0 - 2.0 * asked, 0.0, 1.0)
        return sign * rate, _clipped(before + self.part * missing, least, most)


def chosen_rates(
    targets: Targets, measured: MeasuredStress, dimension: int, dt: float, memory: Memory
) -> tuple[Rates, Memory]:
    """Return the rates by which a box goes on until the next look, with a time step [s], and what is kept for that."""
    stress = measured.stress.tolist()
    stress.append(math.fsum(stress[:dimension]) / dimension)
    resistance = EVERY * dt * measured.modulus + 2.0 * measured.viscosity
    part = min(EVERY * dt * targets.pace / SLOWNESS, FASTEST)
    memory = memory.towards(stress, resistance, part)
    look = _Look(targets, stress, resistance, memory, part)
    strain, shear, kept = list(targets.rates.strain), targets.rates.shear, [0.0] * (MEAN + 1)
    for axis, wanted in targets.axes:
        loading, kept[axis] = look.answer(axis, wanted)
        strain[axis] = -loading
    if targets.mean is not None:
        loading, kept[MEAN] = look.answer(MEAN, targets.mean)
        for axis in targets.free:
            strain[axis] = -loading
    if targets.shear is not None:
        shear, kept[3] = look.answer(3, targets.shear)
    return Rates((strain[0], strain[1], strain[2]), shear), memory._replace(lacking=tuple(kept))


def _gain(rate: float, resistance: float) -> float:
    """Return the gain for a rate over what is wanted [1/(Pa s)], limited by a resistance [Pa s]."""
    gain = EAGERNESS * rate
    return gain if gain * resistance <= SHARE else SHARE / resistance


def _clipped(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


def _reference(stresses: Sequence[float]) -> float:
    """Return the largest of the wanted stresses; 1 Pa if all are 0."""
    return max(map(abs, stresses), default=0.0) or 1.0


def inertial_rate(stresses: Sequence[float], diameter: float, density: float) -> float:
    """Return the rate of an inertial number of `INERTIAL_NUMBER` [1/s], of a diameter [m] and a density [kg/m^3]."""
    return INERTIAL_NUMBER * math.sqrt(max(map(abs, stresses)) / density) / diameter
