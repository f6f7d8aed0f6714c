"""Spheres that have their places are moved a little, at random, so that room for others comes about between them.

Each move is accepted if the sphere then overlaps nothing: the Monte Carlo method for hard spheres (Metropolis and
others, J. Chem. Phys. 21 (1953) 1087), in which gaps open and close as in a liquid. Random places one after the other
end at a volume fraction of 0.384 of equal spheres in space (Torquato, Uche, Stillinger, Phys. Rev. E 74 (2006)
061308), 0.547 of equal discs in the plane, and in practice, with a few thousand attempts each, some hundredths below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.random import keyed_vectors
from pdem.particles.clearance import wrapped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.int64]

REACHES = (1.0, 0.5, 0.25)
"""Longest move along each axis over the radius, in turn: long ones where there is room, short ones where not."""

_MOVE_STREAM = 1 << 40


def shaken(filling: Any, spheres: Indices, number: int) -> None:
    """Move each sphere of a fill that has its place to a random place nearby, if it has room there.

    Parameters
    ----------
    filling : `pdem.particles.random_filling._Filling`
        Whose table and groups are changed.
    spheres : (k,) int array
        Which of its spheres.
    number : int
        Of this round, which decides the random numbers with the ids.
    """
    domain, slots = filling.domain, filling.slots[spheres]
    reach = REACHES[number % len(REACHES)] * filling.radii[spheres, None]
    now, moves = np.zeros((len(spheres), 3)), np.zeros((len(spheres), 3))
    for group, one in enumerate(filling.groups):
        mine = np.flatnonzero(filling.owners[spheres] == group)
        rows = filling.rows[spheres[mine]]
        now[mine] = one.position[rows]
        moves[mine] = (
            2.0 * keyed_vectors(one.request.fill.seed, _MOVE_STREAM + 3 * number, one.ids[rows]) - 1.0
        )
    moves[:, domain.dimension :] = 0.0
    places = wrapped(now + reach * moves, domain)
    able = np.flatnonzero(filling.table.clear(places, filling.radii[spheres], slots))
    able = able[filling.free(spheres[able], places[able])]
    able = able[filling.table.shake(slots[able], places[able])]
    filling.settle(spheres[able], places[able])
