"""Which touched facets hang together within reach of a sphere, and which pieces of them cover the same place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.geometry.facet_rows import row_of
from pdem.contact.geometry.scratch_columns import DISTANCE, FACET, FEATURE, KIND, PATCH, RX, RY, RZ, SIDE, WEIGHT
from pdem.contact.geometry.signed_cells import count_feature
from pdem.contact.geometry.sphere_facet import from_edge, from_vertex, nearest_within
from pdem.contact.geometry.surface_arrays import Sphere
from pdem.numerics.geometry_kernels import inlined_geometry

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import SurfaceArrays
    from pdem.foundation.array_types import Floats, Int32s, Integers

NEAREST, STATE = WEIGHT, SIDE
"""While pieces are compared, the row that speaks for a piece has other numbers in these columns: the nearest row of the
piece, and `REDUCED` if the piece has lost its nearest feature to another one."""

REDUCED = -2
"""In the column `STATE`."""

SAME_PLACE = 1e-4
"""A point nearer to a piece than this part of the radius lies on it: narrower gaps and lower steps are none."""


@inlined_geometry
def _find(row: int, integer: Integers) -> int:
    """Return the row that speaks for all that hang together with this one."""
    while integer[row, PATCH] != row:
        integer[row, PATCH] = integer[integer[row, PATCH], PATCH]
        row = integer[row, PATCH]
    return row


@inlined_geometry
def _unite(row: int, facet: int, integer: Integers, first: int, count: int) -> None:
    """Put a row and that of a facet together; the lower row speaks."""
    other = row_of(facet, integer, first, count)
    if other >= 0:
        one, other = _find(row, integer), _find(other, integer)
        integer[max(one, other), PATCH] = min(one, other)


@inlined_geometry
def join_pieces(sphere: Sphere, surface: SurfaceArrays, integer: Integers, first: int, count: int) -> None:
    """Find which touched facets hang together by edges and vertices within reach."""
    x, y, z, radius = sphere
    for row in range(first, first + count):
        integer[row, PATCH] = row
    reach = radius * radius
    for row in range(first, first + count):
        facet = integer[row, FACET]
        for place in range(surface.facet_start[facet], surface.facet_start[facet + 1]):
            edge, vertex = surface.facet_edges[place], surface.facet_vertices[place]
            within, _, _, _, squared = from_edge(x, y, z, edge, surface.vertices, surface.edges)
            if within and squared < reach:
                _unite(row, surface.edge_facet_ids[surface.edge_facet_start[edge]], integer, first, count)
            _, _, _, squared = from_vertex(x, y, z, vertex, surface.vertices)
            if squared < reach:
                _unite(row, surface.vertex_facet_ids[surface.vertex_facet_start[vertex]], integer, first, count)


@inlined_geometry
def _is_nearer(one: int, other: int, real: Floats) -> bool:
    """Order pieces, by their nearest rows, by distance."""
    mine, others = real[one, DISTANCE], real[other, DISTANCE]
    return bool(mine < others or (mine == others and one < other))


@inlined_geometry
def drop_repeated_pieces(
    sphere: Sphere, surface: SurfaceArrays, real: Floats, integer: Integers, tally: Int32s, first: int, last: int
) -> None:
    """Take one off the nearest feature of each piece that lies on a nearer piece: what both cover counts once.

    So it is where sheets of one plane overlap, and at the seam of two that meet without a common edge.
    """
    x, y, z, radius = sphere
    limit = SAME_PLACE * radius
    for row in range(first, last):
        integer[row, PATCH] = _find(row, integer)
        integer[row, NEAREST] = integer[row, STATE] = -1
    for row in range(first, last):  # the nearest row of each piece, kept with the row that speaks for it
        root = integer[row, PATCH]
        if integer[root, NEAREST] < 0 or real[row, DISTANCE] < real[integer[root, NEAREST], DISTANCE]:
            integer[root, NEAREST] = row
    for root in range(first, last):
        near = integer[root, NEAREST]
        if near < 0:
            continue
        px, py, pz = x - real[near, RX], y - real[near, RY], z - real[near, RZ]
        for row in range(first, last):
            other = integer[row, PATCH]
            if other == root or not _is_nearer(integer[other, NEAREST], near, real):
                continue
            kind, _, _, _, _, squared = nearest_within(Sphere(px, py, pz, limit), integer[row, FACET], surface)
            if kind >= 0 and squared <= limit * limit:
                count_feature(
                    -1, integer[near, KIND], integer[near, FEATURE], near, surface, integer, tally, first, last
                )
                integer[root, STATE] = REDUCED
                break
