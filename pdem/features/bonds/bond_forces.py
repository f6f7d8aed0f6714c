"""Forces of bonds beside contact forces, for stress and continuum fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.views.pair_forces import PairForces
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.features.bonds.evaluation import BondEvaluation
    from pdem.features.bonds.kernel import BondResults


def forces_of_bonds(system: System, bonds: BondEvaluation, results: BondResults) -> PairForces:
    """Return the forces of the bonds that this rank counts, each from its lower to its higher end.

    Parameters
    ----------
    system : System
        State of this rank, with packed rows that are up to date.
    bonds : BondEvaluation
        The bonds of this rank.
    results : BondResults
        Results of an evaluation of all rows of their table.
    """
    table, own = bonds.table, system.particles
    mine = table.rows[:, 0] < own.count
    lower, higher = table.rows[mine].T
    place = system.contacts.pairs.rows_to_share(own)[:, PLACE : PLACE + 3]
    centre = place[lower]
    return PairForces(lower, higher, centre, place[higher] - centre + table.shift[mine], results.loads[mine, :3])
