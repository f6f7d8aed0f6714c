"""Free rotation of rigid bodies against closed forms of mechanics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ellipj, ellipk

from pdem.motion.rigid_rotation import angular_velocity, to_body, to_space, turned
from pdem.numerics.kernels import kernel

AXES = (1.0, 0.0, 0.0, 0.0)
TOP = (1.0, 1.0 / 2.0, 1.0 / 3.0)  # one over the moments 1, 2, 3
SPEEDS = st.floats(-3.0, 3.0)


@kernel
def run(orientation, momentum, inverse, step, steps, energy):
    """Turn a free body many times; write its energy after each."""
    for number in range(steps):
        orientation = turned(orientation, momentum, inverse, step)
        speed = angular_velocity(orientation, momentum, inverse)
        energy[number] = 0.5 * (speed[0] * momentum[0] + speed[1] * momentum[1] + speed[2] * momentum[2])
    return orientation


def after(time, steps, momentum=(1.0, 0.0, 3.0), inverse=TOP):
    energy = np.zeros(steps)
    return run(AXES, momentum, inverse, time / steps, steps, energy), energy


def body_speed(orientation, momentum=(1.0, 0.0, 3.0), inverse=TOP):
    return np.array(to_body(orientation, momentum)) * inverse


@pytest.mark.parametrize("time", [0.5, 1.7, 4.0 * ellipk(1.0 / 3.0)])
def test_an_asymmetric_top_follows_the_elliptic_functions(time):
    """Moments 1, 2, 3 and begin (1, 0, 1): the speeds are (cn, sn, dn)(t | 1/3) (Landau, Lifshitz, section 37)."""
    sn, cn, dn, _ = ellipj(time, 1.0 / 3.0)
    errors = []
    for steps in (400, 800, 1600):
        found = body_speed(after(time, steps)[0])
        errors.append(np.abs(found - (cn, sn, dn)).max())
    assert errors[2] < 1e-5
    assert np.array(errors[:2]) / errors[1:] == pytest.approx(4.0, rel=0.02)


def test_the_energy_of_a_million_steps_swings_and_does_not_drift():
    energy = np.zeros(1_000_000)
    run(AXES, (1.0, 0.01, 3.0), TOP, 0.02, len(energy), energy)
    start = 0.5 * (1.0 + 0.01**2 / 2.0 + 9.0 / 3.0)
    quarters = energy.reshape(4, -1)
    assert np.abs(energy - start).max() < 1e-4 * start
    assert np.ptp(quarters.mean(axis=1)) < 1e-8 * start
    assert quarters.max(axis=1) == pytest.approx(energy.max(), rel=1e-9)


def test_half_the_step_gives_a_fourth_of_the_swing():
    swings = [np.ptp(after(20.0, steps)[1]) for steps in (1000, 2000, 4000)]
    assert np.array(swings[:2]) / swings[1:] == pytest.approx(4.0, rel=0.02)


def test_a_symmetric_top_precesses():
    """Its axis goes round the momentum with L / I1."""
    inverse, momentum = (1.0, 1.0, 0.5), (0.6, 0.0, 0.8)
    period = 2.0 * np.pi
    for share in (0.25, 0.5, 1.0):
        orientation, _ = after(share * period, 4000, momentum, inverse)
        axis = np.array(to_space(orientation, (0.0, 0.0, 1.0)))
        direction = np.array(momentum)
        along = 0.8 * direction
        across = np.array([0.0, 0.0, 1.0]) - along
        side = np.cross(direction, across)
        angle = share * period
        assert axis == pytest.approx(along + np.cos(angle) * across + np.sin(angle) * side, abs=3e-6)


def test_a_body_with_equal_moments_turns_about_its_momentum():
    momentum = (0.3, -0.4, 1.2)
    (w, *xyz), energy = after(1.0, 500, momentum, (1.0, 1.0, 1.0))
    assert w == pytest.approx(np.cos(0.65), abs=1e-6)
    assert xyz == pytest.approx(np.sin(0.65) * np.array(momentum) / 1.3, abs=1e-6)
    assert energy == pytest.approx(0.5 * 1.3**2, rel=1e-14)


def test_turning_about_the_middle_axis_tips_over():
    speeds = []
    orientation, momentum = AXES, (1e-3, 2.0, 1e-3 * 3.0)
    for _ in range(3000):
        orientation = turned(orientation, momentum, TOP, 0.01)
        speeds.append(body_speed(orientation, momentum)[1])
    assert max(speeds) > 0.99
    assert min(speeds) < -0.99


@given(st.tuples(SPEEDS, SPEEDS, SPEEDS), st.tuples(*(3 * [st.floats(0.2, 3.0)])), st.floats(0.0, 0.1))
def test_a_step_back_takes_a_step_back(momentum, inverse, step):
    there = turned(AXES, momentum, inverse, step)
    back = turned(there, momentum, inverse, -step)
    assert back == pytest.approx(AXES, abs=1e-14)
    assert sum(part * part for part in there) == pytest.approx(1.0, abs=1e-15)


@given(st.tuples(SPEEDS, SPEEDS, SPEEDS), st.tuples(SPEEDS, SPEEDS, SPEEDS))
def test_vectors_go_to_space_and_back(momentum, vector):
    orientation = turned(AXES, momentum, TOP, 0.7)
    there = to_space(orientation, vector)
    assert to_body(orientation, there) == pytest.approx(vector, abs=1e-13)
    assert np.linalg.norm(there) == pytest.approx(np.linalg.norm(vector), abs=1e-13)
