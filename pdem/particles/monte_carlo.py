"""Monte Carlo moves of placed spheres, which open gaps for others.

Each random move is accepted if the sphere then overlaps nothing: the Monte Carlo method for hard spheres (Metropolis
and others, J. Chem. Phys. 21 (1953) 1087), in which gaps open and close as in a fluid. Random sequential addition ends
at a volume fraction of 0.384 of equal spheres in space (Torquato, Uche, Stillinger, Phys. Rev. E 74 (2006)
061308), 0.547 of equal discs in the plane, and in practice, with a few thousand attempts each, slightly below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.random import keyed_vectors
from pdem.particles.clearance import wrap_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.int64]

REACHES = (1.0, 0.5, 0.25)
"""Largest move along each axis over the radius, in turn for each sweep: long for loose spheres, short for dense."""

_MOVE_STREAM = 1 << 40


def monte_carlo_sweep(filling: Any, spheres: Indices, number: int) -> None:
    """Move each placed sphere of a fill to a random position nearby, if it overlaps nothing there.

    Parameters
    ----------
    filling : `pdem.particles.random_filling._Filling`
        The fill, whose table and groups are changed.
    spheres : (k,) int array
        The spheres.
    number : int
        Number of the sweep, which keys random numbers together with ids.
    """
    domain, slots = filling.domain, filling.slots[spheres]
    reach = REACHES[number % len(REACHES)] * filling.radii[spheres, None]
    old, moves = np.zeros((len(spheres), 3)), np.zeros((len(spheres), 3))
    for group, one in enumerate(filling.groups):
        mine = np.flatnonzero(filling.owners[spheres] == group)
        rows = filling.rows[spheres[mine]]
        old[mine] = one.position[rows]
        moves[mine] = (
            2.0 * keyed_vectors(one.request.fill.seed, _MOVE_STREAM + 3 * number, one.ids[rows]) - 1.0
        )
    moves[:, domain.dimension :] = 0.0
    positions = wrap_positions(old + reach * moves, domain)
    movable = np.flatnonzero(filling.table.clear(positions, filling.radii[spheres], slots))
    movable = movable[filling.free(spheres[movable], positions[movable])]
    movable = movable[filling.table.move(slots[movable], positions[movable])]
    filling.set_positions(spheres[movable], positions[movable])
