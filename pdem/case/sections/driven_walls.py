"""Sections of the case file for walls that particles drive: ``[walls.servo]`` and ``[walls.body]``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pdem.case.sections.base import Flags, Name, NotNegative, Positive, Section, Vector, entry
from pdem.case.sections.motions import Axis
from pdem.case.sections.units import AngleRange, AngularVelocity, PositiveRate, Values

TORQUES = ("torque", "torque_table")
"""Loads for which a servo rotates its wall."""


class LoadTable(Section):
    """``force_table`` and ``torque_table``: loads against time, linear between its times, constant before and after."""

    times: Values | None = entry("Times in increasing order, in s.", default=None, unit="s")
    values: Values | None = entry("Forces or torques at these times, in N or N m.", default=None, unit="N or N m")
    file: Name | None = entry(
        "In place of the two lists: a text file with a column for each, relative to the folder of the case.",
        default=None,
    )


_TABLE_TEXT = "In place of `force` and `torque`: the wanted load as a function of time."


class Servo(Section):
    """``[walls.servo]``: the wall moves until the particles exert the wanted load; see `pdem.motion.servo`.

    Exactly one of the four loads is required. With a force the wall moves along the axis; with a torque it rotates
    about the axis. The load is that of the particles *on the wall*, along the axis, as in ``wall_loads`` and the
    series: for a piston with an axis into the bed, `force` is negative. The wall's own motion (not `on`) is added, for
    example for a lid that rotates while it presses.
    """

    axis: Vector = entry("Direction of the axis, a vector of any length but zero, constant in time.")
    centre: Vector | None = entry("A point on the axis, in m; needed with a torque.", default=None, unit="m")
    force: float | None = entry(
        "Wanted load: force of the particles on the wall along the axis, in N.", default=None, unit="N"
    )
    torque: float | None = entry(
        "In place of `force`: wanted torque of the particles on the wall about the axis, in N m.",
        default=None,
        unit="N m",
    )
    force_table: LoadTable | None = entry(_TABLE_TEXT, default=None)
    torque_table: LoadTable | None = entry(_TABLE_TEXT, default=None)
    largest_rate: PositiveRate = entry(
        "Largest rate of the wall, in m/s, with a torque in rad/s or `{rpm = 5}`; it moves at this rate until only "
        "a tenth of the largest load is missing.",
        unit="m/s or rad/s",
    )
    gain: Positive | None = entry(
        "Rate over error of the load, in m/(N s) or rad/(N m s); by default ten times `largest_rate` over the "
        "largest load. It is reduced where stiff contacts would make the servo unstable.",
        default=None,
        unit="m/(N s) or rad/(N m s)",
    )
    start: NotNegative = entry(
        "Time at which the servo starts to move the wall, in s. If the wall has a `stage`, this time and those of "
        "the table are counted from the beginning of that stage.",
        default=0.0,
        unit="s",
    )
    travel_limits: AngleRange | None = entry(
        "Smallest and largest displacement from the position of the mesh, along the axis in m, or with a torque "
        "about it in rad or `{degrees = [-10, 10]}`.",
        default=None,
        unit="m or rad",
    )

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
    """Return three moments as a matrix, and any other value unchanged."""
    if isinstance(value, (list, tuple)) and len(value) == 3 and all(isinstance(part, (int, float)) for part in value):
        return [[value[0], 0.0, 0.0], [0.0, value[1], 0.0], [0.0, 0.0, value[2]]]
    return value


Inertia = Annotated[
    tuple[Vector, Vector, Vector],
    Field(strict=False),
    BeforeValidator(_matrix, json_schema_input_type=Vector | tuple[Vector, Vector, Vector]),
]


class Body(Section):
    """``[walls.body]``: a rigid body with a mass, moved by particles, gravity and constant forces.

    It touches particles only: neither bodies nor walls, and no periodic copies of particles beyond the sides that it
    does not reach itself. See `pdem.motion.bodies`.
    """

    mass: Positive | None = entry("Mass in kg; exactly one of mass and density is given.", default=None, unit="kg")
    density: Positive | None = entry(
        "Density in kg/m^3 of the volume that the mesh encloses.", default=None, unit="kg/m^3"
    )
    centre: Vector | None = entry("Centre of mass at time 0, in m.", default=None, unit="m")
    inertia: Inertia | None = entry(
        "Inertia about the centre of mass at time 0, in kg m^2: moments about x, y and z, or the tensor. Without "
        "centre and inertia the mesh has to be closed, and both are those of its volume.",
        default=None,
        unit="kg m^2",
    )
    velocity: Vector = entry("Velocity at time 0, in m/s.", default=(0.0, 0.0, 0.0), unit="m/s")
    angular_velocity: AngularVelocity = entry(
        "Angular velocity at time 0, in rad/s, or `{rpm = [0, 0, 20]}`.", default=(0.0, 0.0, 0.0), unit="rad/s"
    )
    free_translation: Flags = entry("Directions of space in which the body can move.", default=(True, True, True))
    free_rotation: Flags = entry(
        "Axes of space, through the centre of mass, about which the body can turn: all, one or none.",
        default=(True, True, True),
    )
    hinge: Axis | None = entry(
        "In place of `free_translation` and `free_rotation`: the only axis about which the body can turn.", default=None
    )
    force: Vector = entry(
        "Force that is applied at the centre of mass, constant in space, in N.", default=(0.0, 0.0, 0.0), unit="N"
    )
    torque: Vector = entry("Torque that is applied, constant in space, in N m.", default=(0.0, 0.0, 0.0), unit="N m")
    gravity: bool = entry("Whether the gravity of the domain acts on the body.", default=True)

    @property
    def turns(self) -> bool:
        """Whether the body has a rotational degree of freedom."""
        return self.hinge is not None or any(self.free_rotation)
