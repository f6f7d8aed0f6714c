"""The state of a simulation on this rank."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.columns import looks_at_contacts
from pdem.case.groups.shapes import shapes_of
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.walls.contacts import WallContacts
from pdem.contact.walls.stages import wall_columns_of
from pdem.containers.clusters import Clusters
from pdem.containers.particles import Particles
from pdem.containers.records import WallRecords
from pdem.detection.id_table import indexed
from pdem.detection.neighbours import ALL_STAY, invert
from pdem.detection.searches import make_search
from pdem.detection.skins import Skins
from pdem.engine.box.drive import BoxDrive
from pdem.engine.box.share import BoxShare
from pdem.engine.clusters.rigid_clusters import RigidClusters
from pdem.engine.feature_set import Features
from pdem.engine.stages.timeline import Stages
from pdem.engine.tuning.chunk_tuner import ChunkTuner
from pdem.engine.tuning.skin_tuner import SkinTuner
from pdem.engine.tuning.thread_tuner import ThreadTuner
from pdem.engine.walls.wall_margin import WallMargin
from pdem.motion.integration import FixedColumns, Motion, write_inverse_inertia
from pdem.numerics.arrays import room_for
from pdem.numerics.sums import ExactSums
from pdem.numerics.thread_pool import threads
from pdem.particles.clusters.shapes import shape_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.containers.records import PairRecords
    from pdem.detection.walls.facet_tree import FacetTree
    from pdem.engine.setup import Constants
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
    from pdem.motion.clusters.carriers import Carriers
    from pdem.motion.moving_box import MovingBox
    from pdem.motion.walls import MovingWalls

    LevelChoice = Callable[[Mapping[str, NDArray[Any]], Exchange], Skins]


class System:
    """Particles, contacts and walls of one rank, and the constants of their motion.

    Attributes
    ----------
    case : Case
        The case that is simulated.
    constants : Constants
        All that does not change during the run.
    particles : Particles
        Owned and ghosts.
    pair_contacts : PairContacts
        Contacts between particles.
    wall_contacts : WallContacts or None
        Contacts with walls.
    moving_walls : MovingWalls or None
        The walls themselves, where they are now.
    exchange : Exchange
        Communication with other ranks.
    facet_tree : FacetTree or None
        Tree over the facets of large walls.
    skins : Skins
        Levels by size.
    skin_tuner : SkinTuner or None
        Chooses the skin during the run, None if the case sets it.
    chunk_tuner : ChunkTuner
        Chooses the chunk size.
    thread_tuner : ThreadTuner
        Chooses how many threads run.
    population, population_change : int
        Number of particles for which the levels were chosen, and of those inserted or removed since.
    next_id : int
        Id of the next inserted particle.
    notices : list of str
        Lines for the log.
    issued_warnings : set of str
        Kinds of warnings about inserted particles that have been issued.
    dimension : int
        2 or 3.
    step : int
        Steps taken since time 0.
    detections, rebalances : int
        Number of detections, and of load balances that moved particles.
    ended_energies : ExactSums
        Energies of ended contacts, and what else has been added up since time 0, as far as this rank counts them.
    smallest_radius : float
        Of the owned particles when lists were built [m].
    errors : list
        Errors of this rank that stop the run: (kind, id or wall, other id), see `pdem.engine.blow_up`.
    pending_drift : int or None
        Status code of the drift of the next step, if that was begun at the end of the last one.
    columns_are_current : bool
        Whether the columns of owned particles have been written since these moved.
    carriers : Carriers or None
        Bodies that move particles in place of the forces on each, see `pdem.motion.clusters.carriers`; to be set before
        lists are built.
    clusters : RigidClusters or None
        The same, if these bodies are rigid clusters of spheres.
    features : Features
        What else happens in and between steps, see `set_features`.
    stages : Stages
        The parts of the run.
    quanta : dict of str to float
        Units in which fields are counted that contacts exchange (`pdem.engine.quantum_field`), by name of the field.
    keeps_forces : bool
        Whether the last of some steps leaves the forces of all contacts, because output looks at them.
    moving_box : MovingBox or None
        The box, if it deforms.
    box_share : BoxShare
        How much of the skins the box may use up.
    box_drive : BoxDrive
        How it is driven.
    steps_at_a_time : int
        Steps that a kernel takes before Python looks at signals: few until it is known how long they take.
    """

    def __init__(
        self,
        case: Case,
        constants: Constants,
        walls: MovingWalls | None,
        exchange: Exchange,
        choose_levels: LevelChoice,
        facet_tree: FacetTree | None,
        stages: Stages,
        box: MovingBox | None,
        particles: Particles,
    ) -> None:
        self.case = case
        self.constants = constants
        self.exchange = exchange
        self.facet_tree = facet_tree
        self.particles = particles
        self.pair_contacts = PairContacts(constants.law)
        self.moving_walls = walls
        self.wall_contacts = (
            None
            if walls is None
            else WallContacts(
                constants.law,
                walls,
                [case.material_index(wall.material) for wall in case.walls],
                case.detection.walls,
                case.detection.wall_lever_arm,
                facet_tree,
            )
        )
        self._detection, self.dimension = case.detection, case.domain.dimension
        self._choose_levels = choose_levels
        self.skins = Skins(np.ones(1), 0.0)
        self.population, self.population_change, self.next_id = 0, 0, 0
        self.notices: list[str] = []
        self.issued_warnings: set[str] = set()
        self.chunk_tuner, self.thread_tuner = ChunkTuner(), ThreadTuner(threads())
        self.skin_tuner: SkinTuner | None = None
        self.step, self.steps_at_a_time = 0, 16
        self.detections, self.rebalances = 0, 0
        self.ended_energies = ExactSums(ENDED)
        self._reference = np.zeros((0, 3))
        self._skin = np.zeros(0)
        self._inverse_inertia = np.zeros(0)
        self._reach = np.zeros(0)
        self._table, self._row_now = np.empty(0, np.int32), np.empty(0, np.int32)
        self.wall_margin = WallMargin()
        self.smallest_radius = math.inf
        self.errors: list[tuple[int, int, int]] = []
        self.pending_drift: int | None = None
        self.columns_are_current = True
        self.carriers: Carriers | None = None
        self.clusters: RigidClusters | None = None
        if constants.law.has_clusters:
            shapes = shape_arrays(list(shapes_of(case).values()))
            self.carriers = self.clusters = RigidClusters(
                Clusters(shapes), lambda: self.constants.density, lambda: self.motion_at(self.step)
            )
        self.features, self.stages = Features(), stages
        self.keeps_forces = looks_at_contacts(case)
        self.moving_box = box
        self.box_drive, self.box_share = BoxDrive(), BoxShare()
        self.quanta: dict[str, float] = {}
        self.stop_requested: Callable[[], int] = lambda: 0

    def set_features(self, features: Features) -> None:
        """Have the features of a case, at time 0: before the state is loaded."""
        self.features = features
        self.ended_energies = ExactSums(features.terms.rows)

    def renew_levels(self) -> None:
        """Choose levels of size for the present particles. Collective; also before lists are built first."""
        own = self.particles
        skins = self._choose_levels({name: own[name] for name in ("radius", "position")}, self.exchange)
        if self.detections:
            skins.fraction = self.skins.fraction
        self.population, self.population_change = int(self.exchange.add(np.array([own.count]))[0]), 0
        skins.beyond = self.constants.adhesion_half_gaps
        constants, wanted = self.constants, self._detection
        self.skins = skins
        self.measure_speeds()
        self.search = make_search(
            wanted.method, skins.cell_sizes, constants.lower, constants.period, wanted.direction, self.dimension
        )

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.time_of(self.step)

    def time_of(self, step: int) -> float:
        """Return the time at the end of a step, not before 0 [s]."""
        return max(step, 0) * self.constants.step

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Period and inverse period of the axes, see `pdem.engine.setup.Constants`."""
        return self.constants.period, self.constants.inverse_period

    def motion_at(self, step: int) -> Motion:
        """Return what particles move by in the drift that ends at a step, the present one or the next."""
        motion, box = self.constants.motion, self.moving_box
        return motion if box is None else Motion(motion.gravity, motion.free, box.sides(step), box.images(step))

    def follow_box(self) -> None:
        """Let constants, ranks and searches know the present shape of a box that deforms."""
        box = self.moving_box
        if box is not None:
            shape = box.shape(self.step)
            self.constants = replace(self.constants, shape=shape, flow=box.gradient_at(self.step))
            self.exchange.reshape(shape)
            self.search.set_shape(shape)

    @property
    def reference(self) -> Floats:
        """Positions of owned particles when lists were built (n, 3) [m]."""
        return self._reference[: self.particles.count]

    @property
    def skin(self) -> Floats:
        """Displacement from there at which lists of owned particles are stale (n,) [m]."""
        return self._skin[: self.particles.count]

    @property
    def fixed_columns(self) -> FixedColumns:
        """Columns of owned particles that are constant between two detections; views."""
        return FixedColumns(self.reference, self.skin, self._inverse_inertia[: self.particles.count])

    @property
    def reach(self) -> Floats:
        """Radius plus skin of owned particles and ghosts [m]."""
        return self._reach

    def wall_reach(self) -> Floats:
        """Return the distance from their centres at which owned particles may touch or adhere to walls (n,) [m].

        Between particles each reach has half of the gap of adhesion; at a wall the particle's reach has all of it.
        """
        own = self.particles
        reach = self._reach[: own.count]
        return reach if self.skins.beyond is None else reach + self.skins.beyond(own.radius)

    def measure_speeds(self) -> None:
        """Note the mean speeds of all levels of size, relative to a box that deforms. Collective."""
        own = self.particles
        speeds = self.constants.own_velocity(own.position, own.velocity)
        self.skins.measure_speeds(own.radius, speeds, self.exchange)

    def reach_of(self, radius: Floats, velocity: Floats, position: Floats) -> Floats:
        """Return radius plus skin [m]; who moves with a box that deforms rests."""
        return self.skins.reach(radius, self.constants.own_velocity(position, velocity))

    def start_tuning(self) -> None:
        """Start the tuners at the present step, with the present skin."""
        self.chunk_tuner.start(self.step)
        self.thread_tuner.start(self.step)
        if self._detection.skin == "auto":
            self.skin_tuner = SkinTuner(self.skins.fraction)
            self.skin_tuner.start(self.step)

    def measure_reaches(self) -> None:
        """Store skins and reaches of all particles, and positions and inverse inertia of owned ones."""
        own, rows = self.particles, self.particles.count + self.particles.ghosts
        if rows > len(self._reach):
            room = len(own.column("id"))
            self._reference, self._skin, self._reach = np.zeros((room, 3)), np.zeros(room), np.zeros(room)
            self._inverse_inertia = np.zeros(room)
        position, velocity = own.column("position")[:rows], own.column("velocity")[:rows]
        speeds = self.constants.own_velocity(position, velocity)
        self.skins.write(own.column("radius")[:rows], speeds, self._skin, self._reach)
        if self.moving_box is not None:
            # a part of the skins is for the box, which brings particles nearer to each other than they go by themselves
            self.box_share.divide(self.moving_box, self.step, self.skins.least_share)
            self._skin[:rows] -= (1.0 - self.box_share.narrowest) * self._reach[:rows]
        self._reference[: own.count] = own.position
        write_inverse_inertia(
            own.count, own.column("radius"), own.column("material"), self.constants.density, self._inverse_inertia
        )
        self.smallest_radius = float(own.radius.min(initial=math.inf))

    def records(self, leaves: Booleans = ALL_STAY) -> tuple[PairRecords, WallRecords]:
        """Return all contacts by id, or those of the owned particles that are marked in an array (n,)."""
        return self.pair_contacts.records(self.particles, leaves), self.wall_records(leaves)

    def pair_records(self) -> PairRecords:
        """Return the contacts between particles by id."""
        return self.pair_contacts.records(self.particles)

    def wall_records(self, leaves: Booleans = ALL_STAY) -> WallRecords:
        """Return the contacts with walls by id, all or those of marked particles."""
        return (
            WallRecords.none(wall_columns_of(self.constants.law))
            if self.wall_contacts is None
            else self.wall_contacts.records(self.particles, leaves)
        )

    def work(self) -> Floats:
        """Return for each owned particle 1, the numbers of its candidate pairs and of its candidate facets (n, 3)."""
        work = np.zeros((self.particles.count, 3))
        work[:, 0] = 1.0
        work[:, 1] = self.pair_contacts.rows(self.particles.count)
        if self.wall_contacts is not None:
            work[:, 2] = self.wall_contacts.rows(self.particles.count)
        return work

    def counts_by_level(self) -> tuple[Integers, Integers]:
        """Return the numbers of owned particles and of ghosts by level of size, (L,) each."""
        own, radii = self.particles, self.skins.radii
        radius = own.column("radius")[: own.count + own.ghosts]
        level = np.minimum(np.searchsorted(radii, radius), len(radii) - 1)
        owned, ghosts = (np.bincount(rows, minlength=len(radii)) for rows in (level[: own.count], level[own.count :]))
        return owned, ghosts

    def rows_of(self, order: Int32s) -> Int32s:
        """Return the place of each owned particle in an order of all; a view of a buffer."""
        if len(self._row_now) < len(order):
            self._row_now = np.empty(room_for(len(order), len(self._row_now)), np.int32)
        row_now = self._row_now[: len(order)]
        invert(order, row_now)
        return row_now

    def rows_by_id(self) -> Int32s:
        """Return the table from ids to rows of owned particles, see `pdem.detection.id_table`."""
        self._table = indexed(self.particles.id, self._table)
        return self._table

    def memory(self) -> int:
        """Return the bytes of particles, contacts and lists of this rank."""
        parts: list[Any] = [self.particles, self.pair_contacts, self.search]
        parts += [part for part in (self.wall_contacts, self.clusters) if part is not None]
        own = (self._reference, self._skin, self._reach, self._inverse_inertia, self._table, self._row_now)
        return sum(array.nbytes for array in own) + sum(part.memory for part in parts)
