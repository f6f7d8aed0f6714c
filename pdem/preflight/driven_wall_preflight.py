"""Checks before a run of walls that particles drive (servos and free bodies)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.drives import body_of, servo_of
from pdem.case.timestep import contact_force, impact_conditions, impact_limit
from pdem.foundation.errors import MeshError
from pdem.preflight.findings import STEP_WARNING, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.case.sections.walls import Wall
    from pdem.case.timestep import ImpactConditions
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats
    from pdem.motion.bodies import FreeBody

LARGEST_FORCE_STEP = 0.1
"""Largest change of a contact force in one step of a servo, relative to the target load."""


def driven_findings(
    case: Case,
    radii: Floats,
    number: int,
    meshes: Sequence[Mesh],
    step: float,
    conditions: ImpactConditions | None = None,
) -> Iterator[Finding]:
    """Check the driven walls of a case: servos slow enough, bodies with a mass, and heavy enough for the step [s].

    The stiffnesses of all particles in contact with a body add up. The largest number of contacts is estimated by
    spheres of the smallest radius, side by side over the whole surface.

    Parameters
    ----------
    case : Case
        The case.
    radii : array
        Radii of particles, including the largest [m].
    number : int
        Number of all particles.
    meshes : sequence of Mesh
        Meshes of the walls.
    step : float
        Time step [s].
    conditions : ImpactConditions, optional
        Conditions of inserted particles, instead of the conditions of the case.
    """
    conditions = impact_conditions(case) if conditions is None else conditions
    for index, (wall, mesh) in enumerate(zip(case.walls, meshes, strict=True)):
        subject = f"wall {wall.name}"
        if wall.servo is not None:
            yield from _servo(case, index, radii, step, conditions)
        if wall.body is None:
            continue
        try:
            body = body_of(case, wall.body, mesh)
        except MeshError as error:
            yield Finding("error", subject, str(error))
            continue
        yield Finding("info", subject, f"a body of {body.mass:.4g} kg")
        yield from _step(case, wall, body, mesh, number, step, conditions)


def _servo(case: Case, number: int, radius: Floats, step: float, conditions: ImpactConditions) -> Iterator[Finding]:
    """Warn if one step at the largest rate changes a contact force by a large share of the target load."""
    wall = case.walls[number]
    servo = servo_of(case, wall)
    target = float(np.abs(servo.targets).max())
    text = f"a servo for loads up to {target:.4g} {'N' if servo.pivot is None else 'N m'}"
    yield Finding("info", f"wall {wall.name}", f"{text}, gain {servo.gain:.4g}")
    if servo.pivot is not None or target == 0.0 or not len(radius):
        return
    displacement = servo.largest_rate * step
    for grain, other, is_wall in conditions.pairs:
        if not is_wall or other != wall.material:
            continue
        force = contact_force(case, (grain, other), float(radius.max()), displacement)
        if force > LARGEST_FORCE_STEP * target:
            text = f"one step at servo.largest_rate presses a sphere by {force:.3g} N, {force / target:.2g} of "
            yield Finding("warning", f"wall {wall.name}", f"{text}the load wanted; lower the rate or shorten the step")


def _step(
    case: Case, wall: Wall, body: FreeBody, mesh: Mesh, particles: int, step: float, conditions: ImpactConditions
) -> Iterator[Finding]:
    smallest = conditions.smallest
    single, mean = _inverse_masses(body, mesh)
    for grain, other, is_wall in conditions.pairs:
        if not is_wall or other != wall.material or grain not in smallest:
            continue
        radius = smallest[grain]
        mass = (case.materials[grain].density or 0.0) * 4.0 / 3.0 * math.pi * radius**3
        number = min(float(particles), float(mesh.facet_areas.sum()) / (2.0 * math.sqrt(3.0) * radius**2))
        inverse_mass = 1.0 / mass + max(single, number * mean)
        subject = f"{grain} on body {wall.name}"
        limit = impact_limit(case, (grain, other), 1.0 / inverse_mass, radius, conditions.speed, subject)
        most = STEP_WARNING[limit.name] * limit.time
        if step > most:
            text = f"{step:.4g} s is {100.0 * step / limit.time:.3g} % of the contact time {limit.time:.4g} s of "
            text += f"{grain}, {math.ceil(number)} at once, on a body of {body.mass:.4g} kg; "
            yield Finding("warning", "time step", f"{text}use at most {most:.3g} s, or a heavier body")


def _inverse_masses(body: FreeBody, mesh: Mesh) -> tuple[float, float]:
    """Return the largest and the mean inverse effective mass of points on the surface of a body [1/kg]."""
    inverse_inertia = float(np.linalg.eigvalsh(body.inverse_inertia()).max())
    arms = np.linalg.norm(mesh.vertices - body.centre, axis=1)
    inverse_mass = float(body.inverse_mass.max())
    return (
        inverse_mass + inverse_inertia * float(arms.max()) ** 2,
        inverse_mass + inverse_inertia * float((arms**2).mean()),
    )
