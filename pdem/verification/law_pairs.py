"""Isolated pairs of spheres with contacts evaluated by the same kernel as in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.dissipation import ENDED
from pdem.contact.law.pair_table import ContactParameters
from pdem.contact.pairs.arguments import NO_WALLS, kick_of
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.pairs.history_kernels import CHUNK
from pdem.containers.particles import Particles
from pdem.detection.neighbours import NearPairs
from pdem.motion.integration import FixedColumns, Motion
from pdem.motion.time_step import TimeStep
from pdem.numerics.sums import ExactSums
from pdem.numerics.thread_pool import divided_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Booleans, Floats, Int32s

_OPEN = np.zeros(3), np.zeros(3)
_SIDES = np.array([[0.0] * 3, [0.0] * 3, [0.0] * 3, [-np.inf] * 3, [np.inf] * 3])
_STILL = Motion(np.zeros(3), np.ones(6), _SIDES)
_DEEPEST = 10.0
"""Overlap limit in smaller radii; no pair reaches it, so that no overlap is limited."""


class LawTable(NamedTuple):
    """A contact law with its parameters.

    Attributes
    ----------
    law : ContactLaw
        The contact law.
    rows : (M * M, width) array
        Pair table of the law.
    density : (M,) array
        Density of each material [kg/m^3].
    """

    law: ContactLaw
    rows: Floats
    density: Floats


class State(NamedTuple):
    """Positions of both spheres of each pair at the end of a step, and their velocities in the middle of the step.

    Attributes
    ----------
    position, velocity, spin : (n, 2, 3) arrays
        Position [m], velocity [m/s] and angular velocity [rad/s].
    """

    position: Floats
    velocity: Floats
    spin: Floats


class Acting(NamedTuple):
    """Contact forces and torques on both spheres of each pair.

    Attributes
    ----------
    force, torque : (n, 2, 3) arrays
        Force [N] and torque [N m].
    """

    force: Floats
    torque: Floats


class SeparatePairs:
    """Isolated pairs of spheres under a contact law.

    Parameters
    ----------
    table : LawTable
        The law and its parameters.
    radius : (n, 2) array
        Radii of both spheres of each pair [m].
    material : (n, 2) array
        Material indices of both spheres.
    step : float
        Time step [s].

    Attributes
    ----------
    mass, inertia : (n, 2) arrays
        Mass [kg] and moment of inertia [kg m^2].
    chunk_size, workers : int
        Number of pairs per chunk, and number of workers; both take effect at the next `begin`.
    """

    def __init__(self, table: LawTable, radius: Floats, material: Int32s, step: float) -> None:
        self.step, self._table, self.radius, self.chunk_size = step, table, radius, CHUNK
        self.workers = 1
        self.mass = table.density[material] * 4.0 / 3.0 * np.pi * radius**3
        self.inertia = 0.4 * self.mass * radius**2
        columns: dict[str, NDArray[Any]] = {
            "id": np.arange(radius.size),
            "radius": radius.ravel(),
            "material": material.ravel(),
        }
        self._particles, self._ended = Particles(columns), ExactSums(ENDED)
        count = radius.size
        fixed = FixedColumns(np.zeros((count, 3)), np.full(count, np.inf), np.zeros(count))
        self._kick = kick_of(NO_WALLS, 0.0, _STILL, fixed)
        self.begin()

    def begin(self) -> None:
        """Discard all contacts."""
        self._contacts = PairContacts(self._table.law)
        self._contacts.chunk_size = self.chunk_size
        rows = np.arange(self.radius.size, dtype=np.int32).reshape(-1, 2)
        pairs = NearPairs.of(rows[:, 0].copy(), rows[:, 1].copy())
        with divided_for(self.workers):
            self._contacts.take_candidates(pairs, self._particles, self._ended)

    def evaluate(self, state: State, *, at_rest: bool = False) -> Acting:
        """Advance the contacts to a state by one step, and return the forces and torques.

        With `at_rest` no time passes, as before the first step of a run: histories do not change.
        """
        particles, table = self._particles, self._table
        particles.position[:] = state.position.reshape(-1, 3)
        particles.velocity[:] = state.velocity.reshape(-1, 3)
        particles.angular_velocity[:] = state.spin.reshape(-1, 3)
        step = TimeStep.of(self.step)
        step = step.at_rest() if at_rest else step
        given = ContactParameters(table.density, table.rows, table.law.powers(table.rows), step, _DEEPEST)
        with divided_for(self.workers):
            self._contacts.begin(particles, table.density, packed=False)
            self._contacts.evaluate(False, particles, _OPEN, given, self._ended, self._kick)
        shape = (-1, 2, 3)
        return Acting(particles.force.reshape(shape).copy(), particles.torque.reshape(shape).copy())

    @property
    def touching(self) -> Booleans:
        """Whether each pair is in contact, (n,)."""
        found = np.zeros(len(self.radius), bool)
        found[self._contacts.touching] = True
        return found

    def fly(self, state: State, steps: int) -> State:
        """Return the state after steps of free motion; all velocities are at the times of the positions.

        The spheres move only under their contact forces, by central differences as in a run.
        """
        position, velocity, spin = (one.copy() for one in state)
        gain, turn = 0.5 * self.step / self.mass[..., None], 0.5 * self.step / self.inertia[..., None]
        acting = self.evaluate(state, at_rest=True)
        for _ in range(steps):
            velocity += gain * acting.force
            spin += turn * acting.torque
            position += self.step * velocity
            acting = self.evaluate(State(position, velocity, spin))
            velocity += gain * acting.force
            spin += turn * acting.torque
        return State(position, velocity, spin)

    def kinetic_energy(self, state: State) -> Floats:
        """Return the kinetic energy of each pair relative to its centre of mass [J], (n,)."""
        mass, away = (self.mass.prod(axis=1) / self.mass.sum(axis=1), state.velocity[:, 1] - state.velocity[:, 0])
        turning = (self.inertia * (state.spin**2).sum(axis=2)).sum(axis=1)
        found: Floats = 0.5 * (mass * (away**2).sum(axis=1) + turning)
        return found
