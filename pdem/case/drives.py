"""Drives of walls that particles move, from the sections of a case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import first_gravity
from pdem.case.messages import shown_key
from pdem.case.time_tables import table_of_values
from pdem.case.wall_motions import motion_of
from pdem.containers.meshes.solid import solid_of
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError, MeshError
from pdem.motion.bodies import FreeBody
from pdem.motion.servo import EAGERNESS, ServoDrive
from pdem.motion.spins import AxisSpin, NoSpin, TopSpin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.case.model import Case
    from pdem.case.sections import driven_walls as sections
    from pdem.case.sections.walls import Wall
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats
    from pdem.motion.courses import Clock
    from pdem.motion.drives import Drive
    from pdem.motion.spins import Spin


def drives_of(case: Case, meshes: Sequence[Mesh], clocks: Mapping[str, Clock] | None = None) -> dict[int, Drive]:
    """Return servos and bodies of a case by the number of their wall, in their state at time 0.

    Servos with a `stage` count from its clock, as in `pdem.case.wall_motions.motion_of`.

    Raises
    ------
    CaseError
        If a file of a table cannot be used.
    MeshError
        If mass or inertia follow from a volume, and a mesh encloses no volume.
    """
    drives: dict[int, Drive] = {}
    for number, (wall, mesh) in enumerate(zip(case.walls, meshes, strict=True)):
        if wall.servo is not None:
            drives[number] = servo_of(case, wall, clocks)
        elif wall.body is not None:
            try:
                drives[number] = body_of(case, wall.body, mesh)
            except MeshError as error:
                where = f"{case.source}: {shown_key(['walls', number, 'body'])}"
                raise MeshError(f"{where}: wall {wall.name}: {error}") from None
    return drives


def _unit(axis: Sequence[float]) -> Floats:
    return np.array(axis, np.float64) / exact_math.hypot(*axis)


def servo_of(case: Case, wall: Wall, clocks: Mapping[str, Clock] | None = None) -> ServoDrive:
    """Return the servo of a wall, in its state at time 0; see `drives_of`.

    Raises
    ------
    CaseError
        If a file of a table cannot be used, or if all target loads are 0 and there is no gain.
    """
    servo = wall.servo
    assert servo is not None, "only walls with a servo have one"
    times, targets = _targets(case, servo)
    largest = float(np.abs(targets).max())
    if largest == 0.0 and servo.gain is None:
        raise CaseError(f"{case.source}: wall {wall.name}: all loads wanted are 0; give servo.gain")
    gain = EAGERNESS * servo.largest_rate / largest if servo.gain is None else servo.gain
    return ServoDrive(
        _unit(servo.axis), None if servo.centre is None else np.array(servo.centre, np.float64), times, targets,
        largest_rate=servo.largest_rate, gain=gain,
        start=servo.start, travel_limits=servo.travel_limits or (-math.inf, math.inf),
        motion=motion_of(wall, case.motions, case.directory, clocks), clock=(clocks or {}).get(wall.stage or ""),
    )  # fmt: skip


def _targets(case: Case, servo: sections.Servo) -> tuple[Floats, Floats]:
    """Return times [s] and target loads [N, N m]."""
    constant = servo.torque if servo.force is None else servo.force
    if constant is not None:
        return np.zeros(1), np.array([constant], np.float64)
    table = servo.torque_table if servo.force_table is None else servo.force_table
    assert table is not None, "a checked case has one of the four loads"
    return table_of_values(case.directory, table, "load")


def body_of(case: Case, body: sections.Body, mesh: Mesh) -> FreeBody:
    """Return a body in its state at time 0.

    Raises
    ------
    MeshError
        If mass or inertia follow from a volume, and the mesh encloses no volume.
    """
    mass, centre, inertia = mass_of(body, mesh)
    flat = case.domain.dimension == 2
    free = np.array(body.free_translation, np.float64) * (1.0, 1.0, 0.0 if flat else 1.0)
    hinge = None
    if body.hinge is not None:
        hinge, free = np.array(body.hinge.centre, np.float64), np.zeros(3)
    gravity = first_gravity(case) * (1.0 if body.gravity else 0.0)
    return FreeBody(
        mass, centre, _spin(body, mass, centre, inertia, flat), free=free, hinge=hinge,
        velocity=np.array(body.velocity, np.float64), force=np.array(body.force, np.float64),
        torque=np.array(body.torque, np.float64), gravity=gravity,
    )  # fmt: skip


def mass_of(body: sections.Body, mesh: Mesh) -> tuple[float, Floats, Floats]:
    """Return mass [kg], centre (3,) [m] and inertia about it (3, 3) [kg m^2] of a body; zeros if it cannot rotate.

    Raises
    ------
    MeshError
        If the volume of the mesh is needed, and the mesh encloses no volume.
    """
    if body.mass is not None and (body.inertia is not None or not body.turns):
        middle = exact_math.totals(mesh.vertices) / mesh.vertex_count
        centre = middle if body.centre is None else np.array(body.centre, np.float64)
        return body.mass, centre, np.array(body.inertia or np.zeros((3, 3)), np.float64)
    solid = solid_of(mesh)
    density = body.mass / solid.volume if body.mass is not None else body.density or 0.0
    return density * solid.volume, solid.centre, density * solid.inertia


def _spin(body: sections.Body, mass: float, centre: Floats, inertia: Floats, flat: bool) -> Spin:
    """Return the rotational state of a body at time 0."""
    spin = np.array(body.angular_velocity, np.float64)
    if body.hinge is not None:
        axis, arm = _unit(body.hinge.axis), centre - np.array(body.hinge.centre)
        along = exact_math.inner(axis, arm)
        distance_squared = float(exact_math.inner(arm, arm) - along * along)
        return _about(axis, inertia, mass * distance_squared, spin)
    free = np.array(body.free_rotation) & (not flat, not flat, True)
    if free.all():
        return TopSpin(inertia, spin)
    if not free.any():
        return NoSpin()
    return _about(free.astype(np.float64), inertia, 0.0, spin)


def _about(axis: Floats, inertia: Floats, offset: float, spin: Floats) -> AxisSpin:
    """Return the rotation about an axis, of an inertia about the centre and the share of the centre's distance."""
    moment = exact_math.inner(exact_math.matmul(axis, inertia), axis)
    return AxisSpin(axis, float(moment) + offset, float(exact_math.inner(axis, spin)))
