"""Random positions without overlap for the particles of ``fill`` groups.

First, random sequential addition: random positions are tried for each particle, the largest first; clusters get a new
random orientation for each position. It ends far below the density of a fluid of hard particles. Then Monte Carlo
sweeps (`pdem.particles.packings.monte_carlo`) move the placed particles, and between sweeps the pending particles are
tried again. Limits are numbers of attempts and candidates, never the time: success and positions are the same on any
machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pdem.containers.exchange import Alone
from pdem.containers.group import on_each_rank, route_in_one
from pdem.foundation.terminal import ERRORS
from pdem.particles.clearance import octaves
from pdem.particles.fill_limits import require_volume
from pdem.particles.filling import unplaced_error
from pdem.particles.packings.monte_carlo import monte_carlo_sweep
from pdem.particles.particle_spheres import SINGLE, ParticleShapes
from pdem.particles.random_places import random_places
from pdem.particles.regions import wrap_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.foundation.array_types import Booleans, Integers
    from pdem.foundation.errors import CaseError
    from pdem.particles.filling import FillGroup, FillRequest, PlacedGroup, Surroundings
    from pdem.particles.particle_spheres import SphereGroups
    from pdem.particles.sphere_places import SpherePlaces

    Columns = dict[str, NDArray[Any]]

PROGRESS_AFTER = 5.0
"""Time after which a fill shows its progress [s]."""

MIN_CANDIDATES, CANDIDATES_PER_SPHERE = 2_000_000, 100
"""Largest number of positions tried for a size class before sweeps: the larger of a total and a number per sphere."""

MIN_WORK, WORK_PER_SPHERE = 10_000_000, 100
"""Largest number of positions and moves in the sweeps of a size class, in total or per sphere; some seconds."""

MAX_SWEEPS_OF_CLASS = 600
"""Largest number of sweeps of a class: with few particles a sweep is little work, but still takes time."""

WALL_WORK = 14
"""Work of a test against walls, over the work of a position."""

_CANDIDATES_AT_ONCE = 4096
_SAMPLES = 16384  # approximate number of a rank's particles that determine the division of space


def fill_randomly(
    groups: list[FillGroup],
    placed: list[PlacedGroup],
    surroundings: Surroundings,
    *,
    progress: bool = False,
    over: Exchange | None = None,
) -> None:
    """Place the particles of all random fills together, the largest first. Collective.

    Positions depend only on the whole groups, not on their distribution over ranks. Space is divided again for the
    fills.

    Parameters
    ----------
    groups : list of FillGroup
        This rank's part of each group to be placed; positions are written.
    placed : list of PlacedGroup
        Parts of groups that are placed already.
    surroundings : Surroundings
        The domain and the walls.
    progress : bool
        Show the progress on the standard error of rank 0, if it takes some seconds.
    over : Exchange, optional
        The ranks that place the particles together; by default this process alone.

    Raises
    ------
    CaseError
        On all ranks: before placement, if particles have too much volume, see `pdem.particles.fill_limits`; later, if
        some cannot be placed, with the number of placed ones.
    MeshError
        On all ranks, if a wall cannot be read.
    """
    over = Alone() if over is None else over
    count = int(over.add(np.array([sum(len(one.radius) for one in groups)]))[0])
    if not count:
        return
    for one in groups:
        require_volume(one.request, one.radius, surroundings, over)
    on_each_rank(over, lambda: surroundings.read_walls([one.request for one in groups]))
    with tqdm(
        total=count,
        desc="placing particles",
        delay=PROGRESS_AFTER,
        disable=not progress or over.rank > 0,
        leave=False,
        unit="",
        file=ERRORS,
    ) as bar:
        _Filling(groups, placed, surroundings, bar, over).fill()


class _Filling:
    """Particles of all random fills during placement; each rank has its parts of the groups.

    A rank draws positions for its particles, and the ranks with the parts of space that they touch test them. Particles
    are numbered consecutively: one group after the other, each in the order of ids.

    Attributes
    ----------
    particles : columns
        Columns of this rank's particles: ``number``; ``radius``, the largest distance of each surface from its centre
        [m]; ``position`` [m], NaN for pending particles; with clusters also ``shape`` and ``orientation``, see
        `ParticleShapes`.
    is_placed : (n,) array of bool
        Whether each particle is placed.
    places : SpherePlaces
        The placed particles of all ranks.
    """

    def __init__(
        self, groups: list[FillGroup], placed: list[PlacedGroup], surroundings: Surroundings, bar: Any, over: Exchange
    ) -> None:
        self.domain, self._groups, self._surroundings = surroundings.domain, groups, surroundings
        self._bar, self._over = bar, over
        counts = np.array([len(one.radius) for one in groups])
        begins = [over.before(count) for count in counts.tolist()]
        totals = over.add(counts)
        self._begins, self._total = np.cumsum(totals) - totals, int(totals.sum())
        firsts = [one.first_id - begin if len(one.radius) else -1 for one, begin in zip(groups, begins, strict=True)]
        self._first_ids = over.largest(np.array(firsts, np.int64))
        numbers = np.concatenate([np.arange(count) for count in counts])
        numbers += np.repeat(self._begins + begins, counts)
        kinds = {one.shape: None for one in (*groups, *placed) if one.shape is not None}
        self._shapes, self._kinds = ParticleShapes(kinds), list(kinds)
        self.particles = {"number": numbers, **self._columns(groups)}
        self.particles["position"] = np.full((len(numbers), 3), np.nan)
        self.is_placed = np.zeros(len(numbers), np.bool_)
        self._work = self._tested = 0
        self.places = self._prepared(placed)

    def _columns(self, groups: Sequence[PlacedGroup]) -> Columns:
        """Return radius, position, and with clusters shape and orientation of this rank's particles of some groups."""
        columns: Columns = {
            "radius": np.concatenate([np.zeros(0), *(one.radius for one in groups)]),
            "position": np.concatenate([np.zeros((0, 3)), *(one.position for one in groups)]),
        }
        if self._kinds:
            kind = [SINGLE if one.shape is None else self._kinds.index(one.shape) for one in groups]
            columns["shape"] = np.repeat(np.array(kind, np.int64), [len(one.radius) for one in groups])
            turns = [one.orientation if len(one.orientation) else np.zeros((len(one.radius), 4)) for one in groups]
            columns["orientation"] = np.concatenate([np.zeros((0, 4)), *turns])
        return columns

    def _prepared(self, placed: list[PlacedGroup]) -> SpherePlaces:
        """Divide space among the ranks, and return a `SpherePlaces` that contains the particles of placed groups."""
        from pdem.particles.sphere_places import SpherePlaces  # needs the compiler

        radius, (low, high) = self.particles["radius"], self._shapes.limits(self.particles)
        ends = np.array([radius.max(initial=0.0), high.max(initial=0.0), -low.min(initial=np.inf)])
        self._largest, largest, smallest = np.abs(self._over.largest(ends)).tolist()
        fixed = self._columns(placed)
        fixed["position"] = wrap_positions(fixed["position"], self.domain)
        fixed["number"] = np.full(len(fixed["radius"]), -1)
        every = max(1, self._total // (_SAMPLES * self._over.size))
        sample = {name: column[::every] for name, column in self.particles.items()}
        tried, inside = self._tries({**sample, "turn": np.zeros(len(sample["number"]), np.int64)})
        self._over.divide(np.concatenate((tried["position"][inside], fixed["position"][::every])))
        share = -(-self._total // self._over.size)
        places = SpherePlaces(self.domain, self._shapes, (smallest, largest), share, self._over)
        places.fix(fixed)
        return places

    def fill(self) -> None:
        """Place all particles, one class of sizes after the other."""
        radius = self.particles["radius"]
        octave = octaves(radius, self._largest)
        highest = int(self._over.largest(np.array([octave.max(initial=0)]))[0])
        for number in range(highest + 1):
            members = np.flatnonzero(octave == number)
            self._pending = members[np.argsort(-radius[members], kind="stable")]
            self._count()
            first = self._add_sequentially()
            if self._pending_count:
                self._add_between_sweeps(first)
        begin = 0
        for one in self._groups:
            mine = slice(begin, begin + len(one.radius))
            one.position[:] = self.particles["position"][mine]
            if one.shape is not None:
                one.orientation = self.particles["orientation"][mine].copy()
            begin += len(one.radius)

    def _count(self) -> None:
        """Count the pending and placed spheres of all ranks, and sum the work of tests against walls."""
        counts = self._over.add(np.array([len(self._pending), self.is_placed.sum(), self._tested]))
        self._bar.update(int(counts[1]) - self._bar.n)
        self._pending_count, self._placed_count = int(counts[0]), int(counts[1])
        self._work += WALL_WORK * int(counts[2])
        self._tested = 0

    def _add_sequentially(self) -> int:
        """Try random positions for the pending spheres; return the number of their next attempt."""
        first, candidates = 0, 0
        most = max(MIN_CANDIDATES, CANDIDATES_PER_SPHERE * self._pending_count)
        attempts = self._fewest_attempts()
        while self._pending_count and first < attempts and candidates < most:
            # several attempts together: otherwise the last few particles would need many small passes
            at_once = max(1, _CANDIDATES_AT_ONCE // self._pending_count)
            candidates += at_once * self._pending_count
            self._attempt(first, at_once)
            first += at_once
        return first

    def _fewest_attempts(self) -> int:
        """Return the smallest number of attempts allowed for any group with pending spheres, 0 without any."""
        which = self._groups_of(self.particles["number"][self._pending])
        counts = self._over.add(np.bincount(which, minlength=len(self._groups)))
        return min((self._groups[number].request.fill.attempts for number in np.flatnonzero(counts)), default=0)

    def _add_between_sweeps(self, first: int) -> None:
        """Move placed spheres by Monte Carlo sweeps and try the pending ones again, until all are placed.

        Raises
        ------
        CaseError
            On all ranks, if some cannot be placed.
        """
        most = max(MIN_WORK, WORK_PER_SPHERE * self._total)
        number, self._work = 0, 0
        while self._pending_count and self._placed_count and self._work < most and number < MAX_SWEEPS_OF_CLASS:
            monte_carlo_sweep(self, number)
            at_once = max(1, max(_CANDIDATES_AT_ONCE, 2 * self._placed_count) // self._pending_count)
            self._attempt(first, at_once)
            number, first = number + 1, first + at_once
            self._work += self._placed_count + at_once * self._pending_count
        if self._pending_count:
            raise self._unplaced()

    def _unplaced(self) -> CaseError:
        """Return the error for the group of the first sphere that is pending on any rank."""
        radius, numbers = (self.particles[name][self._pending] for name in ("radius", "number"))
        largest = float(self._over.largest(np.array([radius.max(initial=0.0)]))[0])
        numbers = numbers[radius == largest]
        first = -self._over.largest(-np.array([numbers.min(initial=self._total)]))
        which = int(self._groups_of(first)[0])
        mine = self._groups_of(self.particles["number"]) == which
        counts = self._over.add(np.array([(self.is_placed & mine).sum(), mine.sum()]))
        return unplaced_error(self._groups[which].request, int(counts[0]), int(counts[1]))

    def _attempt(self, first: int, number: int) -> None:
        """Try `number` random positions of each pending sphere.

        Few positions are tried in the first pass, and twice as many in each further pass, because most particles are
        placed in an early pass.
        """
        at_once, last = max(1, _CANDIDATES_AT_ONCE // self._pending_count), first + number
        while self._pending_count and first < last:
            now = min(at_once, last - first)
            self._attempt_at_once(first, now)
            first, at_once = first + now, 2 * at_once

    def _attempt_at_once(self, first: int, number: int) -> None:
        candidates = self._free_candidates(first, number)
        row = candidates.pop("row")
        won = self.places.place(candidates)
        rows = self._pending[row[won]]
        for name in ("position", "orientation"):
            if name in candidates:
                self.particles[name][rows] = candidates[name][won]
        self.is_placed[rows] = True
        self._pending = self._pending[~self.is_placed[self._pending]]
        self._count()

    def _free_candidates(self, first: int, number: int) -> Columns:
        """Return free random positions of this rank's pending particles; rows of a particle are sorted by attempt."""
        tried, free = self._tries(self._tried(first, number))
        # The cheaper tests, which reject most positions, come before the test against walls.
        for test in (self.places.clear, self.free):
            some = np.flatnonzero(free)
            free[some] = test({name: tried[name][some] for name in self.particles})
        found = {name: column[free] for name, column in tried.items()}
        rank = found.pop("rank")
        if number == 1:
            return found
        found = route_in_one(self._over, found, rank)
        order = np.lexsort((found["turn"], found["row"]))
        return {name: column[order] for name, column in found.items()}

    def _tried(self, first: int, number: int) -> Columns:
        """Return the particles and attempts for this rank; several attempts are divided among the ranks."""
        size, rows = self._over.size, np.arange(len(self._pending))
        names = [name for name in ("number", "radius", "shape") if name in self.particles]
        columns: Columns = {"row": rows, **{name: self.particles[name][self._pending] for name in names}}
        columns["rank"], columns["turn"] = np.full(len(rows), self._over.rank), np.full(len(rows), first)
        if number == 1:
            return columns
        ranks = min(size, number)
        part = np.tile(np.arange(ranks), len(rows))
        columns = {name: np.repeat(column, ranks) for name, column in columns.items()}
        columns["turn"] += part
        columns = route_in_one(self._over, columns, (self._over.rank + part) % size)
        attempts = (first + number - columns["turn"] + ranks - 1) // ranks
        again = np.arange(attempts.sum()) - np.repeat(np.cumsum(attempts) - attempts, attempts)
        columns = {name: np.repeat(column, attempts) for name, column in columns.items()}
        columns["turn"] += ranks * again
        return columns

    def _groups_of(self, numbers: Integers) -> Integers:
        return np.searchsorted(self._begins, numbers, side="right") - 1

    def by_group(self, numbers: Integers) -> Iterator[tuple[FillRequest, Integers, Integers | slice]]:
        """Yield each group's request, with the ids of its particles among these, and a mask of them."""
        which = self._groups_of(numbers)
        for group, one in enumerate(self._groups):
            belongs = which == group
            if belongs.any():
                mine = slice(None) if belongs.all() else np.flatnonzero(belongs)
                yield one.request, numbers[mine] - self._begins[group] + self._first_ids[group], mine

    def _tries(self, columns: Columns) -> tuple[Columns, Booleans]:
        """Return particles with random positions [m] and orientations for each attempt, and which are inside."""
        count = len(columns["number"])
        tried = {**columns, "position": np.zeros((count, 3))}
        if self._kinds:
            tried["orientation"] = np.zeros((count, 4))
        inside = np.zeros(count, np.bool_)
        for request, ids, mine in self.by_group(columns["number"]):
            turn = columns["turn"][mine]
            if self._kinds:
                tried["orientation"][mine] = request.oriented(ids, turn)
            spheres = self._spheres(tried, mine)
            keys = request.fill.seed, ids, spheres.extents(), turn
            own = wrap_positions(random_places(request.region, self.domain, *keys), self.domain)
            tried["position"][mine] = own
            inside[mine] = self._surroundings.inside(request, spheres.about(own))
        return tried, inside

    def _spheres(self, particles: Columns, some: Integers | slice) -> SphereGroups:
        """Return the spheres of some of the particles."""
        names = [name for name in self.particles if name != "number"]
        return self._shapes.spheres({name: particles[name][some] for name in names})

    def free(self, particles: Columns) -> Booleans:
        """Return which particles would be inside their regions and clear of walls at their positions."""
        free = np.zeros(len(particles["number"]), np.bool_)
        self._tested += len(free)
        for request, _, mine in self.by_group(particles["number"]):
            free[mine] = self._surroundings.free(request, self._spheres(particles, mine))
        return free
