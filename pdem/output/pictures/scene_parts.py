"""Parts of a scene: without some walls, and cut open along planes."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.errors import InputError, name_hint
from pdem.output.pictures.scene import Walls, mean_of_bodies
from pdem.output.summary import body_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Booleans, Floats
    from pdem.output.pictures.scene import Scene, SceneFrame

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_PLANE = re.compile(r"\s*(?P<normal>[^<>=]+?)\s*(?P<side>[<>=])\s*(?P<distance>[^<>=]+?)\s*")
_ALONG = 1e-9  # cosine between a normal and the view, below which the camera is on neither side of the plane


class CutPlane(NamedTuple):
    """A plane that cuts a scene: points x with normal . x > distance are left out.

    Attributes
    ----------
    normal : (3,) array
        Unit vector towards the part that is left out.
    distance : float
        Distance of the plane from the origin along the normal [m].
    """

    normal: Floats
    distance: float

    def keeps(self, points: Floats) -> Booleans:
        """Return for each point (n, 3) whether it remains."""
        remaining: Booleans = points @ self.normal <= self.distance
        return remaining


def cut_plane(text: str, direction: Floats) -> CutPlane:
    """Return the plane of a text such as ``y=0``, ``z<0.1`` or ``1,1,0>0.05`` [m].

    The last one has the points with x + y = 0.05 m. With ``=`` the part between the plane and the camera is left out,
    with ``<`` and ``>`` the part on which the inequality does not hold. If the camera looks along the plane, ``=``
    means ``<``.

    Parameters
    ----------
    text : str
        A coordinate or a normal vector, a sign, and a number.
    direction : (3,) array
        Direction from the scene towards the camera.

    Raises
    ------
    InputError
        If the text describes no plane.
    """
    found = _PLANE.fullmatch(text)
    try:
        normal = np.array(_AXES.get(found["normal"], found["normal"].split(",")), float) if found else np.zeros(3)
        distance = float(found["distance"]) if found else 0.0
    except ValueError:
        normal, distance = np.zeros(3), 0.0
    length = float(np.linalg.norm(normal))
    if found is None or normal.shape != (3,) or not (0.0 < length < np.inf and np.isfinite(distance)):
        raise InputError(
            f"cut {text!r} is no plane; give x=0.1, y<0.1, z>0.1 or a normal vector as in 1,1,0=0.1, with lengths in m"
        )
    away = found["side"] == ">" or (found["side"] == "=" and normal @ direction < -_ALONG * length)
    sign = -1.0 if away else 1.0
    return CutPlane(sign * normal / length, sign * distance / length)


class PartialScene:
    """A scene without hidden walls and without the parts that planes cut off.

    Parameters
    ----------
    scene : Scene
        The whole scene.
    hide : sequence of str
        Names of walls that are not drawn, or patterns with ``*``.
    planes : sequence of CutPlane
        Planes. Particles and contacts are left out by their centres, clusters by the mean of their members; walls are
        cut along the plane.

    Raises
    ------
    InputError
        If no wall has one of the names.
    """

    def __init__(self, scene: Scene, hide: Sequence[str], planes: Sequence[CutPlane]) -> None:
        self.times = scene.times
        self._scene, self._planes = scene, planes
        self._hidden = _indices_of(hide, scene.frame(0).wall_names) if hide else []

    def frame(self, index: int) -> SceneFrame:
        """Return the remaining part of a frame."""
        frame = self._scene.frame(index)
        if self._hidden and frame.walls is not None:
            frame = replace(frame, walls=_compact(frame.walls.only(~np.isin(frame.walls.facet_wall, self._hidden))))
        return _cut(frame, self._planes) if self._planes else frame

    def require_something(self, indices: Sequence[int]) -> None:
        """Require that something remains in the first or the last of some frames.

        Raises
        ------
        InputError
            If neither walls nor particles remain.
        """
        if all(_is_empty(self.frame(index)) for index in (indices[0], indices[-1])):
            points = self._scene.frame(indices[0]).outline()
            ends = zip("xyz", points.min(axis=0), points.max(axis=0), strict=True)
            reach = ", ".join(f"{axis} = {low:.4g} to {high:.4g} m" for axis, low, high in ends)
            raise InputError(f"cuts and hidden walls leave nothing to draw; the whole scene reaches over {reach}")


def _is_empty(frame: SceneFrame) -> bool:
    return not len(frame.columns["radius"]) and (frame.walls is None or not len(frame.walls.facet_wall))


def _indices_of(patterns: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the indices of the walls with names that match patterns."""
    if not names:
        raise InputError(f"no wall to hide by the name {patterns[0]!r}: the run has no walls, or does not name them")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InputError(f"no wall {pattern!r} to hide; {name_hint(pattern, list(dict.fromkeys(names)))}")
    return [index for index, name in enumerate(names) if any(fnmatchcase(name, one) for one in patterns)]


def _cut(frame: SceneFrame, planes: Sequence[CutPlane]) -> SceneFrame:
    """Return the part of a frame that all planes keep."""
    centres = frame.columns["position"]
    if "cluster" in frame.columns:
        centres = mean_of_bodies(centres, frame.columns["cluster"])
    rows = np.logical_and.reduce([plane.keeps(centres) for plane in planes])
    columns = {name: column[rows] for name, column in frame.columns.items()}
    contacts, walls = frame.contacts, frame.walls
    if contacts is not None:
        rows = np.logical_and.reduce([plane.keeps(contacts["centre"]) for plane in planes])
        contacts = {name: column[rows] for name, column in contacts.items()}
    if walls is not None:
        for plane in planes:
            walls = _cut_walls(walls, plane)
    return replace(frame, columns=columns, contacts=contacts, walls=walls, total=body_count(frame.columns))


def _cut_walls(walls: Walls, plane: CutPlane) -> Walls:
    """Return walls without the part beyond a plane; facets that it crosses are divided."""
    from pyvista import PolyData

    if not len(walls.facet_wall) or plane.keeps(walls.vertices).all():
        return walls
    surface = PolyData(walls.vertices, faces=walls.faces())
    surface.cell_data["facet"] = np.arange(len(walls.facet_wall))
    rest: Any = surface.clip(normal=plane.normal, origin=plane.normal * plane.distance, invert=True)
    start, loops = polygons_of(rest)
    facets = np.asarray(rest.cell_data["facet"], np.int64) if rest.n_cells else np.zeros(0, np.int64)
    fields = {name: column[facets] for name, column in walls.fields.items()}
    vertices = np.asarray(rest.points, float).reshape(-1, 3)
    return _compact(Walls(vertices, start, loops, walls.facet_wall[facets], fields, walls.units))


def polygons_of(surface: Any) -> tuple[Any, Any]:
    """Return the polygons of a surface of pyvista: the first index of each (n + 1,), and its vertices one by one."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    cells = surface.GetPolys()
    start = vtk_to_numpy(cells.GetOffsetsArray()).astype(np.int64)
    loops = vtk_to_numpy(cells.GetConnectivityArray()).astype(np.int64)
    return (start if len(start) else np.zeros(1, np.int64)), loops


def _compact(walls: Walls) -> Walls:
    """Return walls without the vertices that no facet has."""
    used, loops = np.unique(walls.facet_vertices, return_inverse=True)
    return replace(walls, vertices=walls.vertices[used], facet_vertices=loops.reshape(-1).astype(np.int64))
