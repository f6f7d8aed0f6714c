"""Settings of the neighbour lists of this rank, and the positions of particles when lists were made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.detection.id_table import indexed
from pdem.detection.neighbours import invert
from pdem.detection.searches import make_search
from pdem.detection.skins import Skins
from pdem.engine.walls.wall_margin import WallMargin
from pdem.motion.integration import FixedColumns, write_inverse_inertia
from pdem.numerics.arrays import room_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pdem.case.sections.general import Detection
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.detection.walls.facet_tree import FacetTree
    from pdem.engine.parts.system_box import SystemBox
    from pdem.engine.setup import Constants
    from pdem.foundation.array_types import Floats, Int32s, Integers

    LevelChoice = Callable[[Mapping[str, NDArray[Any]], Exchange], Skins]

SORT_EVERY = 10
"""Number of detections between two reorderings of particles by grid cells, so that neighbours are near in memory."""


class NeighbourLists:
    """Levels of size, skins and search, and the positions of particles when lists were made.

    Detections write it (`pdem.engine.step`); insertion and removal write the change of the population. The lists
    themselves belong to the contacts, `pdem.engine.parts.rank_contacts`.

    Parameters
    ----------
    detection : Detection
        Section of the case.
    choose_levels : callable
        Returns the levels for columns of particles, collective.
    facet_tree : FacetTree or None
        Tree over the facets of large walls.
    particles : Particles
        Particles of this rank.

    Attributes
    ----------
    skins : Skins
        Levels by size.
    search : PairFinder
        Finds candidate pairs, from the first levels on.
    facet_tree : FacetTree or None
        Tree over the facets of large walls.
    wall_margin : WallMargin
        Displacement of walls after which facets are listed again.
    population, population_change : int
        Number of particles for which the levels were chosen, and number of particles inserted or removed since.
    detections, rebalances : int
        Number of detections, and of load balances that moved particles.
    pair_distance : float
        Distance of the particles of pairs (`pdem.engine.id_pairs`) that ghosts are made for [m]; 0: skins are enough.
    are_asked_for : bool
        Whether a feature of this rank has asked for new lists at the begin of the next step.
    smallest_radius : float
        Smallest radius of owned particles when lists were built [m].
    """

    def __init__(
        self, detection: Detection, choose_levels: LevelChoice, facet_tree: FacetTree | None, particles: Particles
    ) -> None:
        self._detection, self._choose_levels, self._particles = detection, choose_levels, particles
        self.facet_tree = facet_tree
        self.skins = Skins(np.ones(1), 0.0)
        self.wall_margin = WallMargin()
        self.population, self.population_change = 0, 0
        self.detections, self.rebalances = 0, 0
        self.smallest_radius = math.inf
        self.pair_distance, self.are_asked_for = 0.0, False
        self._reference = np.zeros((0, 3))
        self._skin, self._inverse_inertia, self._reach = np.zeros(0), np.zeros(0), np.zeros(0)
        self._table, self._row_now = np.empty(0, np.int32), np.empty(0, np.int32)

    def renew_levels(self, constants: Constants, exchange: Exchange) -> None:
        """Choose levels of size for the present particles. Collective; also before lists are built first."""
        own, wanted = self._particles, self._detection
        skins = self._choose_levels({name: own[name] for name in ("radius", "position")}, exchange)
        if self.detections:
            skins.fraction = self.skins.fraction
        self.population, self.population_change = int(exchange.add(np.array([own.count]))[0]), 0
        self.skins = skins
        self.set_adhesion(constants)
        self.measure_speeds(constants, exchange)
        self.search = make_search(
            wanted.method, skins.cell_sizes, constants.lower, constants.period, wanted.direction, constants.dimension
        )
        self.search.set_shape(constants.shape)  # of a box that has deformed

    def count_change(self, number: int) -> None:
        """Count inserted or removed particles of all ranks."""
        self.population_change += number

    def note_detection(self, step: int) -> bool:
        """Count lists that are made after a step; return whether particles have to be sorted before."""
        reorders = self.detections % SORT_EVERY == 0
        self.detections += 1
        self.are_asked_for = False
        self.wall_margin.note_detection(step)
        return reorders

    def ask_for(self) -> None:
        """Make lists at the begin of the next step, since pairs that may be in contact have changed on this rank."""
        self.are_asked_for = True

    def set_pair_distance(self, distance: float) -> None:
        """Set the largest distance of the particles of a pair for which the next ghosts are made [m]."""
        self.pair_distance = distance

    def reorder_next(self) -> None:
        """Sort particles at the next detection."""
        self.detections = SORT_EVERY

    def note_rebalance(self) -> None:
        """Count a load balance that has moved particles."""
        self.rebalances += 1

    def set_adhesion(self, constants: Constants) -> None:
        """Set the reach to the largest gap of adhesion of the present interactions."""
        self.skins.beyond = constants.adhesion_half_gaps

    def set_fraction(self, fraction: float) -> None:
        """Set the skin of the next lists, over the largest radius of a level."""
        self.skins.fraction = fraction
        self.search.set_limits(self.skins.cell_sizes)

    @property
    def tuned_fraction(self) -> float | None:
        """The present skin over the largest radius of a level, if it is to be tuned; None if the case sets it."""
        return self.skins.fraction if self._detection.skin == "auto" else None

    @property
    def reference(self) -> Floats:
        """Positions of owned particles when lists were built (n, 3) [m]."""
        return self._reference[: self._particles.count]

    @property
    def skin(self) -> Floats:
        """Displacement from there at which lists of owned particles are stale (n,) [m]."""
        return self._skin[: self._particles.count]

    @property
    def fixed_columns(self) -> FixedColumns:
        """Columns of owned particles that are constant between two detections; views."""
        return FixedColumns(self.reference, self.skin, self._inverse_inertia[: self._particles.count])

    @property
    def reach(self) -> Floats:
        """Radius plus skin of owned particles and ghosts [m]."""
        return self._reach

    def wall_reach(self) -> Floats:
        """Return the distance from their centres at which owned particles may touch or adhere to walls (n,) [m].

        Between particles each reach has half of the gap of adhesion; at a wall the particle's reach has all of it.
        """
        own = self._particles
        reach = self._reach[: own.count]
        return reach if self.skins.beyond is None else reach + self.skins.beyond(own.radius)

    def measure_speeds(self, constants: Constants, exchange: Exchange) -> None:
        """Measure the mean speeds of all levels of size, relative to a box that deforms. Collective."""
        own = self._particles
        self.skins.measure_speeds(own.radius, constants.own_velocity(own.position, own.velocity), exchange)

    def measure_reaches(self, constants: Constants, box: SystemBox, step: int) -> None:
        """Store skins and reaches of all particles, and positions and inverse inertia of owned ones."""
        own, rows = self._particles, self._particles.count + self._particles.ghosts
        if rows > len(self._reach):
            room = len(own.column("id"))
            self._reference, self._skin, self._reach = np.zeros((room, 3)), np.zeros(room), np.zeros(room)
            self._inverse_inertia = np.zeros(room)
        position, velocity = own.column("position")[:rows], own.column("velocity")[:rows]
        speeds = constants.own_velocity(position, velocity)
        self.skins.write(own.column("radius")[:rows], speeds, self._skin, self._reach)
        if box.moving is not None:
            # a share of the skins is for the box, which moves particles in addition to their own motion
            box.share.divide(box.moving, step, self.skins.least_share)
            self._skin[:rows] -= (1.0 - box.share.narrowest) * self._reach[:rows]
        self._reference[: own.count] = own.position
        write_inverse_inertia(
            own.count, own.column("radius"), own.column("material"), constants.density, self._inverse_inertia
        )
        self.smallest_radius = float(own.radius.min(initial=math.inf))

    def counts_by_level(self) -> tuple[Integers, Integers]:
        """Return the numbers of owned particles and of ghosts by level of size, (L,) each."""
        own, radii = self._particles, self.skins.radii
        radius = own.column("radius")[: own.count + own.ghosts]
        level = np.minimum(np.searchsorted(radii, radius), len(radii) - 1)
        owned, ghosts = (np.bincount(rows, minlength=len(radii)) for rows in (level[: own.count], level[own.count :]))
        return owned, ghosts

    def rows_of(self, order: Int32s) -> Int32s:
        """Return the index of each owned particle in an order of all; a view of a buffer."""
        if len(self._row_now) < len(order):
            self._row_now = np.empty(room_for(len(order), len(self._row_now)), np.int32)
        row_now = self._row_now[: len(order)]
        invert(order, row_now)
        return row_now

    def rows_by_id(self) -> Int32s:
        """Return the table from ids to rows of owned particles, see `pdem.detection.id_table`."""
        self._table = indexed(self._particles.id, self._table)
        return self._table

    @property
    def memory(self) -> int:
        """Bytes of the search and of these arrays."""
        own = (self._reference, self._skin, self._reach, self._inverse_inertia, self._table, self._row_now)
        return sum(array.nbytes for array in own) + self.search.memory
