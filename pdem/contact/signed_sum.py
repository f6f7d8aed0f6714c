"""The signed contact sum: wall contacts of one sphere without jumps, for every mesh of one surface the same.

**Energy.** Let S be a wall, chi the Euler characteristic, g(d) the energy of one contact at distance d, g(R) = 0. The
sphere's elastic energy is the integral of chi(S within rho of the centre) (-g'(rho)) over rho up to R. chi adds
up: written as a sum over facets, edges and vertices with whole-number coefficients that cover each point of S once,

    U = sum of k g(d) over features,   k = 1 - chi(what of the surface around the feature is nearer)

with k = 1 at local minima of the distance, -1 at saddles (a crease both of whose facets are touched), 1 at maxima,
0 elsewhere: `pdem.contact.signed_weights`, and `pdem.contact.solid_weights` for closed walls. The force is -grad U:
every feature pushes along its own direction, k times. A minimum and its saddle are born with equal forces.

**Patches.** Touched facets that hang together within reach are one patch, with one resultant elastic force
N = sum of k f(overlap) normal. The contact law sees one contact along N whose overlap gives the force |N|: damping
along N opposes the velocity along N and so never gives energy; friction is limited by mu |N|, with one history;
the law's clipping at zero keeps damping from pulling, and |N|, the size of a gradient, needs no clip. A patch of one
feature (all flat and convex ones) is that feature's contact, bit for bit.

**Rings.** Where the patch is a ring (a sphere stuck in a round hole or a cone), chi is 0 and its saddles cancel its
minima: U would let it fall through. A patch therefore stores at least the energy of its nearest feature alone; where
the sum says less, that feature counts alone. Without a ring this never happens: minima beyond the first store more
than the saddles that join them to it, one each. U stays continuous; the direction of the force may change at once as
a ring's nearest point does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.coefficients import COEFFICIENTS, HERTZIAN
from pdem.contact.contact_rows import move, row_of, sort_by_facet
from pdem.contact.hierarchy import NO_DIRECTION, OUTPUT_FULL, nominate
from pdem.contact.intersection import from_edge, from_vertex
from pdem.contact.signed_weights import weigh
from pdem.contact.solid_weights import side_of_body, solid_weight
from pdem.foundation.geometry_kernels import geometry_kernel
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIGNED_COLUMNS = 6
"""Columns of the integer scratch here: those of the double hierarchy (the last of which holds the number of weighted
features that the row stands for), then the row that this one hangs together with, and the side of the body."""

RING = 1e-9
"""A sum that falls short of its nearest feature's energy by less than this part of it is rounding."""


@inlined
def _find(row: int, integer: NDArray[np.int64]) -> int:
    """Return the row that speaks for all that hang together with this one."""
    while integer[row, 4] != row:
        integer[row, 4] = integer[integer[row, 4], 4]
        row = integer[row, 4]
    return row


@inlined
def _unite(row: int, facet: int, integer: NDArray[np.int64], first: int, count: int) -> None:
    """Put a row and that of a facet together; the lower row speaks."""
    other = row_of(facet, integer, first, count)
    if other >= 0:
        one, other = _find(row, integer), _find(other, integer)
        integer[max(one, other), 4] = min(one, other)


@inlined
def _join(
    x: float,
    y: float,
    z: float,
    radius: float,
    vertices: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    integer: NDArray[np.int64],
    first: int,
    count: int,
) -> None:
    """Find which touched facets hang together by edges and vertices within reach."""
    for row in range(first, first + count):
        integer[row, 4] = row
    reach = radius * radius
    for row in range(first, first + count):
        facet = integer[row, 0]
        for place in range(facet_start[facet], facet_start[facet + 1]):
            edge, vertex = facet_edges[place], facet_vertices[place]
            within, _, _, _, squared = from_edge(x, y, z, edge, vertices, edges)
            if within and squared < reach:
                _unite(row, edge_facet_ids[edge_facet_start[edge]], integer, first, count)
            _, _, _, squared = from_vertex(x, y, z, vertex, vertices)
            if squared < reach:
                _unite(row, vertex_facet_ids[vertex_facet_start[vertex]], integer, first, count)


@inlined
def _direction(
    row: int,
    slot: int,
    radius: float,
    rx: float,
    ry: float,
    rz: float,
    distance: float,
    normals: NDArray[np.float64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
) -> tuple[float, float, float]:
    """Return the unit normal of a feature towards the centre."""
    if slot == 0:
        return real[row, 5], real[row, 6], real[row, 7]
    if distance <= NO_DIRECTION * radius:
        facet = integer[row, 0]
        nx, ny, nz = normals[facet, 0], normals[facet, 1], normals[facet, 2]
        sign = -1.0 if rx * nx + ry * ny + rz * nz < 0.0 else 1.0
        return sign * nx, sign * ny, sign * nz
    return rx / distance, ry / distance, rz / distance


@inlined
def _prepare(
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
    facet_side: NDArray[np.int8],
    facet_body: NDArray[np.int64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    scratch_first: int,
    scratch_last: int,
) -> tuple[int, int]:
    """Fill the rows of the touched facets; return their number (or a status) and that of the weighted features.

    With more than one of these, rows know which others they hang together with, and sides of bodies are known.
    """
    count = nominate(
        x, y, z, radius, candidates, first, last, vertices, normals, facet_start, facet_vertices,
        facet_edges, edges, real, integer, scratch_first, scratch_last,
    )  # fmt: skip
    if count <= 0:
        return count, 0
    sort_by_facet(real, integer, scratch_first, count)
    kept = scratch_first
    for row in range(scratch_first + 1, scratch_first + count):
        if integer[row, 0] != integer[kept, 0]:
            kept += 1
            if kept != row:
                move(real, integer, row, kept)
    count = kept + 1 - scratch_first
    total = 0
    for row in range(scratch_first, scratch_first + count):
        number = 0
        facet = integer[row, 0]
        for slot in range(1 + 2 * (facet_start[facet + 1] - facet_start[facet])):
            weight, _, _, _, _, _, _ = weigh(
                x, y, z, radius, row, slot, vertices, facet_start, facet_vertices, facet_edges, edges,
                edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids, real, integer,
                scratch_first, count,
            )  # fmt: skip
            if weight != 0:
                number += 1
        integer[row, 3] = number
        total += number
    if total > 1:
        _join(
            x, y, z, radius, vertices, facet_start, facet_vertices, facet_edges, edges, edge_facet_start,
            edge_facet_ids, vertex_facet_start, vertex_facet_ids, integer, scratch_first, count,
        )  # fmt: skip
        body, side = -1, 1
        for row in range(scratch_first, scratch_first + count):
            facet = integer[row, 0]
            if facet_side[facet] != 0 and integer[row, 3] > 0:
                if facet_body[facet] != body:
                    body = facet_body[facet]
                    side = side_of_body(
                        x, y, z, body, vertices, normals, facet_start, facet_vertices, facet_side, facet_body,
                        real, integer, scratch_first, count,
                    )  # fmt: skip
                integer[row, 5] = side
    return count, total


@geometry_kernel
def resolve_signed(
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
    facet_side: NDArray[np.int8],
    facet_body: NDArray[np.int64],
    facet_wall: NDArray[np.int32],
    wall_material: NDArray[np.int32],
    coefficient: NDArray[np.float64],
    pair: int,
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    kind_out: NDArray[np.int8],
    feature_out: NDArray[np.int64],
    facet_out: NDArray[np.int64],
    point_out: NDArray[np.float64],
    normal_out: NDArray[np.float64],
    overlap_out: NDArray[np.float64],
    energy_out: NDArray[np.float64],
    weight_out: NDArray[np.int64],
    patches: bool,
    out_first: int,
    out_last: int,
) -> int:
    """Find the contact patches of one sphere with the walls, or their features; allocates nothing.

    Parameters
    ----------
    x, y, z, radius, candidates, first, last, vertices, ..., vertex_facet_ids
        As in `pdem.contact.hierarchy.resolve_h2`, of `pdem.containers.surface.surface_of`.
    facet_side, facet_body : ndarray
        As in `Mesh`.
    facet_wall, wall_material : ndarray, int32
        Wall of each facet, material of each wall.
    coefficient, pair
        Flat pair table and its row of the sphere's material with material 0: whether the force grows with the
        overlap or its power 3/2.
    real, integer : ndarray, shapes (S, 8) and (S, `SIGNED_COLUMNS`)
        Rows ``first:last`` are overwritten.
    kind_out, feature_out, facet_out : ndarray, shape (M,)
        What is touched (0 facet, 1 edge, 2 vertex), its number, and a facet that has it; of a patch of several, the
        nearest.
    point_out, normal_out : ndarray, shape (M, 3)
        Contact point [m] and direction of the force on the sphere.
    overlap_out, energy_out : ndarray, shape (M,)
        Overlaps [m] of one contact with the force, and of one with the elastic energy, of the patch.
    weight_out : ndarray, shape (M,), int64
        Weight of a feature; number of features of a patch.
    patches : bool
        Write one row per patch; else one per feature.
    out_first, out_last : int
        Range of output rows. As many as candidates are enough for patches.

    Returns
    -------
    int
        Number of rows written, or `OUTPUT_FULL`.
    """
    count, total = _prepare(
        x, y, z, radius, candidates, first, last, vertices, normals, facet_start, facet_vertices, facet_edges,
        edges, edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids, facet_side, facet_body,
        real, integer, first, last,
    )  # fmt: skip
    written = 0
    for root in range(first, first + count):
        if root > first and (total == 1 or integer[root, 4] != root):
            continue
        number = 0
        fx = fy = fz = energy = deepest = 0.0
        near_x = near_y = near_z = 0.0
        hertzian = coefficient[
            COEFFICIENTS * (pair + wall_material[facet_wall[integer[root, 0]]]) + HERTZIAN
        ] > 0.5  # fmt: skip
        for row in range(root, first + count):
            if integer[row, 3] == 0 or (total > 1 and _find(row, integer) != root):
                continue
            facet = integer[row, 0]
            for slot in range(1 + 2 * (facet_start[facet + 1] - facet_start[facet])):
                weight, kind, feature, rx, ry, rz, distance = weigh(
                    x, y, z, radius, row, slot, vertices, facet_start, facet_vertices, facet_edges, edges,
                    edge_facet_start, edge_facet_ids, vertex_facet_start, vertex_facet_ids, real, integer,
                    first, count,
                )  # fmt: skip
                if weight != 0 and total > 1 and facet_side[facet] != 0:
                    weight = solid_weight(
                        x, y, z, radius, integer[row, 5], weight, kind, feature, vertices, normals,
                        facet_start, facet_vertices, facet_edges, edges, edge_facet_start, edge_facet_ids,
                        vertex_facet_start, vertex_facet_ids, facet_side, integer, first, count,
                    )  # fmt: skip
                if weight == 0:
                    continue
                nx, ny, nz = _direction(row, slot, radius, rx, ry, rz, distance, normals, real, integer)
                overlap = radius - distance
                at = out_first + written
                if at >= out_last:
                    return OUTPUT_FULL
                if number == 0 or not patches or overlap > deepest:
                    deepest = overlap
                    near_x, near_y, near_z = nx, ny, nz
                    kind_out[at], feature_out[at], facet_out[at] = kind, feature, facet
                    point_out[at, 0], point_out[at, 1], point_out[at, 2] = x - rx, y - ry, z - rz
                    normal_out[at, 0], normal_out[at, 1], normal_out[at, 2] = nx, ny, nz
                    overlap_out[at] = energy_out[at] = overlap
                    weight_out[at] = weight
                if not patches:
                    written += 1
                    continue
                number += 1
                size = weight * (overlap * math.sqrt(overlap) if hertzian else overlap)
                fx, fy, fz = fx + size * nx, fy + size * ny, fz + size * nz
                energy += size * overlap
        if number == 0:
            continue
        at = out_first + written
        written += 1
        weight_out[at] = number
        alone = deepest * deepest * (math.sqrt(deepest) if hertzian else 1.0)
        if number == 1 or energy < (1.0 - RING) * alone:
            continue
        force = math.sqrt(fx * fx + fy * fy + fz * fz)
        overlap = force ** (2.0 / 3.0) if hertzian else force
        energy_out[at] = energy**0.4 if hertzian else math.sqrt(energy)
        overlap_out[at] = overlap
        if force > 0.0:
            near_x, near_y, near_z = fx / force, fy / force, fz / force
        for axis in range(3):
            direction = near_x if axis == 0 else (near_y if axis == 1 else near_z)
            normal_out[at, axis] = direction
        point_out[at, 0] = x - (radius - overlap) * near_x
        point_out[at, 1] = y - (radius - overlap) * near_y
        point_out[at, 2] = z - (radius - overlap) * near_z
    return written
