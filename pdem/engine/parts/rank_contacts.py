"""The contacts of one rank, with particles and with walls, and the sums over ended contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.columns import looks_at_contacts
from pdem.contact.law.dissipation import ENDED, add_dissipated
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.walls.contacts import WallContacts
from pdem.contact.walls.stages import wall_columns_of
from pdem.containers.records import WallRecords
from pdem.detection.neighbours import ALL_STAY
from pdem.numerics.arrays import room_for
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.pairs.runs import EndWatcher
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords
    from pdem.detection.walls.facet_tree import FacetTree
    from pdem.engine.energy_terms import EnergyTerms
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.motion.fixed_particles import HeldRows
    from pdem.motion.walls import MovingWalls


class RankContacts:
    """The contacts of one rank. Steps write forces and histories; detections write candidates, by row of particles.

    Parameters
    ----------
    case : Case
        The case.
    law : ContactLaw
        Contact law of the case.
    particles : Particles
        Particles of this rank.
    moving_walls : MovingWalls or None
        The walls.
    facet_tree : FacetTree or None
        Tree over the facets of large walls.

    Attributes
    ----------
    pairs : PairContacts
        Contacts between particles.
    walls : WallContacts or None
        Contacts with walls.
    ended_energies : ExactSums
        Energies of ended contacts, and terms of features and removed particles in the balance since time 0; the part
        that this rank counts.
    quanta : dict of str to float
        Quanta of the fields that contacts exchange (`pdem.engine.quantum_field`), by name of the field. The fields
        write them at time 0, and checkpoints have them.
    keeps_forces : bool
        Whether the forces of all contacts stay in memory after the last of several steps, for output.
    """

    def __init__(
        self,
        case: Case,
        law: ContactLaw,
        particles: Particles,
        moving_walls: MovingWalls | None,
        facet_tree: FacetTree | None,
    ) -> None:
        self._law, self._particles = law, particles
        self.pairs = PairContacts(law)
        self.walls: WallContacts | None = None
        if moving_walls is not None:
            self.walls = WallContacts(
                law,
                moving_walls,
                [case.material_index(wall.material) for wall in case.walls],
                case.detection.walls,
                case.detection.wall_lever_arm,
                facet_tree,
            )
        self.ended_energies = ExactSums(ENDED)
        self.quanta: dict[str, float] = {}
        self.keeps_forces = looks_at_contacts(case)
        self._loads = np.zeros((0, 3)), np.zeros((0, 3))

    def count_terms(self, terms: EnergyTerms) -> None:
        """Add the terms of features to the energy sums, at time 0 before the state is loaded."""
        self.ended_energies = ExactSums(terms.rows)

    def count_quanta(self, quanta: dict[str, float]) -> None:
        """Set the quanta of fields that contacts exchange, from a loaded state."""
        self.quanta = quanta

    def keep_forces(self, *, keep: bool) -> None:
        """Choose whether the forces of all contacts stay in memory, for output."""
        self.keeps_forces = keep

    def feature_loads(self, count: int) -> tuple[Floats, Floats]:
        """Return memory for forces and torques of features on a number of particles, (count, 3) each; views."""
        if len(self._loads[0]) < count:
            room = room_for(count, len(self._loads[0]))
            self._loads = np.zeros((room, 3)), np.zeros((room, 3))
        return self._loads[0][:count], self._loads[1][:count]

    def set_chunk_size(self, size: int) -> None:
        """Evaluate pairs in chunks of a size, from the next lists on."""
        self.pairs.chunk_size = size

    def set_held(self, held: HeldRows) -> None:
        """Store the rows of the next lists that belong to fixed particles or to members of rigid bodies."""
        self.pairs.held = held

    def watch_ends(self, watcher: EndWatcher) -> None:
        """Let a watcher read the contacts between particles that end in a step."""
        self.pairs.watchers.append(watcher)

    def pass_losses_to(self, sink: tuple[Any, ...] | None) -> None:
        """Give what contacts lose until they end to these arrays, the fields of `pdem.contact.losses.LossSink`."""
        self.pairs.sink = sink

    def watch_strengths(self, strengths: tuple[Any, ...] | None) -> None:
        """Watch the strengths of particles, the fields of `pdem.contact.strength_watch.Strengths`."""
        self.pairs.strengths = strengths

    def records(self, leaves: Booleans = ALL_STAY) -> tuple[PairRecords, WallRecords]:
        """Return contacts by id: all, or contacts of the owned particles that are marked in an array (n,)."""
        return self.pairs.records(self._particles, leaves), self.wall_records(leaves)

    def pair_records(self) -> PairRecords:
        """Return the contacts between particles by id."""
        return self.pairs.records(self._particles)

    def wall_records(self, leaves: Booleans = ALL_STAY) -> WallRecords:
        """Return contacts with walls by id: all, or contacts of marked particles."""
        if self.walls is None:
            return WallRecords.none(wall_columns_of(self._law))
        return self.walls.records(self._particles, leaves)

    def end_pairs(self, ended: PairRecords) -> None:
        """Add the energies of ended contacts between particles to the sums, for a contact between ranks on one rank."""
        mine = np.isin(ended.lower, self._particles.id)
        add_dissipated(self.ended_energies, self._law, ended.history[self._law.first_energy :, mine])

    def work(self) -> Floats:
        """Return for each owned particle 1, the numbers of its candidate pairs and of its candidate facets (n, 3)."""
        own = self._particles.count
        work = np.zeros((own, 3))
        work[:, 0] = 1.0
        work[:, 1] = self.pairs.rows(own)
        if self.walls is not None:
            work[:, 2] = self.walls.rows(own)
        return work
