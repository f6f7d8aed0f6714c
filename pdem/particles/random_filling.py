"""Random positions without overlap for the particles of ``fill`` groups.

First, random sequential addition: random positions are tried for each sphere, the largest spheres first. It ends far
below the density of a fluid of hard spheres. Then Monte Carlo sweeps (`pdem.particles.monte_carlo`) move the placed
spheres, and between sweeps the others are tried again. Limits are numbers of attempts and candidates, never the time:
success, and every position, is the same on any machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pdem.foundation.random import keyed_vectors
from pdem.particles import regions
from pdem.particles.clearance import size_classes, wrap_positions
from pdem.particles.fill_limits import require_volume
from pdem.particles.filling import unplaced_error
from pdem.particles.monte_carlo import monte_carlo_sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.particles.filling import FillGroup, FillRequest, PlacedGroup, Surroundings
    from pdem.particles.sphere_table import SphereTable

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

PROGRESS_AFTER = 5.0
"""Time after which a fill shows its progress [s]."""

MIN_CANDIDATES, CANDIDATES_PER_SPHERE = 2_000_000, 100
"""Positions tried for a class of sizes before Monte Carlo sweeps, in all and per sphere; the larger is the limit."""

MIN_WORK, WORK_PER_SPHERE = 10_000_000, 100
"""Positions tried and moves in sweeps of a class, in all and per sphere; the larger is the limit, some seconds."""

MAX_SWEEPS_OF_CLASS = 600
"""Largest number of sweeps of a class: with few particles a sweep is little work, but still takes time."""

WALL_WORK = 14
"""Work of a test against walls, over that of a position tried."""

_PLACE_STREAM = 64
_CANDIDATES_AT_ONCE = 4096


def fill_randomly(
    groups: list[FillGroup], placed: list[PlacedGroup], surroundings: Surroundings, *, progress: bool = False
) -> None:
    """Place the particles of all random fills together, the largest first.

    Parameters
    ----------
    groups : list of FillGroup
        Groups to be placed; their positions are written.
    placed : list of PlacedGroup
        Groups that are placed already.
    surroundings : Surroundings
        The domain and the walls.
    progress : bool
        Show the progress on standard error, if it takes some seconds.

    Raises
    ------
    CaseError
        Before placement, if particles have too much volume, see `pdem.particles.fill_limits`; later, if some cannot be
        placed, with the number of placed ones.
    """
    if not any(len(one.radius) for one in groups):
        return
    for one in groups:
        require_volume(one.request, one.radius, surroundings.domain.dimension)
    count = sum(len(one.radius) for one in groups)
    with tqdm(
        total=count,
        desc="placing particles",
        delay=PROGRESS_AFTER,
        disable=not progress,
        leave=False,
        unit="",
    ) as bar:
        _Filling(groups, placed, surroundings, bar).fill()


class _Filling:
    """The particles of all random fills during placement.

    Attributes
    ----------
    radii : (n,) array
        Of all of them [m].
    owners, rows : (n,) int arrays
        Number of the group of each, and its row there.
    slots : (n,) int array
        Its number in the table of spheres, -1 if not placed.
    work : int
        Positions tried, moves, and tests against walls since the first sweep of the class.
    """

    def __init__(
        self, groups: list[FillGroup], placed: list[PlacedGroup], surroundings: Surroundings, bar: Any
    ) -> None:
        self.domain, self.groups, self.surroundings, self._bar = (
            surroundings.domain,
            groups,
            surroundings,
            bar,
        )
        self.radii = np.concatenate([one.radius for one in groups])
        self.owners = np.repeat(np.arange(len(groups)), [len(one.radius) for one in groups])
        self.rows = np.concatenate([np.arange(len(one.radius)) for one in groups])
        self.slots = np.full(len(self.radii), -1, np.int64)
        self.table = _sphere_table(self.domain, self.radii, placed)
        self.work = 0

    def fill(self) -> None:
        """Place all particles, one class of sizes after the other."""
        for members in size_classes(self.radii):
            pending = members[np.argsort(-self.radii[members], kind="stable")]
            pending, first = self._add_sequentially(pending)
            if len(pending):
                self._add_between_sweeps(pending, first)

    def _add_sequentially(self, pending: Indices) -> tuple[Indices, int]:
        """Try random positions for spheres; return those not placed, and the number of their next attempt."""
        first, candidates = 0, 0
        most = max(MIN_CANDIDATES, CANDIDATES_PER_SPHERE * len(pending))
        attempts = min(self._request(number).fill.attempts for number in np.unique(self.owners[pending]))
        while len(pending) and first < attempts and candidates < most:
            # several attempts at once: else the last few particles would need many small passes
            at_once = max(1, _CANDIDATES_AT_ONCE // len(pending))
            candidates += at_once * len(pending)
            pending = self._attempt(pending, first, at_once)
            first += at_once
        return pending, first

    def _add_between_sweeps(self, pending: Indices, first: int) -> None:
        """Move placed spheres by Monte Carlo sweeps and try the others again, until all are placed.

        Raises
        ------
        CaseError
            If some cannot be placed.
        """
        most = max(MIN_WORK, WORK_PER_SPHERE * len(self.radii))
        number, self.work = 0, 0
        placed = np.flatnonzero(self.slots >= 0)
        while len(pending) and len(placed) and self.work < most and number < MAX_SWEEPS_OF_CLASS:
            monte_carlo_sweep(self, placed, number)
            at_once = max(1, max(_CANDIDATES_AT_ONCE, 2 * len(placed)) // len(pending))
            pending = self._attempt(pending, first, at_once)
            placed = np.flatnonzero(self.slots >= 0)
            number, first = number + 1, first + at_once
            self.work += len(placed) + at_once * len(pending)
        if not len(pending):
            return
        one = self.groups[self.owners[pending[0]]]
        raise unplaced_error(one.request, int(np.isfinite(one.position[:, 0]).sum()), len(one.radius))

    def _attempt(self, pending: Indices, first: int, number: int) -> Indices:
        """Try `number` random positions of each sphere; return those not placed."""
        attempts = np.arange(first, first + number)
        which = np.tile(np.arange(len(pending)), number)
        attempt, tried = np.repeat(attempts, len(pending)), pending[which]
        positions, allowed = self._candidates(tried, attempt)
        before = self.table.count
        winners = self.table.place(positions, self.radii[tried], allowed, which)
        won = np.flatnonzero(winners >= 0)
        self.slots[pending[won[np.argsort(winners[won])]]] = before + np.arange(len(won))
        self.set_positions(pending[won], positions[winners[won]])
        self._bar.update(len(won))
        return pending[winners < 0]

    def set_positions(self, spheres: Indices, positions: Floats) -> None:
        """Write positions (k, 3) [m] of some spheres into their groups."""
        for number, one in enumerate(self.groups):
            mine = self.owners[spheres] == number
            one.position[self.rows[spheres[mine]]] = positions[mine]

    def free(self, spheres: Indices, positions: Floats) -> Booleans:
        """Return which spheres would be inside their regions and clear of walls at positions (k, 3) [m]."""
        allowed = np.zeros(len(spheres), np.bool_)
        self.work += WALL_WORK * len(spheres)
        for number in range(len(self.groups)):
            mine = self.owners[spheres] == number
            if mine.any():
                radii = self.radii[spheres[mine]]
                allowed[mine] = self.surroundings.free(self._request(number), positions[mine], radii)
        return allowed

    def _request(self, number: int) -> FillRequest:
        return self.groups[number].request

    def _candidates(self, tried: Indices, attempt: Indices) -> tuple[Floats, Booleans]:
        """Return a random position for each sphere, shape (n, 3) [m], and whether it is free."""
        positions = np.zeros((len(tried), 3))
        for number, one in enumerate(self.groups):
            mine = np.flatnonzero(self.owners[tried] == number)
            if len(mine):
                rows = self.rows[tried[mine]]
                positions[mine] = _random_positions(
                    self.domain, self._request(number), one.ids[rows], one.radius[rows], attempt[mine]
                )
        allowed = self.table.clear(
            positions, self.radii[tried]
        )  # the cheaper test, which rejects most, comes before that of walls
        allowed[allowed] = self.free(tried[allowed], positions[allowed])
        return positions, allowed


def _random_positions(
    domain: regions.Domain, request: FillRequest, ids: Indices, radii: Floats, attempt: Indices
) -> Floats:
    """Return a random position (n, 3) [m] in the bounding box of a region for each sphere."""
    free = regions.open_axes(request.region, domain)
    free[domain.dimension :] = True
    inset = np.where(free, 0.0, radii[:, None])
    lower, upper = regions.bounds(request.region)
    low, high = lower + inset, np.maximum(lower + inset, upper - inset)
    uniform = keyed_vectors(request.fill.seed, _PLACE_STREAM + 3 * attempt, ids)
    if domain.dimension == 2:
        uniform[:, 2] = 0.5
    return wrap_positions(low + uniform * (high - low), domain)


def _sphere_table(domain: regions.Domain, radii: Floats, placed: list[PlacedGroup]) -> SphereTable:
    from pdem.particles.sphere_table import SphereTable  # imported late: it needs the compiler

    sizes = np.concatenate([radii, *(one.radius for one in placed)])
    lower, upper = np.asarray(domain.lower), np.asarray(domain.upper)
    periodic = np.asarray(domain.periodic)
    table = SphereTable(len(sizes), sizes.min(), sizes.max(), lower, upper, periodic)
    for one in placed:
        table.add(wrap_positions(one.position, domain), one.radius)
    return table
