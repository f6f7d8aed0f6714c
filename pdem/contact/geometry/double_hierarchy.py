"""The double hierarchy (H2): facets, edges and vertices of the walls that are contacts of one sphere.

H2: Santasusana et al., Comp. Part. Mech. (2016), doi 10.1007/s40571-016-0109-4, sect. 5. A contact
here is a local minimum of the distance from the centre to the surface that no nearer one hides:

1. *Contact type* (sect. 5.1). Every touched facet nominates its nearest feature: itself if the centre
   projects into it, else one of its edges, else one of its vertices. The paper may list further
   edges of the facet. All of a convex facet lies below the plane through its nearest point across the
   contact vector, so the third stage would remove each of them (a sphere that pokes deep through
   a narrow facet touches that facet once): they are not listed at all.
2. *Adjacency*. Features are those of the welded mesh, so a shared edge is one. An edge or a vertex is a
   contact only if every touched facet around it nominates it; if one nominates a different feature, that
   feature is nearer and the path to it leads downhill. This decides flat and convex surfaces by comparisons
   alone, for needles, fans and facets far smaller than the indentation.
3. *Distance* (sect. 5.2), from the nearest up, facets before edges before vertices among equals. A
   contact is dropped if its point does not rise above the tangent plane at the point of a nearer one
   (the projection test of eq. 31, divided by lengths), even if that one is dropped. This joins contacts
   without adjacency: duplicated facets, hanging nodes, separate meshes, a wall behind a wall.

Nothing depends on the order of the candidates, on the order of the facets or on where a loop begins;
contacts come out with the nearest first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.geometry.facet_rows import loop_before, move, nearer, row_of, sort_by_distance, sort_by_facet
from pdem.contact.geometry.scratch_columns import (
    DISTANCE,
    FACET,
    FEATURE,
    KEY,
    KIND,
    NX,
    NY,
    NZ,
    ON_EDGE,
    ON_FACET,
    RX,
    RY,
    RZ,
    WEIGHT,
)
from pdem.contact.geometry.sphere_facet import nearest_within
from pdem.contact.geometry.surface_arrays import NORMAL, PLACE_ENERGETIC, PLACE_OVERLAP, POINT
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import inlined

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import FacetRange, Found, Scratch, Sphere, SurfaceArrays
    from pdem.foundation.array_types import Floats, Integers

OUTPUT_FULL = -2
"""Status of `resolve_h2`: more contacts than rows of the output."""

ANGLE_TOLERANCE = 1e-5
"""A point must rise above the tangent plane of a nearer contact by this angle [rad] to be a separate contact.

Creases flatter than this are flat: coordinates in single precision bend planes by as much."""

LENGTH_TOLERANCE = 1e-10
"""A point must also rise by this fraction of the radius, for points that nearly coincide."""

DISTANCE_BIAS = 1e-12
"""At equal distance facets come before edges before vertices: each kind adds this fraction of the distance."""

NO_DIRECTION = 1e-12
"""Below this fraction of the radius the contact vector has no direction, and the normal of the facet replaces it."""


@inlined_geometry
def resolve_h2(
    sphere: Sphere, tested: FacetRange, first: int, surface: SurfaceArrays, scratch: Scratch, found: Found, room: int
) -> int:
    """Find the contacts of one sphere with the walls; allocates nothing.

    Parameters
    ----------
    sphere : Sphere
        The sphere.
    tested : FacetRange
        Facets that may touch the sphere.
    first : int
        Row of `found` from which on contacts are written.
    surface : SurfaceArrays
        The walls.
    scratch : Scratch
        Rows of facets, of which as many as are tested may be overwritten.
    found : Found
        Written from row `first` on: each contact once, the nearest first. Its facet is the first one, by the loop of
        vertices, that nominated it; its normal points towards the centre, on either side.
    room : int
        Rows of `found` that may be written. The number of candidates always suffices, mostly a few.

    Returns
    -------
    int
        Number of contacts, or `OUTPUT_FULL` with a meaningless output: provide more rows and call again.

    Notes
    -----
    Called inside a ``prange``, output with as many rows as candidates cannot overflow, and threads with their own
    scratch do not interfere.
    """
    real, integer, begin = scratch.real, scratch.integer, scratch.first
    count = nominate(sphere, tested, surface, scratch)
    if count > 1:
        sort_by_facet(real, integer, begin, count)
        count = _keep_minima(real, integer, begin, count, surface)
        sort_by_distance(real, integer, begin, count, surface)
        _drop_hidden(sphere.radius, real, integer, begin, count)
    written = 0
    for row in range(begin, begin + count):
        if integer[row, WEIGHT] == 0:
            continue
        if written >= room:
            return OUTPUT_FULL
        write_nominated(sphere, row, first + written, real, integer, found)
        written += 1
    return written


@inlined_geometry
def write_nominated(sphere: Sphere, row: int, at: int, real: Floats, integer: Integers, found: Found) -> None:
    """Write the contact of a row of the scratch to the row `at`."""
    found.facet[at], found.kind[at], found.feature[at] = (
        integer[row, FACET],
        integer[row, KIND],
        integer[row, FEATURE],
    )
    found.places[at, PLACE_OVERLAP] = found.places[at, PLACE_ENERGETIC] = sphere.radius - real[row, DISTANCE]
    found.weight[at] = 1
    found.places[at, POINT] = sphere.x - real[row, RX]
    found.places[at, POINT + 1] = sphere.y - real[row, RY]
    found.places[at, POINT + 2] = sphere.z - real[row, RZ]
    for axis in range(3):
        found.places[at, NORMAL + axis] = real[row, NX + axis]


@inlined
def nominate(sphere: Sphere, tested: FacetRange, surface: SurfaceArrays, scratch: Scratch) -> int:
    """Write one row per touched facet, with its nearest feature; return their number.

    Also writes a lower bound of the distance of each facet.
    """
    real, integer, radius = scratch.real, scratch.integer, sphere.radius
    row = scratch.first
    for place in range(tested.first, tested.last):
        facet = tested.facets[place]
        kind, feature, rx, ry, rz, squared = nearest_within(sphere, facet, surface)
        scratch.bound[scratch.first + place - tested.first] = squared
        if kind < 0:
            continue
        distance = math.sqrt(squared)
        if not distance < radius:
            continue
        integer[row, FACET] = facet
        integer[row, KIND] = kind
        integer[row, FEATURE] = feature
        integer[row, WEIGHT] = 1
        real[row, KEY] = distance * (1.0 + kind * DISTANCE_BIAS)
        real[row, DISTANCE] = distance
        real[row, RX] = rx
        real[row, RY] = ry
        real[row, RZ] = rz
        if kind == ON_FACET or distance <= NO_DIRECTION * radius:
            towards = rx * surface.normals[facet, 0] + ry * surface.normals[facet, 1] + rz * surface.normals[facet, 2]
            sign = -1.0 if towards < 0.0 else 1.0
            real[row, NX] = sign * surface.normals[facet, 0]
            real[row, NY] = sign * surface.normals[facet, 1]
            real[row, NZ] = sign * surface.normals[facet, 2]
        else:
            real[row, NX] = rx / distance
            real[row, NY] = ry / distance
            real[row, NZ] = rz / distance
        row += 1
    return row - scratch.first


@inlined
def _is_minimum(
    row: int,
    integer: Integers,
    first: int,
    count: int,
    surface: SurfaceArrays,
    member_start: Integers,
    member_facets: Integers,
) -> bool:
    """Return whether all touched facets around an edge or vertex nominate it, and `row` is the first of them."""
    kind = integer[row, KIND]
    feature = integer[row, FEATURE]
    speaker = -1
    for place in range(member_start[feature], member_start[feature + 1]):
        other = row_of(member_facets[place], integer, first, count)
        if other >= 0:
            if integer[other, KIND] != kind or integer[other, FEATURE] != feature:
                return False
            if speaker < 0 or loop_before(integer[other, FACET], integer[speaker, FACET], surface):
                speaker = other
    return speaker == row


@inlined
def _keep_minima(real: Floats, integer: Integers, first: int, count: int, surface: SurfaceArrays) -> int:
    """Move the local minima of the distance, each feature once, to the front; return their number."""
    for row in range(first, first + count):
        kind = integer[row, KIND]
        if kind == ON_FACET:
            minimum = row == first or integer[row - 1, FACET] != integer[row, FACET]
        elif kind == ON_EDGE:
            minimum = _is_minimum(row, integer, first, count, surface, surface.edge_facet_start, surface.edge_facet_ids)
        else:
            minimum = _is_minimum(
                row, integer, first, count, surface, surface.vertex_facet_start, surface.vertex_facet_ids
            )
        integer[row, WEIGHT] = 1 if minimum else 0
    target = first
    for row in range(first, first + count):
        if integer[row, WEIGHT] == 1:
            move(real, integer, row, target)
            target += 1
    if target == first:  # rounding can make neighbours point at each other; the nearest is a minimum for certain
        nearest = first
        for row in range(first + 1, first + count):
            if nearer(real, integer, row, nearest, surface):
                nearest = row
        move(real, integer, nearest, first)
        integer[first, WEIGHT] = 1
        target += 1
    return target - first


@inlined
def _drop_hidden(radius: float, real: Floats, integer: Integers, first: int, count: int) -> None:
    """Mark contacts with a point that does not rise above the tangent plane at a nearer contact."""
    for row in range(first + 1, first + count):
        for other in range(first, row):
            dx = real[other, RX] - real[row, RX]
            dy = real[other, RY] - real[row, RY]
            dz = real[other, RZ] - real[row, RZ]
            rise = dx * real[other, NX] + dy * real[other, NY] + dz * real[other, NZ]
            apart = math.sqrt(dx * dx + dy * dy + dz * dz)
            if rise <= ANGLE_TOLERANCE * apart + LENGTH_TOLERANCE * radius:
                integer[row, WEIGHT] = 0
                break
