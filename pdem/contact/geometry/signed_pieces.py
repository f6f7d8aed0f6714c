"""Connected pieces of touched facets within reach of a sphere, and pieces that cover each other."""

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
"""While pieces are compared, the root row of a piece uses these columns for its nearest row, and for `REDUCED` if the
nearest feature of the piece belongs to a second piece."""

REDUCED = -2
"""Value of the column `STATE`."""

SAME_PLACE = 1e-4
"""A point is on a piece if its distance is below this fraction of the radius: smaller gaps and steps are ignored."""


@inlined_geometry
def _find(row: int, integer: Integers) -> int:
    """Return the root row of the piece of a row."""
    while integer[row, PATCH] != row:
        integer[row, PATCH] = integer[integer[row, PATCH], PATCH]
        row = integer[row, PATCH]
    return row


@inlined_geometry
def _unite(row: int, facet: int, integer: Integers, first: int, count: int) -> None:
    """Unite the pieces of a row and of a facet; the lower row becomes the root."""
    other = row_of(facet, integer, first, count)
    if other >= 0:
        one, other = _find(row, integer), _find(other, integer)
        integer[max(one, other), PATCH] = min(one, other)


@inlined_geometry
def join_pieces(sphere: Sphere, surface: SurfaceArrays, integer: Integers, first: int, count: int) -> None:
    """Find the pieces of touched facets that are connected by edges and vertices within reach."""
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
    """Return whether a piece is nearer than a second one, by their nearest rows."""
    mine, others = real[one, DISTANCE], real[other, DISTANCE]
    return bool(mine < others or (mine == others and one < other))


@inlined_geometry
def drop_repeated_pieces(
    sphere: Sphere, surface: SurfaceArrays, real: Floats, integer: Integers, tally: Int32s, first: int, last: int
) -> None:
    """Subtract one from the nearest feature of each piece that covers a nearer piece, so that both count once.

    Examples are sheets of one plane that overlap, and the seam of two sheets that meet without a common edge.
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
