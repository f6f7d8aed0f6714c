"""Flat faces through which particles enter: polygons with or without holes, and discs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans, Floats

FLATNESS = 1e-5
"""Largest distance of a corner from the plane of a face, over the extent of the face."""


@dataclass(frozen=True)
class Face:
    """A plane figure.

    Attributes
    ----------
    origin : (3,) array
        A point of its plane [m].
    normal : (3,) array
        Unit normal.
    axes : (2, 3) array
        Unit vectors in the plane, normal to each other.
    rim : (k, 2, 2) array
        Segments of its boundary in coordinates of the plane [m]; a point is inside if a ray from it crosses an odd
        number of them. Empty for a disc.
    radius : float
        Radius of a disc about the origin [m], 0 for polygons.
    area : float
        Area [m^2].
    """

    origin: Floats
    normal: Floats
    axes: Floats
    rim: Floats
    radius: float
    area: float

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper limits, (2,) each, in coordinates of the plane [m]."""
        if self.radius:
            return np.full(2, -self.radius), np.full(2, self.radius)
        ends = self.rim.reshape(-1, 2)
        return ends.min(axis=0), ends.max(axis=0)

    @property
    def corners(self) -> Floats:
        """Corners (n, 3) [m]; for a disc the corners of the square around it."""
        low, high = self.bounds
        flat = np.array([low, [high[0], low[1]], high, [low[0], high[1]]]) if self.radius else self.rim[:, 0]
        return self.points(flat)

    def points(self, flat: Floats) -> Floats:
        """Return positions (n, 3) [m] of points (n, 2) in coordinates of the plane [m]."""
        return self.origin + exact_math.matmul(flat, self.axes)

    def holds(self, flat: Floats, radii: Floats) -> Booleans:
        """Return which discs (n, 2), (n,) [m] in the plane are completely inside."""
        if self.radius:
            return exact_math.norm(flat) + radii <= self.radius
        return _is_inside(flat, self.rim) & (_distance(flat, self.rim) >= radii)


def _is_inside(flat: Floats, rim: Floats) -> Booleans:
    """Return whether a ray along the first axis crosses the boundary an odd number of times."""
    (x, y), (a, b) = flat.T[:, :, None], (rim[:, 0], rim[:, 1])
    crosses = (a[:, 1] > y) != (b[:, 1] > y)
    rise = np.where(crosses, b[:, 1] - a[:, 1], 1.0)
    at = a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / rise
    return np.asarray(np.count_nonzero(crosses & (x < at), axis=1) % 2 == 1)


def _distance(flat: Floats, rim: Floats) -> Floats:
    """Return the distance of points (n, 2) from the nearest segment."""
    along, offset = rim[:, 1] - rim[:, 0], flat[:, None] - rim[:, 0]
    squared = exact_math.inner(along, along)
    share = np.clip(exact_math.inner(offset, along) / np.where(squared > 0.0, squared, 1.0), 0.0, 1.0)
    return np.asarray(exact_math.norm(offset - share[:, :, None] * along).min(axis=1))


def disc(centre: ArrayLike, normal: ArrayLike, radius: float) -> Face:
    """Return a disc about a centre [m] with a radius [m]; its normal may have any length but zero."""
    unit = np.asarray(normal, np.float64) / exact_math.norm(normal)
    centre = np.asarray(centre, np.float64)
    return Face(centre, unit, _axes(unit), np.zeros((0, 2, 2)), float(radius), float(np.pi * radius * radius))


def polygon(corners: ArrayLike) -> Face:
    """Return the polygon of some corners (n, 3) [m]; their order gives its normal by the right hand rule.

    Raises
    ------
    InputError
        If it has no area, is not flat, or crosses itself.
    """
    points = np.asarray(corners, np.float64)
    centre = exact_math.totals(points) / len(points)
    ends = np.roll(points, -1, axis=0)
    twice = exact_math.totals(np.cross(points - centre, ends - centre))
    face = _flat_face(points, points, ends, twice)
    if abs(_signed_area(face.rim)) < (1.0 - 1e-6) * face.area or _crosses_itself(face.rim):
        raise InputError("crosses itself; give its corners one after the other around it")
    return face


def face_of_mesh(mesh: Mesh) -> Face:
    """Return the face that a flat mesh covers; its normal is that of the mesh's first facet.

    Raises
    ------
    InputError
        If the mesh is not flat.
    """
    start, loops = mesh.facet_start, mesh.facet_vertices
    rim = mesh.edges[np.diff(mesh.edge_facet_start) == 1]
    used = mesh.vertices[np.unique(loops[start[0] : start[-1]])]
    twice = 2.0 * mesh.facet_normals[0] * exact_math.total(mesh.facet_areas)
    if not len(rim):
        raise InputError("has no rim: it is a closed surface; give a flat one")
    return _flat_face(used, mesh.vertices[rim[:, 0]], mesh.vertices[rim[:, 1]], twice)


def _flat_face(points: Floats, begins: Floats, ends: Floats, twice: Floats) -> Face:
    """Return the face with a rim from `begins` to `ends`; `twice` is its normal with the length of twice its area."""
    centre = exact_math.totals(points) / len(points)
    size = float(exact_math.norm(twice))
    extent = float(exact_math.norm(points - centre).max(initial=0.0))
    if not size > FLATNESS * extent * extent:
        raise InputError("has no area; give at least three corners that are not on one line")
    normal = twice / size
    off = np.abs(exact_math.inner(points - centre, normal))
    if off.max() > FLATNESS * extent:
        worst = int(np.argmax(off))
        raise InputError(
            f"is no plane: its corner at {points[worst].tolist()} m is {off[worst]:.3g} m off, more than {FLATNESS:g} "
            "of its extent; make it flat, or several insertions of it"
        )
    axes = _axes(normal)
    rim = np.stack([exact_math.matmul(points - centre, axes.T) for points in (begins, ends)], axis=1)
    return Face(centre, normal, axes, rim, 0.0, 0.5 * size)


def _axes(normal: Floats) -> Floats:
    """Return two unit vectors normal to a unit vector and to each other (2, 3)."""
    first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    first /= exact_math.norm(first)
    return np.stack((first, np.cross(normal, first)))


def _signed_area(rim: Floats) -> float:
    a, b = rim[:, 0], rim[:, 1]
    return 0.5 * exact_math.total(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def _crosses_itself(rim: Floats) -> bool:
    """Return whether two segments of a boundary intersect at inner points of both."""
    a, b = rim[:, None, 0], rim[:, None, 1]
    c, d = rim[None, :, 0], rim[None, :, 1]

    def side(first: Floats, second: Floats, point: Floats) -> Floats:
        along, to = second - first, point - first
        return np.sign(along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0])

    apart = side(a, b, c) * side(a, b, d), side(c, d, a) * side(c, d, b)
    return bool(np.any((apart[0] < 0.0) & (apart[1] < 0.0)))
