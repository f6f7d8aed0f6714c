"""Interpretation of an insertion of a case: its face, rate, velocity, interval, and the region of new particles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import largest_gravity
from pdem.case.groups.group_sizes import insertion_sizes, reach_of
from pdem.case.messages import shown_key
from pdem.case.missing_file import missing_file_error
from pdem.case.sections.faces import DiscFace, MeshFace, PolygonFace, WallFace
from pdem.case.time_tables import read_table
from pdem.features.insertions.section import RateTable
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError, InputError, MeshError
from pdem.particles import regions
from pdem.particles.faces import Face, disc, face_of_mesh, polygon
from pdem.particles.inlets import FaceInlet, RegionInlet
from pdem.particles.rates import Rate

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData
    from pdem.features.insertions.section import Insertion
    from pdem.foundation.array_types import Floats
    from pdem.particles.inlets import Inlet

LAYER_DEPTH = 4.0
"""Default depth of the layer that enters through a face between two events, over the largest radius."""


def face_of(case: CaseData, index: int) -> Face | None:
    """Return the face of an insertion, None if it has a region.

    Raises
    ------
    CaseError
        If the face is not plane, or its mesh cannot be read.
    """
    given = case.insertions[index].face
    return None if given is None else face_at(case, given, ["insertions", index, "face"])


def face_at(case: CaseData, given: PolygonFace | DiscFace | MeshFace | WallFace, where: list[str | int]) -> Face:
    """Return the face at a location of a case.

    Raises
    ------
    CaseError
        If the face is not plane, or its mesh cannot be read.
    """
    try:
        if isinstance(given, WallFace):
            return _face_of_wall(case, given)
        return _face_of_file(case, given, where) if isinstance(given, MeshFace) else face_given(given)
    except (InputError, MeshError) as error:
        raise CaseError(f"{case.source}: {shown_key(where)}: {error}") from None


def face_given(given: PolygonFace | DiscFace) -> Face:
    """Return a face that is defined without a file.

    Raises
    ------
    InputError
        If the face is not plane.
    """
    if isinstance(given, DiscFace):
        return disc(given.centre, given.normal, given.radius)
    return polygon(given.corners)


def _face_of_file(case: CaseData, given: MeshFace, where: list[str | int]) -> Face:
    path = case.file(given.mesh)
    if not path.is_file():
        raise missing_file_error(case, f"{case.source}: {shown_key([*where, 'mesh'])}", path)
    from pdem.containers.meshes.mesh import (
        Mesh,  # late: most cases have no such face, and reading a case should be quick
    )

    return face_of_mesh(Mesh.read(path, given.scale, rotate=given.rotations(), offset=given.offset, group=given.group))


def _face_of_wall(case: CaseData, given: WallFace) -> Face:
    from pdem.case.wall_files import mesh_of_wall  # late, as above

    return face_of_mesh(mesh_of_wall(case, [wall.name for wall in case.walls].index(given.wall)))


def rate_of(case: CaseData, insertion: Insertion) -> Rate | None:
    """Return the rate of an insertion in kg/s or 1/s; None if all particles are requested at the same time.

    Raises
    ------
    CaseError
        If the file of the rate cannot be used, or contains a negative rate.
    """
    given = insertion.rate
    if given is None:
        return None
    if not isinstance(given, RateTable):
        return Rate((0.0,), (given,))
    if given.file is None:
        return Rate(given.times or (), given.values or ())
    path = case.file(given.file)
    times, rows = read_table(path, ("rate",))
    values = [row[0] for row in rows]
    if min(values) < 0.0:
        raise CaseError(f"{path}: the rate {min(values):g} is negative; remove particles with an outlet instead")
    return Rate(times, values)


def mean_velocity(insertion: Insertion, face: Face | None) -> Floats:
    """Return the mean velocity (3,) of the particles of an insertion [m/s]."""
    mean = insertion.mean
    if isinstance(mean, tuple):
        return np.array(mean)
    return np.zeros(3) if face is None else mean * face.normal


def largest_insertion_speed(case: CaseData, insertion: Insertion) -> float:
    """Return the largest speed of newly inserted particles of an insertion [m/s]."""
    mean = insertion.mean
    size = abs(mean) if isinstance(mean, (int, float)) else exact_math.hypot(*mean)
    return size + insertion.spread * math.sqrt(case.domain.dimension)


def largest_reach(case: CaseData, insertion: Insertion) -> float:
    """Return the reach of the largest particles of an insertion from their centres [m]."""
    return reach_of(case, insertion) * insertion_sizes(case, insertion).largest


def interval_of(case: CaseData, insertion: Insertion, face: Face | None) -> float:
    """Return the interval of events of an insertion [s]; infinite if its particles do not leave its region."""
    if insertion.every is not None:
        return insertion.every
    velocity = mean_velocity(insertion, face)
    if face is not None:
        through = abs(float(exact_math.inner(velocity, face.normal)))
        return LAYER_DEPTH * largest_reach(case, insertion) / through if through > 0.0 else math.inf
    assert insertion.region is not None
    lower, upper = regions.bounds(insertion.region)
    axes = range(case.domain.dimension)
    sides = (upper - lower).tolist()
    gravity = largest_gravity(case, files=False)
    return min(_passage(sides[axis], abs(velocity[axis]), float(gravity[axis])) for axis in axes)


def _passage(way: float, speed: float, acceleration: float) -> float:
    """Return the time to cover a distance [m] from a speed [m/s] with an acceleration [m/s^2]."""
    final = math.sqrt(speed * speed + 2.0 * acceleration * way)
    return 2.0 * way / (speed + final) if final > 0.0 else math.inf


def inlet_of(case: CaseData, insertion: Insertion, face: Face | None, interval: float) -> Inlet:
    """Return the inlet of an insertion with events at an interval [s]."""
    if face is not None:
        velocity = mean_velocity(insertion, face)
        return FaceInlet(face, velocity, interval, largest_reach(case, insertion), case.domain)
    assert insertion.region is not None
    return RegionInlet(insertion.region, case.domain)
