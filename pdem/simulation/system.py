"""The state of a simulation on this rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law import HISTORY
from pdem.contact.pair_contacts import PairContacts
from pdem.contact.wall_kernels import WALL_HISTORY
from pdem.contact.wall_state import WallContacts
from pdem.containers.particles import Particles
from pdem.containers.records import WallRecords
from pdem.detection.searches import make_search
from pdem.foundation.sums import ExactSums
from pdem.simulation.tuning import SkinTuner

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.records import PairRecords
    from pdem.motion.walls import MovingWalls
    from pdem.simulation.exchange import Exchange
    from pdem.simulation.setup import Constants, Skins

ENDED = ("normal_damping", "sliding", "rolling", "wall_work")
"""Energies of contacts that have ended, which nothing else remembers [J]."""

HISTORIES = {"contacts": HISTORY, "wall_contacts": WALL_HISTORY}


def nothing_requested() -> int:
    """Return 0: nobody asks the run to stop."""
    return 0


class System:
    """Particles, contacts and walls of one rank, and the constants they move by.

    Attributes
    ----------
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
    skins : Skins
        Levels by size.
    tuner : SkinTuner or None
        Chooses the skins while running, unless the case does.
    step : int
        Steps taken since time 0.
    detections : int
        How often lists were made.
    ended : ExactSums
        Energies of ended contacts seen by this rank.
    reference, skin : (n, 3) and (n,) arrays
        Where owned particles were when lists were made, and how far they may be from there [m].
    trouble : list
        What this rank saw that must stop the run: (kind, id, other id or wall).
    """

    def __init__(
        self,
        case: Case,
        constants: Constants,
        walls: MovingWalls | None,
        skins: Skins,
        exchange: Exchange,
    ) -> None:
        self.constants = constants
        self.exchange = exchange
        self.skins = skins
        self.particles = Particles()
        self.pairs = PairContacts()
        self.walls = (
            None
            if walls is None
            else WallContacts(walls, [case.material_index(wall.material) for wall in case.walls])
        )
        self.search = make_search(
            case.detection.method, skins.cell_sizes, constants.lower, constants.period,
            case.detection.direction, case.domain.dimension,
        )  # fmt: skip
        self.tuner = SkinTuner(skins.fraction) if case.detection.skin == "auto" else None
        self.step = 0
        self.detections = 0
        self.ended = ExactSums(ENDED)
        self.reference = np.zeros((0, 3))
        self.skin = np.zeros(0)
        self.wall_margin = 0.0
        self.facets_listed = 0.0
        self.no_wall_forces = np.zeros((0, 6))
        self.trouble: list[tuple[int, int, int]] = []
        self.stop_requested: Callable[[], int] = nothing_requested

    @staticmethod
    def no_energies() -> NDArray[np.int64]:
        """Return the limbs of `ended` at time 0."""
        return ExactSums(ENDED).limbs

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.step * self.constants.step

    @property
    def box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Period and frequency of the axes."""
        return self.constants.period, self.constants.frequency

    def pair_records(self) -> PairRecords:
        """Return the contacts between particles by id."""
        return self.pairs.records(self.particles)

    def wall_records(self) -> WallRecords:
        """Return the contacts with walls by id."""
        return WallRecords.none(WALL_HISTORY) if self.walls is None else self.walls.records(self.particles)

    def memory(self) -> int:
        """Return the bytes that particles, contacts and lists of this rank hold."""
        parts: list[Any] = [self.particles, self.pairs, self.search]
        if self.walls is not None:
            parts.append(self.walls)
        return sum(part.memory for part in parts)
