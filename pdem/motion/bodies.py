"""Rigid bodies that particles, gravity and constant forces drive: walls with a mass.

A body takes the same step as a particle: half a kick by the load of the last step, the drift, contacts at the new
positions, half a kick by the new load. The force on a particle and the force on the body are equal and opposite and act
at the same point, so that linear and angular momentum of the whole system are conserved to rounding. Energy is
conserved as well as for particles, to the second order of the step. Bodies touch particles only, never each other or
walls without a mass.

The contact law uses the effective mass of sphere and body at the point of contact,
``1 / (1/m + n (1/M) n + (a x n) I^-1 (a x n))`` for a normal n at an arm a from the centre of mass: restitution is that
of the two-body impact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math
from pdem.motion.drives import NOTHING, STATE, in_columns
from pdem.motion.poses import Pose, cross, dot
from pdem.motion.spins import AxisSpin, TopSpin

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.motion.spins import Spin


class FreeBody:
    """A rigid body with a mass.

    Parameters
    ----------
    mass : float
        [kg].
    centre : (3,) array
        Centre of mass at time 0 [m].
    spin : Spin
        The rotation, with the inertia about the centre of mass, or about the hinge if there is one.
    free : (3,) array
        1 for each direction of space in which the body can translate, else 0.
    hinge : (3,) array, optional
        A point at rest, about which the body turns [m]; then `free` is all 0.
    velocity : (3,) array
        Velocity of the centre of mass at time 0 [m/s].
    force, torque : (3,) arrays
        Constant force and torque in fixed directions, applied at the centre of mass [N, N m].
    gravity : (3,) array
        Acceleration [m/s^2].
    """

    def __init__(
        self,
        mass: float,
        centre: Floats,
        spin: Spin,
        *,
        free: Floats,
        hinge: Floats | None = None,
        velocity: Floats = NOTHING,
        force: Floats = NOTHING,
        torque: Floats = NOTHING,
        gravity: Floats = NOTHING,
    ) -> None:
        self.mass, self.spin, self.free = mass, spin, free
        self.centre = centre if hinge is None else hinge
        self._lever = centre - self.centre
        self.translation_axis = self.rotation_axis = NOTHING
        self.inverse_mass = free / mass
        self.force, self.torque, self.gravity = force, torque, gravity
        self.place, self.velocity = self.centre.copy(), velocity * free
        self._place_before, self._rotation_before = self.place, spin.rotation
        self.last_load = np.zeros(8)
        self.work = 0.0

    def begin(self, before: float, dt: float) -> None:
        """Begin a step: half a kick, then the drift."""
        half = 0.5 * dt
        self._kick(half)
        self._note_work(half)
        self._place_before, self._rotation_before = self.place, self.spin.rotation
        self.place = self.place + dt * self.velocity
        self.spin.drift(dt)

    def finish(self, load: Floats, time: float, half: float) -> None:
        """Store the load at the new positions, and apply the second half of the kick."""
        self.last_load = load
        self._note_work(half)
        self._kick(half)

    def _kick(self, time: float) -> None:
        steady = self.force + self.mass * self.gravity
        self.velocity = self.velocity + time * self.inverse_mass * (self.last_load[:3] + steady)
        torque = self.last_load[3:6] + self.torque + cross(self._arm(), steady)
        self.spin.kick(torque, time)

    def _arm(self) -> Floats:
        """Return the vector from the reference point of torques to the centre of mass [m]."""
        return np.asarray(exact_math.inner(self.spin.rotation, self._lever))

    def _note_work(self, time: float) -> None:
        """Add the work of the applied force and torque over a time, at the present velocities."""
        spin = self.spin.velocity()
        speed = self.velocity + cross(spin, self._arm())
        self.work += time * (dot(self.force, speed) + dot(self.torque, spin))

    def _pose(self, place: Floats, rotation: Floats) -> Pose:
        spin = self.spin.velocity()
        return Pose.of(
            rotation, place - exact_math.inner(rotation, self.centre), spin, self.velocity - cross(spin, place)
        )

    def now(self, time: float) -> Pose:
        """Return the present pose."""
        return self._pose(self.place, self.spin.rotation)

    def then(self, before: float) -> Pose:
        """Return the pose at the beginning of the step."""
        return self._pose(self._place_before, self._rotation_before)

    def frame(self, time: float, now: Pose) -> Pose:
        """Return the present pose of the body: the centre moves with it."""
        return now

    def inverse_inertia(self) -> Floats:
        """Return the inverse of the inertia tensor (3, 3) [1/(kg m^2)]."""
        return self.spin.inverse_inertia()

    def kinetic(self) -> float:
        """Return the kinetic energy [J]."""
        return 0.5 * self.mass * dot(self.velocity, self.velocity) + self.spin.energy()

    def potential(self) -> float:
        """Return the potential energy in gravity [J]."""
        return -self.mass * dot(self.gravity, self.place + self._arm())

    def momentum(self) -> Floats:
        """Return the linear momentum, (3,) [N s]."""
        return self.mass * (self.velocity + cross(self.spin.velocity(), self._arm()))

    def state(self) -> Floats:
        """Return all variables that change during a run."""
        row = np.zeros(STATE)
        row[:3], row[3:6], row[6:15] = self.place, self.velocity, self.spin.state()
        row[15:23], row[23] = self.last_load, self.work
        return row

    def load_state(self, state: Floats) -> None:
        """Restore a saved state."""
        self.place, self.velocity = state[:3].copy(), state[3:6].copy()
        self.spin.load_state(state[6:15])
        self.last_load, self.work = state[15:23].copy(), float(state[23])
        self._place_before, self._rotation_before = self.place, self.spin.rotation

    def report(self, time: float) -> dict[str, tuple[float, str]]:
        """Return position and velocity of the centre of mass, angular velocity, and total rotation."""
        spin, arm = self.spin.velocity(), self._arm()
        columns = {
            **in_columns("position", self.place + arm, "m"),
            **in_columns("velocity", self.velocity + cross(spin, arm), "m/s"),
            **in_columns("angular_velocity", spin, "rad/s"),
        }
        if isinstance(self.spin, AxisSpin):
            columns["angle"] = self.spin.angle, "rad"
        if isinstance(self.spin, TopSpin):
            columns |= {f"attitude_{k}": (part, "1") for k, part in zip("wxyz", self.spin.attitude, strict=True)}
        return columns
