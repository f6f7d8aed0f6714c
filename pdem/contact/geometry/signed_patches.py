"""Contact patches of one sphere that touches more than one facet: the sum of `pdem.contact.geometry.signed_sum`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.contact.geometry.double_hierarchy import NO_DIRECTION, OUTPUT_FULL
from pdem.contact.geometry.facet_rows import move, sort_by_facet
from pdem.contact.geometry.scratch_columns import FACET, NX, NY, NZ, PATCH, SIDE, WEIGHT
from pdem.contact.geometry.signed_cells import count_cells, feature_of
from pdem.contact.geometry.signed_pieces import REDUCED, STATE, drop_repeated_pieces, join_pieces
from pdem.contact.geometry.solid_cells import side_of_body
from pdem.contact.geometry.surface_arrays import NORMAL, PLACE_ENERGETIC, PLACE_OVERLAP, POINT
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.portable.powers import power

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Found, Scratch, Sphere, SurfaceArrays
    from pdem.foundation.array_types import Floats, Int32s, Integers

SIGNED_COLUMNS = 6
"""Number of columns of the integer scratch: all columns of `pdem.contact.geometry.scratch_columns`."""

RING = 1e-9
"""A relative difference of the sum and the energy of its nearest feature below this value is rounding."""


class Powers(NamedTuple):
    """Powers of the overlap in the forces of a sphere on the walls.

    Attributes
    ----------
    powers : array
        Power of each pair of materials, 1.5 or 1.
    pair : int
        Pair of the sphere's material and material 0.
    """

    powers: Floats
    pair: int


@inlined_geometry
def is_hertzian(facet: int, surface: SurfaceArrays, powers: Powers) -> bool:
    """Return whether the force of a facet on a sphere grows with the power 3/2 of the overlap, else linearly."""
    material = surface.wall_material[surface.facet_wall[facet]]
    return bool(powers.powers[powers.pair + material] > 1.25)


@inlined_geometry
def _direction(
    row: int,
    slot: int,
    radius: float,
    rx: float,
    ry: float,
    rz: float,
    distance: float,
    surface: SurfaceArrays,
    real: Floats,
    integer: Integers,
) -> tuple[float, float, float]:
    """Return the unit normal of a feature towards the centre."""
    if slot <= 0:
        return real[row, NX], real[row, NY], real[row, NZ]
    if distance <= NO_DIRECTION * radius:
        facet = integer[row, FACET]
        nx, ny, nz = surface.normals[facet, 0], surface.normals[facet, 1], surface.normals[facet, 2]
        sign = -1.0 if rx * nx + ry * ny + rz * nz < 0.0 else 1.0
        return sign * nx, sign * ny, sign * nz
    return rx / distance, ry / distance, rz / distance


@inlined_geometry
def _sort_once(real: Floats, integer: Integers, tally: Int32s, first: int, count: int, surface: SurfaceArrays) -> int:
    """Sort rows by facet, drop repeats and clear their tallies; return the end of the rows."""
    sort_by_facet(real, integer, first, count)
    kept = first
    for row in range(first + 1, first + count):
        if integer[row, FACET] != integer[kept, FACET]:
            kept += 1
            if kept != row:
                move(real, integer, row, kept)
    for row in range(first, kept + 1):
        for slot in range(_slots(integer[row, FACET], surface)):
            tally[row, slot] = 0
    return kept + 1


@inlined_geometry
def _slots(facet: int, surface: SurfaceArrays) -> int:
    """Return the number of a facet and its edges and vertices."""
    return 1 + 2 * (surface.facet_start[facet + 1] - surface.facet_start[facet])


@inlined_geometry
def _tell_sides(
    x: float, y: float, z: float, surface: SurfaceArrays, real: Floats, integer: Integers, first: int, last: int
) -> None:
    """Write into the rows on which side of their closed body the centre is, 0 if the side makes no difference."""
    body, side = -1, 0
    for row in range(first, last):
        facet = integer[row, FACET]
        integer[row, SIDE] = 0
        if surface.facet_side[facet] != 0:
            if surface.facet_body[facet] != body:
                body = surface.facet_body[facet]
                side = side_of_body(x, y, z, body, surface, real, integer, first, last)
            integer[row, SIDE] = side


@inlined_geometry
def _count_features(integer: Integers, tally: Int32s, first: int, last: int, surface: SurfaceArrays) -> int:
    """Write into the rows the number of their features that push; return the total number."""
    total = 0
    for row in range(first, last):
        integer[row, WEIGHT] = 0
        for slot in range(_slots(integer[row, FACET], surface)):
            integer[row, WEIGHT] += 1 if tally[row, slot] != 0 else 0
        total += integer[row, WEIGHT]
    return total


@geometry_kernel
def sum_patches(
    sphere: Sphere,
    surface: SurfaceArrays,
    powers: Powers,
    scratch: Scratch,
    target: int,
    count: int,
    found: Found,
    patches: bool,
    room: int,
) -> int:
    """Write the patches of `count` touched facets, or their features, from the row `target` on.

    Further parameters and the result are as in `pdem.contact.geometry.signed_sum.resolve_signed`. This is a separate
    function, since its call takes longer than a sphere on a single facet: its arguments fill many cache lines.
    """
    x, y, z, radius = sphere
    real, integer, tally, first = scratch.real, scratch.integer, scratch.tally, scratch.first
    last = _sort_once(real, integer, tally, first, count, surface)
    _tell_sides(x, y, z, surface, real, integer, first, last)
    count_cells(sphere, surface, integer, tally, first, last)
    total = _count_features(integer, tally, first, last, surface)
    if total > 1:
        join_pieces(sphere, surface, integer, first, last - first)
        drop_repeated_pieces(sphere, surface, real, integer, tally, first, last)
        _count_features(integer, tally, first, last, surface)
    written = 0
    for root in range(first, last):
        if (total == 1 and integer[root, WEIGHT] == 0) or (total > 1 and integer[root, PATCH] != root):
            continue
        number = 0
        fx = fy = fz = energy = deepest = 0.0
        near_x = near_y = near_z = 0.0
        hertzian = is_hertzian(integer[root, FACET], surface, powers)
        for row in range(root, last if total > 1 else root + 1):
            if integer[row, WEIGHT] == 0 or (total > 1 and integer[row, PATCH] != root):
                continue
            facet = integer[row, FACET]
            for slot in range(_slots(facet, surface)):
                weight = tally[row, slot]
                if weight == 0:
                    continue
                kind, feature, rx, ry, rz, distance = feature_of(x, y, z, row, slot, surface, real, integer)
                nx, ny, nz = _direction(row, slot, radius, rx, ry, rz, distance, surface, real, integer)
                overlap = radius - distance
                if written >= room:
                    return OUTPUT_FULL
                at = target + written
                if number == 0 or not patches or overlap > deepest:
                    deepest = overlap
                    near_x, near_y, near_z = nx, ny, nz
                    found.kind[at], found.feature[at], found.facet[at] = kind, feature, facet
                    found.places[at, POINT], found.places[at, POINT + 1], found.places[at, POINT + 2] = (
                        x - rx,
                        y - ry,
                        z - rz,
                    )
                    found.places[at, NORMAL], found.places[at, NORMAL + 1], found.places[at, NORMAL + 2] = (nx, ny, nz)
                    found.places[at, PLACE_OVERLAP] = found.places[at, PLACE_ENERGETIC] = overlap
                    found.weight[at] = weight
                if not patches:
                    written += 1
                    continue
                number += 1
                size = weight * (overlap * math.sqrt(overlap) if hertzian else overlap)
                fx, fy, fz = fx + size * nx, fy + size * ny, fz + size * nz
                energy += size * overlap
        if number == 0 or energy <= 0.0:
            continue
        at = target + written
        written += 1
        found.weight[at] = number
        alone = deepest * deepest * (math.sqrt(deepest) if hertzian else 1.0)
        if number == 1 or (energy < (1.0 - RING) * alone and integer[root, STATE] != REDUCED):
            continue
        force = math.sqrt(fx * fx + fy * fy + fz * fz)
        overlap = power(force, 2.0 / 3.0) if hertzian else force
        found.places[at, PLACE_ENERGETIC] = power(energy, 0.4) if hertzian else math.sqrt(energy)
        found.places[at, PLACE_OVERLAP] = overlap
        if force > 0.0:
            near_x, near_y, near_z = fx / force, fy / force, fz / force
        for axis in range(3):
            direction = near_x if axis == 0 else (near_y if axis == 1 else near_z)
            found.places[at, NORMAL + axis] = direction
        found.places[at, POINT] = x - (radius - overlap) * near_x
        found.places[at, POINT + 1] = y - (radius - overlap) * near_y
        found.places[at, POINT + 2] = z - (radius - overlap) * near_z
    return written
