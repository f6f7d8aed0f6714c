"""Matching of contacts with walls: which contact of the last step a contact continues.

**Patches** of the signed contact sum. A patch is identified by its position relative to the centre: the vector of
length radius minus overlap against its normal. It moves little in a step, for any facets, edges and vertices that the
sphere passes, so that the mesh is not needed here. Pairs of an old and a new patch of the same wall are matched by
distance, the closest first, each patch once. A patch that splits therefore continues in its nearest part, and the
remaining parts are new contacts. Of two patches that merge the nearer one continues; the second one ends, and its
stored energy is counted as sliding. Dividing a history or adding two of them could gain energy: the spring of the
merged patch is softer than both together.

**Features** of the double hierarchy. A history continues by feature (facet, edge, vertex), and from one feature to the
next of the same wall if the normal has hardly turned: a sphere that rolls across an edge retains its friction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.geometry.surface_arrays import NORMAL, PLACE_OVERLAP
from pdem.contact.law.contact_law import OVERLAP
from pdem.numerics.kernels import inlined

if TYPE_CHECKING:
    from pdem.contact.geometry.surface_arrays import Found
    from pdem.contact.walls.arguments import WallRecord
    from pdem.foundation.array_types import Int32s, Integers

LARGEST_MOVE = 0.2
"""Square of the largest displacement of a patch in a step over the square of the radius: an angle of 26 degrees."""

SAME_DIRECTION = 0.9
"""Smallest cosine between old and new normal for which a contact on a new feature continues an old one."""


@inlined
def match_patches(
    radius: float,
    first: int,
    count: int,
    old_count: int,
    facet_wall: Int32s,
    found: Found,
    before: WallRecord,
    match: Integers,
) -> None:
    """Write for each new patch the history row (from 1) it continues, 0 for none; marks used ones."""
    facet, places, old = found.facet, found.places, before.history
    for c in range(first, first + count):
        match[c] = 0
    while True:
        best = math.inf
        new_row = old_row = -1
        for c in range(first, first + count if old_count > 0 else first):
            if match[c] > 0:
                continue
            reach = radius - places[c, PLACE_OVERLAP]
            for o in range(first, first + old_count):
                if before.kind[o] < 0 or facet_wall[before.facet[o]] != facet_wall[facet[c]]:
                    continue
                at = before.width * (o + 1)
                n = at + before.normal
                old_reach = radius - old[at + OVERLAP]
                dx = reach * places[c, NORMAL] - old_reach * old[n]
                dy = reach * places[c, NORMAL + 1] - old_reach * old[n + 1]
                dz = reach * places[c, NORMAL + 2] - old_reach * old[n + 2]
                apart = dx * dx + dy * dy + dz * dz
                if apart < best:
                    best, new_row, old_row = apart, c, o
        if not best < LARGEST_MOVE * radius * radius:
            break
        match[new_row] = old_row + 1
        before.kind[old_row] = -1


@inlined
def match_features(
    first: int, count: int, old_count: int, facet_wall: Int32s, found: Found, before: WallRecord, match: Integers
) -> None:
    """Write for each new contact the history row (from 1) it continues, 0 for none; marks used ones."""
    for c in range(first, first + count):
        match[c] = 0
        for o in range(first, first + old_count):
            if before.kind[o] == found.kind[c] and before.feature[o] == found.feature[c]:
                match[c] = o + 1
                before.kind[o] = -1
                break
    for c in range(first, first + count):
        best = SAME_DIRECTION
        for o in range(first, first + old_count if match[c] == 0 else first):
            if before.kind[o] >= 0 and facet_wall[before.facet[o]] == facet_wall[found.facet[c]]:
                n = before.width * (o + 1) + before.normal
                along = (
                    found.places[c, NORMAL] * before.history[n]
                    + found.places[c, NORMAL + 1] * before.history[n + 1]
                    + found.places[c, NORMAL + 2] * before.history[n + 2]
                )
                if along > best:
                    best = along
                    match[c] = o + 1
        if match[c] > 0:
            before.kind[match[c] - 1] = -1
