"""Forces of contacts that can be read after a step.

Usually the force of a single contact is not needed after it has been summed, and most rows of forces are used again
within the step (`pdem.contact.pairs.force_storage`). Before a step after which contact forces are read, each contact
gets a row of its own. Evaluation and the order of sums do not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs.acting import gather_forces
from pdem.contact.pairs.arguments import NO_WALLS, kick_of
from pdem.contact.pairs.contacts import PairContacts
from pdem.containers.particles import Particles
from pdem.detection.id_table import indexed
from pdem.detection.neighbours import NearPairs
from pdem.foundation.packed_row import PLACE, SPEED, SPIN
from pdem.motion.integration import FixedColumns, Motion
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.pairs.arguments import Kick
    from pdem.foundation.array_types import Floats, Int32s


def keep_forces(pairs: PairContacts, particles: Particles, kept: bool) -> None:
    """Choose whether the next evaluations leave the forces of all contacts in memory, for `kept_forces`.

    Parameters
    ----------
    pairs : PairContacts
        Between two evaluations.
    particles : Particles
        Particles of its lists.
    kept : bool
        Whether forces stay in memory.
    """
    if kept == pairs.keeps_forces:
        return
    begins, window = pairs.force_schedule
    if window and not kept:
        pairs.storage.forces.mark_again()
    pairs.place_forces(particles, begins, 0 if kept else window)
    pairs.keeps_forces = kept


def kept_forces(pairs: PairContacts, particles: Particles, candidates: Int32s) -> Floats:
    """Return the forces (n, 3) [N] on the higher particles of some candidates, 0 where they do not touch.

    The forces are the result of the last evaluation; `keep_forces` must have been called before it.
    """
    forces = np.empty((len(candidates), 3))
    index = pairs.kernel_candidates(particles).force_index
    gather_forces(candidates, index, pairs.storage.forces.forces, forces)
    return forces


def present_forces(
    pairs: PairContacts, particles: Particles, box: tuple[Floats, Floats], parameters: ContactParameters
) -> Floats:
    """Return the forces (n, 3) [N] on the higher particles of all contacts, as in a step of zero length.

    The forces follow from positions, velocities and histories, as at the begin of a run. Use this if the contacts have
    not been evaluated with `keep_forces`. Contacts and particles do not change.

    Parameters
    ----------
    pairs : PairContacts
        Contacts with up-to-date packed rows of owned particles and ghosts.
    particles : Particles
        Owned and ghosts.
    box : (period, frequency)
        See `PairContacts.evaluate`.
    parameters : ContactParameters
        Parameters of the case.
    """
    touching, copies = pairs.touching, _copies(pairs, particles)
    alone = PairContacts(pairs.law)
    alone.load_state(pairs.records(particles), copies, indexed(copies.id))
    ended, kick = ExactSums(ENDED), _no_kick(copies.count)
    near = NearPairs.of(pairs.lower[touching], pairs.higher[touching])
    alone.take_candidates(near, copies, ended)
    keep_forces(alone, copies, True)
    alone.begin(copies, parameters.density, packed=False)
    still = parameters._replace(step=parameters.step.at_rest(), largest_overlap=np.inf)
    alone.evaluate(False, copies, box, still, ended, kick)
    listed = np.arange(len(touching), dtype=np.int32)
    forces = np.empty((len(touching), 3))
    forces[_by_rows(pairs, touching)] = kept_forces(alone, copies, listed[_by_rows(alone, listed)])
    return forces


def _by_rows(pairs: PairContacts, candidates: Int32s) -> NDArray[np.intp]:
    """Return the order of candidates by the rows of their particles, which does not depend on the lists."""
    return np.lexsort((pairs.higher[candidates], pairs.lower[candidates]))


def _copies(pairs: PairContacts, particles: Particles) -> Particles:
    """Return a copy of particles and ghosts from their packed rows, all of them as owned particles."""
    rows = pairs.rows_to_share(particles)
    count, column = len(rows), particles.column
    return Particles({
        "id": column("id")[:count], "radius": column("radius")[:count], "material": column("material")[:count],
        "cluster": column("cluster")[:count],
        "position": rows[:, PLACE : PLACE + 3], "velocity": rows[:, SPEED : SPEED + 3],
        "angular_velocity": rows[:, SPIN : SPIN + 3],
    })  # fmt: skip


def _no_kick(count: int) -> Kick:
    """Return a kick without effect, for `count` particles."""
    fixed = FixedColumns(np.zeros((count, 3)), np.full(count, np.inf), np.zeros(count))
    return kick_of(NO_WALLS, 0.0, Motion(np.zeros(3), np.ones(6), np.zeros((3, 3))), fixed)
