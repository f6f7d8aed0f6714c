"""What particles drive: the common face of servo walls and free bodies.

A step of a drive is that of a particle (`pdem.motion.integration`): `begin` with the load of the last step, then
contacts at the new places, then `finish` with the new load. Every rank does the same with the same numbers: loads
are exact sums over all ranks.
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
        Point about which torques are taken, at time 0 [m]; `frame` says where it goes.
    translation_axis, rotation_axis : (3,) arrays
        Direction of the translation of a wall that travels along an axis, and rotation axis, through the present
        position of the centre, of a wall that turns; zeros for what does not apply.
    inverse_mass : (3,) array
        One over the mass for forces along x, y and z [1/kg]; zeros for a wall whose motion is prescribed.
    last_load : (8,) array
        Force, torque about the centre, stiffness and damping of the last step, see `pdem.contact.walls.driven_loads`.
    work : float
        What the controller or applied forces have delivered [J].
    """

    centre: Floats
    translation_axis: Floats
    rotation_axis: Floats
    inverse_mass: Floats
    last_load: Floats
    work: float

    def begin(self, before: float, dt: float) -> None:
        """Begin a step of length `dt` from the time `before` [s]: half a kick and the drift."""
        ...

    def finish(self, load: Floats, time: float, half: float) -> None:
        """Take force and torque (and resistances) of the new places, (8,); kick by the other half [s]."""
        ...

    def now(self, time: float) -> Pose:
        """Return the pose at the end of the step."""
        ...

    def then(self, before: float) -> Pose:
        """Return the pose at its beginning."""
        ...

    def frame(self, time: float, now: Pose) -> Pose:
        """Return the pose of what the centre rests in, at the end of the step, for the pose `now` of the wall."""
        ...

    def inverse_inertia(self) -> Floats:
        """Return the inverse of the inertia tensor about the centre, (3, 3) [1/(kg m^2)]."""
        ...

    def kinetic(self) -> float:
        """Return the kinetic energy [J]."""
        ...

    def potential(self) -> float:
        """Return the energy in gravity [J]."""
        ...

    def state(self) -> Floats:
        """Return all that changes, (`STATE`,)."""
        ...

    def adopt(self, state: Floats) -> None:
        """Go on from a state."""
        ...

    def report(self, time: float) -> dict[str, tuple[float, str]]:
        """Return by name what is worth a column of the series, and its unit."""
        ...


STATE = 25
"""Numbers that say where a drive is: place (3), velocity (3), attitude (4), angular momentum (3), travel, its rate, the
last load (8), work, and the travel before."""


def in_columns(name: str, vector: Floats, unit: str) -> dict[str, tuple[float, str]]:
    """Return the components of a vector as columns."""
    return {f"{name}_{axis}": (float(value), unit) for axis, value in zip("xyz", vector, strict=True)}
