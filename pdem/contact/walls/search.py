"""The kernel of a step that finds the contacts between particles and walls, and which histories they continue.

Contacts are resolved by the signed contact sum or the double hierarchy. The rows of the candidate facets of a particle
hold its contacts, so that nothing can overflow and threads never share a row. With the double hierarchy, contacts are
sorted by distance and histories continue by feature; with the signed contact sum, contacts are patches
(`pdem.contact.walls.history_matching`). Geometry alone decides about contacts, unless a law pulls: all laws that only
push share one kernel.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.geometry.double_hierarchy import resolve_h2
from pdem.contact.geometry.signed_patches import Powers
from pdem.contact.geometry.signed_sum import resolve_signed
from pdem.contact.geometry.surface_arrays import PLACE_OVERLAP, FacetRange, Found, Scratch, Sphere, SurfaceArrays
from pdem.contact.walls.arguments import NearFacets, WallParameters, WallRecord, WallWork
from pdem.contact.walls.due_facets import TILE, list_active, list_due_facets, note_due
from pdem.contact.walls.history_matching import match_features, match_patches
from pdem.contact.walls.stages import fill_wall_lanes, list_contact, move_point
from pdem.contact.walls.stretched import stretched_of
from pdem.foundation.packed_row import MATERIAL, PACKED, PLACE, SIZE
from pdem.numerics.kernel_factory import inlined_closure, versioned_kernel
from pdem.numerics.kernels import inlined, kernel, prange
from pdem.numerics.simd.transposition import LANES, whole_lanes
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Int32s, Integers

SEEN = 2
ENDED, DEEP = range(SEEN)
"""Rows of ``seen[field, worker]``, both written: the number of ended contacts, and one more than a particle with an
overlap beyond the limit, or 0."""


@inlined
def tile_at(first: int, high: int, worker: int, near: NearFacets) -> tuple[int, int, int]:
    """Return the tile of particles that begins with `first`: its first particle, its end, the begin of its list.

    The list of its contacts, filled up to whole lanes, cannot reach the list of the next tile.
    """
    return first, min(first + TILE, high), near.start[first] + LANES * (first // TILE + worker)


@inlined
def find_contacts(
    q: int,
    tested: FacetRange,
    tally: Int32s | None,
    first_row: int,
    near: NearFacets,
    parameters: WallParameters,
    surface: SurfaceArrays,
    found: Found,
    before: WallRecord,
    work: WallWork,
) -> int:
    """Find the contacts of one particle near a wall, and the histories that they continue; return their number.

    Only due facets of the particle are tested.
    """
    at, packed = PACKED * (near.near[q] & ROW), near.packed
    first, room = near.start[q], tested.last - tested.first
    sphere = Sphere(packed[at + PLACE], packed[at + PLACE + 1], packed[at + PLACE + 2], packed[at + SIZE])
    scratch = Scratch(work.real, work.integer, tally, work.bound, first_row)
    if tally is not None:
        powers = Powers(parameters.powers, int(packed[at + MATERIAL]) * parameters.materials)
        count = resolve_signed(sphere, tested, first, surface, powers, scratch, found, True, room)
        match_patches(sphere.radius, first, count, before.counts[q], surface.facet_wall, found, before, work.match)
    else:
        count = resolve_h2(sphere, tested, first, surface, scratch, found, room)
        match_features(first, count, before.counts[q], surface.facet_wall, found, before, work.match)
    note_due(q, tested, first_row, sphere.radius, near, work)
    return count


def listing_of(law: ContactLaw | None) -> Any:
    """Make the function that finds the contacts of the particles of one worker and lists them, tile by tile.

    `law` is a law that pulls, or None.
    """
    keep_stretched = stretched_of(law)

    @inlined_closure
    def list_contacts(
        worker: int, tally: Int32s | None, near: NearFacets, parameters: WallParameters,
        surface: SurfaceArrays, found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> None:  # fmt: skip
        low, high = share_of(worker, work.seen.shape[1], len(near.near))
        first_row, first_ended = worker * (len(work.real) // work.seen.shape[1]), near.start[low]
        ended = deepest = 0
        for tile in range(low, high, TILE):
            first, last, begin = tile_at(tile, high, worker, near)
            number, until = begin, list_due_facets(first, last, worker, near, work)
            for a in range(list_active(first, last, until, worker, near, now, before, work)):
                place = offset(TILE * worker, a)
                q, tested = work.active[place], FacetRange(work.tested, until, work.until[place])
                until = tested.last
                count = find_contacts(q, tested, tally, first_row, near, parameters, surface, found, before, work)
                count = keep_stretched(q, count, near, parameters, surface, found, before, work)
                now.counts[q] = count
                bottom, particle = near.start[q], near.near[q]
                for old in range(bottom, bottom + before.counts[q]):
                    if before.kind[old] >= 0:
                        work.ended[first_ended + ended] = old
                        ended += 1
                limit = parameters.largest_overlap * near.packed[PACKED * (particle & ROW) + SIZE]
                for c in range(bottom, bottom + count):
                    deepest = particle + 1 if found.places[c, PLACE_OVERLAP] > limit else deepest
                    move_point(c, parameters.shortened, found)
                    list_contact(number, c, particle, q + 1, work)
                    number += 1
            fill_wall_lanes(begin, number, whole_lanes(number - begin), work)
        work.seen[ENDED, worker], work.seen[DEEP, worker] = ended, deepest

    return list_contacts


@cache
def search_kernel(law: ContactLaw) -> Any:
    """Make the kernel that finds the contacts of the particles near a wall; one for all laws that do not pull.

    Its first argument is the tally of `Scratch`, or None for the double hierarchy: only one of the two methods is
    compiled. The next ones are classes of `pdem.contact.walls.arguments` and `pdem.contact.geometry.surface_arrays` as
    plain tuples of their fields: near, parameters, surface, found, work, now, before.
    """
    return _search_kernel(law if law.may_stretch else None)


@cache
def _search_kernel(law: ContactLaw | None) -> Any:
    list_contacts = listing_of(law)

    @versioned_kernel("pushing" if law is None else law.version, threaded=True)
    def find_wall_contacts(
        tally: Int32s | None, near: NearFacets, parameters: WallParameters, surface: SurfaceArrays,
        found: Found, work: WallWork, now: WallRecord, before: WallRecord,
    ) -> None:  # fmt: skip
        workers = WallWork(*work).seen.shape[1]
        for worker in prange(workers):
            # in the loop over threads the worker has a different type, for which everything would be compiled again
            list_contacts(
                np.int64(worker), tally, NearFacets(*near), WallParameters(*parameters), SurfaceArrays(*surface),
                Found(*found), WallWork(*work), WallRecord(*now), WallRecord(*before),
            )  # fmt: skip

    return find_wall_contacts


@kernel
def reduce_worker_results(seen: Integers) -> tuple[int, int]:
    """Reduce the results of workers: the number of ended contacts, and the largest `DEEP`."""
    ended = deep = 0
    for worker in range(seen.shape[1]):
        ended += seen[ENDED, worker]
        deep = max(deep, seen[DEEP, worker])
    return ended, deep
