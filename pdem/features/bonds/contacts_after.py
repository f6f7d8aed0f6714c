"""Contacts that begin where bonds have broken: with the present overlap, and with the energy of this overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.elastic import ElasticState, elastic_energies
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers


def contact_energies(system: System, rows: Integers, shift: Floats) -> Floats:
    """Return the elastic energies with which contacts of given pairs begin [J].

    If a bond breaks while its spheres overlap, they push each other apart from the next step on. The bond does not
    supply this energy: it was spent when the spheres were bonded with an overlap, or pressed together without contact.

    Parameters
    ----------
    system : System
        The state of this rank.
    rows, shift : (n, 2) and (n, 3) arrays
        Rows and shifts of the pairs, see `pdem.engine.id_pairs.pairs_by_id.PairTable`.
    """
    own, law = system.particles, system.constants.law
    place = system.contacts.pairs.rows_to_share(own)[:, PLACE : PLACE + 3]
    branch = place[rows[:, 1]] - place[rows[:, 0]] + shift
    x, y, z = branch.T
    radius, material = own.column("radius")[rows], own.column("material")[rows]
    overlap = radius.sum(axis=1) - np.sqrt(x * x + y * y + z * z)
    touch = overlap > 0.0
    radius, material, overlap = radius[touch], material[touch], overlap[touch]
    effective = radius[:, 0] * radius[:, 1] / (radius[:, 0] + radius[:, 1])
    pair = material[:, 0] * len(system.constants.density) + material[:, 1]
    remembered, history = (np.zeros((len(names), len(pair))) for names in (law.remembered, law.normal_history))
    return elastic_energies(law, system.constants.table, ElasticState(overlap, remembered, history), effective, pair)
