"""Contact patches of one sphere that touches more than one facet: the sum of `pdem.contact.signed_sum`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.coefficients import COEFFICIENTS, HERTZIAN
from pdem.contact.contact_rows import move, sort_by_facet
from pdem.contact.hierarchy import NO_DIRECTION, OUTPUT_FULL
from pdem.contact.signed_cells import count_cells, feature_of
from pdem.contact.signed_pieces import REDUCED, drop_repeated_pieces, join_pieces
from pdem.contact.solid_cells import side_of_body
from pdem.foundation.geometry_kernels import geometry_kernel, inlined_geometry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIGNED_COLUMNS = 6
"""Columns of the integer scratch here: those of the double hierarchy (the last of which holds the number of weighted
features that the row stands for), then the row that this one hangs together with, and the side of the body."""

RING = 1e-9
"""A sum that falls short of its nearest feature's energy by less than this part of it is rounding."""


@inlined_geometry
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
    if slot <= 0:
        return real[row, 5], real[row, 6], real[row, 7]
    if distance <= NO_DIRECTION * radius:
        facet = integer[row, 0]
        nx, ny, nz = normals[facet, 0], normals[facet, 1], normals[facet, 2]
        sign = -1.0 if rx * nx + ry * ny + rz * nz < 0.0 else 1.0
        return sign * nx, sign * ny, sign * nz
    return rx / distance, ry / distance, rz / distance


@inlined_geometry
def _sort_once(
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    tally: NDArray[np.int32],
    first: int,
    count: int,
    facet_start: NDArray[np.int64],
) -> int:
    """Sort rows by facet, drop repeats and clear their tallies; return the end of the rows."""
    sort_by_facet(real, integer, first, count)
    kept = first
    for row in range(first + 1, first + count):
        if integer[row, 0] != integer[kept, 0]:
            kept += 1
            if kept != row:
                move(real, integer, row, kept)
    for row in range(first, kept + 1):
        for slot in range(_slots(integer[row, 0], facet_start)):
            tally[row, slot] = 0
    return kept + 1


@inlined_geometry
def _slots(facet: int, facet_start: NDArray[np.int64]) -> int:
    """Return the number of a facet and its edges and vertices."""
    return 1 + 2 * (facet_start[facet + 1] - facet_start[facet])


@inlined_geometry
def _tell_sides(
    x: float,
    y: float,
    z: float,
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    edge_facet_start: NDArray[np.int64],
    edge_facet_ids: NDArray[np.int64],
    vertex_facet_start: NDArray[np.int64],
    vertex_facet_ids: NDArray[np.int64],
    facet_side: NDArray[np.int8],
    facet_body: NDArray[np.int64],
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    first: int,
    last: int,
) -> None:
    """Write into the rows on which side of their closed body the centre is, 0 where it makes no difference."""
    body, side = -1, 0
    for row in range(first, last):
        facet = integer[row, 0]
        integer[row, 5] = 0
        if facet_side[facet] != 0:
            if facet_body[facet] != body:
                body = facet_body[facet]
                side = side_of_body(
                    x, y, z, body, vertices, normals, facet_start, facet_vertices, edge_facet_start,
                    edge_facet_ids, vertex_facet_start, vertex_facet_ids, facet_side, facet_body, real, integer,
                    first, last,
                )  # fmt: skip
            integer[row, 5] = side


@inlined_geometry
def _count_features(
    integer: NDArray[np.int64],
    tally: NDArray[np.int32],
    first: int,
    last: int,
    facet_start: NDArray[np.int64],
) -> int:
    """Write into the rows how many of their features push; return how many there are."""
    total = 0
    for row in range(first, last):
        integer[row, 3] = 0
        for slot in range(_slots(integer[row, 0], facet_start)):
            integer[row, 3] += 1 if tally[row, slot] != 0 else 0
        total += integer[row, 3]
    return total


@geometry_kernel
def sum_patches(
    x: float,
    y: float,
    z: float,
    radius: float,
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
    vertex_euler: NDArray[np.int32],
    facet_wall: NDArray[np.int32],
    wall_material: NDArray[np.int32],
    coefficient: NDArray[np.float64],
    pair: int,
    real: NDArray[np.float64],
    integer: NDArray[np.int64],
    tally: NDArray[np.int32],
    first: int,
    count: int,
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
    """Write the patches of the touched facets in rows ``first:first + count``, or their features.

    Parameters and the number returned as in `pdem.contact.signed_sum.resolve_signed`. Apart from that one because
    calling it takes longer than a sphere on a single facet does: its arguments alone fill many cache lines.
    """
    last = _sort_once(real, integer, tally, first, count, facet_start)
    _tell_sides(
        x, y, z, vertices, normals, facet_start, facet_vertices, edge_facet_start, edge_facet_ids,
        vertex_facet_start, vertex_facet_ids, facet_side, facet_body, real, integer, first, last,
    )  # fmt: skip
    count_cells(
        x, y, z, radius, vertices, normals, facet_start, facet_vertices, facet_edges, edges, edge_facet_start,
        edge_facet_ids, vertex_facet_start, vertex_facet_ids, facet_side, vertex_euler, integer, tally, first, last,
    )  # fmt: skip
    total = _count_features(integer, tally, first, last, facet_start)
    if total > 1:
        join_pieces(
            x, y, z, radius, vertices, facet_start, facet_vertices, facet_edges, edges, edge_facet_start,
            edge_facet_ids, vertex_facet_start, vertex_facet_ids, integer, first, last - first,
        )  # fmt: skip
        drop_repeated_pieces(
            x, y, z, radius, vertices, normals, facet_start, facet_vertices, facet_edges, edges, edge_facet_start,
            edge_facet_ids, vertex_facet_start, vertex_facet_ids, real, integer, tally, first, last,
        )  # fmt: skip
        _count_features(integer, tally, first, last, facet_start)
    written = 0
    for root in range(first, last):
        if (total == 1 and integer[root, 3] == 0) or (total > 1 and integer[root, 4] != root):
            continue
        number = 0
        fx = fy = fz = energy = deepest = 0.0
        near_x = near_y = near_z = 0.0
        hertzian = coefficient[
            COEFFICIENTS * (pair + wall_material[facet_wall[integer[root, 0]]]) + HERTZIAN
        ] > 0.5  # fmt: skip
        for row in range(root, last if total > 1 else root + 1):
            if integer[row, 3] == 0 or (total > 1 and integer[row, 4] != root):
                continue
            facet = integer[row, 0]
            for slot in range(_slots(facet, facet_start)):
                weight = tally[row, slot]
                if weight == 0:
                    continue
                kind, feature, rx, ry, rz, distance = feature_of(
                    x, y, z, row, slot, vertices, facet_start, facet_vertices, facet_edges, edges, real, integer
                )  # fmt: skip
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
        if number == 0 or energy <= 0.0:
            continue
        at = out_first + written
        written += 1
        weight_out[at] = number
        alone = deepest * deepest * (math.sqrt(deepest) if hertzian else 1.0)
        if number == 1 or (energy < (1.0 - RING) * alone and integer[root, 5] != REDUCED):
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
