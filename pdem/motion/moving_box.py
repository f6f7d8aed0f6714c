"""The deforming periodic box of a run: its lengths, its shear, and the motion of particles with it.

The box has a gradient of velocity that is the same everywhere: ``v = L (x - c)`` with its centre c. Positions of
particles are in space, and particles move by Newton's law; their images move with the box. When the gradient changes,
the velocity of every particle changes by the change of the box velocity at its position, ``(L' - L) (x - c)``.
Therefore a bed follows the box as a whole from the first step on, instead of being pushed by particles across its
sides. Images stay images: an image gets the kick of its particle plus the change of the velocity between the two. Any
other motion of particles comes from their contacts.

Between two changes, `EVERY` steps apart, the period vectors grow at constant speeds: then images move in straight lines
as particles do, and are described by their velocities alone. A constant rate of strain is reached at the end of each of
these intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.box_shape import UPRIGHT, BoxShape
from pdem.foundation import exact_math
from pdem.motion.displacement import FREQUENCY, LOWER, PERIOD
from pdem.numerics import box_images as rows
from pdem.numerics.geometry_kernels import geometry_kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

EVERY = 10
"""Steps between two changes of the speeds of a box."""


class Rates(NamedTuple):
    """Rates of deformation of a box [1/s]: strain along each axis, positive where it grows, and shear."""

    strain: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shear: float = 0.0

    @property
    def constant(self) -> bool:
        """Whether period vectors grow at constant speeds, as they do if only a shear has a rate."""
        return not any(self.strain)

    @property
    def fastest(self) -> float:
        """The largest of these rates [1/s]."""
        return max(abs(self.shear), *(abs(one) for one in self.strain))


REST = Rates()


@dataclass
class BoxState:
    """A box at one step, and its speeds from that step on.

    Attributes
    ----------
    step : int
        Step from which on these speeds are valid.
    lengths, speeds : list of 3 float
        Lengths [m], and their speeds [m/s].
    offset, offset_speed : float
        Displacement of the image across the gradient axis from the position straight above, with all whole periods [m],
        and its speed [m/s].
    shear : float
        Accumulated strain of the shear.
    rates : Rates
        Rates from which the speeds were chosen.
    """

    step: int
    lengths: list[float]
    speeds: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    offset: float = 0.0
    offset_speed: float = 0.0
    shear: float = 0.0
    rates: Rates = REST

    def at(self, step: int, dt: float) -> BoxState:
        """Return the box at a later step."""
        time = (step - self.step) * dt
        lengths = [length + time * speed for length, speed in zip(self.lengths, self.speeds, strict=True)]
        return BoxState(
            step, lengths, self.speeds, self.offset + time * self.offset_speed, self.offset_speed,
            self.shear + time * self.rates.shear, self.rates,
        )  # fmt: skip


class MovingBox:
    """The deforming box of a run.

    Parameters
    ----------
    lower, upper : (3,) sequences
        Corners at time 0 [m].
    periodic : three bool
        Which axes are periodic.
    dt : float
        Time step [s].
    velocity, gradient : int
        Axes of the shear: the axis of the velocity, and the axis along which it changes; both `UPRIGHT` without shear.
    reach : float
        Largest distance of a cluster's surface from its centre, 0 without clusters [m].

    Attributes
    ----------
    state : BoxState
        State since the last change.
    begin : (3,) array
        Lengths at time 0 [m].
    centre : (3,) array
        The fixed point of the box [m].
    wanted : Rates or None
        Rates to apply at the next change of the speeds.
    looked : int
        Step of the last choice of rates, -1 before the first.
    """

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        periodic: tuple[bool, bool, bool],
        dt: float,
        velocity: int = UPRIGHT,
        gradient: int = UPRIGHT,
        reach: float = 0.0,
    ) -> None:
        first, last = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
        self.begin, self.centre = last - first, 0.5 * (first + last)
        self.periodic = list(map(bool, periodic))
        self.dt, self.velocity, self.gradient, self.reach = dt, velocity, gradient, reach
        self.state = BoxState(0, self.begin.tolist())
        self.wanted: Rates | None = None
        self.looked = -1
        self._slots = _Slot(), _Slot()  # two, because the start of the next step can be part of a step
        self._lists, self._numbers = np.append(self.begin, 0.0), np.zeros(16)
        crossed = self.periodic.index(True)
        axes = (crossed, crossed) if gradient == UPRIGHT else (velocity, gradient)
        self._numbers[8:] = *self.centre, *self.periodic, *axes
        self.load_state(self.state)

    def load_state(self, state: BoxState) -> None:
        """Restore a saved state."""
        self.state = state
        self._numbers[:8] = *state.lengths, *state.speeds, state.offset, state.offset_speed
        self._forget()

    def at(self, step: int) -> BoxState:
        """Return the box at a step, not before its last change."""
        return self.state.at(step, self.dt)

    def shape(self, step: int) -> BoxShape:
        """Return the shape of the box at a step."""
        now = self.at(step)
        period = np.where(self.periodic, now.lengths, 0.0)
        lower = self.centre - 0.5 * np.array(now.lengths)
        across = self.images(step)[rows.ACROSS].copy() if self.gradient != UPRIGHT else np.zeros(3)
        return BoxShape(lower, period, self.gradient, self.velocity, across)

    def volume(self, step: int, dimension: int) -> float:
        """Return the volume of the box [m^3], in two dimensions its area [m^2]."""
        return math.prod(self.at(step).lengths[:dimension])

    def strain(self, step: int) -> Floats:
        """Return the logarithmic strain (3,) of each axis since time 0, positive where it has grown."""
        return np.asarray(exact_math.log(np.array(self.at(step).lengths) / self.begin))

    def gradient_at(self, step: int) -> Floats:
        """Return the gradient of the velocity of the box (3, 3) at a step [1/s]."""
        return self.images(step)[rows.RATE : rows.RATE + 3].copy()

    def image_velocities(self, step: int) -> Floats:
        """Return the velocities of images relative to each other, one row per period vector (3, 3) [m/s]."""
        images = self.images(step)
        velocities = np.diag(images[rows.VELOCITY])
        velocities[images[rows.ALONG] > 0.0] = images[rows.ACROSS_VELOCITY]
        return velocities

    def note_lists(self, step: int) -> None:
        """Store that lists were made for the positions at a step."""
        now = self.at(step)
        self._lists[:] = *now.lengths, now.offset
        self._forget()

    def least_length(self, largest_radius: float) -> float:
        """Return the smallest permitted length of periodic axes, with spheres up to a radius [m]."""
        return 4.0 * max(largest_radius, self.reach)

    def narrowest(self, step: int) -> float:
        """Return the smallest factor, at most 1, by which the box has changed any distance since lists were made."""
        return self._filled(step).narrowest

    def shortest(self, step: int) -> float:
        """Return the shortest length of a periodic axis at a step [m]; NaN if one is NaN."""
        return self._filled(step).shortest

    def farthest(self, step: int) -> float:
        """Return the largest displacement of any point of the box since lists were made [m]."""
        away = np.abs(self.images(step)[rows.STRETCH : rows.STRETCH + 3] - np.eye(3))
        return float(exact_math.norm(exact_math.inner(away, 0.5 * self._lists[:3])))

    def change(self, step: int, rates: Rates) -> Floats:
        """Set new rates from a step on; return the change of the velocity gradient of the box (3, 3) [1/s]."""
        now, before = self.at(step), self.gradient_at(step)
        time, lengths = EVERY * self.dt, now.lengths
        grown = [growth(rate * time) for rate in rates.strain]
        speeds = [length * rate * factor for length, rate, factor in zip(lengths, rates.strain, grown, strict=True)]
        offset_speed = 0.0
        if self.gradient != UPRIGHT:
            v, g = self.velocity, self.gradient
            turning = 1.0 + 0.5 * time * (rates.strain[v] + rates.strain[g])
            offset_speed = rates.strain[v] * grown[v] * now.offset + rates.shear * turning * lengths[g]
        self.load_state(BoxState(step, lengths, speeds, now.offset, offset_speed, now.shear, rates))
        return self.gradient_at(step) - before

    def images(self, step: int) -> Floats:
        """Return the rows of `pdem.numerics.box_images` at a step; the rows of the last two steps stay valid."""
        return self._filled(step).images

    def sides(self, step: int) -> Floats:
        """Return the rows of `pdem.motion.displacement.LOWER` at a step; valid until the rows of `images` expire."""
        return self._filled(step).sides

    def _forget(self) -> None:
        for one in self._slots:
            one.step = -1

    def _filled(self, step: int) -> _Slot:
        slot = self._slots[step & 1]
        if slot.step != step:
            slot.step = step
            slot.narrowest, slot.shortest = write_images(
                self._numbers, (step - self.state.step) * self.dt, self._lists, slot.images, slot.sides
            )
        return slot


class _Slot:
    """Rows of one step, for kernels."""

    def __init__(self) -> None:
        self.step, self.narrowest, self.shortest = -1, 1.0, math.inf
        self.images, self.sides = np.zeros((rows.ROWS, 3)), np.zeros((3, 3))


@geometry_kernel
def write_images(numbers: Floats, time: float, lists: Floats, images: Floats, sides: Floats) -> tuple[float, float]:
    """Write the rows of a box for kernels; return `MovingBox.narrowest` and `MovingBox.shortest`.

    Parameters
    ----------
    numbers : (16,) array
        Lengths, speeds, offset and its speed at the last change; centre; 1 or 0 for periodic axes; the axes of the
        shear, that of the velocity first.
    time : float
        Time since that change [s].
    lists : (4,) array
        Lengths and offset when lists were made.
    images, sides : (`ROWS`, 3) and (3, 3) arrays
        Written, see `pdem.numerics.box_images` and `pdem.motion.displacement.LOWER`.
    """
    speeds, centre, periodic = numbers[3:6], numbers[8:11], numbers[11:14]
    offset, offset_speed = numbers[6] + time * numbers[7], numbers[7]
    v, g = int(numbers[14]), int(numbers[15])
    images[:] = 0.0
    narrowest, shortest = 1.0, math.inf
    for axis in range(3):
        length = numbers[axis] + time * speeds[axis]
        period = length if periodic[axis] > 0.0 else 0.0
        inverse = 1.0 / length if periodic[axis] > 0.0 else 0.0
        sides[LOWER, axis], sides[PERIOD, axis], sides[FREQUENCY, axis] = (centre[axis] - 0.5 * length, period, inverse)
        images[rows.CENTRE, axis] = centre[axis]
        images[rows.RATE + axis, axis] = speeds[axis] / length
        images[rows.STRETCH + axis, axis] = length / lists[axis]
        narrowest = min(narrowest, length / lists[axis])
        if periodic[axis] > 0.0 and (length < shortest or length != length):
            shortest = length
        if axis == g:
            images[rows.ALONG, axis], images[rows.ACROSS, axis] = inverse, period
            images[rows.ACROSS_VELOCITY, axis], images[rows.TURNS, axis] = speeds[axis], 1.0
        else:
            images[rows.PERIOD, axis], images[rows.FREQUENCY, axis] = period, inverse
            images[rows.VELOCITY, axis] = speeds[axis]
    images[rows.AXES, 0] = g
    images[rows.AXES, 1], images[rows.AXES, 2] = (v, 3 - g - v) if v != g else ((g + 1) % 3, (g + 2) % 3)
    if v != g:
        # images do not change by whole periods along the velocity axis
        length, width = numbers[v] + time * speeds[v], numbers[g] + time * speeds[g]
        turns = math.floor(offset / length + 0.5)
        images[rows.ACROSS, v] = offset - turns * length
        images[rows.ACROSS_VELOCITY, v] = offset_speed - turns * speeds[v]
        images[rows.TURNS, v] = -turns
        images[rows.RATE + v, g] = (offset_speed - speeds[v] / length * offset) / width
        a, b = length / lists[v], width / lists[g]
        lean = (offset - lists[3] * a) / lists[g]
        images[rows.STRETCH + v, g] = lean
        squares = a * a + b * b + lean * lean
        both = math.sqrt(max(squares * squares - 4.0 * (a * b) * (a * b), 0.0))
        narrowest = min(narrowest, math.sqrt(max(0.5 * (squares - both), 0.0)))
    return narrowest, shortest


def growth(x: float) -> float:
    """Return ``(exp(x) - 1) / x`` for small x, the same on every processor."""
    return 1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0)))
