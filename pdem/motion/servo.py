"""A wall that moves until the particles load it as wanted.

The controller is a dashpot: the wall moves at ``gain (load - target)`` along or about its axis, as a plate without
mass would that is pushed by ``-target`` and held back by a drag of 1/gain. Where particles press the wall, the load
falls as the wall moves along the axis, from whichever side they press; so the sign is right for every bed, and there
is nothing to choose. In steady state the wall rests, therefore the load is the target: no error stays. A dashpot only
takes energy away, and so cannot make any bed of springs and masses ring, whatever the gain.

Except through the step: the load is that of the last one. For contacts of stiffness K and damping C against the
travel, all on bodies that do not give way, the travel s then follows

    s(n+1) = s(n) - gain (dt K s(n) + C (3 (s(n) - s(n-1)) - (s(n-1) - s(n-2))) / 2),

since the contact law takes the velocity of a step's end from the last two (`law.kinds.viscoelastic`). By Jury's
conditions at z = -1 this is stable while ``gain (dt K + 4 C) < 2``. K and C are sums over the contacts of every step,
sticking friction included; the gain in use never exceeds ``SHARE / (dt K + 4 C)``, a quarter of the limit. The stable
gain is that of contacts with resting bodies; bodies that give way only soften them.

The gain unless given is ``EAGERNESS largest_rate / |largest target|``: the wall moves at the largest rate until a tenth
of the load is missing, and slows down from there. On a bed of stiffness k the load then approaches its target like
``exp(-t / T)``, ``T = |target| / (EAGERNESS largest_rate k)``, a tenth of the time in which the largest rate would
have brought it. A bed that goes on giving way at the rate u holds a load that is ``u / gain`` short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.motion.courses import Clock
from pdem.motion.drives import NOTHING, STATE
from pdem.motion.motions import RigidMotion
from pdem.motion.poses import REST, Pose, RotationAxis, dot

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

SHARE = 0.5
"""Of the 2 at which the controller becomes unstable, the most that is used."""


EAGERNESS = 10.0
"""Gain unless given, times the largest load wanted over the largest rate."""


class ServoDrive:
    """A wall that is moved along or about an axis by what loads it; its own motion goes on relative to that.

    Parameters
    ----------
    axis : (3,) array
        Unit vector; it stays as it is.
    centre : (3,) array or None
        A point on the axis about which the wall turns [m]; None for a wall that moves along the axis.
    times, targets : (n,) arrays
        Wanted load along or about the axis [N, N m] at these times [s]; straight lines between, constant beyond.
    largest_rate, gain : float
        Of the travel [m/s, rad/s], and how fast it answers a wrong load [m/(N s), rad/(N m s)].
    start : float
        Time of the clock before which it rests [s].
    travel_limits : tuple of 2 float
        Beyond which it does not go [m, rad].
    motion : RigidMotion
        What the wall does besides, as the servo carries it.
    clock : Clock
        From which start and times of targets count.
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
        """Return the load that is wanted at a time [s]."""
        return float(np.interp(self.clock.since(time), self.times, self.targets))

    def load(self) -> float:
        """Return what particles did to the wall in the last step along or about the axis [N, N m]."""
        return dot(self.translation_axis, self.last_load[:3]) + dot(self.rotation_axis, self.last_load[3:6])

    def begin(self, before: float, dt: float) -> None:
        """Begin a step: choose the rate, and go."""
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
        """Return what the wall delivers to the particles, at the last load and the present rate [W]."""
        pose = self.now(time)
        velocity = pose.velocity_at(self.frame(time, pose).place(self.centre))
        return -dot(self.last_load[:3], velocity) - dot(self.last_load[3:6], pose.spin)

    def finish(self, load: Floats, time: float, half: float) -> None:
        """Take the load at the new places."""
        self.last_load = load
        self.work += half * self._power(time)

    def _carriage(self, travel: float) -> Pose:
        """Return the pose of what the servo moves, and which carries the wall."""
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
        """Return the pose of what the centre rests in: the axis, what turns by itself, or space."""
        if self._line is not None:
            return self._carriage(self.travel) if self.motion.moves else now
        if self.motion.fixed or not self.motion.moves:
            return REST
        return self._carriage(self.travel).carrying(self.motion.frame(time))

    def inverse_inertia(self) -> Floats:
        """Return zeros: what the controller says is done."""
        return np.zeros((3, 3))

    def kinetic(self) -> float:
        """Return 0: it has no mass."""
        return 0.0

    def potential(self) -> float:
        """Return 0: it has no weight."""
        return 0.0

    def state(self) -> Floats:
        """Return all that changes."""
        row = np.zeros(STATE)
        row[13:15] = self.travel, self.rate
        row[15:23] = self.last_load
        row[23:] = self.work, self.travel_before
        return row

    def adopt(self, state: Floats) -> None:
        """Go on from a state."""
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
