"""The double hierarchy (H2): which facets, edges and vertices of the walls one sphere really touches.

H2: Santasusana et al., Comp. Part. Mech. (2016), doi 10.1007/s40571-016-0109-4, sect. 5. A contact
here is a local minimum of the distance from the centre to the surface that no nearer one hides:

1. *Contact type* (sect. 5.1). Every touched facet nominates its nearest feature: itself if the centre
   projects into it, else one of its edges, else one of its vertices. The paper may list further
   edges of the facet. All of a convex facet lies below the plane through its nearest point across the
   contact vector, so the third stage would remove each of them (a sphere that pokes deep through
   a narrow facet touches that facet once): they are not listed at all.
2. *Adjacency*. Features are those of the welded mesh, so a shared edge is one. An edge or a vertex is a
   contact only if every touched facet around it nominates it; where one nominates something else, that
   is nearer and the way there leads downhill. This decides flat and convex surfaces by comparisons
   alone, for needles, fans and facets far smaller than the indentation.
3. *Distance* (sect. 5.2), from the nearest up, facets before edges before vertices among equals. A
   contact is dropped if its point does not rise above the tangent plane at the point of a nearer one
   (the projection test of eq. 31, divided by lengths), be that one dropped or not. This joins what
   adjacency does not know: duplicated facets, hanging nodes, separate meshes, a wall behind a wall.

Nothing depends on the order of the candidates, on the order of the facets or on where a loop begins;
contacts come out with the nearest first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.contact_rows import loop_before, move, nearer, row_of, sort_by_distance, sort_by_facet
from pdem.contact.intersection import nearest_within
from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCRATCH_FULL = -1
"""Status of `resolve_h2`: more facets touch the sphere than scratch has rows."""

OUTPUT_FULL = -2
"""Status of `resolve_h2`: there are more contacts than rows to write them to."""

ANGLE_TOLERANCE = 1e-5
"""A point has to rise above the tangent plane of a nearer contact by this angle [rad] to be another one.

Creases flatter than this are flat: coordinates in single precision bend planes by as much."""

LENGTH_TOLERANCE = 1e-10
"""... and by this part of the radius, for points that all but coincide."""

DISTANCE_BIAS = 1e-12
"""At one distance facets come before edges before vertices: a bias of this part of the distance each."""

NO_DIRECTION = 1e-12
"""Nearer than this part of the radius the contact vector has no direction; the facet's normal is taken."""


@inlined_geometry
def resolve_h2(
    x: float,
    y: float,
    z: float,
    radius: float,
    candidates: NDArray[np.int64],
    first: int,
    last: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    real_scratch: NDArray[np.float64],
    integer_scratch: NDArray[np.int64],
    scratch_first: int,
    scratch_last: int,
    kind_out: NDArray[np.int8],
    feature_out: NDArray[np.int64],
    facet_out: NDArray[np.int64],
    point_out: NDArray[np.float64],
    normal_out: NDArray[np.float64],
    overlap_out: NDArray[np.float64],
    out_first: int,
    out_last: int,
) -> int:
    """Find the contacts of one sphere with the walls; allocates nothing.

    Parameters
    ----------
    x, y, z, radius : float
        The sphere [m].
    candidates : ndarray, int64
        Facets that may touch the sphere are ``candidates[first:last]``: at least all that do, in any order,
        repeats allowed.
    first, last : int
        Range in `candidates`.
    vertices, normals : ndarray, shapes (V, 3) and (F, 3), float64
        Present positions [m] and unit normals of the facets.
    facet_start, ..., vertex_facet_ids : ndarray, int64
        The eight arrays of ``mesh.topology``, in its order. A part of a mesh will do if it is renumbered in
        the same order and has every facet within reach of the sphere.
    real_scratch : ndarray, shape (S, 8), float64
        Rows ``scratch_first:scratch_last`` are overwritten.
    integer_scratch : ndarray, shape (S, 4), int64
        Likewise.
    scratch_first, scratch_last : int
        Range of scratch rows. As many rows as candidates are always enough.
    kind_out, feature_out, facet_out : ndarray, shape (M,), int8, int64, int64
        What is touched (0 facet, 1 edge, 2 vertex), its number, and one facet that nominated it (the one
        whose loop of vertices comes first).
    point_out, normal_out : ndarray, shape (M, 3), float64
        Contact point on the wall [m], and unit normal from it towards the centre (from whichever side).
    overlap_out : ndarray, shape (M,), float64
        Radius minus distance [m], above 0.
    out_first, out_last : int
        Range of output rows. As many rows as candidates are always enough; a few suffice mostly.

    Returns
    -------
    int
        Number of contacts, in output rows from `out_first`, the nearest first; or `SCRATCH_FULL` or
        `OUTPUT_FULL`, and then the output has no meaning: give more rows and call again.

    Notes
    -----
    Called inside a ``prange`` over spheres, the simplest race-free scratch and output are arrays as
    long as the candidate list, with ``scratch_first = out_first = first`` and
    ``scratch_last = out_last = last``: neither can then overflow.
    """
    count = nominate(
        x, y, z, radius, candidates, first, last, vertices, normals, facet_start, facet_vertices,
        facet_edges, edges, real_scratch, integer_scratch, scratch_first, scratch_last,
    )  # fmt: skip
    if count < 0:
        return count
    if count > 1:
        sort_by_facet(real_scratch, integer_scratch, scratch_first, count)
        count = _keep_minima(
            real_scratch, integer_scratch, scratch_first, count,
            facet_start, facet_vertices,
            edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids,
        )  # fmt: skip
        sort_by_distance(real_scratch, integer_scratch, scratch_first, count, facet_start, facet_vertices)
        _drop_hidden(radius, real_scratch, integer_scratch, scratch_first, count)
    written = 0
    for row in range(scratch_first, scratch_first + count):
        if integer_scratch[row, 3] == 0:
            continue
        at = out_first + written
        if at >= out_last:
            return OUTPUT_FULL
        facet_out[at] = integer_scratch[row, 0]
        kind_out[at] = integer_scratch[row, 1]
        feature_out[at] = integer_scratch[row, 2]
        overlap_out[at] = radius - real_scratch[row, 1]
        point_out[at, 0] = x - real_scratch[row, 2]
        point_out[at, 1] = y - real_scratch[row, 3]
        point_out[at, 2] = z - real_scratch[row, 4]
        for axis in range(3):
            normal_out[at, axis] = real_scratch[row, 5 + axis]
        written += 1
    return written


@inlined
def nominate(
    x: float,
    y: float,
    z: float,
    radius: float,
    candidates: NDArray[np.int64],
    first: int,
    last: int,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    scratch_first: int,
    scratch_last: int,
) -> int:
    """Write one row per touched facet, with its nearest feature; return their number."""
    row = scratch_first
    for place in range(first, last):
        facet = candidates[place]
        kind, feature, rx, ry, rz, squared = nearest_within(
            x, y, z, radius, facet, vertices, normals, facet_start, facet_vertices, facet_edges, edges
        )
        if kind < 0:
            continue
        distance = math.sqrt(squared)
        if not distance < radius:
            continue
        if row >= scratch_last:
            return SCRATCH_FULL
        integer[row, 0] = facet
        integer[row, 1] = kind
        integer[row, 2] = feature
        integer[row, 3] = 1
        real[row, 0] = distance * (1.0 + kind * DISTANCE_BIAS)
        real[row, 1] = distance
        real[row, 2] = rx
        real[row, 3] = ry
        real[row, 4] = rz
        if kind == 0 or distance <= NO_DIRECTION * radius:
            towards = rx * normals[facet, 0] + ry * normals[facet, 1] + rz * normals[facet, 2]
            sign = -1.0 if towards < 0.0 else 1.0
            real[row, 5] = sign * normals[facet, 0]
            real[row, 6] = sign * normals[facet, 1]
            real[row, 7] = sign * normals[facet, 2]
        else:
            real[row, 5] = rx / distance
            real[row, 6] = ry / distance
            real[row, 7] = rz / distance
        row += 1
    return row - scratch_first


@inlined
def _is_minimum(
    row: int,
    integer: NDArray[np.int64],
    first: int,
    count: int,
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    member_start: NDArray[np.int64],
    member_facets: NDArray[np.int64],
) -> bool:
    """Tell whether all touched facets around an edge or vertex nominate it, and `row` speaks for them."""
    kind = integer[row, 1]
    feature = integer[row, 2]
    speaker = -1
    for place in range(member_start[feature], member_start[feature + 1]):
        other = row_of(member_facets[place], integer, first, count)
        if other >= 0:
            if integer[other, 1] != kind or integer[other, 2] != feature:
                return False
            if speaker < 0 or loop_before(
                integer[other, 0], integer[speaker, 0], facet_start, facet_vertices
            ):
                speaker = other
    return speaker == row


@inlined
def _keep_minima(
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    first: int,
    count: int,
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
) -> int:
    """Move the local minima of the distance, each feature once, to the front; return their number."""
    for row in range(first, first + count):
        kind = integer[row, 1]
        if kind == 0:
            minimum = row == first or integer[row - 1, 0] != integer[row, 0]
        elif kind == 1:
            minimum = _is_minimum(
                row, integer, first, count, facet_start, facet_vertices, edge_facet_start, edge_facet_ids
            )
        else:
            minimum = _is_minimum(
                row, integer, first, count, facet_start, facet_vertices, vertex_facet_start, vertex_facet_ids
            )
        integer[row, 3] = 1 if minimum else 0
    target = first
    for row in range(first, first + count):
        if integer[row, 3] == 1:
            move(real, integer, row, target)
            target += 1
    if (
        target == first
    ):  # rounding can make neighbours point at each other; the nearest is a minimum for certain
        nearest = first
        for row in range(first + 1, first + count):
            if nearer(real, integer, row, nearest, facet_start, facet_vertices):
                nearest = row
        move(real, integer, nearest, first)
        integer[first, 3] = 1
        target += 1
    return target - first


@inlined
def _drop_hidden(
    radius: float, real: NDArray[np.float64], integer: NDArray[np.int64], first: int, count: int
) -> None:
    """Mark the contacts whose point does not rise above the tangent plane at a nearer contact."""
    for row in range(first + 1, first + count):
        for other in range(first, row):
            dx = real[other, 2] - real[row, 2]
            dy = real[other, 3] - real[row, 3]
            dz = real[other, 4] - real[row, 4]
            rise = dx * real[other, 5] + dy * real[other, 6] + dz * real[other, 7]
            apart = math.sqrt(dx * dx + dy * dy + dz * dz)
            if rise <= ANGLE_TOLERANCE * apart + LENGTH_TOLERANCE * radius:
                integer[row, 3] = 0
                break
