"""Walls of a benchmark case in the form of other codes: a floor, a drum, a mesh at rest or in rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.benchmark.cases import SkipCase
from pdem.case.wall_motions import motion_of
from pdem.motion.courses import Steady
from pdem.motion.motions import MotionTurn

if TYPE_CHECKING:
    from benchmarks.lammps.laws import Law
    from pdem.benchmark.cases import Start
    from pdem.case.sections.walls import Wall
    from pdem.foundation.array_types import Floats
    from pdem.motion.motions import RigidMotion

_ONE_WALL = "peers are given one wall at most"
_MOTIONS = "peers are given walls that rest or turn at a constant rate about an axis that rests"
_ACROSS = "peers are given no meshes that reach across a periodic side of the box"


class Turning(NamedTuple):
    """A rotation at a constant rate [rad/s] about the axis through a point [m]; the rate may be 0."""

    rate: float
    axis: tuple[float, float, float]
    centre: tuple[float, float, float]


@dataclass(frozen=True)
class Floor:
    """A fixed horizontal plane below all particles: height [m] and contact law."""

    height: float
    law: Law


@dataclass(frozen=True)
class Drum:
    """A cylinder that rotates about the axis x: radius [m], rate [rad/s] and contact law."""

    radius: float
    rate: float
    law: Law


@dataclass(frozen=True)
class MeshedWall:
    """A mesh: corners of its triangles (k, 3, 3) at the start [m], motion and contact law."""

    triangles: Floats
    turning: Turning
    law: Law


def wall_of(start: Start, law: Law, step: float) -> Floor | Drum | MeshedWall:
    """Return the only wall of a start.

    Parameters
    ----------
    start : Start
        A case with a wall, and its state.
    law : Law
        Law of contacts with the wall.
    step : float
        Time step [s].

    Raises
    ------
    SkipCase
        If there are several walls, or other codes do not support the motion.
    """
    case, vertices = start.case, start.meshes[0].vertices
    if len(case.walls) > 1:
        raise SkipCase(_ONE_WALL)
    motion = motion_of(case.walls[0], case.motions, case.directory)
    turning, radius = _turning(case.walls[0], motion), np.hypot(vertices[:, 1], vertices[:, 2])
    if not turning.rate and np.ptp(vertices[:, 2]) == 0.0:
        return Floor(float(vertices[0, 2]), law)
    about_x = turning.axis == (1.0, 0.0, 0.0) and not any(turning.centre)
    if turning.rate and about_x and np.ptp(radius) <= 1e-9 * radius.max():
        return Drum(float(radius.max()), turning.rate, law)
    return MeshedWall(_triangles(start, motion, step), turning, law)


def _turning(wall: Wall, motion: RigidMotion) -> Turning:
    if wall.servo or wall.body or wall.surface or len(motion.parts) > 1:
        raise SkipCase(_MOTIONS)
    if not motion.parts:
        return Turning(0.0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    part = motion.parts[0]
    if not (isinstance(part, MotionTurn) and isinstance(part.angle, Steady)):
        raise SkipCase(_MOTIONS)
    length = math.hypot(*part.axis)
    x, y, z = (component / length for component in part.axis)
    return Turning(part.angle.rate, (x, y, z), part.centre)


def _triangles(start: Start, motion: RigidMotion, step: float) -> Floats:
    """Return the corners of all triangles at the start [m]."""
    mesh, state, domain = start.meshes[0], start.state, start.case.domain
    time = 0.0 if state is None else step * int(state["counters"]["step"])
    places = motion.pose(time).place(mesh.vertices)
    low, high = places.min(axis=0), places.max(axis=0)
    if np.any(np.array(domain.periodic) & ((low < domain.lower) | (high > domain.upper))):
        raise SkipCase(_ACROSS)
    loops = [mesh.loop(facet) for facet in range(mesh.facet_count)]
    fans = [(loop[0], loop[k], loop[k + 1]) for loop in loops for k in range(1, len(loop) - 1)]
    return np.asarray(places[np.array(fans)])
