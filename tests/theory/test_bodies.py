"""Walls that are free bodies: tops, pendulums, impacts, and what is conserved with particles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pdem.motion.bodies import FreeBody
from pdem.motion.spins import AxisSpin, TopSpin

G = 9.81
INERTIA = np.array([[2.0, 0.2, -0.1], [0.2, 3.0, 0.3], [-0.1, 0.3, 4.2]])
SPIN = np.array([0.3, 2.0, 0.4])  # near the middle axis: it tumbles


def tumbled(steps, time=6.0):
    top = TopSpin(INERTIA, SPIN)
    for _ in range(steps):
        top.drift(time / steps)
    return top


def test_a_free_top_keeps_angular_momentum_exactly_and_energy_without_drift():
    top = TopSpin(INERTIA, SPIN)
    momentum, energy = top.momentum.copy(), top.energy()
    errors = []
    for _ in range(20000):  # over 600 turns
        top.drift(0.1)
        errors.append(top.energy() / energy - 1.0)
    assert np.array_equal(top.momentum, momentum)
    assert np.abs(top.rotation @ top.rotation.T - np.eye(3)).max() < 1e-14
    early, late = np.abs(errors[:2000]).max(), np.abs(errors[-2000:]).max()
    assert 1e-5 < early < 5e-3
    assert late < 1.2 * early


def test_a_free_top_turns_to_second_order_of_the_step():
    """Against the same with a step much smaller, and against Euler's equations integrated by another method."""
    exact = tumbled(20000).rotation
    errors = [np.abs(tumbled(steps).rotation - exact).max() for steps in (100, 200, 400)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)

    from scipy.integrate import solve_ivp

    def rates(_, state):
        rotation = state.reshape(3, 3)
        spin = rotation @ np.linalg.inv(INERTIA) @ rotation.T @ (INERTIA @ SPIN)
        x, y, z = spin
        return (np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ rotation).reshape(-1)

    other = solve_ivp(rates, (0.0, 6.0), np.eye(3).reshape(-1), rtol=1e-11, atol=1e-12).y[:, -1].reshape(3, 3)
    np.testing.assert_allclose(exact, other, atol=2e-7)


def test_a_top_turned_back_comes_back():
    top = TopSpin(INERTIA, SPIN)
    for _ in range(100):
        top.drift(0.05)
    for _ in range(100):
        top.drift(-0.05)
    np.testing.assert_allclose(top.rotation, np.eye(3), atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_a_symmetric_top_nutates_at_its_rate(seed):
    """A torque-free symmetric top turns about L at L / I and about its own axis at the rate of theory."""
    rng = np.random.default_rng(seed)
    across, along = rng.uniform(1.0, 2.0), rng.uniform(0.5, 1.9)
    spin = rng.uniform(-1.0, 1.0, 3)
    top = TopSpin(np.diag([across, across, along]), spin)
    momentum, axis = top.momentum.copy(), np.array([0.0, 0.0, 1.0])
    direction = momentum / np.linalg.norm(momentum)
    time = 0.8 * 2.0 * math.pi * across / np.linalg.norm(momentum)
    for _ in range(2000):
        top.drift(time / 2000)
    angle = np.linalg.norm(momentum) / across * time
    turned = (
        axis * math.cos(angle)
        + np.cross(direction, axis) * math.sin(angle)
        + direction * (direction @ axis) * (1.0 - math.cos(angle))
    )
    np.testing.assert_allclose(top.rotation @ axis, turned, atol=3e-6)


def advance(body, steps, dt):
    for step in range(steps):
        body.begin(step * dt, dt)
        body.finish(np.zeros(8), (step + 1) * dt, 0.5 * dt)


def test_a_flap_on_a_hinge_swings_with_the_period_of_a_physical_pendulum():
    """A rod of length l on its end, at 40 degrees: T = 4 K(sin 20) sqrt(2 l / 3 g), from step to step."""
    from scipy.special import ellipk

    mass, length, start = 0.3, 0.2, math.radians(40.0)
    hinge, dt = np.array([0.1, 0.2, 0.3]), 1e-3
    centre = hinge + 0.5 * length * np.array([math.sin(start), 0.0, -math.cos(start)])
    spin = AxisSpin(np.array([0.0, -1.0, 0.0]), mass * length**2 / 3.0, 0.0)
    body = FreeBody(mass, centre, spin, free=np.zeros(3), hinge=hinge, gravity=np.array([0.0, 0.0, -G]))
    period = 4.0 * ellipk(math.sin(0.5 * start) ** 2) * math.sqrt(2.0 * length / (3.0 * G))
    energy = body.kinetic() + body.potential()
    crossings, rates, worst = [], [spin.rate], 0.0
    for step in range(4000):
        advance(body, 1, dt)
        rates.append(spin.rate)
        worst = max(worst, abs(body.kinetic() + body.potential() - energy))
        if rates[-2] < 0.0 <= rates[-1]:
            crossings.append((step + rates[-2] / (rates[-2] - rates[-1])) * dt)
    assert np.mean(np.diff(crossings)) == pytest.approx(period, rel=2e-5)
    assert worst < 2e-5 * mass * G * 0.5 * length
    report = body.report(0.0)
    here = np.array([report[f"position_{axis}"][0] for axis in "xyz"])
    assert np.linalg.norm(here - hinge) == pytest.approx(0.5 * length, rel=1e-12)


def test_constant_force_and_torque_do_their_work():
    body = FreeBody(
        2.0, np.ones(3), TopSpin(INERTIA, SPIN), free=np.array([1.0, 0.0, 1.0]), velocity=np.array([0.1, 0.0, 0.0]),
        force=np.array([1.0, 5.0, 2.0]), torque=np.array([0.3, -0.2, 0.5]), gravity=np.array([0.0, -1.0, -3.0]),
    )  # fmt: skip
    first = body.kinetic() + body.potential()
    advance(body, 2000, 1e-3)
    np.testing.assert_allclose(body.velocity, [1.1, 0.0, -4.0], rtol=1e-12)
    np.testing.assert_allclose(body.place, [2.2, 1.0, -3.0], rtol=1e-12)
    gained = body.kinetic() + body.potential() - first
    assert gained == pytest.approx(body.work, rel=1e-5)
    np.testing.assert_allclose(body.spin.momentum, INERTIA @ SPIN + 2.0 * body.torque, rtol=1e-12)
