"""Rolling and resting: friction with a memory, rolling resistance, inclines.

From sliding to rolling (H2 sect. 6.1.4) is in test_verification_h2.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, quad, simulate
from pdem.contact.law.kinds.constant_torque import ROLLING_SHARE

G = 9.81


def on_plane(folder, tilt, law, *, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), step="auto"):
    """Return a run of one grain resting on a plane tilted by `tilt` about y (gravity turns instead)."""
    R = 3.5e-3
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
    weight = mass * G * math.cos(tilt)
    sinks = (weight / (4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R))) ** (2.0 / 3.0)
    return simulate(
        folder, Grains([[0.0, 0.0, R - sinks]], R, velocity, spin), law=law, walls=({"mesh": quad(5.0)},),
        gravity=(G * math.sin(tilt), 0.0, -G * math.cos(tilt)), step=step, lower=(-5, -5, 0), upper=(5, 5, 1e-2),
    )  # fmt: skip


def test_rolling_friction_slows_a_sphere_down_and_stops_it(tmp_path):
    """Type A: a = 5/7 mu_r g until it stops; then neither rotation nor drift, and nothing chatters."""
    mu, R, v = 0.02, 3.5e-3, 0.02
    law = {"friction": 0.5, "restitution": 0.4, "rolling_friction": mu}
    run = on_plane(tmp_path, 0.0, law, velocity=(v, 0.0, 0.0), spin=(0.0, v / R, 0.0), step=4e-5)
    slows = 5.0 / 7.0 * mu * G
    times, speeds = [], []
    for _ in range(80):
        run.advance(50)
        times.append(run.time)
        speeds.append(run.gather()["velocity"][0, 0])
    times, speeds = np.array(times), np.array(speeds)
    rolls = (times > 0.2 * v / slows) & (times < 0.9 * v / slows)
    fit = np.polyfit(times[rolls], speeds[rolls], 1)
    assert fit[0] == pytest.approx(-slows, rel=0.01)
    ends = run.gather()["position"][0, 0]
    assert ends == pytest.approx(v**2 / (2.0 * slows), rel=0.02)
    kinetic = []
    for _ in range(20):
        run.advance(50)
        energies = run.energies()
        kinetic.append(energies["translation"] + energies["rotation"])
    assert (np.diff(kinetic) <= 1e-30).all()
    assert kinetic[-1] < 1e-25
    assert run.gather()["position"][0, 0] == pytest.approx(ends, abs=1e-9)


@pytest.mark.parametrize("friction", [0.3, 0.7])
def test_a_sphere_that_cannot_roll_slides_above_the_friction_angle(tmp_path, friction):
    law = {"friction": friction, "restitution": 0.4, "rolling_friction": 10.0}
    tilt = math.atan(friction) + math.radians(2.0)
    run = on_plane(tmp_path, tilt, law, step=4e-5)
    run.advance(1000)
    start, begun = run.gather(), run.time
    run.advance(1000)
    accelerated = (run.gather()["velocity"][0, 0] - start["velocity"][0, 0]) / (run.time - begun)
    assert accelerated == pytest.approx(G * (math.sin(tilt) - friction * math.cos(tilt)), rel=2e-3)


@pytest.mark.parametrize("friction", [0.3, 0.7])
def test_below_the_friction_angle_it_does_not_slip_and_creeps_no_faster_than_the_law_says(tmp_path, friction):
    """Rolling resistance without a memory holds by a rotation that brings ROLLING_SHARE of itself in a step."""
    law = {"friction": friction, "restitution": 0.4, "rolling_friction": 10.0}
    tilt = math.atan(friction) - math.radians(2.0)
    step = 2e-5
    run = on_plane(tmp_path, tilt, law, step=step)
    run.advance(2500)
    end = run.gather()
    creep = 2.5 * G * math.sin(tilt) * step / ROLLING_SHARE
    assert end["velocity"][0, 0] == pytest.approx(creep, rel=0.02)
    assert end["angular_velocity"][0, 1] * 3.5e-3 == pytest.approx(end["velocity"][0, 0], rel=1e-3)


@pytest.mark.parametrize("degrees", [10.0, 50.0, 75.0])
def test_a_free_sphere_rolls_or_slips_down(tmp_path, degrees):
    """a = 5/7 g sin while tan(tilt) < 7/2 mu, else g (sin - mu cos)."""
    friction, tilt = 0.5, math.radians(degrees)
    run = on_plane(tmp_path, tilt, {"friction": friction, "restitution": 0.4}, step=4e-5)
    run.advance(1000)
    start, begun = run.gather(), run.time
    run.advance(1000)
    end = run.gather()
    accelerated = (end["velocity"][0, 0] - start["velocity"][0, 0]) / (run.time - begun)
    turned = (end["angular_velocity"][0, 1] - start["angular_velocity"][0, 1]) / (run.time - begun)
    rolls = math.tan(tilt) < 3.5 * friction
    rolling, slipping = 5.0 / 7.0 * math.sin(tilt), math.sin(tilt) - friction * math.cos(tilt)
    assert accelerated == pytest.approx(G * (rolling if rolls else slipping), rel=2e-3)
    spun = accelerated if rolls else 2.5 * friction * G * math.cos(tilt)
    assert turned * 3.5e-3 == pytest.approx(spun, rel=5e-3)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 10.0, 100.0])
def test_a_small_sphere_that_large_ones_hold_by_friction_stays(tmp_path, ratio):
    """Two held spheres squeeze a small one, friction carries it; no creep at any size ratio (Vyas et al. 2025)."""
    small, large = 1e-3, 1e-3 * ratio
    mass = 1000.0 * 4.0 / 3.0 * math.pi * small**3
    effective = small * large / (small + large)
    sinks = (3.0 * mass * G / (2.0 / 3.0 * 1e7 / 0.96 * math.sqrt(effective))) ** (2.0 / 3.0)
    apart = small + large - sinks
    run = simulate(
        tmp_path, Grains([[-apart, 0.0, 0.0], [apart, 0.0, 0.0]], large), Grains([[0.0, 0.0, 0.0]], small),
        law={"friction": 0.5, "restitution": 0.3}, step=1e-5, gravity=(0.0, 0.0, -G),
        lower=(-1, -1, -1), upper=(1, 1, 1),
    )  # fmt: skip
    hold(run, (0, 1), 1000)
    first = run.gather()
    hold(run, (0, 1), 2000)
    last = run.gather()
    assert np.abs(last["position"][2] - first["position"][2]).max() < 1e-7 * small
    assert np.abs(last["velocity"][2]).max() < 1e-8
    assert last["force"][2, 2] == pytest.approx(mass * G, rel=1e-5)


def hold(run, identities, steps):
    """Advance with some particles nailed down: before every step their motion ends and their weight is carried."""
    own = run.system.particles
    density = run.system.constants.density
    for _ in range(steps):
        rows = np.flatnonzero(np.isin(own.id, identities))
        own.velocity[rows] = 0.0
        own.angular_velocity[rows] = 0.0
        mass = 4.0 / 3.0 * math.pi * own.radius[rows] ** 3 * density[own.material[rows]]
        own.force[rows] = -mass[:, None] * run.system.constants.gravity
        own.torque[rows] = 0.0
        run.advance(1)


def test_what_comes_to_rest_is_at_rest(tmp_path):
    """Friction takes the same share of a small speed in every step: without an end, down to 1e-320 m/s, slowly."""
    law = {"friction": 0.5, "restitution": 0.4, "rolling_friction": 0.1}
    run = on_plane(tmp_path, 0.0, law, velocity=(1e-117, 1e-118, 0.0), spin=(0.0, 1e-116, 1e-117), step=4e-5)
    run.advance(10)
    before = run.gather()
    assert 1e-120 < abs(before["velocity"][0, 0]) < 1e-100
    run.advance(8000)
    after, walls = run.gather(), run.system.contacts.wall_records()
    assert (after["velocity"][0, :2] == 0.0).all()
    assert (after["angular_velocity"] == 0.0).all()
    assert len(walls.id) == 1
    for numbers in (*(after[name] for name in ("velocity", "force", "torque")), walls.history):
        sizes = np.abs(numbers[numbers != 0.0])
        assert (sizes > 1e-290).all()
