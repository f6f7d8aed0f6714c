"""Fall heights of particles down to a wall or to the bed below."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.case.groups.inlets import face_of, inlet_of, interval_of, largest_insertion_speed
from pdem.case.stage_cases import walls_present
from pdem.case.wall_motions import motion_of
from pdem.containers.meshes.closed_surfaces import crossings_upwards
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.containers.primitives.frames import frame_of
from pdem.motion.motions import MotionTurn
from pdem.preflight.estimates.beds import bed_of
from pdem.preflight.open_sides import RAYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers
    from pdem.preflight.population import Population

STEEPEST = 0.05
"""Cosine of the inclination below which a facet is vertical: no particles slide to its lower edge."""

_MOST_EDGES = 400
"""Largest number of corners of a wall that are tested as starts of drops."""

_LEVEL = 1e-9
"""Sine of the inclination below which an axis counts as vertical."""


class Fall(NamedTuple):
    """A fall of particles.

    Attributes
    ----------
    height : float
        Height of the fall [m].
    speed : float
        Initial speed [m/s].
    text : str
        Start and end in words.
    wall : int
        Index of the wall at the end, -1 for none.
    depth : float
        Coordinate of the end along gravity [m].
    """

    height: float
    speed: float
    text: str
    wall: int
    depth: float

    def impact(self, gravity: float, longest: float) -> float:
        """Return the speed at its end [m/s], for a gravity [m/s^2] and a longest duration [s]."""
        return min(math.sqrt(self.speed**2 + 2.0 * gravity * self.height), self.speed + gravity * longest)


def falls_of(case: Case, particles: Population, meshes: Sequence[Mesh], gravity: Floats) -> list[Fall]:
    """Return the longest falls of particles at time 0, of inserted particles, and from wall to wall. Collective.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        Particles at time 0.
    meshes : sequence of Mesh
        Meshes of the walls at time 0.
    gravity : (3,) array
        Acceleration [m/s^2], not zero.
    """
    frame = frame_of(gravity.tolist())
    first = walls_present(case, 0)
    there = [mesh if is_there else None for mesh, is_there in zip(meshes, first, strict=True)]
    begins = [*_of_particles(case, particles, there, frame), *_of_inlets(case, meshes, frame)]
    return [*begins, *_drops(case, meshes, frame, begins), *_lifts(case, meshes, frame)]


def distances_below(points: Floats, meshes: Sequence[Mesh | None], frame: Floats) -> tuple[Floats, Integers]:
    """Return the distance from points (n, 3) down to the first wall [m], and its index; inf and -1 without a wall.

    The last row of the frame (3, 3) is the downward direction.
    """
    begins = points @ frame.T
    distance, wall = np.full(len(points), np.inf), np.full(len(points), -1)
    for number, mesh in enumerate(meshes):
        if mesh is None:
            continue
        vertices = mesh.vertices @ frame.T
        triangles = triangle_fans(mesh.facet_start, mesh.facet_vertices)[0]
        for triangle, point in crossings_upwards(vertices, triangles, begins):
            one, two, three = (vertices[triangles[triangle, corner]] for corner in range(3))
            normal = np.cross(two - one, three - one)
            way = np.einsum("ij,ij->i", one - begins[point], normal) / normal[:, 2]
            nearest = np.full(len(points), np.inf)
            np.minimum.at(nearest, point, way)
            wall[nearest < distance] = number
            distance = np.minimum(distance, nearest)
    return distance, wall


def _of_particles(case: Case, particles: Population, meshes: Sequence[Mesh | None], frame: Floats) -> Iterator[Fall]:
    """Yield the longest fall of particles at time 0 onto a wall, or onto the bed at rest on the wall."""
    if not particles.count:
        return
    bed = bed_of(case, particles, frame)
    rows = bed.highest
    radius = particles["radius"][rows]
    distance, wall = _first_touches(particles["position"][rows], radius, meshes, frame)
    height = np.where(np.isfinite(distance), distance - radius - bed.below, -np.inf)
    at = int(np.argmax(height)) if len(height) else -1
    most = float(particles.over.largest(np.array([height.max(initial=-np.inf)]))[0])
    mine = at >= 0 and height[at] == most
    end = float((particles["position"][rows[at]] @ frame[2]) + distance[at]) if mine else 0.0
    found = particles.over.first((int(wall[at]), end) if mine else None)
    if most > 0.0 and found is not None:
        fastest = float(particles.worst(np.linalg.norm(particles["velocity"], axis=1))[0])
        name = case.walls[found[0]].name
        yield Fall(most, fastest, f"a fall of {most:.3g} m onto wall {name}", *found)


def _first_touches(
    points: Floats, radius: Floats, meshes: Sequence[Mesh | None], frame: Floats
) -> tuple[Floats, Integers]:
    """Return the distances and walls below spheres (n,), with rays from the centre and near the rim to skip holes."""
    begins = points + radius[:, None] * (RAYS @ frame)[:, None]
    found = distances_below(begins.reshape(-1, 3), meshes, frame)
    distance, wall = (one.reshape(len(RAYS), -1) for one in found)
    nearest, rows = distance.argmin(axis=0), np.arange(len(points))
    return distance[nearest, rows], wall[nearest, rows]


def _of_inlets(case: Case, meshes: Sequence[Mesh], frame: Floats) -> Iterator[Fall]:
    """Yield the fall of the particles of each insertion, from its highest point."""
    for index, insertion in enumerate(case.insertions):
        face = face_of(case, index)
        lower, upper = inlet_of(case, insertion, face, interval_of(case, insertion, face)).bounds
        middle = 0.5 * (lower + upper)
        distance, wall = distances_below(middle[None], meshes, frame)
        if not np.isfinite(distance[0]):
            continue
        height = float(distance[0]) + 0.5 * float(np.abs(frame[2]) @ (upper - lower))
        text = f"insertion {insertion.name} and a fall of {height:.3g} m onto wall {case.walls[wall[0]].name}"
        end = float(middle @ frame[2] + distance[0])
        yield Fall(height, largest_insertion_speed(case, insertion), text, int(wall[0]), end)


def _drops(case: Case, meshes: Sequence[Mesh], frame: Floats, begins: Sequence[Fall]) -> Iterator[Fall]:
    """Yield the longest drop to the next wall below, from the edges of each wall that particles reach."""
    waiting, seen = list(begins), set()
    while waiting:
        reached = waiting.pop(0)
        if reached.wall in seen:
            continue
        seen.add(reached.wall)
        corners = _edges(meshes[reached.wall], frame, reached.depth)
        distance, wall = distances_below(corners, meshes, frame)
        for number in np.unique(wall[np.isfinite(distance)]):
            here = wall == number
            most = int(np.argmax(np.where(here, distance, -np.inf)))
            height = float(distance[most])
            names = case.walls[reached.wall].name, case.walls[number].name
            text = f"a drop of {height:.3g} m from wall {names[0]} to wall {names[1]}"
            fall = Fall(height, 0.0, text, int(number), float(corners[most] @ frame[2]) + height)
            yield fall
            waiting.append(fall)


def _edges(mesh: Mesh, frame: Floats, depth: float) -> Floats:
    """Return points slightly below the corners of facets that hold particles, from a depth along gravity on."""
    vertices = mesh.vertices @ frame.T
    triangles = triangle_fans(mesh.facet_start, mesh.facet_vertices)[0]
    one, two, three = (vertices[triangles[:, corner]] for corner in range(3))
    normal = np.cross(two - one, three - one)
    flat = np.abs(normal[:, 2]) > STEEPEST * np.linalg.norm(normal, axis=1)
    size = float(np.ptp(mesh.vertices, axis=0).max())
    rows = np.unique(triangles[flat])
    rows = rows[vertices[rows, 2] >= depth - 1e-6 * size]
    rows = rows[:: max(1, len(rows) // _MOST_EDGES)]
    # start slightly below the corners, so that no ray meets the wall that it leaves
    return np.asarray(mesh.vertices[rows] + 1e-6 * size * frame[2])


def _lifts(case: Case, meshes: Sequence[Mesh], frame: Floats) -> Iterator[Fall]:
    """Yield the fall from the highest to the lowest point of each wall that rotates about a non-vertical axis."""
    corners = np.array([case.domain.lower, case.domain.upper]) @ frame.T
    box = float(np.abs(corners[1] - corners[0])[2])
    for number, (wall, mesh) in enumerate(zip(case.walls, meshes, strict=True)):
        motion = motion_of(wall, case.motions, case.directory)
        turns = [part for part in motion.parts if isinstance(part, MotionTurn) and part.angle.largest_rate > 0.0]
        reach = [_reach(turn, mesh, frame[2]) for turn in turns]
        if reach and max(reach) > 0.0:
            height = min(2.0 * max(reach), box)
            text = f"a fall of {height:.3g} m from the top to the bottom of the turn of wall {wall.name}"
            yield Fall(height, 0.0, text, number, math.inf)


def _reach(turn: MotionTurn, mesh: Mesh, down: Floats) -> float:
    """Return the vertical reach of a rotating wall from its axis [m], 0 for a vertical axis."""
    axis = np.array(turn.axis) / math.hypot(*turn.axis)
    lever = float(np.linalg.norm(np.cross(axis, down)))
    if lever < _LEVEL:
        return 0.0
    arms = np.linalg.norm(np.cross(mesh.vertices - np.array(turn.centre), axis), axis=1)
    return lever * float(arms.max())
