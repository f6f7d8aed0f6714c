"""Random places without overlap for the particles of ``fill`` groups.

First each sphere is tried at one random place after the other, the largest spheres first. Where that has come to its
end, which it does far below the density of a liquid of hard spheres, those that have their place are shaken
(`pdem.particles.shaking`), and the others are tried again in between. All of it follows from ids, numbers of attempts
and numbers of candidates, never from the clock: success, and every place, is the same on any machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pdem.foundation.random import keyed_vectors
from pdem.particles import regions
from pdem.particles.clearance import size_classes, wrapped
from pdem.particles.fill_limits import require_volume
from pdem.particles.filling import does_not_fit
from pdem.particles.shaking import shaken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.particles.filling import FillGroup, FillRequest, PlacedGroup, Surroundings
    from pdem.particles.sphere_table import SphereTable

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

PROGRESS_AFTER = 5.0
"""Seconds after which a fill shows how far it is."""

LEAST_CANDIDATES, CANDIDATES_EACH = 2_000_000, 100
"""A class of sizes is tried at so many places at most, or so many times its number, before it is shaken."""

LEAST_WORK, WORK_EACH = 10_000_000, 100
"""Places tried and moves at most while a class is shaken, or so many times the number of all particles; seconds."""

MOST_ROUNDS = 600
"""How often a class is shaken at most: of a few particles a round is little work, and takes its time all the same."""

WALL_WORK = 14
"""What a test against walls costs, in places tried."""

_PLACE_STREAM = 64
_CANDIDATES_AT_ONCE = 4096


def fill_randomly(
    groups: list[FillGroup], taken: list[PlacedGroup], surroundings: Surroundings, *, progress: bool = False
) -> None:
    """Place the particles of all random fills together, the largest first.

    Parameters
    ----------
    groups : list of FillGroup
        Those to be placed; their positions are written.
    taken : list of PlacedGroup
        Those that have their places already.
    surroundings : Surroundings
        The domain, and what else is to be avoided.
    progress : bool
        Show how far it is on standard error, once it has lasted some seconds.

    Raises
    ------
    CaseError
        At once where particles have more volume than could find a place, see `pdem.particles.fill_limits`; later if
        some have found none, with the number that did.
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
        _Filling(groups, taken, surroundings, bar).fill()


class _Filling:
    """Particles of random fills on their way to their places.

    Attributes
    ----------
    radii : (n,) array
        Of all of them [m].
    owners, rows : (n,) int arrays
        Number of the group of each, and its row there.
    slots : (n,) int array
        Its number in the table of spheres, -1 without a place.
    work : int
        Places tried, moves, and tests against walls since shaking began.
    """

    def __init__(
        self, groups: list[FillGroup], taken: list[PlacedGroup], surroundings: Surroundings, bar: Any
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
        self.table = _sphere_table(self.domain, self.radii, taken)
        self.work = 0

    def fill(self) -> None:
        """Place all, class of sizes by class of sizes."""
        for members in size_classes(self.radii):
            pending = members[np.argsort(-self.radii[members], kind="stable")]
            pending, first = self._try(pending)
            if len(pending):
                self._shake(pending, first)

    def _try(self, pending: Indices) -> tuple[Indices, int]:
        """Try places for spheres; return those that found none, and the number of their next attempt."""
        first, candidates = 0, 0
        most = max(LEAST_CANDIDATES, CANDIDATES_EACH * len(pending))
        attempts = min(self._request(number).fill.attempts for number in np.unique(self.owners[pending]))
        while len(pending) and first < attempts and candidates < most:
            # Several attempts at once keep a few stubborn particles from costing many small passes.
            at_once = max(1, _CANDIDATES_AT_ONCE // len(pending))
            candidates += at_once * len(pending)
            pending = self._attempt(pending, first, at_once)
            first += at_once
        return pending, first

    def _shake(self, pending: Indices, first: int) -> None:
        """Shake those that have a place and try the others again, until all have one.

        Raises
        ------
        CaseError
            If some find none.
        """
        most = max(LEAST_WORK, WORK_EACH * len(self.radii))
        number, self.work = 0, 0
        placed = np.flatnonzero(self.slots >= 0)
        while len(pending) and len(placed) and self.work < most and number < MOST_ROUNDS:
            shaken(self, placed, number)
            at_once = max(1, max(_CANDIDATES_AT_ONCE, 2 * len(placed)) // len(pending))
            pending = self._attempt(pending, first, at_once)
            placed = np.flatnonzero(self.slots >= 0)
            number, first = number + 1, first + at_once
            self.work += len(placed) + at_once * len(pending)
        if not len(pending):
            return
        one = self.groups[self.owners[pending[0]]]
        raise does_not_fit(one.request, int(np.isfinite(one.position[:, 0]).sum()), len(one.radius))

    def _attempt(self, pending: Indices, first: int, number: int) -> Indices:
        """Try so many places of each sphere; return those that found none."""
        attempts = np.arange(first, first + number)
        which = np.tile(np.arange(len(pending)), number)
        attempt, tried = np.repeat(attempts, len(pending)), pending[which]
        places, allowed = self._candidates(tried, attempt)
        before = self.table.count
        winners = self.table.place(places, self.radii[tried], allowed, which)
        won = np.flatnonzero(winners >= 0)
        self.slots[pending[won[np.argsort(winners[won])]]] = before + np.arange(len(won))
        self.settle(pending[won], places[winners[won]])
        self._bar.update(len(won))
        return pending[winners < 0]

    def settle(self, spheres: Indices, places: Floats) -> None:
        """Write places (k, 3) of some spheres into their groups [m]."""
        for number, one in enumerate(self.groups):
            mine = self.owners[spheres] == number
            one.position[self.rows[spheres[mine]]] = places[mine]

    def free(self, spheres: Indices, places: Floats) -> Booleans:
        """Return which spheres would be inside their regions and clear of walls at places (k, 3) [m]."""
        allowed = np.zeros(len(spheres), np.bool_)
        self.work += WALL_WORK * len(spheres)
        for number in range(len(self.groups)):
            mine = self.owners[spheres] == number
            if mine.any():
                radii = self.radii[spheres[mine]]
                allowed[mine] = self.surroundings.free(self._request(number), places[mine], radii)
        return allowed

    def _request(self, number: int) -> FillRequest:
        return self.groups[number].request

    def _candidates(self, tried: Indices, attempt: Indices) -> tuple[Floats, Booleans]:
        """Return one place for each sphere, shape (n, 3), and whether it may be there."""
        places = np.zeros((len(tried), 3))
        for number, one in enumerate(self.groups):
            mine = np.flatnonzero(self.owners[tried] == number)
            if len(mine):
                rows = self.rows[tried[mine]]
                places[mine] = _drawn(
                    self.domain, self._request(number), one.ids[rows], one.radius[rows], attempt[mine]
                )
        allowed = self.table.clear(
            places, self.radii[tried]
        )  # cheaper than walls, and mostly what is in the way
        allowed[allowed] = self.free(tried[allowed], places[allowed])
        return places, allowed


def _drawn(
    domain: regions.Domain, request: FillRequest, ids: Indices, radii: Floats, attempt: Indices
) -> Floats:
    """Return a random place (n, 3) in the box around a region for each of some spheres [m]."""
    free = regions.open_axes(request.region, domain)
    free[domain.dimension :] = True
    inset = np.where(free, 0.0, radii[:, None])
    lower, upper = regions.bounds(request.region)
    low, high = lower + inset, np.maximum(lower + inset, upper - inset)
    uniform = keyed_vectors(request.fill.seed, _PLACE_STREAM + 3 * attempt, ids)
    if domain.dimension == 2:
        uniform[:, 2] = 0.5
    return wrapped(low + uniform * (high - low), domain)


def _sphere_table(domain: regions.Domain, radii: Floats, taken: list[PlacedGroup]) -> SphereTable:
    from pdem.particles.sphere_table import SphereTable  # late: it brings the compiler

    sizes = np.concatenate([radii, *(one.radius for one in taken)])
    lower, upper = np.asarray(domain.lower), np.asarray(domain.upper)
    periodic = np.asarray(domain.periodic)
    table = SphereTable(len(sizes), sizes.min(), sizes.max(), lower, upper, periodic)
    for one in taken:
        table.add(wrapped(one.position, domain), one.radius)
    return table
