"""Particles that are inserted while a case runs.

An insertion acts at events, steps that follow from the case alone. At an event the first rank proposes random
positions, every rank checks them against its particles, and the first rank chooses the first free position of each
particle, in the order of numbers. Inserted particles therefore depend on the state, never on ownership or on lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.engine.population import insert_particles
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.engine.warn_once import warn_once
from pdem.features.insertions.free_places import SpheresNear, clear_of_walls, own_particles_near
from pdem.features.insertions.source import MOST_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.features.insertions.source import InsertionSource, InsertionState
    from pdem.foundation.array_types import Booleans, Floats, Integers

    Columns = dict[str, NDArray[Any]]

PLACES_AT_ONCE = 4096
"""Positions that are proposed in one round of an event, if fewer particles are tried."""


def act_insertions(system: System, sources: Sequence[InsertionSource], phases: Phases) -> None:
    """Insert the particles that are due at the present step. Collective, with up-to-date columns of particles."""
    due = [one for one in sources if one.next_step <= system.progress.step]
    taken = _taken(system, due) if system.exchange.rank == 0 else None
    columns = [_let_in(system, one, taken) for one in due]
    for one in due:
        _warn_of_waiting(system, one)
    joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    phases.lap("insert")
    if len(joined["radius"]):
        _, contacts = insert_particles(system, joined)
        migrate_and_rebuild_lists(system, contacts, phases)


def _taken(system: System, due: Sequence[InsertionSource]) -> SpheresNear:
    """Return a table for the positions that are occupied at this event."""
    smallest, largest = min(one.limits[0] for one in due), max(one.limits[1] for one in due)
    room = sum(min(MOST_AT_ONCE, one.most_at_once() + len(one.state.skipped)) for one in due)
    return SpheresNear(system, room, smallest, largest)


class _Done(NamedTuple):
    """Results of an event: columns of the new particles, and the state of the insertion."""

    columns: Columns
    state: InsertionState


def _let_in(system: System, source: InsertionSource, taken: SpheresNear | None) -> Columns:
    """Return the columns of the particles that an insertion adds now, the same on every rank. Collective."""
    exchange = system.exchange
    own = own_particles_near(system, source.inlet.bounds, source.reach * source.sizes.largest)
    event = None if taken is None else _Event(system, source, taken)
    while True:
        step = exchange.share(None if event is None else event.next())
        if isinstance(step, _Done):
            source.state = step.state
            return step.columns
        is_free = np.ones(len(step["radius"]), np.bool_)
        if own is not None:
            is_free = own.clear(source.shapes.spheres(step) if event is None else event.spheres)
        blocked = exchange.largest((~is_free).astype(np.int64))
        if event is not None:
            event.take(blocked == 0)


class _Event:
    """An event of an insertion, on the first rank.

    Attributes
    ----------
    pending : (n,) int64 array
        Rows of the candidates without a position.
    spheres : SphereGroups
        Spheres of the particles that `next` has returned.
    """

    def __init__(self, system: System, source: InsertionSource, taken: SpheresNear) -> None:
        self._system, self._source, self._taken = system, source, taken
        source.ask(system.progress.step)
        self._numbers = source.candidates()
        self._radii = source.radii(self._numbers)
        self._reaches = source.reach * self._radii
        some = source.turns(self._numbers[:0], self._numbers[:0])
        self._columns = {name: np.zeros((len(self._numbers), *one.shape[1:]), one.dtype) for name, one in some.items()}
        self._columns["position"] = np.full((len(self._numbers), 3), np.nan)
        self.pending = np.arange(len(self._numbers))
        self._tried, self._hopeless = 0, False

    def next(self) -> Columns | _Done:
        """Return particles at the next positions to be checked, or the result if there are none."""
        left = self._source.attempts - self._tried
        if not len(self.pending) or left <= 0 or self._hopeless:
            return self._result()
        at_once = min(left, max(1, PLACES_AT_ONCE // len(self.pending)))
        first = self._source.state.events * self._source.attempts + self._tried
        self._tried += at_once
        # the first attempt of all particles, then the second: each particle gets its first free position
        self._owner = np.tile(np.arange(len(self.pending)), at_once)
        rows = self.pending[self._owner]
        attempt = np.repeat(np.arange(first, first + at_once), len(self.pending))
        self._propose(self._numbers[rows], self._reaches[rows], attempt)
        return self._places

    def _propose(self, numbers: Integers, reaches: Floats, attempt: Integers) -> None:
        """Find the positions of some attempts that are inside, and clear of particles inserted at this event."""
        source = self._source
        tried = {"radius": reaches, **source.turns(numbers, attempt), "position": np.zeros((len(numbers), 3))}
        spheres = source.shapes.spheres(tried)
        tried["position"], allowed = source.inlet.places(source.seed, numbers, spheres, attempt)
        some = np.flatnonzero(allowed)
        tried = {name: column[some] for name, column in tried.items()}
        there = spheres.of(some).about(tried["position"])
        clear = self._taken.clear(there)
        self._owner, self.spheres = self._owner[some[clear]], there.of(np.flatnonzero(clear))
        self._places = {name: column[clear] for name, column in tried.items()}

    def take(self, free: Booleans) -> None:
        """Choose the first free position of each candidate; `free` marks positions clear of particles."""
        rows = np.flatnonzero(free)
        free[rows] = clear_of_walls(self._system, self.spheres.of(rows))
        won = self._taken.take(self.spheres, free, self._owner)
        won = np.concatenate((won, np.full(len(self.pending) - len(won), -1)))
        found = np.flatnonzero(won >= 0)
        for name, column in self._columns.items():
            column[self.pending[found]] = self._places[name][won[found]]
        self._hopeless = not len(found) and len(free) >= PLACES_AT_ONCE // 2
        self.pending = self.pending[won < 0]

    def _result(self) -> _Done:
        source, state = self._source, self._source.state
        came = np.isfinite(self._columns["position"][:, 0])
        numbers, radius = self._numbers[came], self._radii[came]
        state.tried += len(self._numbers) - len(state.skipped)
        state.skipped = self._numbers[~came]
        state.came += len(numbers)
        state.mass.add("mass", source.masses(radius))
        state.last, state.events = self._system.progress.step, state.events + 1
        columns = {
            **{name: column[came] for name, column in self._columns.items()}, "radius": self._reaches[came],
            "material": np.full(len(numbers), source.material, np.int32),
            "velocity": source.velocities(numbers), "angular_velocity": source.angular_velocities(numbers),
            **source.values(radius),
        }  # fmt: skip
        return _Done(columns, state)


def _warn_of_waiting(system: System, source: InsertionSource) -> None:
    """Warn once, on the first rank, when more particles of a rate wait than two events ask for."""
    state = source.state
    late, kind = state.waiting, f"insertion {source.name} waits"
    usual = state.asked / max(state.events - 1, 1)
    if not source.has_rate or late <= 2.0 + 2.0 * usual:
        return
    text = (
        f"insertion {source.name}: {late} of {state.asked} particles asked for until {system.progress.time:.6g} s have "
        "found no free place; they wait and are tried again. Lower the rate, raise the speed, or widen the region or "
        "face"
    )
    warn_once(system, kind, text)
