"""Whether walls move so far in one step that they pass through particles."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.case.drives import body_of, servo_of
from pdem.case.findings import Finding
from pdem.case.timestep import smallest_radii
from pdem.case.wall_motions import motion_of
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.walls import Wall
    from pdem.containers.mesh import Mesh
    from pdem.motion.motions import Motion

    Floats = NDArray[np.float64]

WAY_WARNING, WAY_ERROR = 0.1, 1.0
"""Way of a wall in one step over the smallest radius: from which on contacts are seen too late, and beyond which the
wall goes through particles."""

JUMP = 10.0
"""Way of a wall in one step over the smallest radius beyond which a shorter step is no remedy."""

SAMPLES, PARTS, CLOSELY = 400, 8, 16
"""Steps all over the run that are looked at besides those that motions name, parts into which a step is cut to see
whole turns, and steps of the longest ways for which all vertices are looked at."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Way(NamedTuple):
    """How far a wall goes in one step.

    Attributes
    ----------
    length : float
        Of the fastest point [m].
    time : float or None
        When that step begins [s]; None where it may be any.
    """

    length: float
    time: float | None


def speed_findings(
    case: Case, particles: Mapping[str, NDArray[Any]], meshes: Sequence[Mesh], step: float
) -> Iterator[Finding]:
    """Say which walls may go too far in one step [s], for the smallest radius there is.

    The ways of given motions are those of their fastest steps, while any of the wall is where particles can be; those
    of servos are at the largest rate, those of bodies at their first velocity. What happens to these later, the run
    itself sees.
    """
    radii = [float(particles["radius"].min(initial=math.inf)), *smallest_radii(case).values()]
    radius = min(radii)
    if not math.isfinite(radius):
        return
    largest = float(particles["radius"].max(initial=0.0))
    for wall, mesh in zip(case.walls, meshes, strict=True):
        way = _way_of(case, wall, mesh, step, largest)
        share = way.length / radius
        if share < WAY_WARNING:
            continue
        speed = way.length / step
        text = f"it moves up to {way.length:.4g} m in one step"
        text += "" if way.time is None else f" (the one from {way.time:.6g} s)"
        text += f", at {speed:.4g} m/s: {100.0 * share:.3g} % of the smallest radius {radius:.4g} m; "
        fast = share > WAY_ERROR
        text += "it goes through particles; " if fast else "contacts with it are seen late; "
        most = WAY_WARNING * radius / step
        text += f"let it move at most {most:.4g} m/s"
        if share > JUMP:
            text += f", so that this way takes {way.length / most:.3g} s"
        else:
            text += f", or use a step of at most {WAY_WARNING * radius / speed:.3g} s"
        yield Finding("error" if fast else "warning", f"wall {wall.name}", text)


def _way_of(case: Case, wall: Wall, mesh: Mesh, step: float, reach: float) -> Way:
    """Return the longest way of a wall in one step."""
    motion = motion_of(wall, case.motions, case.directory)
    way = _given_way(case, motion, mesh, step, reach) if motion.moves else Way(0.0, None)
    if wall.servo is not None:
        servo, arm = servo_of(case, wall), 1.0
        if servo.pivot is not None:
            arm = float(np.linalg.norm(np.cross(mesh.vertices - servo.pivot, servo.axis), axis=1).max())
        way = Way(way.length + step * servo.largest_rate * arm, way.time)
    if wall.body is not None:
        try:
            body = body_of(case, wall.body, mesh)
        except MeshError:
            return way  # told by the checks of bodies
        speeds = np.linalg.norm(body.now(0.0).velocity(mesh.vertices), axis=1)
        way = Way(step * float(speeds.max()), 0.0)
    return way


def _given_way(case: Case, motion: Motion, mesh: Mesh, step: float, reach: float) -> Way:
    """Return the longest way by a given motion."""
    points = mesh.vertices[np.unique(mesh.facet_vertices)]
    low, high = points.min(axis=0), points.max(axis=0)
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, 8).T
    ways = [(_way(case, motion, corners, time, step, reach), time) for time in _times(case, motion, step)]
    ways.sort(reverse=True)
    close = [
        (_way(case, motion, points, time, step, reach), time) for length, time in ways[:CLOSELY] if length
    ]
    return Way(*max(close)) if close else Way(0.0, None)


def _times(case: Case, motion: Motion, step: float) -> list[float]:
    """Return the begins of steps to look at: the fastest of each part, and some all over the run."""
    last = max(math.ceil(case.time.end / step) - 1, 0)
    wanted = [time / step for time in motion.fastest(step)]
    near = {math.floor(number) + k for number in wanted for k in (-1, 0, 1)}
    spread = {int((number * GOLDEN) % 1.0 * last) for number in range(SAMPLES)}
    return [number * step for number in sorted(near | spread) if 0 <= number <= last]


def _way(case: Case, motion: Motion, points: Floats, time: float, step: float, reach: float) -> float:
    """Return the longest way of points (n, 3) of time 0 in a step, 0 if they are out of reach of the domain."""
    places = [motion.pose(time + step * part / PARTS).place(points) for part in range(PARTS + 1)]
    lower = np.min([place.min(axis=0) for place in places], axis=0)
    upper = np.max([place.max(axis=0) for place in places], axis=0)
    domain = case.domain
    closed = np.array(domain.periodic) | (domain.outside == "remove")
    apart = (upper < np.array(domain.lower) - reach) | (lower > np.array(domain.upper) + reach)
    if (closed & apart).any():
        return 0.0
    return float(sum(np.linalg.norm(b - a, axis=1) for a, b in pairwise(places)).max())
