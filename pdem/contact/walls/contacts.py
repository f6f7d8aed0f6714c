"""The contacts between particles and walls of one rank: candidate facets, contacts, histories, loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.dissipation import add_dissipated
from pdem.contact.law.pair_table import ContactParameters
from pdem.contact.walls import evaluate as kernels
from pdem.contact.walls import search
from pdem.contact.walls.arguments import FixedArguments, WallArguments, WallMotion, WallParameters, WallWork
from pdem.contact.walls.due_facets import BOTH, WALL_PATHS
from pdem.contact.walls.facet_lists import Carried, FacetLists, add_ended, lay_out, scatter_records, without_rows
from pdem.contact.walls.readings import WallReadings
from pdem.contact.walls.storage import WallRoom, WallRows, ended_accounts
from pdem.containers.records import WallRecords
from pdem.detection import id_table
from pdem.detection.neighbours import ALL_STAY
from pdem.detection.walls.facets import FacetSearch
from pdem.detection.walls.facets_of_images import join_lists
from pdem.motion.time_step import UNIT_RATE
from pdem.numerics.arrays import room_for, with_spare
from pdem.numerics.kernels import plain
from pdem.numerics.simd.threshold_filter import DUE_LANES, make_due
from pdem.numerics.sums import ExactSums
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.containers.particles import Particles
    from pdem.detection.walls.facet_tree import FacetTree
    from pdem.detection.walls.facets_of_images import SideImages
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
    from pdem.motion.walls import MovingWalls
    from pdem.numerics.kernel_calls import Call

    Rows = tuple[Integers, Integers]


class WallContacts(WallReadings):
    """Candidate facets of the owned particles and the contacts among them.

    Parameters
    ----------
    law : ContactLaw
        Contact law of the case.
    walls : MovingWalls
        All walls.
    materials : sequence of int
        Material of each wall.
    method : {"signed", "h2"}
        Resolution of contacts. The signed contact sum needs meshes made by `surface_of`.
    lever_arm : {"radius", "contact"}
        Lever arm of friction: the radius, or the distance from the centre to the contact point.
    facet_tree : FacetTree, optional
        Tree over a large mesh, if it has been made before.

    Attributes
    ----------
    total : (m, 6) array
        Force and torque on the particles near walls; row 0 holds zeros.
    total_row : (n,) int32 array
        Row of each owned particle in `total`, 0 for none.
    path : (WALL_PATHS,) array
        Displacements of particles and walls, see `pdem.contact.walls.due_facets`.
    measured : bool
        Whether forces have been computed since the lists were made.
    ended : int
        Number of contacts that ended in the last evaluation.
    calls : (call, call) or None
        Addresses by which `pdem.contact.steps` calls the kernels of search and law; None after lists have been made.
    """

    def __init__(
        self, law: ContactLaw, walls: MovingWalls, materials: Sequence[int], method: str,
        lever_arm: str = "radius", facet_tree: FacetTree | None = None,
    ) -> None:  # fmt: skip
        self.law, self.walls = law, walls
        self.find_kernel, self.law_kernel = search.search_kernel(law), kernels.wall_kernel(law)
        self._signed, self._shortened = method == "signed", float(lever_arm == "contact")
        self._materials = np.array(materials, np.int32)
        self._search = FacetSearch(walls.mesh, facet_tree)
        self._candidates, self._near, self._most = np.empty(0, np.int64), np.empty(0, np.int32), 0
        self._due, self.path = np.empty(0, np.float32), np.zeros(WALL_PATHS)
        self._make_lists(0)
        self._new, self._old = WallRows(law, 0, 0), WallRows(law, 0, 0)
        self._room = self._make_room(0)
        self.total, self.total_row = np.zeros((1, 6)), np.zeros(0, np.int32)
        self.measured, self.ended = False, 0
        self._fixed: FixedArguments | None = None
        self.calls: tuple[Call, Call] | None = None
        self.accounts = ended_accounts(law)

    def _make_room(self, rows: int) -> WallRoom:
        return WallRoom(self.law, rows, self.walls.mesh.largest_order if self._signed else 0)

    def _make_lists(self, near: int) -> None:
        self._near_rows = np.empty(near, np.int32)
        self._start, self._end = np.zeros(near + 1, np.int64), np.empty(near, np.int64)
        self._crosses = np.zeros(near, np.bool_)

    def take_candidates(
        self, particles: Particles, reference: Floats, reaches: Floats, images: SideImages,
        carried: Carried, ended: ExactSums,
    ) -> None:  # fmt: skip
        """List the facets within reach of each owned particle that is not fixed, and continue retained contacts.

        Parameters
        ----------
        particles : Particles
            Particles, of which owned ones get lists.
        reference, reaches : (n, 3) and (n,) arrays
            Reference positions of the skins, and radius plus skin [m].
        images : SideImages
            Images of particles that may cross periodic sides.
        carried : Carried
            Contacts of the last evaluation.
        ended : ExactSums
            Sums to which the energies of contacts without candidates are added.
        """
        found = self._facets_near_images(reference, reaches, images)
        if particles.fixed.any():
            found = without_rows(found, particles.fixed != 0)
        self.walls.watch(found[1])
        self._lay_out(particles.count, found, carried.owner)
        self._mark_crossing(images.rows)
        self._reserve()
        self._fixed = self.calls = None
        self.total[:] = 0.0
        self._adopt(carried, ended)
        self.measured = False

    def _facets_near_images(self, reference: Floats, reaches: Floats, images: SideImages) -> Rows:
        """Return the facets near each particle or near one of its images."""
        if len(images.rows) == 0:
            return self._facets_near(reference, reaches)
        places = np.concatenate((reference, images.places))
        start, facets = self._facets_near(places, np.concatenate((reaches, reaches[images.rows])))
        joined = np.empty(len(reaches) + 1, np.int64), np.empty(len(facets), np.int64)
        join_lists(images.rows, start, facets, *joined)
        return joined[0], joined[1][: joined[0][-1]]

    def _facets_near(self, reference: Floats, reaches: Floats) -> Rows:
        walls, tree = self.walls, self._search.facet_tree
        if tree is None:
            walls.place_all()
            near = walls.present_facets
        else:
            near = walls.there(tree.near(walls.places_of, reference, reaches))
            walls.watch(near)
        return self._search.find(walls.vertices, walls.normals, reference, reaches, near)

    def carry(self, particles: Particles, leaves: Booleans = ALL_STAY) -> Carried:
        """Return the contacts for new lists, except contacts of particles that leave (n,); empty if none leaves.

        Particles are in the rows of the present lists.
        """
        owner, rows = self._contact_rows()
        if len(leaves):
            stay = ~leaves[owner]
            owner, rows = owner[stay], rows[stay]
        return Carried(owner.astype(np.int32), self._records_of(particles, owner, rows))

    @staticmethod
    def load_state(records: WallRecords, particles: Particles, table: Int32s) -> Carried:
        """Return contacts for new lists from records that name particles by id.

        `table` is the table of ids of the particles, see `pdem.detection.id_table.indexed`.
        """
        rows = np.empty(len(records.id), np.int32)
        id_table.find_rows(records.id, particles.id, table, rows)
        return Carried(rows, records)

    def _lay_out(self, owned: int, found: Rows, owner: Int32s) -> None:
        """Give each particle as many rows as it has facets to test, or continued contacts if these are more.

        A contact with a facet that is out of reach may continue at a different one: for any skin, no history is
        dropped for lack of rows.
        """
        most = len(found[1]) + len(owner)
        if most > len(self._candidates):
            self._candidates = np.zeros(with_spare(most), np.int64)
            self._due = np.zeros(len(self._candidates) + DUE_LANES, np.float32)
        if min(owned, most) > len(self._near_rows):
            self._make_lists(with_spare(min(owned, most)))
        if owned > len(self.total_row):
            self.total_row = np.zeros(room_for(owned, len(self.total_row)), np.int32)
        number = lay_out(
            owned, *found, owner, self._near_rows, self._start, self._end, self._candidates, self._due,
            self.total_row,
        )  # fmt: skip
        self.path[BOTH] = 0.0
        self._near = self._near_rows[:number]
        self._most = int((self._end[:number] - self._start[:number]).max(initial=0))

    def _mark_crossing(self, rows: Integers) -> None:
        """Record which particles may cross a periodic side; `rows` are their rows."""
        numbers = self.total_row[rows]
        self._crosses[: len(self._near)] = False
        self._crosses[numbers[numbers > 0] - 1] = True

    def _reserve(self) -> None:
        near = len(self._near)
        rows = int(self._start[near])
        if rows > len(self._new.kind) or near > len(self._new.counts):
            rows = with_spare(max(rows, len(self._new.kind)))
            room = len(self._near_rows)
            self._new, self._old = WallRows(self.law, rows, room), WallRows(self.law, rows, room)
            self._room = self._make_room(rows)
        if near >= len(self.total):
            self.total = np.zeros((with_spare(near), 6))

    def _adopt(self, carried: Carried, ended: ExactSums) -> None:
        self._new.counts[:] = 0
        self._old.counts[:] = 0
        records, lost = carried.records, np.empty(len(carried.owner), np.int32)
        missing = scatter_records(
            carried.owner, self.total_row, self._start, records.kind, records.feature, records.facet,
            records.history, self._new.record, lost,
        )  # fmt: skip
        self.end(records.history, lost[:missing], ended)

    def end(self, history: Floats, rows: Int32s, ended: ExactSums) -> None:
        """Add the energies of ended contacts, rows of `history`, to the sums."""
        law = self.law
        add_dissipated(ended, law, history[law.first_energy : law.columns, rows])
        if len(rows) and law.has_ledger:
            ended.add("wall_work", history[law.columns + 3, rows])

    def evaluate(self, packed: Floats, contact: ContactParameters, ended: ExactSums) -> int:
        """Find the contacts and their forces (in `total`); return a particle beyond the limit + 1, or 0.

        Parameters as in `pdem.contact.pairs.contacts.PairContacts.evaluate`; `packed` are rows of the owned particles.
        """
        self.measured, self.ended = True, 0
        if not len(self._near):  # contacts would have rows, so that none exist either
            return 0
        self.test_all()
        self.swap()
        given = self.arguments(packed, contact)
        rest = given.found[0], given.work, *given.record
        self.find_kernel(given.tally, given.near, given.parameters, given.surface, *rest)
        self.law_kernel(given.near, given.parameters, given.surface, given.motion, *rest)
        self.ended, deep = search.reduce_worker_results(WallWork(*given.work).seen)
        if self.ended and self.law.has_ledger:
            ended.count(self.ended * len(self.accounts[0]))
            add_ended(ended.limbs, *self.accounts, given.near, given.work, given.record[1])
        return int(deep)

    def test_all(self) -> None:
        """Make all facets due in the next evaluation, since particles and walls may have moved by any distance."""
        make_due(self._due[: self._start[len(self._near)]])

    @property
    def is_near(self) -> bool:
        """Whether any particle has facets near."""
        return len(self._near) > 0

    def swap(self) -> None:
        """Swap the contacts of this step and of the step before, which the next evaluation overwrites."""
        self._new, self._old = self._old, self._new

    def arguments(self, packed: Floats, contact: ContactParameters) -> WallArguments:
        """Return the arguments of kernels; parameters as for `evaluate`."""
        fixed = self._fixed_arguments()
        work = self._room.work(len(self._near), self._most, threads(), self.total)
        given = WallParameters(
            *contact.step, contact.largest_overlap, self._shortened, len(contact.density),
            contact.table.reshape(-1), contact.powers, contact.tensors, contact.images,
        )  # fmt: skip
        both = self._new, self._old
        return WallArguments(
            self._room.tally, tuple(self._near_facets(packed)), tuple(given), fixed.surface, fixed.motion, tuple(work),
            (fixed.found[both[0]], fixed.found[both[1]]), (fixed.record[both[0]], fixed.record[both[1]]),
        )  # fmt: skip

    def _fixed_arguments(self) -> FixedArguments:
        """Return the arguments of kernels that stay the same until new lists are made."""
        if self._fixed is None:
            surface, motion = plain(self._surface, self._motion)
            both = self._new, self._old
            self._fixed = FixedArguments(
                surface, motion, {rows: tuple(self._room.found(rows)) for rows in both},
                {rows: tuple(rows.record) for rows in both},
            )  # fmt: skip
        return self._fixed

    @property
    def _motion(self) -> WallMotion:
        walls = self.walls
        return WallMotion(
            self._materials, walls.anchor, walls.angular_velocity, walls.anchor_velocity, walls.velocity_gradient,
            walls.mean_velocity, walls.inverse_mass, walls.inverse_inertia, walls.counted, *walls.surfaces.now,
        )  # fmt: skip

    def measure(self, particles: Particles, packed: Floats, parameters: ContactParameters, ended: ExactSums) -> None:
        """Compute overlaps, points and forces of contacts from records; histories do not change."""
        carried = self.carry(particles)
        self.evaluate(packed, parameters._replace(step=UNIT_RATE, largest_overlap=np.inf), ended)
        self._adopt(carried, ended)

    def clear(self, columns: Sequence[int]) -> None:
        """Set some columns of the histories of the last evaluation to 0."""
        _, rows = self._contact_rows()
        for column in columns:
            self._new.history[rows + 1, column] = 0.0

    def records(self, particles: Particles, leaves: Booleans = ALL_STAY) -> WallRecords:
        """Return the contacts of the last evaluation by id (copies): of particles that leave, or all if none does."""
        owner, rows = self._contact_rows()
        if len(leaves):
            some = leaves[owner]
            owner, rows = owner[some], rows[some]
        return self._records_of(particles, owner, rows)

    def _records_of(self, particles: Particles, owner: Integers, rows: Integers) -> WallRecords:
        return WallRecords(
            particles.column("id")[owner], self._new.kind[rows], self._new.feature[rows],
            self._new.facet[rows], np.ascontiguousarray(self._new.history[rows + 1].T),
        )  # fmt: skip

    @property
    def lists(self) -> FacetLists:
        """The present lists; views of buffers."""
        near = len(self._near)
        return FacetLists(self._near, self._start[:near], self._end[:near], self._candidates)

    @property
    def count(self) -> int:
        """Number of contacts."""
        return int(self._new.counts[: len(self._near)].sum())

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        held = (self, self._new, self._old)
        arrays = (one.nbytes for part in held for one in vars(part).values() if isinstance(one, np.ndarray))
        return self._search.memory + self._room.memory + sum(arrays)
