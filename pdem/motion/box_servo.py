"""A periodic box that deforms until the stress in it is as wanted.

As a servo wall (`pdem.motion.servo`) it is a dashpot: where the pressure along an axis is less than wanted the box gets
shorter there, at ``gain (pressure - wanted)``; a shear goes on at ``gain (wanted - shear stress)``. In steady state it
rests, or goes on only as fast as the bed gives way. A dashpot only takes energy, and so cannot make any bed ring,
except through the time between two looks. With an elastic modulus M and a viscosity C of the bed against this way of
deforming, and the interval T between two looks, the error of the stress follows

    s(n+1) = s(n) - gain (T M s(n) + C (s(n) - s(n-1)))

at most, stable while ``gain (T M + 2 C) < 2``. M and C are sums over all contacts, sticking friction included, for all
that the servo changes together; the gain in use never exceeds ``SHARE / (T M + 4 C)``. Grains move with the box at
once, so that nothing else is between the box and its stress, whatever its size; that they then give way besides only
softens it. To the modulus the motion of grains adds three times its stress, that of a gas along one axis.

The gain unless that limits it is ``EAGERNESS largest_rate / |wanted|``: the box deforms at the largest rate until a
tenth of the stress is missing. The largest rate unless given is that of an inertial number ``rate d sqrt(rho / P)`` of
`INERTIAL_NUMBER`, with the largest stress P that is wanted, the mean diameter d by mass and the mean density rho of the
grains.
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
    """

    rates: Rates
    axes: tuple[tuple[int, float], ...] = ()
    mean: float | None = None
    free: tuple[int, ...] = ()
    shear: float | None = None
    largest_rate: float = math.inf

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


def chosen_rates(targets: Targets, measured: Measured, dimension: int, dt: float) -> Rates:
    """Return the rates by which a box goes on until the next look, with a time step [s]."""
    resistance = EVERY * dt * measured.modulus + 4.0 * measured.viscosity
    strain, shear = list(targets.rates.strain), targets.rates.shear
    stress = measured.stress.tolist()

    def rate(missing: float, wanted: float) -> float:
        gain = EAGERNESS * targets.largest_rate / (abs(wanted) or _reference(targets.stresses))
        gain = gain if gain * resistance <= SHARE else SHARE / resistance
        return min(max(gain * missing, -targets.largest_rate), targets.largest_rate)

    for axis, wanted in targets.axes:
        strain[axis] = rate(stress[axis] - wanted, wanted)
    if targets.mean is not None:
        mean = math.fsum(stress[:dimension]) / dimension
        for axis in targets.free:
            strain[axis] = rate(mean - targets.mean, targets.mean)
    if targets.shear is not None:
        shear = rate(targets.shear - stress[3], targets.shear)
    return Rates((strain[0], strain[1], strain[2]), shear)


def _reference(stresses: Sequence[float]) -> float:
    """Return the largest of the wanted stresses; 1 Pa if all are 0."""
    return max(map(abs, stresses), default=0.0) or 1.0


def inertial_rate(stresses: Sequence[float], diameter: float, density: float) -> float:
    """Return the rate of an inertial number of `INERTIAL_NUMBER` [1/s], of a diameter [m] and a density [kg/m^3]."""
    return INERTIAL_NUMBER * math.sqrt(max(map(abs, stresses)) / density) / diameter
