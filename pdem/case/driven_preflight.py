"""What can be said before a run about walls that particles drive."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.drives import body_of, servo_of
from pdem.case.findings import STEP_WARNING, Finding
from pdem.case.timestep import contact_force, crowd_of, impact_limit
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.timestep import Crowd
    from pdem.case.walls import Wall
    from pdem.containers.mesh import Mesh
    from pdem.motion.bodies import FreeBody


LARGEST_TOUCH = 0.1
"""Part of the load wanted that one contact may take in one step of a servo."""


def driven_findings(
    case: Case,
    particles: Mapping[str, NDArray[Any]],
    meshes: Sequence[Mesh],
    step: float,
    crowd: Crowd | None = None,
    number: int | None = None,
) -> Iterator[Finding]:
    """Check the driven walls of a case: servos slow enough, bodies of known mass, and heavy enough for the step [s].

    A body that many particles touch at once is driven by the sum of their stiffnesses. How many those may be is
    estimated: spheres side by side, of the smallest radius, all over its surface.

    Of particles that come in later, `crowd` is what counts in place of the case's, and `number` how many there are
    then.
    """
    crowd = crowd_of(case) if crowd is None else crowd
    total = len(particles["radius"]) if number is None else number
    for place, (wall, mesh) in enumerate(zip(case.walls, meshes, strict=True)):
        subject = f"wall {wall.name}"
        if wall.servo is not None:
            yield from _servo(case, place, particles["radius"], step, crowd)
        if wall.body is None:
            continue
        try:
            body = body_of(case, wall.body, mesh)
        except MeshError as error:
            yield Finding("error", subject, str(error))
            continue
        yield Finding("info", subject, f"a body of {body.mass:.4g} kg")
        yield from _step(case, wall, body, mesh, total, step, crowd)


def _servo(
    case: Case, number: int, radius: NDArray[np.float64], step: float, crowd: Crowd
) -> Iterator[Finding]:
    """Warn where one step at the largest rate presses a sphere by more than some of the load that is wanted."""
    wall = case.walls[number]
    servo = servo_of(case, wall)
    wanted = float(np.abs(servo.targets).max())
    text = f"a servo for loads up to {wanted:.4g} {'N' if servo.pivot is None else 'N m'}"
    yield Finding("info", f"wall {wall.name}", f"{text}, gain {servo.gain:.4g}")
    if servo.pivot is not None or wanted == 0.0 or not len(radius):
        return
    way = servo.largest_rate * step
    for grain, other, is_wall in crowd.pairs:
        if not is_wall or other != wall.material:
            continue
        force = contact_force(case, (grain, other), float(radius.max()), way)
        if force > LARGEST_TOUCH * wanted:
            text = (
                f"one step at servo.largest_rate presses a sphere by {force:.3g} N, {force / wanted:.2g} of "
            )
            yield Finding(
                "warning", f"wall {wall.name}", f"{text}the load wanted; lower the rate or shorten the step"
            )


def _step(
    case: Case, wall: Wall, body: FreeBody, mesh: Mesh, particles: int, step: float, crowd: Crowd
) -> Iterator[Finding]:
    smallest = crowd.smallest
    single, mean = _lightness(body, mesh)
    for grain, other, is_wall in crowd.pairs:
        if not is_wall or other != wall.material or grain not in smallest:
            continue
        radius = smallest[grain]
        mass = (case.materials[grain].density or 0.0) * 4.0 / 3.0 * math.pi * radius**3
        number = min(float(particles), float(mesh.facet_areas.sum()) / (2.0 * math.sqrt(3.0) * radius**2))
        inverse_mass = 1.0 / mass + max(single, number * mean)
        subject = f"{grain} on body {wall.name}"
        limit = impact_limit(case, (grain, other), 1.0 / inverse_mass, radius, crowd.speed, subject)
        most = STEP_WARNING[limit.name] * limit.time
        if step > most:
            text = f"{step:.4g} s is {100.0 * step / limit.time:.3g} % of the contact time {limit.time:.4g} s of "
            text += f"{grain}, {math.ceil(number)} at once, on a body of {body.mass:.4g} kg; "
            yield Finding("warning", "time step", f"{text}use at most {most:.3g} s, or a heavier body")


def _lightness(body: FreeBody, mesh: Mesh) -> tuple[float, float]:
    """Return how a body gives way at most to one push on its surface, and to many on the average [1/kg]."""
    turning = float(np.linalg.eigvalsh(body.inverse_inertia()).max())
    arms = np.linalg.norm(mesh.vertices - body.centre, axis=1)
    straight = float(body.inverse_mass.max())
    return straight + turning * float(arms.max()) ** 2, straight + turning * float((arms**2).mean())
