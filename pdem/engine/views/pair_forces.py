"""Forces between pairs of particles that features add to contact forces, such as the forces of bonds.

They count in the stress and in continuum fields, but they are no contacts: neither fabric nor numbers of contacts
include them. See `pdem.engine.feature.Feature.pair_forces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.engine.views.acting_contacts import ways_to_centres
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers


class PairForces(NamedTuple):
    """Forces between pairs of particles; a rank has the pairs that it counts.

    Attributes
    ----------
    first, second : (n,) int64 arrays
        Rows of the particles with the lower and the higher id, owned or ghosts.
    centre, branch : (n, 3) arrays
        Centre of the first particle, vector from there to the centre of the second one [m].
    force : (n, 3) array
        Force of the first on the second particle [N].
    """

    first: Integers
    second: Integers
    centre: Floats
    branch: Floats
    force: Floats


def feature_pair_forces(system: System) -> PairForces | None:
    """Return the pair forces of all features that this rank counts, from body to body; None if no feature has any.

    The forces are those of the last step if the forces of contacts are in memory, else forces at present. The centre of
    a member of a cluster is the centre of its cluster, as for contacts. Packed rows must be up to date, for example
    after `pdem.engine.views.acting_contacts.acting_contacts`.
    """
    present = not system.contacts.pairs.keeps_forces
    parts = [one.pair_forces(system, present=present) for one in system.features.forcing]
    found = [part for part in parts if part is not None]
    if not found:
        return None
    pairs = PairForces._make(np.concatenate(columns) for columns in zip(*found, strict=True))
    if system.clusters is None:
        return pairs
    way = ways_to_centres(system, system.contacts.pairs.rows_to_share(system.particles)[:, PLACE : PLACE + 3])
    begin, end = way[pairs.first], way[pairs.second]
    return pairs._replace(centre=pairs.centre + begin, branch=pairs.branch + (end - begin))
