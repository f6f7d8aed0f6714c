"""Contacts with walls that continue while the particle separates, in laws with adhesion.

While a sphere touches a wall, each touched patch is a contact. When it has left the wall, one contact with the nearest
point of the wall continues, up to the gap at which the law ends it: one contact for each wall, for any mesh.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.geometry.sphere_facet import nearest_feature
from pdem.contact.geometry.surface_arrays import NORMAL, PLACE_ENERGETIC, PLACE_OVERLAP, POINT
from pdem.contact.law.coefficients import remembering_reader
from pdem.contact.law.elastic import gap_of
from pdem.foundation.packed_row import MATERIAL, PACKED, PLACE, SIZE
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernel_factory import inlined_exactly
from pdem.numerics.simd.unsigned_index import ROW

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Found, SurfaceArrays
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.walls.arguments import NearFacets, WallParameters, WallRecord, WallWork


def stretched_of(law: ContactLaw | None) -> Any:
    """Make the function that adds the stretched contacts of a particle to its touching contacts.

    Its arguments are the index `q` of the particle in the list of particles near a wall, and the number of its touching
    contacts; it returns the number of all its contacts. Without a law that pulls it adds none.
    """
    if law is None:
        return inlined_exactly(
            lambda q, count, near, parameters, surface, found, before, work: count,
        )  # fmt: skip
    gap, width, memory = gap_of(law), law.width, {name: law.place(name) for name in law.remembered}
    coefficients_of = remembering_reader(law, range(law.width), memory)

    @inlined_exactly
    def keep_stretched(
        q: int, count: int, near: NearFacets, parameters: WallParameters, surface: SurfaceArrays, found: Found,
        before: WallRecord, work: WallWork,
    ) -> int:  # fmt: skip
        first, at = near.start[q], PACKED * (near.near[q] & ROW)
        radius, material = near.packed[at + SIZE], int(near.packed[at + MATERIAL])
        for old in range(first, first + before.counts[q]):
            if before.kind[old] < 0:
                continue
            wall = surface.facet_wall[before.facet[old]]
            if touches_wall(wall, first, count, surface, found):
                continue
            pair = material * parameters.materials + surface.wall_material[wall]
            k = coefficients_of(parameters.coefficients, width * pair, before.history, before.width * (old + 1))
            allowed = gap(0.0, radius, k, ())
            if nearest_of_wall(q, wall, first + count, radius + allowed, near, surface, found):
                work.match[first + count] = old + 1
                before.kind[old] = -1
                count += 1
        return count

    return keep_stretched


@inlined_geometry
def touches_wall(wall: int, first: int, count: int, surface: SurfaceArrays, found: Found) -> bool:
    """Return whether one of the contacts of a particle is with a wall."""
    touches = False
    for c in range(first, first + count):
        touches |= surface.facet_wall[found.facet[c]] == wall
    return touches


@inlined_geometry
def nearest_of_wall(
    q: int, wall: int, row: int, reach: float, near: NearFacets, surface: SurfaceArrays, found: Found
) -> bool:
    """Write the nearest point of a wall to a row of `found`, if it is within `reach` [m] of the particle's centre."""
    at = PACKED * (near.near[q] & ROW)
    x, y, z = near.packed[at + PLACE], near.packed[at + PLACE + 1], near.packed[at + PLACE + 2]
    best = math.inf
    for place in range(near.start[q], near.end[q]):
        facet = near.candidates[place]
        if surface.facet_wall[facet] != wall:
            continue
        kind, feature, rx, ry, rz, squared = nearest_feature(x, y, z, facet, surface)
        if 0.0 < squared < best:
            best, distance = squared, math.sqrt(squared)
            found.kind[row], found.feature[row], found.facet[row] = kind, feature, facet
            found.places[row, POINT], found.places[row, POINT + 1], found.places[row, POINT + 2] = (
                x - rx,
                y - ry,
                z - rz,
            )
            found.places[row, NORMAL], found.places[row, NORMAL + 1], found.places[row, NORMAL + 2] = (
                rx / distance, ry / distance, rz / distance
            )  # fmt: skip
            found.places[row, PLACE_OVERLAP] = found.places[row, PLACE_ENERGETIC] = near.packed[at + SIZE] - distance
            found.weight[row] = 1
    return best <= reach * reach
