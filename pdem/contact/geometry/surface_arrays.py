"""Arguments of the geometry of wall contacts: a sphere, a surface, scratch and results, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.geometry.scratch_columns import REAL_COLUMNS
from pdem.numerics.arrays import line_zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Int32s, Integers

PLACE_NUMBERS = 8
POINT, NORMAL, PLACE_OVERLAP, PLACE_ENERGETIC = 0, 3, 6, 7
"""Columns of `Found.places`: contact point (3) [m], direction of the force on the sphere (3), overlap [m] of a single
contact with the same force, and overlap of a single contact with the same elastic energy. A row is one cache line."""


class Sphere(NamedTuple):
    """Centre and radius of a sphere [m]."""

    x: float
    y: float
    z: float
    radius: float


class SurfaceArrays(NamedTuple):
    """All walls at the present time.

    Attributes
    ----------
    vertices, normals : (V, 3) and (F, 3) arrays
        Present positions [m], and unit normals of the facets.
    facet_start, ..., vertex_facet_ids : int64 arrays
        See `pdem.containers.meshes.mesh_topology.Topology`. A part of a mesh suffices if it is renumbered in the same
        order and has every facet within reach of the sphere.
    facet_side, facet_body, vertex_euler : int8, int64 and int32 arrays
        See `pdem.containers.meshes.mesh.Mesh`.
    facet_wall, wall_material : int32 arrays
        Wall of each facet, material of each wall.
    """

    vertices: Floats
    normals: Floats
    facet_start: Integers
    facet_vertices: Integers
    facet_edges: Integers
    edges: Integers
    edge_facet_start: Integers
    edge_facet_ids: Integers
    vertex_facet_start: Integers
    vertex_facet_ids: Integers
    facet_side: NDArray[np.int8]
    facet_body: Integers
    vertex_euler: Int32s
    facet_wall: Int32s
    wall_material: Int32s

    @classmethod
    def of(
        cls,
        mesh: Mesh,
        vertices: Floats | None = None,
        normals: Floats | None = None,
        wall_material: Int32s | None = None,
    ) -> SurfaceArrays:
        """Return the arrays of a mesh; vertices and normals default to its own, materials to 0."""
        if wall_material is None:
            wall_material = np.zeros(1 + int(mesh.facet_wall.max(initial=0)), np.int32)
        return cls(
            mesh.vertices if vertices is None else vertices, mesh.facet_normals if normals is None else normals,
            *mesh.topology, mesh.facet_side, mesh.facet_body, mesh.vertex_euler, mesh.facet_wall, wall_material,
        )  # fmt: skip


class FacetRange(NamedTuple):
    """The facets that may touch a sphere, ``facets[first:last]``: all touching ones, in any order, repeats allowed.

    Attributes
    ----------
    facets : int64 array
        Numbers of facets.
    first, last : int
        Range of the facets of this sphere.
    """

    facets: Integers
    first: int
    last: int


class Scratch(NamedTuple):
    """Rows of the facets that a sphere touches, see `pdem.contact.geometry.facet_rows`.

    Attributes
    ----------
    real, integer : (S, REAL_COLUMNS) and (S, INTEGER_COLUMNS or SIGNED_COLUMNS) arrays
        Numbers of the rows.
    tally : (S, 1 + 2 largest number of sides) int32 array or None
        How often each feature counts, for the signed contact sum only.
    bound : (S,) array
        Square of a lower bound of the distance of each tested facet from the centre [m2].
    first : int
        First row of a sphere; it may write as many rows as it has facets to test.
    """

    real: Floats
    integer: Integers
    tally: Any  # an array or None
    bound: Floats
    first: int

    @classmethod
    def rows(cls, count: int, columns: int, largest_order: int = 0) -> Scratch:
        """Return room for `count` facets with at most `largest_order` sides (0: no tally)."""
        tally = np.empty((count, 1 + 2 * largest_order), np.int32) if largest_order else None
        real, integer = np.empty((count, REAL_COLUMNS)), np.empty((count, columns), np.int64)
        return cls(real, integer, tally, np.empty(count), 0)


class Found(NamedTuple):
    """Contacts of spheres with walls, by row.

    Attributes
    ----------
    kind, feature, facet : int8, int64 and int64 arrays
        Kind of the touched feature (0 facet, 1 edge, 2 vertex), its number, and a facet with this feature; for a patch
        of several features, the nearest one.
    places : (M, PLACE_NUMBERS) array
        Point, normal and overlaps, see `POINT`.
    weight : int64 array
        Weight of a feature; number of features of a patch.
    """

    kind: NDArray[np.int8]
    feature: Integers
    facet: Integers
    places: Floats
    weight: Integers

    @classmethod
    def rows(cls, count: int) -> Found:
        """Return room for `count` contacts."""
        feature, facet, weight = (np.empty(count, np.int64) for _ in range(3))
        return cls(np.empty(count, np.int8), feature, facet, line_zeros((count, PLACE_NUMBERS)), weight)

    @property
    def point(self) -> Floats:
        """Contact points (M, 3) [m]; for kernels see `POINT`."""
        return self.places[:, POINT : POINT + 3]

    @property
    def normal(self) -> Floats:
        """Directions of the forces on the sphere (M, 3); for kernels see `POINT`."""
        return self.places[:, NORMAL : NORMAL + 3]

    @property
    def overlap(self) -> Floats:
        """Overlaps (M,) [m]; for kernels see `POINT`."""
        return self.places[:, PLACE_OVERLAP]
