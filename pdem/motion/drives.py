"""Walls that particles drive: the common interface of servo walls and free bodies.

A drive takes the same step as a particle (`pdem.motion.integration`): `begin` with the load of the last step, then
contacts at the new positions, then `finish` with the new load. Every rank computes the same motion from the same
numbers, because loads are exact sums over all ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.motion.poses import Pose

NOTHING = np.zeros(3)


class Drive(Protocol):
    """A wall that particles drive.

    Attributes
    ----------
    centre : (3,) array
        Reference point of torques at time 0 [m]; `frame` gives its motion.
    translation_axis, rotation_axis : (3,) arrays
        Direction of translation of a wall that travels along an axis, and rotation axis, through the present position
        of the centre, of a wall that turns; zeros where there is no such axis.
    inverse_mass : (3,) array
        Inverse mass for forces along x, y and z [1/kg]; zeros for a wall with a prescribed motion.
    last_load : (8,) array
        Force, torque about the centre, stiffness and damping of the last step, see `pdem.contact.walls.driven_loads`.
    work : float
        Work of the controller or of the applied forces [J].
    """

    centre: Floats
    translation_axis: Floats
    rotation_axis: Floats
    inverse_mass: Floats
    last_load: Floats
    work: float

    def begin(self, before: float, dt: float) -> None:
        """Begin a step of length `dt` at the time `before` [s]: half a kick and the drift."""
        ...

    def finish(self, load: Floats, time: float, half: float) -> None:
        """Store force, torque and resistances at the new positions, (8,), and kick by the other half [s]."""
        ...

    def now(self, time: float) -> Pose:
        """Return the pose at the end of the step."""
        ...

    def then(self, before: float) -> Pose:
        """Return the pose at the beginning of the step."""
        ...

    def frame(self, time: float, now: Pose) -> Pose:
        """Return the pose of the frame in which the centre rests, at the end of the step, for the pose `now`."""
        ...

    def inverse_inertia(self) -> Floats:
        """Return the inverse of the inertia tensor about the centre, (3, 3) [1/(kg m^2)]."""
        ...

    def kinetic(self) -> float:
        """Return the kinetic energy [J]."""
        ...

    def potential(self) -> float:
        """Return the potential energy in gravity [J]."""
        ...

    def state(self) -> Floats:
        """Return all variables that change during a run, (`STATE`,)."""
        ...

    def load_state(self, state: Floats) -> None:
        """Restore a saved state."""
        ...

    def report(self, time: float) -> dict[str, tuple[float, str]]:
        """Return the values for columns of the series, by name, with units."""
        ...


STATE = 25
"""Layout of the state of a drive: position (3), velocity (3), attitude (4), angular momentum (3), travel, its rate,
the last load (8), work, and the travel before."""


def in_columns(name: str, vector: Floats, unit: str) -> dict[str, tuple[float, str]]:
    """Return the components of a vector as columns of the series."""
    return {f"{name}_{axis}": (float(value), unit) for axis, value in zip("xyz", vector, strict=True)}
