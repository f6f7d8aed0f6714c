"""Forces of contacts that are removed between two steps: the next step begins without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.pairs.arguments import Candidates, Rows
from pdem.contact.pairs.force_sums import order_loads
from pdem.contact.pairs.history_kernels import UNORDERED
from pdem.numerics.kernels import kernel
from pdem.numerics.simd.row_sums import sum_loads

if TYPE_CHECKING:
    from pdem.contact.pairs.contacts import PairContacts
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Booleans, Floats, Int32s


@kernel
def take_off_forces(
    gone: Booleans, rows: tuple[Any, ...], candidates: tuple[Any, ...], forces: Floats, listed: Int32s,
    force: Floats, torque: Floats,
) -> None:  # fmt: skip
    """Subtract the loads of contacts with removed particles from the columns of owned particles (n, 3) [N, N m].

    Loads of one particle are added up in the order of the partners' ids.

    Parameters
    ----------
    gone : bool array
        Whether each particle, owned or ghost, is removed.
    rows, candidates : tuple
        Fields of `Rows` and `Candidates`.
    forces : array
        Kept forces, see `pdem.contact.pairs.kept_forces`.
    listed : int32 array
        Room for the largest number of contacts of a particle.
    force, torque : (n, 3) arrays
        Written.
    """
    of, pairs = Rows(*rows), Candidates(*candidates)
    for p in range(len(force)):
        number = 0
        if of.touching[p] == UNORDERED:
            order_loads(p, of, pairs)
        for place in range(of.start[p], of.start[p] + of.touching[p]):
            which = of.entry[place]
            other = pairs.lower[which >> 1] if which & 1 else pairs.higher[which >> 1]
            if gone[other]:
                listed[number] = of.load[place]
                number += 1
        if number > 0:
            fx, fy, fz, tx, ty, tz = sum_loads(listed, forces, 0, number)
            force[p, 0], force[p, 1], force[p, 2] = force[p, 0] - fx, force[p, 1] - fy, force[p, 2] - fz
            torque[p, 0], torque[p, 1], torque[p, 2] = torque[p, 0] - tx, torque[p, 1] - ty, torque[p, 2] - tz


def remove_forces(pairs: PairContacts, particles: Particles, gone: Booleans) -> None:
    """Subtract the loads of contacts with particles that are removed from the columns of the owned particles.

    The next step then begins as if these contacts had never been: momentum is conserved.

    Parameters
    ----------
    pairs : PairContacts
        After an evaluation that has kept all forces.
    particles : Particles
        Owned and ghosts.
    gone : bool array
        Whether each of them is removed.
    """
    views, own = pairs.kernel_views(particles), particles
    start = Rows(*views.rows).start[: own.count + 1]
    listed = np.zeros(int(np.diff(start).max(initial=0)) + 1, np.int32)
    forces = pairs.storage.forces.forces
    take_off_forces(gone, views.rows, views.candidates, forces, listed, own.force, own.torque)
