"""One insertion of a case: its demand, and its state so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.group_sizes import insertion_sizes, mean_room, reach_of, sphere_limits
from pdem.case.groups.group_values import values_of_group
from pdem.case.groups.initial_clusters import orientations
from pdem.case.groups.inlets import face_of, inlet_of, interval_of, mean_velocity, rate_of
from pdem.case.groups.shapes import shapes_of
from pdem.engine.named_events import NEVER, name_key
from pdem.motion.courses import Clock
from pdem.numerics.random import keyed_bits, keyed_uniform, keyed_vectors
from pdem.numerics.sums import ExactSums
from pdem.particles.particle_spheres import SINGLE, ParticleShapes
from pdem.particles.perturbed_radii import radius_factors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.features.insertions.section import Insertion
    from pdem.foundation.array_types import Floats, Integers

MOST_AT_ONCE = 200_000
"""Largest number of particles that are tried at one event."""

FILLED = 0.7
"""Fraction of the volume of an inlet up to which particles are tried at one event."""

_SPARE = 16
_DRAWN_AT_ONCE = 65536
_RADIUS_STREAM, _VELOCITY_STREAM, _NAME_STREAM = 0, 16, 48


def _limits(case: Case, insertion: Insertion) -> tuple[float, float]:
    """Return the smallest and the largest radius [m] of the spheres of an insertion."""
    limits = sphere_limits(case, insertion)
    assert limits is not None, "a checked insertion has a radius or a shape"
    return limits


def _no_numbers() -> Integers:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class InsertionState:
    """State of an insertion.

    Particles are numbered from 0 in the order in which they are requested.

    Attributes
    ----------
    begin : float
        Time from which it counts [s].
    last : int
        Step of its last event, -1 before the first.
    events : int
        Number of events.
    demand : float
        Amount requested by the rate, in kg or particles.
    asked : int
        Number of requested particles: the demand has reached their mass.
    asked_mass : float
        Mass of requested particles [kg].
    tried : int
        Number of particles for which positions have been tried.
    skipped : (n,) int64 array
        Numbers of particles without a free position so far, rising.
    came : int
        Number of inserted particles.
    mass : ExactSums
        Mass of inserted particles [kg], under the name ``mass``.
    complete, stopped : bool
        Whether no more particles will be requested; whether a script has stopped it.
    """

    begin: float
    last: int = -1
    events: int = 0
    demand: float = 0.0
    asked: int = 0
    asked_mass: float = 0.0
    tried: int = 0
    skipped: Integers = field(default_factory=_no_numbers)
    came: int = 0
    mass: ExactSums = field(default_factory=lambda: ExactSums(("mass",)))
    complete: bool = False
    stopped: bool = False

    @property
    def waiting(self) -> int:
        """Number of requested particles that have not been inserted yet."""
        return len(self.skipped) + self.asked - self.tried


class InsertionSource:
    """One insertion of a case, and its state.

    Parameters
    ----------
    case : Case
        The case.
    index : int
        Number of the insertion.
    step : float
        Time step [s].
    clocks : mapping of str to Clock, optional
        Clocks of the stages; times of the insertion may count from one of them.

    Raises
    ------
    CaseError
        If a file that it names cannot be used, or its face is no plane.
    """

    def __init__(self, case: Case, index: int, step: float, clocks: Mapping[str, Clock] | None = None) -> None:
        insertion, self._case = case.insertions[index], case
        self.stage = insertion.stage
        self.follow(clocks or {})
        density = case.materials[insertion.material].density
        assert density is not None, "a checked case has densities of all materials of particles"
        self.name, self.key = insertion.name, name_key(insertion.name)
        self.material = case.material_index(insertion.material)
        self.attempts, self.sizes = insertion.attempts, insertion_sizes(case, insertion)
        shapes = shapes_of(case)
        self.reach, self._names = reach_of(case, insertion), list(shapes)
        self.shapes, self.limits = ParticleShapes(shapes.values()), _limits(case, insertion)
        self.room = mean_room(case, insertion, self.sizes)
        self.mean_mass = 4.0 / 3.0 * math.pi * density * self.sizes.mean_cube
        self._density, self._dimension, self._step = density, case.domain.dimension, step
        self._insertion, self._rate, self._perturbation = (insertion, rate_of(case, insertion), case.perturbation)
        face = face_of(case, index)
        self._velocity = mean_velocity(insertion, face)
        self.interval = max(1, round(interval_of(case, insertion, face) / step))
        self.inlet = inlet_of(case, insertion, face, self.interval * step)
        own = keyed_bits(insertion.seed, _NAME_STREAM, np.array([self.key]))
        self.seed = int(own.view(np.int64)[0])
        self.state = InsertionState(insertion.start)

    def follow(self, clocks: Mapping[str, Clock]) -> None:
        """Use the clock of its stage, if it has one."""
        self._clock = Clock(0.0) if self.stage is None else clocks[self.stage]

    @property
    def has_rate(self) -> bool:
        """Whether particles are requested by a rate."""
        return self._rate is not None

    @property
    def next_step(self) -> int:
        """Step of the next event, `NEVER` if there is none. The last event of a rate is at its end."""
        state = self.state
        if state.stopped or not self._clock.runs or (state.complete and not state.waiting):
            return NEVER
        if state.last < 0:
            return round(state.begin / self._step)
        usual = state.last + self.interval
        return usual if state.complete else min(usual, self._last_step)

    @property
    def _last_step(self) -> int:
        """Step at which its rate has requested its total amount, `NEVER` without a limit."""
        end = self._insertion.end
        return NEVER if end is None else round((self._clock.begin + end) / self._step)

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """Names, units and types of its columns in the series."""
        kinds = ("count", "1", "i8"), ("mass", "kg", "f8"), ("waiting", "1", "i8")
        return [(f"{self.name}_{name}", unit, kind) for name, unit, kind in kinds]

    def report(self) -> dict[str, float]:
        """Return the present values of these columns: number and mass of inserted particles, and number waiting."""
        state = self.state
        values = state.came, state.mass.values()["mass"], state.waiting
        return dict(zip((name for name, *_ in self.columns), values, strict=True))

    def begin_at(self, step: int) -> None:
        """Begin at a step that is later than its start: its stage begins, or it is new in a continued case."""
        self.state = InsertionState(max(self._clock.begin + self._insertion.start, step * self._step))

    def radii(self, numbers: Integers) -> Floats:
        """Return the radii of particles by number [m]."""
        radii = self.sizes.radii(keyed_uniform(self.seed, _RADIUS_STREAM, numbers))
        if self._perturbation is None:
            return radii
        return radii * radius_factors(self._perturbation.size, self._perturbation.seed, numbers, self.key)

    def masses(self, radii: Floats) -> Floats:
        """Return the masses of particles of some radii [kg]."""
        return self._density * (4.0 / 3.0 * math.pi) * (radii * radii * radii)

    def values(self, radii: Floats) -> dict[str, Floats]:
        """Return further fields of particles of these radii, see `pdem.case.groups.group_values`."""
        return values_of_group(self._case, self._insertion, radii)

    def velocities(self, numbers: Integers) -> Floats:
        """Return the velocities of particles by number (n, 3) [m/s]."""
        uniform = keyed_vectors(self.seed, _VELOCITY_STREAM, numbers)
        velocity = self._velocity + self._insertion.spread * (2.0 * uniform - 1.0)
        velocity[:, self._dimension :] = 0.0
        return velocity

    def angular_velocities(self, numbers: Integers) -> Floats:
        """Return the angular velocities of particles by number (n, 3) [rad/s]."""
        return np.tile(self._insertion.angular_velocity, (len(numbers), 1))

    def turns(self, numbers: Integers, attempt: Integers) -> dict[str, NDArray[Any]]:
        """Return shapes and orientations of particles by number and attempt; nothing if the case has no shapes."""
        if not self._names:
            return {}
        name = self._insertion.shape
        shape = SINGLE if name is None else self._names.index(name)
        orientation = orientations(self._insertion, self.seed, numbers, attempt, self._dimension)
        return {"shape": np.full(len(numbers), shape), "orientation": orientation}

    def ask(self, step: int) -> None:
        """Request the particles that are due at a step: draw sizes until they reach the demand.

        A particle is due when the demand is beyond the middle of its mass, or of its number, so that the requested
        amount never differs from the demand by more than half a particle.
        """
        state, insertion = self.state, self._insertion
        state.demand = self.due(step)
        most = math.floor(state.demand + 0.5) if insertion.count_rate is not None else math.inf
        limit = state.demand if insertion.mass_rate is not None else math.inf
        self._draw(min(insertion.count or math.inf, most), min(insertion.mass or math.inf, limit))
        state.complete = self._is_complete(step)

    def due(self, step: int) -> float:
        """Return the amount that its rate requests from its last event until a step, in kg or particles."""
        state, since = self.state, self._clock.since
        if self._rate is None or state.complete or not self._clock.runs:
            return state.demand
        then = max(state.begin, state.last * self._step)
        end = self._clock.begin + (self._insertion.end or 0.0)
        now = step * self._step if step < self._last_step else end
        return state.demand + self._rate.integral(since(then), since(max(then, now)))

    def go_on(self, step: int, due: float | None) -> None:
        """Continue from a loaded state at a step; `due` is the amount that was due then, None if unknown.

        In a changed case a new rate holds from this step on, and a complete insertion may become incomplete.
        """
        state = self.state
        if state.last < 0:
            return
        state.complete = self._is_complete(state.last)
        if due is not None and due != self.due(step):
            state.demand, state.begin = due, step * self._step

    def _is_complete(self, step: int) -> bool:
        """Return whether no more particles are requested after an event at a step."""
        if self._rate is None or step >= self._last_step:
            return True
        return self.state.asked >= (self._insertion.count or math.inf) or self._is_reached()

    def _draw(self, most: float, limit: float) -> None:
        """Draw particles up to a number and a mass [kg], one of which is finite."""
        state = self.state
        while state.asked < most:
            left = max(64.0, 1.1 * (limit - state.asked_mass) / self.mean_mass)
            count = int(min(most - state.asked, left, _DRAWN_AT_ONCE))
            masses = self.masses(self.radii(state.asked + np.arange(count)))
            # in order, so that the sums do not depend on how many particles are drawn together
            sums = np.cumsum(np.concatenate(([state.asked_mass], masses)))
            fit = int(np.searchsorted(sums[:-1] + 0.5 * masses, limit, side="right"))
            state.asked, state.asked_mass = state.asked + fit, float(sums[fit])
            if fit < count:
                return

    def _is_reached(self) -> bool:
        """Return whether more than half of the mass of the next particle would exceed the total mass."""
        following = float(self.masses(self.radii(np.array([self.state.asked])))[0])
        return self.state.asked_mass + 0.5 * following > (self._insertion.mass or math.inf)

    def candidates(self) -> Integers:
        """Return the numbers of the waiting particles to be tried at this event, the lowest first."""
        state = self.state
        new = max(0, self.most_at_once() - len(state.skipped))
        return np.concatenate((state.skipped, np.arange(state.tried, min(state.asked, state.tried + new))))

    def most_at_once(self) -> int:
        """Return the largest number of particles tried at one event, besides particles that wait already."""
        return int(min(FILLED * self.inlet.room / self.room + _SPARE, MOST_AT_ONCE))
