"""Control of a periodic box by stress: the box deforms until the stress in it has the target value.

Like a servo wall (`pdem.motion.servo`) the controller is a dashpot: where the pressure along an axis is below its
target, the box gets shorter along that axis, at ``gain (pressure - target)``; a shear has the rate
``gain (target - shear stress)``. A dashpot only removes energy, and so cannot make any bed oscillate, except through
the delay between two updates. With an elastic modulus M and a viscosity C of the bed against this deformation, and the
interval T between two updates, the error of the stress follows

    s(n+1) = s(n) - gain (T M s(n) + C (s(n) - s(n-1)))

at most. This is stable while ``gain (T M + 2 C) < 2``. M and C are sums over all contacts, sticking friction included,
for all components that the servo changes together. The gain in use never exceeds ``SHARE / (T M + 2 C)``, a quarter of
the limit. Grains move with the box in the same step, so that nothing delays the response of the stress to the box,
whatever its size; the yielding of grains afterwards only softens the response. The motion of grains adds three times
its stress to the modulus, as in a gas that is compressed along one axis.

Unless this limit is smaller, the gain is ``EAGERNESS largest_rate / |target|``: the box deforms at the largest rate
until a tenth of the stress is missing. The default of the largest rate is the rate of an inertial number
``rate d sqrt(rho / P)`` of `INERTIAL_NUMBER`, with the largest target P of the stress, the mean diameter d by mass and
the mean density rho of the grains. In two dimensions P is a force per length and rho a mass per area.

Where the bed keeps yielding at some rate, a dashpot alone would leave a constant error ``rate / gain``. So the box
deforms at ``gain s + G I`` with a slow integral of the error, a stress,

    I(n+1) = I(n) + a s(n).

Together, with G = gain, ``(z-1)^2 + gain (T M + C (z-1) / z) (z - 1 + a) = 0``: the limit becomes
``gain (T M + 2 C) < 2 / (1 - a/2)``, and the stress approaches its target without oscillation while
``a < gain T M / 4``. The time of the integral is the time of a strain of `SLOWNESS` at the largest rate or at the rate
of `INERTIAL_NUMBER`, whichever is slower: ten times ``d sqrt(rho / P)``, the time in which grains rearrange, and at
least a hundred updates. Since the modulus of a gas is at least its pressure, and the gain of a gas is not limited,
``gain T M / a`` is then at least 1.

G is the gain for that slower rate, computed with the present resistance ``T M + 2 C`` or with its mean over the time of
the integral, whichever is larger. With the present resistance alone, a bed under repeated impacts would be moved mainly
between the impacts. For any G, I is constant only while s vanishes on average. I is a stress, so a bed that has become
stiff carries at most I too much, whereas an integrated rate from looser times would continue.

I does not wind up, for two reasons. I alone requests at most the largest rate. The mean error over that time, with the
gain for the mean resistance, requests some rate as well; beyond half of a limit this rate reduces the part that remains
for I, and leaves nothing at the limit. The limit is the slower rate, or `TOLD` times the prescribed strain and shear
rates where these are larger: a bed that yields follows the prescribed rates, and a faster deformation is an approach to
the target, against the small resistance of a loose bed. When a loose bed jams, after a compression of any length, I is
almost zero, and the stress does not overshoot. A stiff bed that flows resists all the time, and I grows until the
stress reaches its target, however small a part of the target the bed carries at first. If the bed carries the part h of
its target without an integral, this takes 1 / h times as long.
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
"""Inertial number of the default of the largest rate; the limit of quasi-static flow is a tenth of this value."""

SLOWNESS = 0.1
"""Strain during the time of the integral, at the largest rate or at the rate of `INERTIAL_NUMBER`."""

TOLD = 2.0
"""Factor on the prescribed strain and shear rates: a bed does not yield faster than that."""

FASTEST = 0.01
"""Largest fraction of the time of the integral that passes between two updates."""

MEAN = 4
"""Index of the mean of all pressures in `Memory`, after the three axes and the shear."""

_NOTHING = np.zeros(4)

GAS = 3.0
"""Modulus of a gas against compression along one axis, divided by its pressure."""


class Targets(NamedTuple):
    """Targets for a box: prescribed rates and wanted stresses.

    Attributes
    ----------
    rates : Rates
        Prescribed rates, for components that no stress drives.
    axes : tuple of (int, float)
        Axes with the target of the pressure along each [Pa].
    mean : float or None
        Target of the mean of the pressures along all axes [Pa].
    free : tuple of int
        Axes that strain at one common rate to reach the target of `mean`.
    shear : float or None
        Target of the shear stress [Pa], positive where it drives a positive rate.
    largest_rate : float
        Largest magnitude of any of these rates [1/s].
    pace : float
        Rate at which a strain of `SLOWNESS` takes the time of the integral [1/s]; nothing is integrated if it is 0.
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
        """Whether any component is driven by stress."""
        return bool(self.axes) or self.mean is not None or self.shear is not None

    @property
    def stresses(self) -> list[float]:
        """All targets of stresses [Pa]."""
        found = [stress for _, stress in self.axes]
        return found + [one for one in (self.mean, self.shear) if one is not None]

    @property
    def strains(self) -> Floats:
        """1 for each component that a stress drives (three axes and the shear), else 0 (4,)."""
        found = np.zeros(4)
        found[[axis for axis, _ in self.axes]] = 1.0
        found[list(self.free)] = 1.0
        found[3] = 0.0 if self.shear is None else 1.0
        return found


class MeasuredStress(NamedTuple):
    """Stress and resistance, summed over all particles and contacts.

    Attributes
    ----------
    stress : (4,) array
        Pressure along each axis, and shear stress, positive where it drives a positive rate [Pa].
    modulus, viscosity : float
        Resistance against the common deformation of all driven components [Pa, Pa s].
    delivered : (4,) array
        Energy that the box delivers through contact forces, per strain of each axis and per shear strain [J].
    """

    stress: Floats
    modulus: float
    viscosity: float
    delivered: Floats = _NOTHING


class Memory(NamedTuple):
    """State of the servo between updates: for the pressure along each axis, the shear, and the mean pressure.

    Attributes
    ----------
    stress : tuple of 5 float
        Means over the time of the integral [Pa].
    lacking : tuple of 5 float
        Integrals of the error, positive where more stress is wanted [Pa]; 0 for components that no stress drives.
    resistance : float
        Mean of ``T M + 2 C`` over that time [Pa s].
    """

    stress: tuple[float, ...] = (0.0,) * (MEAN + 1)
    lacking: tuple[float, ...] = (0.0,) * (MEAN + 1)
    resistance: float = 0.0

    def towards(self, stress: Sequence[float], resistance: float, part: float) -> Memory:
        """Return the state after an update; `part` is the time since the last one over that of the integral."""
        means = tuple(old + part * (new - old) for old, new in zip(self.stress, stress, strict=True))
        return Memory(means, self.lacking, self.resistance + part * (resistance - self.resistance))


class _Look(NamedTuple):
    """All inputs of one update of the servo."""

    targets: Targets
    stress: list[float]
    resistance: float
    memory: Memory
    part: float

    def answer(self, place: int, wanted: float) -> tuple[float, float]:
        """Return the rate until the next update, positive where it increases the stress, and the new integral.

        The integral [Pa] is positive in the direction of the target, a tension or a pressure.
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
    """Return the rates of the box until the next update and the new state of the servo; `dt` is the step [s]."""
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
    """Return the gain for a rate divided by the target [1/(Pa s)], limited by a resistance [Pa s]."""
    gain = EAGERNESS * rate
    return gain if gain * resistance <= SHARE else SHARE / resistance


def _clipped(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


def _reference(stresses: Sequence[float]) -> float:
    """Return the largest magnitude of the targets; 1 Pa if all are 0."""
    return max(map(abs, stresses), default=0.0) or 1.0


def inertial_rate(stresses: Sequence[float], diameter: float, density: float) -> float:
    """Return the rate of the inertial number `INERTIAL_NUMBER` for a diameter and a density [1/s, m, kg/m^3]."""
    return INERTIAL_NUMBER * math.sqrt(max(map(abs, stresses)) / density) / diameter
