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
on at ``mean rate + gain s`` with a slow integral of what is missing,

    mean rate(n+1) = mean rate(n) + a G s(n),

clipped to the largest rate. Together ``(z-1)^2 + gain (T M + C (z-1) / z) (z - 1 + a) = 0``: the limit becomes
``gain (T M + 2 C) < 2 / (1 - a/2)``, and the approach is without ringing while ``a < gain T M / 4``. The integral takes
the time of a strain of `SLOWNESS` at the largest rate or at that of `INERTIAL_NUMBER`, whichever is slower: ten times
``d sqrt(rho / P)``, in which grains rearrange, a hundred looks at least. Since a gas has a modulus of at least its
pressure, and its gain is not limited, ``gain T M / a`` is then 1 at least. G is the gain for the mean resistance over
that time, because the present gain is small while the bed is stiff: with that the mean of ``gain s`` would vanish, and
that of s would not.

While, by the mean over that time, a bed carries less than half of what is wanted, or the error asks for the largest
rate, this is an approach, and not integrated. So a loose bed that jams after a long compression finds a mean rate of 0,
and its stress does not shoot over more than without an integral.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.motion.moving_box import EVERY, Rates
from pdem.motion.servo import EAGERNESS, SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

INERTIAL_NUMBER = 0.01
"""Of the largest rate, unless that is given: the border of what is called quasi-static is a tenth of it."""

SLOWNESS = 0.1
"""Strain at the largest rate, or that of `INERTIAL_NUMBER`, in the time of the integral."""

FASTEST = 0.01
"""Largest part of the time of the integral that passes between two looks."""

MEAN = 4
"""Place of the mean of all pressures in `Memory`, after the three axes and the shear."""

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


class Measured(NamedTuple):
    """What was measured of all particles and contacts.

    Attributes
    ----------
    stress : (4,) array
        Pressure along each axis, and shear stress, positive where it drives a positive rate [Pa].
    modulus, viscosity : float
        Against all that strains together [Pa, Pa s].
    """

    stress: Floats
    modulus: float
    viscosity: float


class Memory(NamedTuple):
    """What the servo keeps from look to look: of the pressure along each axis, the shear, and the mean pressure.

    Attributes
    ----------
    stress : tuple of 5 float
        Means over the time of the integral [Pa].
    rate : tuple of 5 float
        Mean rates, positive where they add to what is wanted [1/s]; 0 of what is not driven.
    resistance : float
        Mean of ``T M + 2 C`` over that time [Pa s].
    """

    stress: tuple[float, ...] = (0.0,) * (MEAN + 1)
    rate: tuple[float, ...] = (0.0,) * (MEAN + 1)
    resistance: float = 0.0

    def towards(self, stress: Sequence[float], resistance: float, part: float) -> Memory:
        """Return it after a look, which takes a part of the time of the integral."""
        means = tuple(old + part * (new - old) for old, new in zip(self.stress, stress, strict=True))
        return Memory(means, self.rate, self.resistance + part * (resistance - self.resistance))


class _Look(NamedTuple):
    """All that one look of the servo takes into account."""

    targets: Targets
    stress: list[float]
    resistance: float
    memory: Memory
    part: float

    def answer(self, place: int, wanted: float) -> tuple[float, float]:
        """Return the rate until the next look, positive where it adds to the stress, and the mean rate from then on.

        The mean rate [1/s] counts in the direction of what is wanted, a tension or a pressure.
        """
        largest, sign = self.targets.largest_rate, math.copysign(1.0, wanted)
        unit = abs(wanted) or _reference(self.targets.stresses)
        missing = abs(wanted) - sign * self.stress[place]
        before = self.memory.rate[place]
        rate = _clipped(before + _gain(largest / unit, self.resistance) * missing, largest)
        slow = _gain(self.targets.pace / unit, self.memory.resistance)
        lasting = abs(wanted) - sign * self.memory.stress[place]
        if wanted == 0.0 or lasting > 0.5 * unit or abs(lasting) * slow > self.targets.pace:
            return sign * rate, before
        return sign * rate, _clipped(before + self.part * slow * missing, largest)


def chosen_rates(
    targets: Targets, measured: Measured, dimension: int, dt: float, memory: Memory
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
    return Rates((strain[0], strain[1], strain[2]), shear), memory._replace(rate=tuple(kept))


def _gain(rate: float, resistance: float) -> float:
    """Return the gain for a rate over what is wanted [1/(Pa s)], limited by a resistance [Pa s]."""
    gain = EAGERNESS * rate
    return gain if gain * resistance <= SHARE else SHARE / resistance


def _clipped(rate: float, largest: float) -> float:
    return min(max(rate, -largest), largest)


def _reference(stresses: Sequence[float]) -> float:
    """Return the largest of the wanted stresses; 1 Pa if all are 0."""
    return max(map(abs, stresses), default=0.0) or 1.0


def inertial_rate(stresses: Sequence[float], diameter: float, density: float) -> float:
    """Return the rate of an inertial number of `INERTIAL_NUMBER` [1/s], of a diameter [m] and a density [kg/m^3]."""
    return INERTIAL_NUMBER * math.sqrt(max(map(abs, stresses)) / density) / diameter
