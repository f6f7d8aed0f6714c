"""Monte Carlo moves of placed spheres, which open gaps for others.

Each random move is accepted if the sphere then overlaps nothing: the Monte Carlo method for hard spheres (Metropolis
and others, J. Chem. Phys. 21 (1953) 1087), in which gaps open and close as in a fluid. Random sequential addition ends
at a volume fraction of 0.384 of equal spheres in space (Torquato, Uche, Stillinger, Phys. Rev. E 74 (2006)
061308), 0.547 of equal discs in the plane, and in practice, with a few thousand attempts each, slightly below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdem.foundation.random import keyed_vectors
from pdem.particles.regions import wrap_positions

REACHES = (1.0, 0.5, 0.25)
"""Largest move along each axis over the radius, in turn for each sweep: long for loose spheres, short for dense."""

_MOVE_STREAM = 1 << 40


def monte_carlo_sweep(filling: Any, number: int) -> None:
    """Move each placed sphere of a fill to a random position nearby, if it overlaps nothing there. Collective.

    They move one after the other, in the order of their numbers; none moves to where another was before the sweep.

    Parameters
    ----------
    filling : `pdem.particles.random_filling._Filling`
        The fill, whose positions and places are changed.
    number : int
        Number of the sweep, which keys random numbers together with ids.
    """
    domain, spheres = filling.domain, np.flatnonzero(filling.is_placed)
    radii, numbers, old = (column[spheres] for column in (filling.radii, filling.numbers, filling.positions))
    moves = np.zeros((len(spheres), 3))
    for request, ids, mine in filling.by_group(numbers):
        moves[mine] = 2.0 * keyed_vectors(request.fill.seed, _MOVE_STREAM + 3 * number, ids) - 1.0
    moves[:, domain.dimension :] = 0.0
    reach = REACHES[number % len(REACHES)] * radii[:, None]
    positions = wrap_positions(old + reach * moves, domain)
    some = np.flatnonzero(filling.places.clear(positions, radii, numbers))
    some = some[filling.free(positions[some], radii[some], numbers[some])]
    candidates = {"position": positions, "radius": radii, "number": numbers, "turn": numbers}
    some = some[filling.places.movable({name: column[some] for name, column in candidates.items()})]
    filling.positions[spheres[some]] = positions[some]
    filling.places.renew(filling.positions[spheres], radii, numbers)
