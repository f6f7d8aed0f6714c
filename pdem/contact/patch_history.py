"""Which contact of the last step a contact patch goes on with.

A patch is known by where it is, seen from the centre: the vector of length radius minus overlap against its normal. It
moves little in a step, whatever facets, edges and vertices the sphere passes, so nothing here looks at the mesh. Of
all pairs of an old and a new patch of the same wall the closest go together first, each once. A patch that splits
therefore goes on in the part nearest to it, while others begin anew; of two that merge the nearer one goes on and the
other ends, its stored energy counted as sliding. Sharing a history out or adding two up could gain energy: the
spring of the merged patch is softer than both together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.law import HISTORY, OVERLAP
from pdem.contact.wall_stages import WALL_HISTORY
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAME_PATCH = 0.2
"""Square of the way, over that of the radius, by which a patch may move in a step: an angle of 26 degrees."""


@inlined
def match_patches(
    radius: float,
    first: int,
    count: int,
    old_count: int,
    facet: NDArray[np.int64],
    normal: NDArray[np.float64],
    overlap: NDArray[np.float64],
    old_kind: NDArray[np.int8],
    old_facet: NDArray[np.int64],
    old: NDArray[np.float64],
    facet_wall: NDArray[np.int32],
    match: NDArray[np.int64],
) -> None:
    """Write for each new patch the history row (from 1) it continues, 0 for none; marks used ones."""
    for c in range(first, first + count):
        match[c] = 0
    while True:
        best = math.inf
        new_row = old_row = -1
        for c in range(first, first + count if old_count > 0 else first):
            if match[c] > 0:
                continue
            reach = radius - overlap[c]
            for o in range(first, first + old_count):
                if old_kind[o] < 0 or facet_wall[old_facet[o]] != facet_wall[facet[c]]:
                    continue
                at = WALL_HISTORY * (o + 1)
                old_reach = radius - old[at + OVERLAP]
                dx = reach * normal[c, 0] - old_reach * old[at + HISTORY]
                dy = reach * normal[c, 1] - old_reach * old[at + HISTORY + 1]
                dz = reach * normal[c, 2] - old_reach * old[at + HISTORY + 2]
                apart = dx * dx + dy * dy + dz * dz
                if apart < best:
                    best, new_row, old_row = apart, c, o
        if not best < SAME_PATCH * radius * radius:
            break
        match[new_row] = old_row + 1
        old_kind[old_row] = -1
