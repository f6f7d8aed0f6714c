"""The state of a simulation on this rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.walls.contacts import WallContacts
from pdem.contact.walls.stages import wall_columns_of
from pdem.containers.particles import Particles
from pdem.containers.records import WallRecords
from pdem.detection.id_table import indexed
from pdem.detection.searches import make_search
from pdem.foundation.kernels import threads
from pdem.foundation.sums import ExactSums
from pdem.motion.integration import FixedColumns, write_inverse_inertia
from pdem.simulation.trials import Trials
from pdem.simulation.tuning import SkinTuner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.containers.records import PairRecords
    from pdem.detection.facet_blocks import FacetBlocks
    from pdem.detection.skins import Skins
    from pdem.motion.carriers import Carriers
    from pdem.motion.walls import MovingWalls
    from pdem.simulation.setup import Constants


def nothing_requested() -> int:
    """Return 0: nobody asks the run to stop."""
    return 0


class System:
    """Particles, contacts and walls of one rank, and the constants they move by.

    Attributes
    ----------
    case : Case
        What is simulated.
    constants : Constants
        What does not change.
    particles : Particles
        Owned and ghosts.
    pairs : PairContacts
        Contacts among them.
    walls : WallContacts or None
        Contacts with walls.
    exchange : Exchange
        The other ranks.
    blocks : FacetBlocks or None
        Of the walls' facets, where these are many.
    skins : Skins
        Levels by size.
    tuner : SkinTuner or None
        Chooses the skins while running, unless the case does.
    trials : Trials
        Chooses how many candidates are evaluated at a time, and on how many threads.
    choose_levels : callable
        Returns the levels for particles given by columns ``radius`` and ``position``; asked on rank 0.
    population, changed : int
        Particles for which the levels were chosen, and how many have come or gone since.
    next_id : int
        Of the next particle that comes.
    notices : list of str
        Lines for the log.
    warned : set of str
        Doubts about particles that come, of which users have been told.
    dimension : int
        2 or 3.
    step : int
        Steps taken since time 0.
    detections, divisions : int
        How often lists were made, and particles divided anew among ranks.
    ended : ExactSums
        Energies of ended contacts seen by this rank.
    least_radius : float
        Of the owned particles when lists were made [m].
    trouble : list
        What this rank saw that must stop the run: (kind, id or wall, other id), see `pdem.simulation.trouble`.
    pending_drift : int or None
        What `pdem.motion.integration.drift` would return, if the next step was begun when the last one ended.
    columns_are_current : bool
        Whether the columns of owned particles are where these have moved since.
    carriers : Carriers or None
        What moves particles in place of the forces on each, see `pdem.motion.carriers`. None, or set before lists are
        made.
    """

    def __init__(
        self,
        case: Case,
        constants: Constants,
        walls: MovingWalls | None,
        exchange: Exchange,
        choose_levels: Callable[[Mapping[str, NDArray[Any]]], Skins],
        particles: Mapping[str, NDArray[Any]],
        blocks: FacetBlocks | None = None,
    ) -> None:
        self.case = case
        self.constants = constants
        self.exchange = exchange
        self.blocks = blocks
        self.particles = Particles()
        self.pairs = PairContacts(constants.law)
        self.walls = (
            None
            if walls is None
            else WallContacts(
                constants.law,
                walls,
                [case.material_index(wall.material) for wall in case.walls],
                case.detection.walls,
                case.detection.wall_lever_arm,
                blocks,
            )
        )
        self._detection, self.dimension = case.detection, case.domain.dimension
        self.choose_levels = choose_levels
        self.population = 0
        self.changed = 0
        self.next_id = 0
        self.notices: list[str] = []
        self.warned: set[str] = set()
        is_first = exchange.rank == 0
        self.use_levels(
            exchange.share(choose_levels(particles) if is_first else None), len(particles["radius"])
        )
        self.trials = Trials.of_run(threads())
        self.tuner = SkinTuner(self.skins.fraction) if case.detection.skin == "auto" else None
        self.step = 0
        self.detections = 0
        self.divisions = 0
        self.ended = ExactSums(ENDED)
        self._reference = np.zeros((0, 3))
        self._skin = np.zeros(0)
        self._inverse_inertia = np.zeros(0)
        self._reach = np.zeros(0)
        self._table = np.empty(0, np.int32)
        self.wall_margin = 0.0
        self.least_radius = math.inf
        self.trouble: list[tuple[int, int, int]] = []
        self.pending_drift: int | None = None
        self.columns_are_current = True
        self.carriers: Carriers | None = None
        self.stop_requested: Callable[[], int] = nothing_requested

    def use_levels(self, skins: Skins, population: int) -> None:
        """Search with these levels from now on, which were chosen for so many particles."""
        self.skins, self.population, self.changed = skins, population, 0
        skins.beyond = self.constants.beyond
        constants, wanted = self.constants, self._detection
        self.search = make_search(
            wanted.method,
            skins.cell_sizes,
            constants.lower,
            constants.period,
            wanted.direction,
            self.dimension,
        )

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.time_of(self.step)

    def time_of(self, step: int) -> float:
        """Return the time at the end of a step, not before 0 [s]."""
        return max(step, 0) * self.constants.step

    @property
    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Period and frequency of the axes."""
        return self.constants.period, self.constants.frequency

    @property
    def reference(self) -> NDArray[np.float64]:
        """Where owned particles were when lists were made (n, 3) [m]."""
        return self._reference[: self.particles.count]

    @property
    def skin(self) -> NDArray[np.float64]:
        """How far owned particles may be from there (n,) [m]."""
        return self._skin[: self.particles.count]

    @property
    def fixed(self) -> FixedColumns:
        """What stays the same of owned particles until lists are made anew; views."""
        return FixedColumns(self.reference, self.skin, self._inverse_inertia[: self.particles.count])

    @property
    def reach(self) -> NDArray[np.float64]:
        """Radius plus skin of owned particles and ghosts [m]."""
        return self._reach

    def wall_reach(self) -> NDArray[np.float64]:
        """Return how far from their centres owned particles may touch walls, or still be held by them, (n,) [m].

        The reach of a pair counts half of the gap that adhesion bridges for each partner; a wall has none.
        """
        own = self.particles
        reach = self._reach[: own.count]
        return reach if self.skins.beyond is None else reach + self.skins.beyond(own.radius)

    def begin_tuning(self) -> None:
        """Have what is chosen while running be chosen from this step on."""
        self.trials.begin(self.step)
        if self.tuner is not None:
            self.tuner.begin(self.step)

    def measure_reaches(self) -> None:
        """Note skins and reaches of all particles, and positions and inverse inertia of the owned ones."""
        own, rows = self.particles, self.particles.count + self.particles.ghosts
        if rows > len(self._reach):
            room = len(own.column("id"))
            self._reference, self._skin, self._reach = np.zeros((room, 3)), np.zeros(room), np.zeros(room)
            self._inverse_inertia = np.zeros(room)
        self.skins.write(own.column("radius")[:rows], self._skin, self._reach)
        self._reference[: own.count] = own.position
        write_inverse_inertia(
            own.count,
            own.column("radius"),
            own.column("material"),
            self.constants.density,
            self._inverse_inertia,
        )
        self.least_radius = float(own.radius.min(initial=math.inf))

    def records(self) -> tuple[PairRecords, WallRecords]:
        """Return all contacts by id."""
        return self.pair_records(), self.wall_records()

    def pair_records(self) -> PairRecords:
        """Return the contacts between particles by id."""
        return self.pairs.records(self.particles)

    def wall_records(self) -> WallRecords:
        """Return the contacts with walls by id."""
        return (
            WallRecords.none(wall_columns_of(self.constants.law))
            if self.walls is None
            else self.walls.records(self.particles)
        )

    def work(self) -> NDArray[np.float64]:
        """Return, for each owned particle, one, its candidate pairs, and its candidate facets (n, 3)."""
        work = np.zeros((self.particles.count, 3))
        work[:, 0] = 1.0
        work[:, 1] = self.pairs.rows(self.particles.count)
        if self.walls is not None:
            work[:, 2] = self.walls.rows(self.particles.count)
        return work

    def numbers_by_size(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many owned particles and ghosts of each level of size there are, (L,) each."""
        own, radii = self.particles, self.skins.radii
        radius = own.column("radius")[: own.count + own.ghosts]
        level = np.minimum(np.searchsorted(radii, radius), len(radii) - 1)
        owned, ghosts = (
            np.bincount(rows, minlength=len(radii)) for rows in (level[: own.count], level[own.count :])
        )
        return owned, ghosts

    def rows_by_id(self) -> NDArray[np.int32]:
        """Return a table of the rows in which the owned particles are now, see `pdem.detection.id_table`."""
        self._table = indexed(self.particles.id, self._table)
        return self._table

    def memory(self) -> int:
        """Return the bytes that particles, contacts and lists of this rank hold."""
        parts: list[Any] = [self.particles, self.pairs, self.search]
        if self.walls is not None:
            parts.append(self.walls)
        own = (self._reference, self._skin, self._reach, self._inverse_inertia, self._table)
        return sum(array.nbytes for array in own) + sum(part.memory for part in parts)
