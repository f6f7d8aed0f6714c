"""The volume that a closed mesh encloses, its centre and its moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes.surface import surface_of
from pdem.foundation import exact_math
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers


class Solid(NamedTuple):
    """Volume, centre and inertia of the inside of a closed mesh.

    Attributes
    ----------
    volume : float
        Enclosed volume [m^3].
    centre : (3,) array
        Centre of the volume [m].
    inertia : (3, 3) array
        Tensor about the centre for the density 1 [m^5].
    """

    volume: float
    centre: Floats
    inertia: Floats


def solid_of(mesh: Mesh) -> Solid:
    """Return volume, centre and inertia of the inside of a closed mesh, for any orientation of its facets.

    Connected pieces of the mesh are added up: they must be beside, not within each other.

    Raises
    ------
    MeshError
        If the mesh is not closed, or encloses nothing.

    Notes
    -----
    By the divergence theorem: sums over tetrahedra between a point inside and triangles of the facets, of volume
    det / 6, centre sum of corners / 4 and second moment det / 120 (sum p p + s s), s the sum of corners.

    The solid belongs to the mesh, which computes it once (`Mesh.derived`).
    """
    return mesh.derived(_compute_solid)


def _compute_solid(mesh: Mesh) -> Solid:
    surface = surface_of(mesh).mesh
    if not surface.facet_side.all():
        raise MeshError(
            f"{int((surface.facet_side == 0).sum())} of {surface.facet_count} facets close no volume; "
            "close the mesh, or give mass, centre and inertia"
        )
    origin = exact_math.totals(surface.vertices) / len(surface.vertices)
    corners, facet = _triangles(surface, origin)
    six = exact_math.inner(corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    six *= surface.facet_side[facet]
    body = surface.facet_body[facet]
    outward = np.sign(np.bincount(body, six))  # corrects the orientation of each piece
    six *= outward[body]
    volume = exact_math.total(six) / 6.0
    if not volume > 0.0:
        raise MeshError("the mesh encloses no volume; give mass, centre and inertia")
    middle = corners[:, 0] + corners[:, 1] + corners[:, 2]
    centre = exact_math.totals(six[:, None] * middle) / (24.0 * volume)
    second = np.zeros((3, 3))
    for a, b in zip(*np.triu_indices(3), strict=True):
        products = exact_math.inner(corners[:, :, a], corners[:, :, b]) + middle[:, a] * middle[:, b]
        second[a, b] = second[b, a] = exact_math.total(six * products) / 120.0 - volume * centre[a] * centre[b]
    return Solid(volume, origin + centre, inertia_of(second))


def inertia_of(second: Floats) -> Floats:
    """Return the tensor of inertia (3, 3) from the second moments (3, 3) about the centre."""
    return (second[0, 0] + second[1, 1] + second[2, 2]) * np.eye(3) - second


def _triangles(mesh: Mesh, origin: Floats) -> tuple[Floats, Integers]:
    """Return the corners (n, 3, 3) of the triangles of all facets, relative to an origin, and the facet of each."""
    sides = np.diff(mesh.facet_start)
    facet = np.repeat(np.arange(mesh.facet_count), sides - 2)
    first = mesh.facet_start[facet]
    before = np.concatenate(([0], np.cumsum(sides - 2)[:-1]))
    second = first + 1 + np.arange(len(facet)) - before[facet]
    rows = mesh.facet_vertices[np.stack((first, second, second + 1), axis=1)]
    return mesh.vertices[rows] - origin, facet
