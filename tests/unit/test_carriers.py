"""Particles that a carrier moves feel the forces of free ones, to the bit, and go where the carrier takes them."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains, quad, simulate, state_of
from helpers.crowds import LAW, MOTION, OPEN, PARAMETERS, crowd, fixed_of, near_pairs
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs import contacts
from pdem.contact.pairs.arguments import kick_of
from pdem.contact.pairs.contacts import PairContacts
from pdem.engine.phases import Phases
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.foundation.packed_row import PACKED, SPEED
from pdem.motion.fixed_particles import HeldRows
from pdem.motion.integration import REST_SPEED
from pdem.numerics.sums import ExactSums

pytestmark = pytest.mark.compiles

KICKED = ("velocity", "angular_velocity")


def row_of_spheres(ghosts):
    """Return particles in a long row, in its order, so that the forces of most are summed early."""
    particles = crowd(8, 2400, ghosts)
    place = particles.column("position")[:2400]
    place[:] = place[np.argsort(place[:, 0])] * (8.0, 0.35, 0.35)
    return particles


def summed(monkeypatch, particles, carried, workers, *, dt, ahead=False):
    """Evaluate all contacts once, let them act, and return the lists, with the packed rows."""
    monkeypatch.setattr(contacts, "threads", lambda: workers)
    lists, ended = PairContacts(LAW), ExactSums(ENDED)
    lists.held = HeldRows(carried)
    lists.take_candidates(near_pairs(particles), particles, ended)
    walls = np.random.default_rng(2).normal(size=(particles.count, 6)), np.arange(2400, dtype=np.int32)
    kick = kick_of(walls, dt, MOTION, fixed_of(particles), ahead=ahead)
    lists.begin(particles, PARAMETERS.density, packed=False)
    packed = lists.packed(particles.count + particles.ghosts)
    for late in (False, True):
        lists.evaluate(late, particles, OPEN, PARAMETERS, ended, kick)
    lists.finish(particles, kick)
    if len(carried):
        lists.carried_loads(particles, kick).write()
    return lists, packed.reshape(-1, PACKED)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("ghosts", [0, 60])
def test_forces_on_carried_particles_are_those_on_free_ones(monkeypatch, workers, ghosts):
    rng = np.random.default_rng(1)
    free, some = row_of_spheres(ghosts), row_of_spheres(ghosts)
    before = {name: some[name].copy() for name in KICKED}
    carried = rng.permutation(free.count)[:500].astype(np.int32)
    others = np.setdiff1d(np.arange(free.count), carried)
    none = np.empty(0, np.int32)
    summed(monkeypatch, free, none, 1, dt=2e-4)
    lists, _ = summed(monkeypatch, some, carried, workers, dt=2e-4)
    assert sorted(lists.free_rows.tolist()) == others.tolist()
    for name in ("force", "torque"):
        np.testing.assert_array_equal(some[name], free[name], name)
    for name in KICKED:
        np.testing.assert_array_equal(some[name][others], free[name][others], name)
        np.testing.assert_array_equal(some[name][carried], before[name][carried], name)
        assert (some[name][others] != before[name][others]).any(axis=1).mean() > 0.9


def test_carried_particles_stay_where_they_are_while_others_go_ahead(monkeypatch):
    carried = np.arange(0, 2400, 7, dtype=np.int32)
    particles = row_of_spheres(0)
    _, packed = summed(monkeypatch, particles, carried, 2, dt=2e-4, ahead=True)
    np.testing.assert_array_equal(packed[carried, :3], particles.position[carried])
    np.testing.assert_array_equal(packed[carried, SPEED : SPEED + 3], particles.velocity[carried])
    others = np.setdiff1d(np.arange(2400), carried)
    assert (packed[others, :3] != particles.position[others]).any(axis=1).all()


class AsIfFree:
    """A carrier whose particles move as free ones do: by the same operations in the same order, in numpy."""

    def __init__(self, ids, constants):
        self.ids, self.constants = ids, constants
        self.steps = 0

    def rows(self, particles):
        return np.flatnonzero(np.isin(particles.id, self.ids)).astype(np.int32)

    def begin(self, particles, rows, dt, placing):
        self.finish(particles, rows, dt)
        particles.position[rows] += dt * particles.velocity[rows]
        self.steps += 1
        return placing.place(particles, rows, dt)

    def advance(self, particles, rows, dt, placing, loads):
        loads.write()
        self.finish(particles, rows, dt)
        return self.begin(particles, rows, dt, placing)

    def finish(self, particles, rows, dt):
        radius, constants = particles.radius[rows, None], self.constants
        density = constants.density[particles.material[rows], None]
        inverse_mass = 1.0 / (4.0 / 3.0 * np.pi * density * radius * radius * radius)
        inverse_inertia = 2.5 * inverse_mass / (radius * radius)
        push = particles.force[rows] * inverse_mass + constants.gravity
        turn = particles.torque[rows] * inverse_inertia
        for name, rate, free in (("velocity", push, slice(0, 3)), ("angular_velocity", turn, slice(3, 6))):
            speed = particles[name][rows] + constants.free[free] * 0.5 * dt * rate
            particles[name][rows] = np.where(np.abs(speed) < REST_SPEED, 0.0, speed)


def carry(run, carriers):
    """Have particles of a simulation carried from now on."""
    run.system.carriers = carriers
    migrate_and_rebuild_lists(run.system, None, Phases())


def bed(folder):
    """Return grains that fall on a floor, and through the sides of a periodic box."""
    rng = np.random.default_rng(4)
    sites = np.stack(np.meshgrid(*[np.arange(6)] * 3), axis=-1).reshape(-1, 3) + 0.5
    grains = Grains(2.0e-3 * sites, rng.uniform(0.8e-3, 1e-3, 216), rng.uniform(-1.0, 1.0, (216, 3)))
    return simulate(
        folder, grains, law={"friction": 0.5, "restitution": 0.5, "rolling_friction": 0.1}, step=1e-5,
        lower=[0.0, 0.0, -0.01], upper=[0.012, 0.012, 0.02], periodic=[True, True, False],
        gravity=[0.0, 0.0, -9.81], walls=({"mesh": quad(0.03)},), detection={"skin": 0.1},
    )  # fmt: skip


def test_a_carrier_that_moves_particles_as_if_they_were_free_changes_no_bit(tmp_path):
    """In runs of steps that begin the next one at once, and in single steps; lists are made anew now and then."""
    free, run = bed(tmp_path), bed(tmp_path)
    carriers = AsIfFree(np.arange(0, 216, 3), run.system.constants)
    carry(run, carriers)
    detections = run.system.lists.detections
    for steps in (1, 1, 150, 1, 150):
        for one in (free, run):
            one.advance(steps)
    assert carriers.steps == 303
    assert run.system.lists.detections > detections + 3
    assert run.system.contacts.pairs.count > 10
    expected, found = state_of(free), state_of(run)
    for name in ("particles", "contacts", "wall_contacts"):
        for column, values in expected[name].items():
            np.testing.assert_array_equal(found[name][column], values, f"{name} {column}")


class Plate:
    """Three spheres that keep their distances: a body that does not turn."""

    def __init__(self, mass):
        self.mass = mass

    def rows(self, particles):
        return np.flatnonzero(particles.id < 3).astype(np.int32)

    def begin(self, particles, rows, dt, placing):
        self.finish(particles, rows, dt)
        particles.position[rows] += dt * particles.velocity[rows]
        return placing.place(particles, rows, dt)

    def advance(self, particles, rows, dt, placing, loads):
        loads.write()
        self.finish(particles, rows, dt)
        return self.begin(particles, rows, dt, placing)

    def finish(self, particles, rows, dt):
        particles.velocity[rows] += 0.5 * dt / self.mass * particles.force[rows].sum(axis=0)


def test_three_spheres_that_are_held_together_are_hit_as_one_body(tmp_path):
    """By a free sphere, centrally and without loss: the velocities afterwards are those of mass 1 and 3."""
    angle = 2.0 / 3.0 * np.pi * np.arange(3)
    triangle = 1.2e-3 * np.column_stack((np.cos(angle), np.sin(angle), np.zeros(3)))
    grains = Grains([*triangle, [0.0, 0.0, 1.8e-3]], 1e-3, [[0.0] * 3] * 3 + [[0.0, 0.0, -1.0]])
    run = simulate(tmp_path, grains, step=2e-7, largest_overlap=0.5)
    mass = 1000.0 * 4.0 / 3.0 * np.pi * 1e-9
    carry(run, Plate(3.0 * mass))
    run.advance(3000)
    order = np.argsort(run.particles.id)
    position, velocity = run.particles.position[order], run.particles.velocity[order]
    np.testing.assert_allclose(position[:3] - position[0], triangle - triangle[0], atol=1e-12)
    assert run.system.contacts.pairs.count == 0
    np.testing.assert_allclose(velocity[:3].sum(axis=0) + velocity[3], [0.0, 0.0, -1.0], atol=1e-9)
    np.testing.assert_allclose(velocity[:, 2], [-0.5, -0.5, -0.5, 0.5], rtol=2e-2)
