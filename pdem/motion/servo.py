"""A wall that moves until the particles exert the target load on it.

The controller is a dashpot: the wall moves at ``gain (load - target)`` along or about its axis, like a plate without
mass that is pushed by ``-target`` and braked by a drag of 1/gain. Where particles press on the wall, the load decreases
as the wall moves along the axis, from whichever side they press. So the sign is right for every bed, and needs no
setting. In steady state the wall rests, therefore the load equals the target without a permanent error. A dashpot only
removes energy, and so cannot make any bed of springs and masses oscillate, whatever the gain.

The only exception is the delay of one step: the load is that of the last step. For contacts of stiffness K and damping
C against the travel, all with immovable bodies, the travel s follows

    s(n+1) = s(n) - gain (dt K s(n) + C (3 (s(n) - s(n-1)) - (s(n-1) - s(n-2))) / 2),

since the contact law extrapolates the velocity at the end of a step from the last two (`law.kinds.viscoelastic`). By
Jury's conditions at z = -1 this is stable while ``gain (dt K + 4 C) < 2``. K and C are sums over the contacts of every
step, sticking friction included. The gain in use never exceeds ``SHARE / (dt K + 4 C)``, a quarter of the limit. Bodies
that yield only soften the contacts, so that the limit for immovable bodies is safe for them as well.

The default of the gain is ``EAGERNESS largest_rate / |largest target|``: the wall moves at the largest rate until a
tenth of the load is missing, and then slows down. On a bed of stiffness k the load approaches its target like
``exp(-t / T)``, ``T = |target| / (EAGERNESS largest_rate k)``, a tenth of the time that the wall would need at the
largest rate. On a bed that keeps yielding at the rate u the load stays below its target by ``u / gain``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.interpolation import interpolated
from pdem.motion.courses import Clock
from pdem.motion.drives import NOTHING, STATE
from pdem.motion.motions import RigidMotion
from pdem.motion.poses import REST, Pose, RotationAxis, dot

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

SHARE = 0.5
"""Largest product of gain and resistance in use; the controller becomes unstable at 2."""


EAGERNESS = 10.0
"""Default of the gain, times the largest target over the largest rate."""


class ServoDrive:
    """A wall that its load moves along or about an axis, in addition to its prescribed motion.

    Parameters
    ----------
    axis : (3,) array
        Unit vector, constant in time.
    centre : (3,) array or None
        A point on the axis about which the wall turns [m]; None for a wall that moves along the axis.
    times, targets : (n,) arrays
        Target loads along or about the axis [N, N m] at these times [s]; linear between them, constant beyond.
    largest_rate, gain : float
        Largest speed of the travel [m/s, rad/s], and speed per error of the load [m/(N s), rad/(N m s)].
    start : float
        Time of the clock at which the servo starts [s].
    travel_limits : tuple of 2 float
        Smallest and largest travel [m, rad].
    motion : RigidMotion
        Prescribed motion of the wall, relative to the frame that the servo moves.
    clock : Clock
        Clock for the start and for the times of targets.
    """

    def __init__(
        self,
        axis: Floats,
        centre: Floats | None,
        times: Floats,
        targets: Floats,
        *,
        largest_rate: float,
        gain: float,
        start: float = 0.0,
        travel_limits: tuple[float, float] = (-np.inf, np.inf),
        motion: RigidMotion | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.axis, self.pivot = axis, centre
        self.times, self.targets = times, targets
        self.largest_rate, self.gain, self.start = largest_rate, gain, start
        self.lowest, self.highest = travel_limits
        self.motion = RigidMotion() if motion is None else motion
        self.clock = Clock(0.0) if clock is None else clock
        self._line = None if centre is None else RotationAxis(axis, centre)
        self.centre = self.motion.centre if centre is None else centre
        self.translation_axis: Floats = axis if centre is None else NOTHING
        self.rotation_axis: Floats = NOTHING if centre is None else axis
        self.inverse_mass = NOTHING
        self.travel = self.travel_before = self.rate = self.work = 0.0
        self.last_load = np.zeros(8)

    def target(self, time: float) -> float:
        """Return the target of the load at a time [s]."""
        return float(interpolated(self.clock.since(time), self.times, self.targets))

    def load(self) -> float:
        """Return the load of particles on the wall in the last step, along or about the axis [N, N m]."""
        return dot(self.translation_axis, self.last_load[:3]) + dot(self.rotation_axis, self.last_load[3:6])

    def begin(self, before: float, dt: float) -> None:
        """Begin a step: choose the rate, and move by it."""
        self.rate = self._chosen_rate(before, dt)
        self.work += 0.5 * dt * self._power(before)
        self.travel_before = self.travel
        self.travel += dt * self.rate

    def _chosen_rate(self, time: float, dt: float) -> float:
        if self.clock.since(time) < self.start:
            return 0.0
        stiffness, damping = self.last_load[6:].tolist()
        resistance = dt * stiffness + 4.0 * damping
        gain = self.gain if self.gain * resistance <= SHARE else SHARE / resistance
        rate = gain * (self.load() - self.target(time))
        rate = min(max(rate, -self.largest_rate), self.largest_rate)
        return min(max(rate, (self.lowest - self.travel) / dt), (self.highest - self.travel) / dt)

    def _power(self, time: float) -> float:
        """Return the power from the wall to the particles, at the last load and the present rate [W]."""
        pose = self.now(time)
        velocity = pose.velocity_at(self.frame(time, pose).place(self.centre))
        return -dot(self.last_load[:3], velocity) - dot(self.last_load[3:6], pose.spin)

    def finish(self, load: Floats, time: float, half: float) -> None:
        """Store the load at the new positions."""
        self.last_load = load
        self.work += half * self._power(time)

    def _carriage(self, travel: float) -> Pose:
        """Return the pose of the frame that the servo moves and that carries the wall."""
        if self._line is not None:
            return self._line.turned(travel, self.rate)
        x, y, z = self.axis.tolist()
        rate = self.rate
        return Pose.translated((travel * x, travel * y, travel * z), (rate * x, rate * y, rate * z))

    def _pose(self, time: float, travel: float) -> Pose:
        carriage = self._carriage(travel)
        return carriage.carrying(self.motion.pose(time)) if self.motion.moves else carriage

    def now(self, time: float) -> Pose:
        """Return the pose at a time, the end of the step."""
        return self._pose(time, self.travel)

    def then(self, before: float) -> Pose:
        """Return the pose at the beginning of the step."""
        return self._pose(before, self.travel_before)

    def frame(self, time: float, now: Pose) -> Pose:
        """Return the pose of the frame in which the centre rests: the axis, the carried rotation, or space."""
        if self._line is not None:
            return self._carriage(self.travel) if self.motion.moves else now
        if self.motion.fixed or not self.motion.moves:
            return REST
        return self._carriage(self.travel).carrying(self.motion.frame(time))

    def inverse_inertia(self) -> Floats:
        """Return zeros: torques do not change the motion that the controller chooses."""
        return np.zeros((3, 3))

    def kinetic(self) -> float:
        """Return 0: it has no mass."""
        return 0.0

    def potential(self) -> float:
        """Return 0: it has no weight."""
        return 0.0

    def state(self) -> Floats:
        """Return all variables that change during a run."""
        row = np.zeros(STATE)
        row[13:15] = self.travel, self.rate
        row[15:23] = self.last_load
        row[23:] = self.work, self.travel_before
        return row

    def load_state(self, state: Floats) -> None:
        """Restore a saved state."""
        self.travel, self.rate = state[13:15].tolist()
        self.last_load = state[15:23].copy()
        self.work, self.travel_before = state[23:].tolist()

    def report(self, time: float) -> dict[str, tuple[float, str]]:
        """Return travel, its rate, load and target."""
        length, load = ("m", "N") if self.pivot is None else ("rad", "N m")
        return {
            "travel": (self.travel, length),
            "rate": (self.rate, f"{length}/s"),
            "load": (self.load(), load),
            "target": (self.target(time), load),
        }
