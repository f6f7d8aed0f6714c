"""A few bonded spheres without a simulation: velocity Verlet with exact rotations, by the kernels of bonds."""

from __future__ import annotations

import numpy as np

from pdem.engine.id_pairs.by_particle import pairs_of_particles
from pdem.features.bonds.bond_stiffness import Elasticity, RoundSection
from pdem.features.bonds.bond_sums import add_bond_loads
from pdem.features.bonds.kernel import BondEnds, BondResults, evaluate_bonds
from pdem.features.bonds.potential import BY_STRESS
from pdem.features.bonds.reference import BondModel, EndStates, law_row, new_bonds
from pdem.foundation.packed_row import PACKED, PLACE, SPEED, SPIN
from pdem.numerics.thread_pool import divided_for

RADIUS, LENGTH, DENSITY = 1e-3, 2e-3, 2500.0
YOUNG, POISSON = 1e9, 0.3
MASS = 4.0 / 3.0 * np.pi * DENSITY * RADIUS**3
INERTIA = 0.4 * MASS * RADIUS**2
FAMILIES = ("springs", "euler-bernoulli", "timoshenko")
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


def section_of(count, inner=0.0):
    """Return equal sections with the radius of the spheres."""
    return RoundSection(np.full(count, RADIUS), np.full(count, inner))


def quaternion(turn):
    """Return unit quaternions (n, 4) of rotation vectors (n, 3) [rad]."""
    angle = np.sqrt((turn**2).sum(axis=1, keepdims=True))
    half = 0.5 * angle
    factor = np.where(angle > 1e-8, np.sin(half) / np.where(angle > 0.0, angle, 1.0), 0.5)
    return np.concatenate([np.cos(half), factor * turn], axis=1)


def product(a, b):
    """Return products of quaternions (n, 4)."""
    scalar = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=1, keepdims=True)
    return np.concatenate([scalar, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])], axis=1)


class Bonded:
    """Equal spheres with bonds between them, some of which may be held.

    Parameters
    ----------
    position : (N, 3) array
        Places without strain [m].
    pairs : (n, 2) array
        Rows of the ends of bonds, in order.
    family : str
        Of the bonds.
    held : list of int
        Spheres that do not move.
    orientation : (N, 4) array
        At the start; no turn by default.
    """

    def __init__(self, position, pairs, family="timoshenko", *, held=(), orientation=None, damping=0.0, **other):
        self.position = np.array(position, dtype=np.float64)
        count, self.pairs = len(self.position), np.array(pairs, dtype=np.int64)
        self.velocity, self.spin = np.zeros((count, 3)), np.zeros((count, 3))
        self.orientation = np.tile(NO_TURN, (count, 1)) if orientation is None else np.array(orientation)
        self.free = np.ones((count, 1))
        self.free[list(held)] = 0.0
        self.load, self.couple = np.zeros((count, 3)), np.zeros((count, 3))
        self.columns = self._new_columns(family, damping, **other)
        n = len(self.pairs)
        self.laws = np.array([law_row(other.get("criterion", BY_STRESS), other.get("friction_angle", 0.0))])
        self.ends = BondEnds(self.pairs, np.zeros((n, 3)), np.zeros((n, 3)))
        self.results, self.lists = BondResults.empty(n), pairs_of_particles(self.pairs, count)
        self.packed = np.zeros((count, PACKED))
        self.fractured = self.lost = 0.0
        self.evaluate()

    def _new_columns(self, family, damping, **other):
        lower, higher = self.pairs.T
        n, inverse = len(self.pairs), self.free[:, 0] / MASS
        ends = EndStates(
            self.position[higher] - self.position[lower], self.orientation[self.pairs],
            np.full((n, 2), RADIUS), inverse[self.pairs],
        )  # fmt: skip
        elasticity = Elasticity(YOUNG, POISSON, family, other.get("kappa"))
        model = BondModel(0, elasticity, damping, other.get("moment_factor", 1.0))
        strength = np.broadcast_to(other.get("strength", (np.inf, np.inf, np.inf)), (n, 3))
        return new_bonds(model, ends, section_of(n, other.get("inner", 0.0)), strength)

    def evaluate(self):
        """Evaluate the bonds, and sum forces and torques with the loads from outside."""
        self.packed[:, PLACE : PLACE + 3] = self.position
        self.packed[:, SPEED : SPEED + 3] = self.velocity
        self.packed[:, SPIN : SPIN + 3] = self.spin
        self.force, self.torque = self.load.copy(), self.couple.copy()
        with divided_for(1):  # a few bonds take less time than waking a thread
            evaluate_bonds(self.ends, self.columns, self.laws, self.packed, self.orientation, self.results)
            add_bond_loads(self.lists, self.results.loads, self.force, self.torque)
        if self.results.mode.any():
            self._remove_broken()

    def _remove_broken(self):
        broken = self.results.mode != 0
        self.fractured += float(self.results.energy[broken].sum())
        self.last_broken = self.pairs[broken], self.results.mode[broken]
        self.pairs = self.pairs[~broken]
        self.columns = type(self.columns)(*(column[~broken] for column in self.columns))
        n = len(self.pairs)
        self.ends = BondEnds(self.pairs, np.zeros((n, 3)), np.zeros((n, 3)))
        self.results, self.lists = BondResults.empty(n), pairs_of_particles(self.pairs, len(self.position))
        self.evaluate()

    @property
    def stored(self):
        """Energy of all bonds [J]."""
        return float(self.results.energy.sum())

    @property
    def kinetic(self):
        """Kinetic energy of translation and rotation [J]."""
        return 0.5 * float(MASS * (self.velocity**2).sum() + INERTIA * (self.spin**2).sum())

    @property
    def angular_momentum(self):
        """About the origin [kg m^2/s]."""
        return (MASS * np.cross(self.position, self.velocity) + INERTIA * self.spin).sum(axis=0)

    def step(self, dt):
        """Take a step of velocity Verlet; the dashpots act by the velocities of the half step."""
        self.velocity += self.free * self.force * (0.5 * dt / MASS)
        self.spin += self.free * self.torque * (0.5 * dt / INERTIA)
        self.position += dt * self.velocity
        self.orientation = product(quaternion(dt * self.spin), self.orientation)
        self.orientation /= np.sqrt((self.orientation**2).sum(axis=1, keepdims=True))
        self.evaluate()
        self.velocity += self.free * self.force * (0.5 * dt / MASS)
        self.spin += self.free * self.torque * (0.5 * dt / INERTIA)
        self.lost += dt * float(self.results.power.sum())


def chain(count):
    """Return places and pairs of a chain along x with a number of bonds."""
    position = np.zeros((count + 1, 3))
    position[:, 0] = LENGTH * np.arange(count + 1)
    rows = np.arange(count)
    return position, np.stack([rows, rows + 1], axis=1)
