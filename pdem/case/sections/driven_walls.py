"""Sections of the case file for walls that particles drive: ``[walls.servo]`` and ``[walls.body]``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pdem.case.sections.base import Flags, Name, NotNegative, Positive, Section, Vector
from pdem.case.sections.motions import Axis
from pdem.case.sections.units import AngleRange, AngularVelocity, PositiveRate, Values

TORQUES = ("torque", "torque_table")
"""Loads with which a servo turns its wall."""


class LoadTable(Section):
    """``force_table`` and ``torque_table``: loads against time, linear between its times, constant before and after.

    Attributes
    ----------
    times : tuple of float
        Times in increasing order, in s.
    values : tuple of float
        Forces or torques at these times, in N or N m.
    file : str
        In place of the two lists: a text file with a column for each, relative to the folder of the case.
    """

    times: Values | None = None
    values: Values | None = None
    file: Name | None = None


class Servo(Section):
    """``[walls.servo]``: the wall moves until the particles load it with a given value; see `pdem.motion.servo`.

    Exactly one of the four loads is given. With a force the wall moves along the axis, with a torque it turns about it.
    The load is that of the particles *on the wall*, along the axis, as in ``wall_loads`` and the series: a piston whose
    axis points into the bed has a negative `force`. The wall's own motion (not `on`) is added: a lid that turns
    while it presses.

    Attributes
    ----------
    axis : tuple of 3 float
        Direction of the axis, a vector of any length but zero, constant in time.
    centre : tuple of 3 float
        A point on the axis, in m; needed with a torque.
    force : float
        Wanted load: force of the particles on the wall along the axis, in N.
    torque : float
        In place of `force`: wanted torque of the particles on the wall about the axis, in N m.
    force_table, torque_table : LoadTable
        In place of `force` and `torque`: the wanted load as a function of time.
    largest_rate : float
        Largest rate of the wall, in m/s, with a torque in rad/s or ``{rpm = 5}``; it moves at this rate until only
        a tenth of the largest load is missing.
    gain : float
        Rate over error of the load, in m/(N s) or rad/(N m s); by default ten times `largest_rate` over the largest
        load. It is reduced where stiff contacts would make the servo unstable.
    start : float
        Time at which the servo starts to move the wall, in s. If the wall has a `stage`, this time and those of the
        table are counted from the beginning of that stage.
    travel_limits : tuple of 2 float
        Smallest and largest displacement from the position of the mesh, along the axis in m, or with a torque about
        it in rad or ``{degrees = [-10, 10]}``.
    """

    axis: Vector
    centre: Vector | None = None
    force: float | None = None
    torque: float | None = None
    force_table: LoadTable | None = None
    torque_table: LoadTable | None = None
    largest_rate: PositiveRate
    gain: Positive | None = None
    start: NotNegative = 0.0
    travel_limits: AngleRange | None = None

    @model_validator(mode="before")
    @classmethod
    def _lengths_are_no_angles(cls, table: Any) -> Any:
        if not isinstance(table, dict) or any(key in table for key in TORQUES):
            return table
        for key, unit in (("largest_rate", "m/s"), ("travel_limits", "m")):
            if isinstance(table.get(key), dict):
                text = "moves along its axis: {key} is in {unit}; only with a torque the wall turns"
                raise PydanticCustomError("no_angle", text, {"key": key, "unit": unit})
        return table


def _matrix(value: Any) -> Any:
    """Return three moments as a matrix, any other value unchanged."""
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
    mass : float
        Mass in kg; exactly one of mass and density is given.
    density : float
        Density in kg/m^3 of the volume that the mesh encloses.
    centre : tuple of 3 float
        Centre of mass at time 0, in m.
    inertia : 3 or 3 times 3 float
        Inertia about the centre of mass at time 0, in kg m^2: moments about x, y and z, or the tensor. Without
        centre and inertia the mesh has to be closed, and both are those of its volume.
    velocity : tuple of 3 float
        Velocity at time 0, in m/s.
    angular_velocity : tuple of 3 float
        Angular velocity at time 0, in rad/s, or ``{rpm = [0, 0, 20]}``.
    free_translation : tuple of 3 bool
        Directions of space in which the body can move.
    free_rotation : tuple of 3 bool
        Axes of space, through the centre of mass, about which the body can turn: all, one or none.
    hinge : Axis
        In place of `free_translation` and `free_rotation`: the only axis about which the body can turn.
    force : tuple of 3 float
        Force that is applied at the centre of mass, constant in space, in N.
    torque : tuple of 3 float
        Torque that is applied, constant in space, in N m.
    gravity : bool
        Whether the gravity of the domain acts on the body.
    """

    mass: Positive | None = None
    density: Positive | None = None
    centre: Vector | None = None
    inertia: Inertia | None = None
    velocity: Vector = (0.0, 0.0, 0.0)
    angular_velocity: AngularVelocity = (0.0, 0.0, 0.0)
    free_translation: Flags = (True, True, True)
    free_rotation: Flags = (True, True, True)
    hinge: Axis | None = None
    force: Vector = (0.0, 0.0, 0.0)
    torque: Vector = (0.0, 0.0, 0.0)
    gravity: bool = True

    @property
    def turns(self) -> bool:
        """Whether it has a rotational degree of freedom."""
        return self.hinge is not None or any(self.free_rotation)
