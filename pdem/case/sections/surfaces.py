"""``[walls.surface]``: surfaces that move although the geometry of their wall does not, such as belts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pdem.case.messages import Problem
from pdem.case.rules.value_rules import direction_problems, table_problems
from pdem.case.sections.base import Name, Section, Vector, entry
from pdem.case.sections.motions import Axis, SteadyTurn, Vectors
from pdem.case.sections.units import AngularRates, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.rules.value_rules import Location


class VelocityTable(Section):
    """``velocity_table``: velocity of a surface by a table, linear between its times, constant before and after."""

    values_key: ClassVar[str] = "velocities"
    times: Values | None = entry("Times in increasing order, in s.", default=None, unit="s")
    velocities: Vectors | None = entry("Velocities at these times in m/s.", default=None, unit="m/s")
    file: Name | None = entry(
        "In place of `times` and `values`: a text file with columns time, x, y, z, relative to the folder of the case.",
        default=None,
    )


class SurfaceRotation(SteadyTurn, Axis):
    """``rotation``: rotation of a surface about an axis at a constant rate."""


class SurfaceRotationTable(Axis):
    """``rotation_table``: rotation of a surface about an axis by a table of rates, linear between its times."""

    values_key: ClassVar[str] = "rates"
    times: Values | None = entry(
        "Times in increasing order, in s; the rate is constant before the first and after the last.",
        default=None,
        unit="s",
    )
    rates: AngularRates | None = entry(
        "Rates of rotation at these times in rad/s, or `{rpm = [0, 20]}`.", default=None, unit="rad/s"
    )
    file: Name | None = entry(
        "In place of the two lists: a text file with a column for each (s, rad/s), relative to the folder of the case.",
        default=None,
    )


class Surface(Section):
    """``[walls.surface]``: the surface moves and the geometry stays, as with a conveyor belt or a turntable.

    Its velocity acts on particles that touch it, in addition to the wall's own motion. Where the surface is not
    parallel to the velocity, the velocity is rotated into the surface and keeps its magnitude: a belt runs round its
    ends. Where the surface is perpendicular to the velocity, it is at rest. Velocity and axis are those at time 0, and
    move with the wall. The work is part of ``wall_work`` of the energy balance. Exactly one of the keys is required.
    """

    velocity: Vector | None = entry("Constant velocity, in m/s.", default=None, unit="m/s")
    velocity_table: VelocityTable | None = entry("Velocity as a function of time.", default=None)
    rotation: SurfaceRotation | None = entry("Rotation about an axis at a constant rate, in rad/s.", default=None)
    rotation_table: SurfaceRotationTable | None = entry(
        "Rotation about an axis at a rate that is a function of time.", default=None
    )


def surface_problems(dimension: int, surface: Surface, where: Location) -> Iterator[Problem]:
    """Yield the problems of a surface that moves independently of its wall."""
    given = [key for key in Surface.model_fields if getattr(surface, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        yield Problem(where, f"needs exactly one of {', '.join(Surface.model_fields)}, has {found}")
        return
    for key in ("rotation", "rotation_table"):
        turning = getattr(surface, key)
        if turning is not None:
            yield from direction_problems(turning.axis, (*where, key, "axis"))
            if dimension == 2 and any(turning.axis[:2]):
                text = "must be along z in a case of dimension 2, which lies in the x-y plane"
                yield Problem((*where, key, "axis"), text)
    for key in ("velocity_table", "rotation_table"):
        table = getattr(surface, key)
        if table is not None:
            yield from table_problems(table, table.values_key, (*where, key))
    if dimension == 2:
        yield from _plane_problems(surface, where)


def _plane_problems(surface: Surface, where: Location) -> Iterator[Problem]:
    """Yield a problem for each velocity that leaves the plane of a case of dimension 2."""
    text = "must be 0 in a case of dimension 2, which lies in the x-y plane"
    if surface.velocity is not None and surface.velocity[2] != 0.0:
        yield Problem((*where, "velocity", 2), text)
    table = surface.velocity_table
    for number, velocity in enumerate(() if table is None else table.velocities or ()):
        if velocity[2] != 0.0:
            yield Problem((*where, "velocity_table", "velocities", number, 2), text)
