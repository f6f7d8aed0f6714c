"""Rolling resistance that remembers: slopes, stopping, the oscillation at rest, energy (Ai et al. 2011, type C)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, quad, simulate, state_of
from helpers.sticky import with_all_models
from pdem.contact.law.kinds import rolling_spring
from pdem.contact.law.parts import Contact, Load
from pdem.motion.time_step import TimeStep

G, R = 9.81, 3.5e-3
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3


def law(friction, *, sliding=0.8, **keys):
    return {"friction": sliding, "restitution": 0.4, "rolling": {"model": "spring", "friction": friction, **keys}}


def on_plane(folder, tilt, interaction, *, velocity=0.0, step=2e-5, **options):
    """Return a run of one grain on a plane tilted by `tilt` about y (gravity turns instead); it may roll at first."""
    weight = MASS * G * math.cos(tilt)
    sinks = (weight / (4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R))) ** (2.0 / 3.0)
    grain = Grains([[0.0, 0.0, R - sinks]], R, (velocity, 0.0, 0.0), (0.0, velocity / R, 0.0))
    return simulate(
        folder, grain, law=interaction, walls=({"mesh": quad(5.0)},), step=step, lower=(-5, -5, 0), upper=(5, 5, 1e-2),
        gravity=(G * math.sin(tilt), 0.0, -G * math.cos(tilt)), **with_all_models({"grain": GRAIN, "steel": {}}),
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("friction", [0.1, 0.3])
def test_it_stays_on_a_slope_below_the_limit_and_rolls_above(tmp_path, friction):
    """The limit is tan(slope) = mu_r: the arm of friction at a wall is the radius, as is that of the torque."""
    for share, moves in ((0.97, False), (1.03, True)):
        run = on_plane(tmp_path, math.atan(share * friction), law(friction, damping=1.0))
        run.advance(15000)
        place = run.gather()
        if moves:
            assert place["velocity"][0, 0] > 1e-3
        else:
            assert abs(place["velocity"][0, 0]) < 1e-9  # it does not creep
            elastic = 2e-6 / (2.25 * friction)  # what it sinks over 9/4 of the friction, by Ai's stiffness
            assert abs(place["position"][0, 0]) < elastic


def test_on_a_slope_it_accelerates_as_the_theory_says(tmp_path):
    """a = 5/7 g (sin - mu_r cos)."""
    friction, tilt = 0.1, math.radians(15.0)
    run = on_plane(tmp_path, tilt, law(friction))
    run.advance(2000)
    begun, speed = run.time, run.gather()["velocity"][0, 0]
    run.advance(2000)
    found = (run.gather()["velocity"][0, 0] - speed) / (run.time - begun)
    assert found == pytest.approx(5.0 / 7.0 * G * (math.sin(tilt) - friction * math.cos(tilt)), rel=2e-3)


def test_on_the_flat_it_stops_where_the_theory_says_and_rests(tmp_path):
    """After 7 v^2 / (10 mu_r g), from when the spring gives way; then nothing moves, and the ledger is closed."""
    friction, speed = 0.1, 0.05
    run = on_plane(tmp_path, 0.0, law(friction), velocity=speed)
    run.advance(500)
    place = run.gather()
    begin, slower = place["position"][0, 0], place["velocity"][0, 0]
    run.advance(25000)
    place, energies = run.gather(), run.energies()
    assert place["position"][0, 0] - begin == pytest.approx(7.0 * slower**2 / (10.0 * friction * G), rel=0.01)
    assert abs(place["velocity"][0, 0]) < 1e-8
    begun = 0.7 * MASS * speed**2
    assert energies["rolling"] == pytest.approx(begun, rel=0.02)
    assert abs(energies["residual"]) < 0.01 * begun  # damping takes the velocity of the middle of a step


def test_at_rest_it_oscillates_with_the_wanted_damping(tmp_path):
    """Frequency sqrt(k_r / (1.4 m R^2)), logarithmic decrement 2 pi eta / sqrt(1 - eta^2)."""
    friction, ratio, eta = 0.5, 0.01, 0.1
    run = on_plane(tmp_path, 0.0, law(friction, stiffness_ratio=ratio, damping=eta), velocity=1e-5, step=1e-5)
    weight = MASS * G
    sinks = (weight / (4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R))) ** (2.0 / 3.0)
    stiffness = 2.0 * 1e7 / 0.96 * math.sqrt(R * sinks)
    omega = math.sqrt(ratio * stiffness / (1.4 * MASS))
    period = 2.0 * math.pi / (omega * math.sqrt(1.0 - eta**2))
    every = max(1, round(period / 1e-5 / 60))
    speeds = []
    for _ in range(240):
        run.advance(every)
        speeds.append(run.gather()["velocity"][0, 0])
    speeds = np.array(speeds)
    zeros = np.flatnonzero(np.diff(np.sign(speeds)))
    exact = zeros + speeds[zeros] / (speeds[zeros] - speeds[zeros + 1])
    found = 2.0 * np.diff(exact).mean() * every * 1e-5
    assert found == pytest.approx(period, rel=0.01)
    tops = [np.abs(speeds[a:b]).max() for a, b in zip(zeros[:-1] + 1, zeros[1:] + 1, strict=True)]
    decrement = -2.0 * np.diff(np.log(tops)).mean()
    assert decrement == pytest.approx(2.0 * math.pi * eta / math.sqrt(1.0 - eta**2), rel=0.05)


def test_the_torque_turns_with_the_contact_and_changes_sign_with_its_partners():
    """A rigid rotation of both bodies leaves the torque as it is, seen from them; and the two see opposite ones."""
    from types import SimpleNamespace

    c = SimpleNamespace(friction=0.3, ratio=0.2, damping=0.0)
    load, dt, omega = Load(1.0, 1e4, 1.0, 1e-4), 1e-4, 20.0
    for axis in ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8)):
        held, angle = (0.0, 1e-5, 0.0), 0.0
        start = np.array([0.0, 0.0, 1.0])
        for _ in range(500):
            angle += omega * dt
            normal = tuple(_turned(start, axis, angle).tolist())
            spin = omega * float(np.dot(axis, normal))
            contact = Contact(1e-5, 1e-5, normal, (0.0,) * 3, (0.0,) * 3, (0.0,) * 3, spin, 1e-3, 1e-5, 1e5, 4e-12)
            _, held, _ = rolling_spring.torque(TimeStep(dt, 1.0 / dt), contact, c, load, held)
        wanted = _turned(np.array([0.0, 1e-5, 0.0]), axis, angle)
        np.testing.assert_allclose(held, wanted, atol=3e-3 * 1e-5)
    contact = Contact(1e-5, 1e-5, (0.0, 0.6, 0.8), (0.0,) * 3, (0.0,) * 3, (1.0, 2.0, 3.0), 0.3, 1e-3, 1e-5, 1e5, 4e-12)
    exchanged = contact._replace(normal=(0.0, -0.6, -0.8), rolling=(-1.0, -2.0, -3.0), spin=-0.3)
    old = (1e-6, 2e-6, -1.5e-6)
    one = rolling_spring.torque(TimeStep(dt, 1.0 / dt), contact, c, load, old)
    other = rolling_spring.torque(TimeStep(dt, 1.0 / dt), exchanged, c, load, tuple(-x for x in old))
    assert one[0] == tuple(-x for x in other[0])
    assert one[1] == tuple(-x for x in other[1])
    assert one[2] == other[2]


def _turned(vector, axis, angle):
    axis = np.array(axis)
    return (
        vector * math.cos(angle) + np.cross(axis, vector) * math.sin(angle)
        + axis * np.dot(axis, vector) * (1.0 - math.cos(angle))
    )  # fmt: skip


def test_a_restart_remembers(tmp_path):
    run = on_plane(tmp_path, math.atan(0.05), law(0.1))
    run.advance(500)
    state = state_of(run)
    assert state["wall_contacts"]["rolling_torque"].any()
    again = on_plane(tmp_path, math.atan(0.05), law(0.1), state=state)
    for one in (run, again):
        one.advance(300)
    assert run.gather()["position"].tobytes() == again.gather()["position"].tobytes()
    assert run.gather()["angular_velocity"].tobytes() == again.gather()["angular_velocity"].tobytes()
