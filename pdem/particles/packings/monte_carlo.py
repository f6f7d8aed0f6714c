"""Monte Carlo moves of placed spheres, which open gaps for further spheres.

Each random move is accepted if the sphere then overlaps nothing: the Monte Carlo method for hard spheres (Metropolis
and others, J. Chem. Phys. 21 (1953) 1087), in which gaps open and close as in a fluid. Random sequential addition ends
at a volume fraction of 0.384 for equal spheres in space (Torquato, Uche, Stillinger, Phys. Rev. E 74 (2006) 061308),
and of 0.547 for equal discs in the plane. In practice, with a few thousand attempts each, it ends slightly below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdem.numerics.random import keyed_vectors
from pdem.particles.regions import wrap_positions

REACHES = (1.0, 0.5, 0.25)
"""Largest move along each axis over the radius, in turn for each sweep: long for loose spheres, short for dense."""

_MOVE_STREAM = 1 << 40


def monte_carlo_sweep(filling: Any, number: int) -> None:
    """Move each placed particle of a fill to a random position nearby, if it overlaps nothing there. Collective.

    Particles move one after the other, in the order of their numbers; none moves to a position that was occupied before
    the sweep.

    Parameters
    ----------
    filling : `pdem.particles.random_filling._Filling`
        The fill; positions of its particles are changed.
    number : int
        Number of the sweep, which keys random numbers together with ids.
    """
    domain, placed = filling.domain, np.flatnonzero(filling.is_placed)
    here = {name: column[placed] for name, column in filling.particles.items()}
    moves = np.zeros((len(placed), 3))
    for request, ids, mine in filling.by_group(here["number"]):
        way = 2.0 * keyed_vectors(request.fill.seed, _MOVE_STREAM + 3 * number, ids) - 1.0
        moves[mine] = (here["radius"][mine] / request.reach)[:, None] * way
    moves[:, domain.dimension :] = 0.0
    moves *= REACHES[number % len(REACHES)]
    tried = {**here, "position": wrap_positions(here["position"] + moves, domain), "turn": here["number"]}
    some = np.flatnonzero(filling.places.clear(tried))
    some = some[filling.free({name: column[some] for name, column in tried.items()})]
    some = some[filling.places.movable({name: column[some] for name, column in tried.items()})]
    here["position"][some] = tried["position"][some]
    filling.particles["position"][placed] = here["position"]
    filling.places.renew(here)
