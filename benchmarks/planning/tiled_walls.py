"""Walls of a large system that consists of copies of a small one, as far as one rank may touch them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.sections.flat_walls import PlaneWall
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.primitives.frames import loops_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.planning.tiling import Tiling
    from pdem.case.model import Case
    from pdem.foundation.array_types import Floats

_ROUNDING = 1e-9


def walls_near(
    case: Case, meshes: Sequence[Mesh], tiling: Tiling, lower: Floats, upper: Floats, periodic: Sequence[bool]
) -> list[Mesh]:
    """Return the walls that are within a box of the large system.

    Walls are copied with the tiles that the box overlaps. Walls that cross both sides of the small system along a
    periodic axis, such as floors and drums, continue to the ends of the box: they are one copy, stretched between the
    sides if it is too short.

    Parameters
    ----------
    case : Case
        The small system.
    meshes : sequence of Mesh
        Its walls.
    tiling : Tiling
        The large system.
    lower, upper : (3,) arrays
        The box [m].
    periodic : three bool
        Axes along which both systems are periodic.
    """
    lower, upper = np.maximum(lower, tiling.lower), np.minimum(upper, tiling.upper)
    shifts = np.array(tiling.tiles_in(lower, upper, periodic)) * tiling.length
    walls = []
    for number, mesh in enumerate(meshes):
        wall = case.walls[number]
        if isinstance(wall, PlaneWall) and wall.size is None:
            goes_on = np.array(periodic) & (np.array(wall.normal) == 0.0)
            ends = {
                "lower": tuple(np.where(goes_on, lower, case.domain.lower).tolist()),
                "upper": tuple(np.where(goes_on, upper, case.domain.upper).tolist()),
            }
            whole = Mesh.from_loops(*loops_of(wall.parts(case.domain.model_copy(update=ends))))
            walls.append(_at(whole, np.where(goes_on, 0.0, shifts)))
        else:
            walls.append(_copied(mesh, shifts, tiling, (lower, upper)))
    return walls


def _copied(mesh: Mesh, shifts: Floats, tiling: Tiling, box: tuple[Floats, Floats]) -> Mesh:
    """Return the mesh of a wall at several positions, or one that continues along axes on which it fills its tile."""
    first, last, rounding = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0), _ROUNDING * tiling.length
    goes_on = (first < tiling.lower - rounding) & (last > tiling.lower + tiling.length + rounding)
    moved, places = mesh.vertices.copy(), np.where(goes_on, 0.0, shifts)
    for axis in np.flatnonzero(goes_on).tolist():
        ends = shifts[:, axis].min(), shifts[:, axis].max()
        middle = shifts[len(shifts) // 2, axis]
        if first[axis] + middle <= box[0][axis] and last[axis] + middle >= box[1][axis]:
            moved[:, axis] += middle
        else:
            share = np.clip((moved[:, axis] - tiling.lower[axis]) / tiling.length[axis], 0.0, 1.0)
            moved[:, axis] += ends[0] + share * (ends[1] - ends[0])
    return _at(Mesh.from_loops(moved, mesh.facet_start, mesh.facet_vertices), places)


def _at(mesh: Mesh, shifts: Any) -> Mesh:
    """Return a mesh with one copy at each of several positions."""
    places = np.unique(shifts, axis=0)
    vertices = np.concatenate([mesh.vertices + place for place in places])
    sizes = np.tile(np.diff(mesh.facet_start), len(places))
    loops = [mesh.facet_vertices + number * len(mesh.vertices) for number in range(len(places))]
    return Mesh.from_loops(vertices, np.concatenate(([0], np.cumsum(sizes))), np.concatenate(loops))
