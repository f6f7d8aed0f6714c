"""Walls that particles drive, as a case says it: ``[walls.servo]`` and ``[walls.body]``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pdem.case.base import Flags, Name, NotNegative, Positive, Section, Vector
from pdem.case.motions import About, Values

Limits = Annotated[tuple[float, float], Field(strict=False)]


class LoadTable(Section):
    """``force_table`` and ``torque_table``: straight lines between given loads, constant before and after.

    Attributes
    ----------
    times : tuple of float
        Rising, in s.
    values : tuple of float
        In N or N m.
    file : str
        In place of both: a text file with a column for each, relative to the folder of the case.
    """

    times: Values | None = None
    values: Values | None = None
    file: Name | None = None


class Servo(Section):
    """``[walls.servo]``: the wall moves until the particles load it as wanted; see `pdem.motion.servo`.

    Exactly one of the four loads is given. A force makes the wall move along the axis, a torque turn about it. The
    load is what particles do *to the wall*, counted along the axis, as ``wall_loads`` and the series report it: a
    piston with the axis pointing from it into the bed is pressed by a negative `force`. The wall's own motion (not
    `on`) goes on besides: a lid that turns while it is pressed.

    Attributes
    ----------
    axis : tuple of 3 float
        Direction, of any length but zero. It stays as it is.
    centre : tuple of 3 float
        For torques, a point on the axis, in m.
    force, torque : float
        In N, N m.
    force_table, torque_table : LoadTable
        The same as a function of the time.
    largest_rate : float
        Of the wall, in m/s or rad/s. So fast it moves until a tenth of the load is missing.
    gain : float
        Speed over wrong load, in m/(N s) or rad/(N m s); unless given, ten times `largest_rate` over the largest load.
        It is cut where contacts are so stiff that it would be unstable.
    start : float
        Time before which the wall stays where it is, in s.
    travel_limits : tuple of 2 float
        How far it may go along and about the axis from where the mesh is, in m or rad.
    """

    axis: Vector
    centre: Vector | None = None
    force: float | None = None
    torque: float | None = None
    force_table: LoadTable | None = None
    torque_table: LoadTable | None = None
    largest_rate: Positive
    gain: Positive | None = None
    start: NotNegative = 0.0
    travel_limits: Limits | None = None


def _matrix(value: Any) -> Any:
    """Return three moments as a matrix, anything else as it is."""
    if (
        isinstance(value, (list, tuple))
        and len(value) == 3
        and all(isinstance(part, (int, float)) for part in value)
    ):
        return [[value[0], 0.0, 0.0], [0.0, value[1], 0.0], [0.0, 0.0, value[2]]]
    return value


Inertia = Annotated[tuple[Vector, Vector, Vector], Field(strict=False), BeforeValidator(_matrix)]


class Body(Section):
    """``[walls.body]``: a rigid body with a mass, moved by particles, gravity and constant forces.

    It touches particles only: neither other bodies nor other walls, nor copies of particles across periodic sides
    where it does not reach. See `pdem.motion.bodies`.

    Attributes
    ----------
    mass, density : float
        One of them, in kg or kg/m^3; the density is that of the volume the mesh encloses.
    centre : tuple of 3 float
        Of mass at time 0, in m.
    inertia : 3 or 3 times 3 float
        About the centre of mass at time 0, in kg m^2: moments about x, y and z, or the tensor. Without centre and
        inertia the mesh has to be closed, and both are those of its volume.
    velocity, angular_velocity : tuple of 3 float
        At time 0, in m/s and rad/s.
    free_translation : tuple of 3 bool
        Directions of space in which it moves.
    free_rotation : tuple of 3 bool
        Axes of space, through its centre of mass, about which it turns: all, one or none.
    hinge : About
        In place of both: it turns about this axis alone.
    force, torque : tuple of 3 float
        Applied at the centre of mass, constant in space, in N and N m.
    gravity : bool
        Whether the domain's gravity acts on it.
    """

    mass: Positive | None = None
    density: Positive | None = None
    centre: Vector | None = None
    inertia: Inertia | None = None
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: Vector = (0.0, 0.0, 0.0)
    free_translation: Flags = (True, True, True)
    free_rotation: Flags = (True, True, True)
    hinge: About | None = None
    force: Vector = (0.0, 0.0, 0.0)
    torque: Vector = (0.0, 0.0, 0.0)
    gravity: bool = True

    @property
    def turns(self) -> bool:
        """Whether it can turn at all."""
        return self.hinge is not None or any(self.free_rotation)
