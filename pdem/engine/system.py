"""The state of a simulation on this rank: its parts, and which code writes each of them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pdem.case.groups.shapes import shapes_of
from pdem.containers.clusters import Clusters
from pdem.engine.clusters.rigid_clusters import RigidClusters
from pdem.engine.feature_set import Features
from pdem.engine.parts.neighbour_lists import NeighbourLists
from pdem.engine.parts.rank_contacts import RankContacts
from pdem.engine.parts.run_progress import RunProgress
from pdem.engine.parts.system_box import SystemBox
from pdem.engine.parts.tuners import Tuners
from pdem.particles.clusters.shapes import shape_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.detection.walls.facet_tree import FacetTree
    from pdem.engine.parts.neighbour_lists import LevelChoice
    from pdem.engine.setup import Constants
    from pdem.engine.stages.timeline import Stages
    from pdem.foundation.array_types import Floats
    from pdem.motion.clusters.carriers import Carriers
    from pdem.motion.integration import Motion
    from pdem.motion.moving_box import MovingBox
    from pdem.motion.walls import MovingWalls


class System:
    """Particles, contacts and walls of one rank, and the constants of their motion.

    A function that needs a single part has that part as its argument; a function that needs several has the system.

    Attributes
    ----------
    case : Case
        The case that is simulated; it never changes.
    constants : Constants
        Constants of steps. Stages and gravity change them, and the box does at each detection.
    exchange : Exchange
        Communication with all further ranks. A guard replaces it while observers are called.
    particles : Particles
        Owned particles and ghosts. Steps move them, detections sort them, `pdem.engine.population` inserts and removes
        them.
    carriers : Carriers or None
        Bodies that move their particles as a whole, see `pdem.motion.clusters.carriers`. Made with the system, or set
        before lists are made.
    walls : MovingWalls or None
        The walls at their present poses. Steps move them, stages add and remove them.
    contacts : RankContacts
        Contacts with particles and walls. Steps write them, detections list their candidates.
    lists : NeighbourLists
        Settings of neighbour lists, and the positions of particles when lists were made. Detections write them.
    progress : RunProgress
        The step, errors and lines for the log. The loops over steps write them.
    tuners : Tuners
        Tuners of settings that change the speed but no result. Detections ask them.
    box : SystemBox
        The box, if it deforms. Steps move it, its feature drives it.
    stages : Stages
        The stages of the run. Their feature ends them, the loop over steps begins the next one.
    features : Features
        Everything else in and between steps; set once, see `set_features`.
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
        self.case, self.constants = case, constants
        self.exchange, self.particles = exchange, particles
        self.walls = walls
        self.contacts = RankContacts(case, constants.law, particles, walls, facet_tree)
        self.lists = NeighbourLists(case.detection, choose_levels, facet_tree, particles)
        self.progress = RunProgress(constants.time_step.dt)
        self.tuners, self.box = Tuners(), SystemBox(box)
        self.features, self.stages = Features(), stages
        self.carriers: Carriers | None = None
        if constants.law.has_clusters:
            shapes = shape_arrays(list(shapes_of(case).values()))
            self.carriers = RigidClusters(
                Clusters(shapes), lambda: self.constants.density, lambda: self.motion_at(self.progress.step)
            )

    @property
    def clusters(self) -> RigidClusters | None:
        """The carriers, if they are rigid clusters of spheres."""
        return self.carriers if isinstance(self.carriers, RigidClusters) else None

    def set_features(self, features: Features) -> None:
        """Set the features of a case, at time 0 before the state is loaded."""
        self.features = features
        self.contacts.count_terms(features.terms)

    def set_gravity(self, gravity: Floats) -> None:
        """Change gravity to (3,) [m/s^2], from the next step on."""
        self.constants = replace(self.constants, gravity=gravity)

    def set_table(self, table: Floats) -> None:
        """Change the pair table of contacts, from the next step on."""
        self.constants = replace(self.constants, table=table)
        self.lists.set_adhesion(self.constants)

    @contextmanager
    def with_constants(self, constants: Constants) -> Iterator[None]:
        """Replace the constants within this context, for measurements with them."""
        own, self.constants = self.constants, constants
        try:
            yield
        finally:
            self.constants = own

    @contextmanager
    def with_exchange(self, exchange: Exchange) -> Iterator[None]:
        """Replace the exchange within this context."""
        own, self.exchange = self.exchange, exchange
        try:
            yield
        finally:
            self.exchange = own

    def motion_at(self, step: int) -> Motion:
        """Return the constants of motion for the drift that ends at a step, the present one or the next."""
        return self.box.motion_at(self.constants.motion, step)

    def follow_box(self) -> None:
        """Update constants, ranks and searches to the present shape of a deforming box."""
        box, step = self.box.moving, self.progress.step
        if box is not None:
            shape = box.shape(step)
            self.constants = replace(self.constants, shape=shape, flow=box.gradient_at(step))
            self.exchange.reshape(shape)
            self.lists.search.set_shape(shape)

    def reach_of(self, radius: Floats, velocity: Floats, position: Floats) -> Floats:
        """Return radius plus skin [m]; velocities are relative to the deforming box."""
        return self.lists.skins.reach(radius, self.constants.own_velocity(position, velocity))

    def memory(self) -> int:
        """Return the bytes of particles, contacts and lists of this rank."""
        parts: list[Any] = [self.particles, self.contacts.pairs, self.lists]
        parts += [part for part in (self.contacts.walls, self.clusters) if part is not None]
        parts += self.features.pair_tables
        return sum(part.memory for part in parts)
