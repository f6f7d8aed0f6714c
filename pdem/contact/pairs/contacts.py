"""The contacts between particles of one rank: candidates, histories, forces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.dissipation import add_dissipated, terms_of_accounts
from pdem.contact.pairs import evaluate as kernels
from pdem.contact.pairs import schedule
from pdem.contact.pairs.arguments import Candidates, ParticleArrays, Rows, Schedule, Views, parameters_of
from pdem.contact.pairs.carried_pairs import CarriedPairs
from pdem.contact.pairs.due_candidates import DueValues
from pdem.contact.pairs.force_sums import sum_carried, sum_forces
from pdem.contact.pairs.history_kernels import CHUNK
from pdem.contact.pairs.history_storage import HistoryStorage, chunks_in, worker_begins
from pdem.contact.pairs.readings import PairReadings
from pdem.contact.pairs.runs import add_ended, outcome_of
from pdem.contact.strength_watch import leave_to_bodies
from pdem.containers.records import PairRecords
from pdem.detection import neighbours
from pdem.detection.id_table import indexed
from pdem.foundation.packed_row import PACKED, PACKED_FIELDS
from pdem.motion.clusters.carriers import Loads
from pdem.motion.fixed_particles import HeldRows
from pdem.motion.integration import FINE, pack, unpack
from pdem.numerics.arrays import line_zeros, room_for, with_spare
from pdem.numerics.kernels import plain
from pdem.numerics.simd.stable_partition import MOST
from pdem.numerics.simd.transposition import LANES
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.pairs.arguments import Kick, StepParameters
    from pdem.contact.pairs.runs import EndWatcher
    from pdem.containers.particles import Particles
    from pdem.detection.neighbours import NearPairs
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
    from pdem.numerics.kernel_calls import Call
    from pdem.numerics.sums import ExactSums


class PairContacts(PairReadings):
    """Candidate pairs of one detection and the contacts among them.

    Parameters
    ----------
    law : ContactLaw
        By which contacts are evaluated.

    Attributes
    ----------
    candidates : int
        Number of candidate pairs.
    inner : int
        Number of candidates between owned particles; they come before the candidates with a ghost.
    chunk_size : int
        Candidates that are evaluated and summed at a time, in the next lists: one of
        `pdem.contact.pairs.history_kernels.CHUNKS`.
    workers : int
        Number of workers among which the present lists are divided.
    lower, higher : int32 arrays
        Rows of the particles of each candidate, by id.
    storage : HistoryStorage
        Histories and forces of contacts.
    held : HeldRows
        Rows of particles that are not kicked, in the next lists.
    keeps_forces : bool
        Whether the forces of all contacts of the last evaluation are in memory (`pdem.contact.pairs.kept_forces`).
    watchers : list of EndWatcher
        Count the contacts that end.
    force_schedule : (int64 array, int)
        Arguments of `ForceStorage.assign` for the present lists: the first chunks of the workers, and the window.
    due_values : DueValues
        When candidates that do not touch have to be tested.
    calls : (call, call) or None
        Addresses by which `pdem.contact.steps` calls the kernels of law and sums; None after lists have been made.
    sink : tuple or None
        Fields of `pdem.contact.losses.LossSink`, if the bodies of contacts receive what these lose.
    """

    def __init__(self, law: ContactLaw) -> None:
        self.law, self.terms = law, terms_of_accounts(law)
        self.kernel = kernels.pair_kernel(law)
        self.candidates, self.inner, self.chunk_size, self.workers = 0, 0, CHUNK, 1
        self.lower, self.higher = np.empty(0, np.int32), np.empty(0, np.int32)
        self.held, self.storage, self.due_values = HeldRows(), HistoryStorage(law), DueValues()
        self.keeps_forces, self.force_schedule = False, (np.zeros(2, np.int64), 0)
        self.watchers: list[EndWatcher] = []
        self._force_index, self._start = np.zeros(0, np.int32), np.zeros(1, np.int64)
        self._entry, self._key = np.empty(0, np.int32), np.empty(0, np.int32)  # the second holds loads later
        self._packed = np.empty(0)
        self._views: Views | None = None
        self.calls: tuple[Call, Call] | None = None
        self.sink: tuple[Any, ...] | None = None
        self.strengths: tuple[Any, ...] | None = None
        self._totals = np.zeros(neighbours.SEGMENTS, np.int64)
        self._cursor, self._number = np.empty(0, np.int32), np.empty(0, np.int32)
        self._carried, self._touching = CarriedPairs(), np.empty(0, np.int32)
        self._last_chunk, self._complete, self._first_read = (np.empty(0, np.int32) for _ in range(3))
        self._complete_begin, self._first_read_begin = np.zeros(2, np.int64), np.zeros(2, np.int64)

    @property
    def count(self) -> int:
        """Number of contacts of the last evaluation."""
        return self.storage.count

    def carry(self, particles: Particles, leaves: Booleans = neighbours.ALL_STAY) -> None:
        """Retain the contacts of particles that stay on this rank while new lists are made.

        Parameters
        ----------
        particles : Particles
            In the rows of the present lists.
        leaves : (n,) array
            Which owned particles leave this rank; empty if none does.
        """
        listed = self.kernel_candidates(particles)
        self._carried.take(self.touching, listed, particles.column("radius"), leaves)

    def renumber(self, row_now: Int32s) -> None:
        """Renumber the particles of retained contacts: `row_now` is the present row by the row before."""
        self._carried.renumber(row_now)

    def append(
        self, records: PairRecords, ids: Integers, radius: Floats, rows: Int32s
    ) -> None:  # fmt: skip
        """Add contacts that arrive with particles of these ids, radii [m] and rows to the retained contacts."""
        self._carried.append(records, ids, radius, rows)
        self.storage.append(records.history)

    def load_state(self, records: PairRecords, particles: Particles, table: Int32s) -> None:
        """Replace all contacts, for the next lists, by records that name particles by id.

        Parameters
        ----------
        records : PairRecords
            All contacts of owned particles.
        particles : Particles
            In the rows of the next lists.
        table : int32 array
            Table of their ids, see `pdem.detection.id_table.indexed`.
        """
        self.storage.load(records.history)
        self._carried.take_by_id(records, particles, table)

    def add(self, records: PairRecords, particles: Particles) -> None:
        """Add contacts, which name particles by id, to the retained contacts, for lists with the present rows."""
        self._carried.add_by_id(records, particles, indexed(particles.id))
        self.storage.append(records.history)

    def take_candidates(self, pairs: NearPairs, particles: Particles, ended: ExactSums) -> None:
        """Make these pairs the candidates, and continue retained contacts among them.

        The energies of retained contacts that are not among the candidates are added to `ended`.
        """
        self._list_candidates(pairs, particles)
        self._force_index[: self.candidates] = 0
        entries = self._entry, self._key
        missing = self._carried.find(self.kernel_candidates(particles), self._start, entries)
        lost = self.storage.at(self.storage.indices[missing])
        add_dissipated(ended, self.law, lost[self.law.first_energy :])
        self.force_schedule = self._schedule_sums(particles)
        self.storage.assign(
            self.chunk_size, self.kernel_candidates(particles), self._touching, *self.force_schedule,
            self._carried.scratch,
        )  # fmt: skip
        self._views, self.calls, self.keeps_forces = None, None, False

    def kernel_candidates(self, particles: Particles) -> Candidates:
        """Return the candidates as arguments of kernels; views."""
        lists = self.lower, self.higher, *self.due_values.arrays, self._force_index
        return Candidates(*lists, particles.column("id"), particles.count, self.inner, self.candidates)

    def place_forces(self, particles: Particles, begins: Integers, window: int) -> None:
        """Give all contacts other force indices, see `HistoryStorage.place_forces`."""
        self.storage.place_forces(begins, window, self.kernel_candidates(particles), self._touching)

    def _list_candidates(self, pairs: NearPairs, particles: Particles) -> None:
        """Write candidates and the rows of all owned particles."""
        parts, owned, ids = min(threads(), neighbours.SEGMENTS), particles.count, particles.column("id")
        cluster = self.held.bodies(particles, clusters=self.law.has_clusters)
        self._reserve_candidates(pairs.total, owned, parts)
        cursors = self._cursor, self._number
        neighbours.count_entries(parts, tuple(pairs), owned, cluster, cursors)
        neighbours.begin_rows(parts, owned, self._cursor, self._start, self._totals)
        neighbours.begin_rows(parts, 2 * owned, self._number, self._start[:0], self._totals)
        neighbours.write_rows(
            parts, tuple(pairs), owned, ids, cluster, cursors, self.lower, self.higher,
            (self._entry, self._key),
        )  # fmt: skip
        ends = self._number[: 2 * owned * parts].reshape(parts, 2, owned)[-1]  # of the last part
        self.inner, self.candidates = (int(some[-1]) if owned else 0 for some in ends)

    def _schedule_sums(self, particles: Particles) -> tuple[Integers, int]:
        """Decide which chunk reads each owned particle first, and after which chunk its forces are summed.

        Returns arguments of `ForceStorage.assign`: the first chunks of the workers, and for how many chunks the memory
        of forces is not used again.
        """
        owned, size = particles.count, self.chunk_size
        self.workers = threads()
        self.due_values.divide(self.workers)
        begins = worker_begins(0, chunks_in(self.inner, size), self.workers)
        deferred = int(begins[-1])
        steps = deferred + 3  # particles that carriers move come after the deferred ones
        self._reserve_schedule(owned + particles.ghosts, steps)
        self._touching[: owned + particles.ghosts] = 0
        first_chunk = self._cursor  # free to be used again
        schedule.find_first_and_last_chunks(
            owned, size, self.inner, begins, self._start, self._entry, first_chunk, self._last_chunk
        )
        schedule.list_by_chunk(owned, first_chunk, self._first_read_begin[:steps], self._first_read)
        window = schedule.reuse_window(owned, begins, first_chunk, self._last_chunk)
        if window:
            schedule.defer(owned, window, deferred, first_chunk, self._last_chunk)
        self._last_chunk[self.held.owned] = deferred + 1
        if window:
            self._mark_persistent(particles, deferred)
        schedule.list_by_chunk(owned, self._last_chunk, self._complete_begin[:steps], self._complete)
        return begins, window

    def _mark_persistent(self, particles: Particles, deferred: int) -> None:
        """Mark the chunks with forces that are needed at the end of the step, where `deferred` particles are summed."""
        size = self.chunk_size
        number = chunks_in(self.inner, size) + chunks_in(self.candidates - self.inner, size)
        schedule.mark_persistent(
            size, deferred, self.kernel_candidates(particles), self._last_chunk,
            self.storage.forces.persistent(number),
        )  # fmt: skip

    def packed(self, rows: int) -> Floats:
        """Return the array of packed rows, with room for at least `rows` particles."""
        if len(self._packed) < rows * PACKED:
            self._views = self.calls = None
            self._packed = line_zeros((room_for(rows, len(self._packed)) + 1) * PACKED)
        return self._packed

    def rows_to_share(self, particles: Particles) -> Floats:
        """Return the packed rows of owned particles and ghosts, (n, PACKED); a view."""
        rows = particles.count + particles.ghosts
        return self.packed(rows)[: rows * PACKED].reshape(rows, PACKED)

    def begin(self, particles: Particles, density: Floats, *, packed: bool) -> None:
        """Pack owned particles and ghosts into rows, unless the rows are `packed` already."""
        if not packed:
            number = particles.count + particles.ghosts
            rows, columns = self.packed(number), map(particles.column, (*PACKED_FIELDS, "radius", "material"))
            pack(number, *columns, density, rows)
            self.held.pack(particles, rows, copies=True)
            self.due_values.look_at_all(self.candidates, number, rows)

    def evaluate(
        self, ghosts: bool, particles: Particles, box: tuple[Floats, Floats],
        contact_parameters: ContactParameters, ended: ExactSums, kick: Kick,
    ) -> tuple[int, int]:  # fmt: skip
        """Find the contacts among the candidates and their forces.

        Returns a candidate beyond the limit + 1, or 0, and the largest code of integrated particles (see
        `pdem.motion.integration.FINE`).

        A step calls this twice, after `begin`: for candidates among owned particles and then, when the ghosts are up to
        date, for the candidates with a ghost. A particle is integrated as soon as all of its contacts have been
        evaluated, the remaining particles in `finish`.

        Parameters
        ----------
        ghosts : bool
            Whether the candidates with a ghost are evaluated.
        particles : Particles
            Owned and ghosts; velocities of the middle of the step.
        box : (period, frequency)
            Arrays (3,): length of periodic axes [m], 0 on open ones, and its inverse or 0.
        contact_parameters : ContactParameters
            Of the step; the return value is 0 if no contact exceeds the limit of the overlap.
        ended : ExactSums
            Sums to which the energies of ended contacts are added.
        kick : Kick
            How forces act.
        """
        runs = self.storage.plan(ghosts, self.workers)
        return self.evaluate_runs(runs, ghosts, particles, parameters_of(contact_parameters, box), ended, kick)

    def evaluate_runs(
        self, runs: Integers, ghosts: bool, particles: Particles, parameters: StepParameters,
        ended: ExactSums, kick: Kick,
    ) -> tuple[int, int]:  # fmt: skip
        """Evaluate runs of chunks, and enlarge the room for contacts where it does not suffice; as `evaluate`."""
        deepest, code, done = 0, FINE, False
        while not done:
            self.kernel(*self.arguments(runs, ghosts, particles, parameters, kick))
            done, any_ended, deep, advanced = outcome_of(runs)
            deepest, code = max(deepest, deep), max(code, advanced)
            if any_ended:
                ended.count(add_ended(ended.limbs, self.terms, self.storage.ended, runs))
                for watcher in self.watchers:
                    self.show_ended(runs, watcher)
                leave_to_bodies(runs, self.storage.left, self.lower, self.higher, self.sink, self.strengths)
            if not done:
                self.storage.resume()
        return deepest, code

    def show_ended(self, runs: Integers, watcher: EndWatcher) -> None:
        """Let a watcher count the contacts that have ended in runs."""
        watcher.count_pairs(runs, self.storage.ended, (self.lower, self.higher), self._packed)

    def arguments(
        self, runs: Integers, ghosts: bool, particles: Particles, parameters: StepParameters, kick: Kick
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the arguments of the kernel for runs."""
        views, storage = self.kernel_views(particles), self.storage
        return (
            runs, views.candidates, tuple(storage.chunks), tuple(storage.contacts), views.rows,
            views.late if ghosts else views.early, tuple(parameters), tuple(kick), views.particles, storage.work,
        )  # fmt: skip

    @property
    def late_schedule(self) -> tuple[Any, ...]:
        """The schedule of contacts with ghosts; call `arguments` first."""
        assert self._views is not None
        return self._views.late

    def kernel_views(self, particles: Particles) -> Views:
        """Return the arguments of kernels that stay the same until new lists are made."""
        if self._views is None:
            column = particles.column
            scheduled = self._complete_begin, self._complete, self._first_read_begin, self._first_read
            self._views = Views(*plain(
                self.kernel_candidates(particles), Rows(self._start, self._entry, self._touching, self._key),
                Schedule(True, *scheduled), Schedule(False, *scheduled),
                ParticleArrays(
                    self._packed, *map(column, ("image", "box_work", *PACKED_FIELDS, "force", "torque"))
                ),
            ))  # fmt: skip
        return self._views

    def finish(self, particles: Particles, kick: Kick) -> int:
        """Sum the forces on the remaining particles and integrate them, at the end of a step.

        Returns the largest code of these particles, as `evaluate` does.
        """
        if not len((arguments := self.remaining(particles, kick))[1]):
            return FINE
        sum_forces(*arguments)
        return max(arguments[0].tolist())

    def remaining(self, particles: Particles, kick: Kick) -> tuple[Any, ...]:
        """Return the arguments of `sum_forces` for the particles that are summed at the end of a step."""
        chunk, views = self.storage.inner_number, self.kernel_views(particles)
        deferred = self._complete[slice(*self._complete_begin[chunk : chunk + 2])]
        return (
            np.zeros(self.workers, np.int64), deferred, views.rows, views.candidates, self.storage.forces.forces,
            tuple(kick), views.particles, self.storage.work,
        )  # fmt: skip

    def carried_loads(self, particles: Particles, kick: Kick) -> Loads:
        """Return the forces on the particles that are not kicked, as a function that sums them when called."""
        views = self.kernel_views(particles)
        arguments = views.rows, views.candidates, self.storage.forces.forces, tuple(kick)
        return Loads(lambda: sum_carried(self.held.owned, *arguments, views.particles), arguments)

    @property
    def free_rows(self) -> Int32s:
        """Rows of the owned particles that are kicked, each once; a view."""
        return self._complete[: self._complete_begin[self.storage.inner_number + 1]]

    def show(self, particles: Particles) -> None:
        """Write the columns of owned particles from their packed rows."""
        unpack(particles.count, self._packed, *(particles.column(name) for name in PACKED_FIELDS))

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        arrays = (value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return self.storage.memory + self._carried.memory + self.due_values.memory + sum(arrays)

    def _reserve_candidates(self, pairs: int, owned: int, parts: int) -> None:
        self.due_values.reserve(pairs)
        if pairs + LANES > len(self.lower):
            room = with_spare(pairs)
            self.lower, self.higher = np.empty(room, np.int32), np.empty(room, np.int32)
            self._force_index = np.zeros(room, np.int32)
            self._entry, self._key = (np.empty(2 * room + MOST, np.int32) for _ in range(2))
        if owned + 1 > len(self._start):
            self._start = np.zeros(room_for(owned, len(self._start) - 1) + 1, np.int64)
        if parts * owned > len(self._cursor):
            room = room_for(parts * owned, len(self._cursor))
            self._cursor, self._number = np.empty(room, np.int32), np.empty(2 * room, np.int32)

    def _reserve_schedule(self, rows: int, steps: int) -> None:
        if len(self._touching) < rows:
            self._touching = np.zeros(room_for(rows, len(self._touching)), np.int32)
            self._last_chunk, self._complete, self._first_read = (
                np.empty(len(self._touching), np.int32) for _ in range(3)
            )
        if len(self._complete_begin) < steps:
            self._complete_begin, self._first_read_begin = (np.empty(with_spare(steps), np.int64) for _ in range(2))
