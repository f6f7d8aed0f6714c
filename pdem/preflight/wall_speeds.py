"""Checks that walls do not move so far in one step that they pass through particles."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.case.drives import body_of, servo_of
from pdem.case.groups.particle_sources import smallest_radii
from pdem.case.wall_motions import motion_of
from pdem.foundation.errors import MeshError
from pdem.motion.courses import Steady
from pdem.motion.motions import MotionTurn
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.case.sections.walls import Wall
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats
    from pdem.motion.motions import RigidMotion

WALL_DISPLACEMENT_WARNING, WALL_DISPLACEMENT_ERROR = 0.1, 1.0
"""Displacement of a wall per step in smallest radii, above which contacts are detected too late, and above which the
wall passes through particles."""

JUMP = 10.0
"""Displacement of a wall per step in smallest radii above which a shorter time step is no remedy."""

SAMPLED_STEPS, SUBSTEPS, REFINED_STEPS = 400, 8, 16
"""Number of checked steps spread over the run, in addition to the steps of fastest motion; number of substeps per step,
to resolve whole revolutions; number of worst steps checked again with all vertices instead of the bounding box."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class StepDisplacement(NamedTuple):
    """Largest displacement of a wall in one step.

    Attributes
    ----------
    length : float
        Displacement of the fastest point [m].
    time : float or None
        Begin of this step [s]; None if all steps are equal.
    """

    length: float
    time: float | None


def speed_findings(case: Case, present: Floats, meshes: Sequence[Mesh], step: float) -> Iterator[Finding]:
    """Report walls that may move too far per step [s] for the smallest radius, including the radii `present` [m].

    Prescribed motions are checked at their fastest steps in reach of particles, servos at their largest rate, bodies at
    their initial velocity. Later motion of driven walls is checked during the run.
    """
    radii = [float(present.min(initial=math.inf)), *smallest_radii(case).values()]
    radius = min(radii)
    if not math.isfinite(radius):
        return
    largest = float(present.max(initial=0.0))
    for wall, mesh in zip(case.walls, meshes, strict=True):
        largest_step = _largest_displacement(case, wall, mesh, step, largest)
        share = largest_step.length / radius
        if share < WALL_DISPLACEMENT_WARNING:
            continue
        speed = largest_step.length / step
        text = f"it moves up to {largest_step.length:.4g} m in one step"
        text += "" if largest_step.time is None else f" (the one from {largest_step.time:.6g} s)"
        text += f", at {speed:.4g} m/s: {100.0 * share:.3g} % of the smallest radius {radius:.4g} m; "
        too_fast = share > WALL_DISPLACEMENT_ERROR
        text += "it goes through particles; " if too_fast else "contacts with it are seen late; "
        most = WALL_DISPLACEMENT_WARNING * radius / step
        text += f"let it move at most {most:.4g} m/s"
        if share > JUMP:
            text += f", so that this way takes {largest_step.length / most:.3g} s"
        else:
            text += f", or use a step of at most {WALL_DISPLACEMENT_WARNING * radius / speed:.3g} s"
        yield Finding("error" if too_fast else "warning", f"wall {wall.name}", text)


def turning_findings(case: Case) -> Iterator[Finding]:
    """Report the rates of walls that rotate at a constant rate, by their own motion or a carrying frame."""
    for wall in case.walls:
        motion = motion_of(wall, case.motions, case.directory)
        turns = [part.angle for part in motion.parts if isinstance(part, MotionTurn)]
        for rate in (angle.rate for angle in turns if isinstance(angle, Steady)):
            text = f"turns at {rate:.4g} rad/s, {rate * 30.0 / math.pi:.4g} revolutions per minute"
            yield Finding("info", f"wall {wall.name}", text)


def _largest_displacement(case: Case, wall: Wall, mesh: Mesh, step: float, reach: float) -> StepDisplacement:
    """Return the largest displacement of a wall in one step."""
    motion = motion_of(wall, case.motions, case.directory)
    found = _prescribed_displacement(case, motion, mesh, step, reach) if motion.moves else StepDisplacement(0.0, None)
    if wall.servo is not None:
        servo, arm = servo_of(case, wall), 1.0
        if servo.pivot is not None:
            arm = float(np.linalg.norm(np.cross(mesh.vertices - servo.pivot, servo.axis), axis=1).max())
        found = StepDisplacement(found.length + step * servo.largest_rate * arm, found.time)
    if wall.body is not None:
        try:
            body = body_of(case, wall.body, mesh)
        except MeshError:
            return found  # the checks of bodies report it
        speeds = np.linalg.norm(body.now(0.0).velocity_at(mesh.vertices), axis=1)
        found = StepDisplacement(step * float(speeds.max()), 0.0)
    return found


def _prescribed_displacement(
    case: Case, motion: RigidMotion, mesh: Mesh, step: float, reach: float
) -> StepDisplacement:
    """Return the largest displacement per step by a prescribed motion."""
    points = mesh.vertices[np.unique(mesh.facet_vertices)]
    low, high = points.min(axis=0), points.max(axis=0)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, 8).T
    of_box = [(_displacement(case, motion, corners, time, step, reach), time) for time in _times(case, motion, step)]
    of_box.sort(reverse=True)
    of_points = [
        (_displacement(case, motion, points, time, step, reach), time)
        for length, time in of_box[:REFINED_STEPS]
        if length
    ]
    return StepDisplacement(*max(of_points)) if of_points else StepDisplacement(0.0, None)


def _times(case: Case, motion: RigidMotion, step: float) -> list[float]:
    """Return the start times of the steps to check: the fastest steps of each motion, and steps spread over the run."""
    last = max(math.ceil(case.time.end / step) - 1, 0)
    fastest = [time / step for time in motion.fastest(step)]
    near = {math.floor(number) + k for number in fastest for k in (-1, 0, 1)}
    spread = {int((number * GOLDEN) % 1.0 * last) for number in range(SAMPLED_STEPS)}
    return [number * step for number in sorted(near | spread) if 0 <= number <= last]


def _displacement(case: Case, motion: RigidMotion, points: Floats, time: float, step: float, reach: float) -> float:
    """Return the largest displacement of points (n, 3) in a step, 0 if they are out of reach of the domain.

    `points` are positions at time 0.
    """
    positions = [motion.pose(time + step * part / SUBSTEPS).place(points) for part in range(SUBSTEPS + 1)]
    lower = np.min([one.min(axis=0) for one in positions], axis=0)
    upper = np.max([one.max(axis=0) for one in positions], axis=0)
    domain = case.domain
    closed = np.array(domain.periodic) | (domain.outside == "remove")
    apart = (upper < np.array(domain.lower) - reach) | (lower > np.array(domain.upper) + reach)
    if (closed & apart).any():
        return 0.0
    return float(sum(np.linalg.norm(b - a, axis=1) for a, b in pairwise(positions)).max())
