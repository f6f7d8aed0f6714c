"""Normal impacts of two spheres and of a sphere on a wall: restitution, duration, largest overlap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cases import GRAIN, USUAL, Grains, box, simulate

R = 3.5e-3
RATIOS = (1.0, 2.0, 7.3, 50.0)
RESTITUTIONS = (0.05, 0.1, 0.4, 0.7, 0.9, 1.0)
LAWS = {"hertz-mindlin": {}, "linear": {"law": "linear", "normal_stiffness": 1e3}}
MODULUS = GRAIN["youngs_modulus"] / (1.0 - GRAIN["poisson_ratio"] ** 2)
JOHNSON = 2.943275  # of the duration of a Hertzian impact: 4/5 sqrt(pi) Gamma(2/5) / Gamma(9/10)


def test_a_linear_law_needs_no_modulus(tmp_path):
    """Neither of the sphere nor of the wall: its stiffness is its own."""
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 1.001 * R]], R, [0.0, 0.0, -0.1]), step=5e-6,
        law={"friction": 0.5, "restitution": 0.7} | LAWS["linear"],
        materials={"grain": {"density": 1000.0}, "steel": {}}, walls=({"mesh": box((-1, -1, -1), (1, 1, 0))},),
    )  # fmt: skip
    run.advance(400)
    assert run.gather()["velocity"][0, 2] == pytest.approx(0.07, rel=0.01)


def materials():
    """Return one material of grains for each restitution."""
    return {f"grain{k}": GRAIN for k in range(len(RESTITUTIONS))} | {"steel": {}}


def interactions(law):
    pairs = {}
    for k, restitution in enumerate(RESTITUTIONS):
        values = {"friction": 0.5, "restitution": restitution} | LAWS[law]
        pairs |= {f"grain{k}-grain{k}": values, f"grain{k}-steel": values}
    return pairs


def hertz_time(mass, radius, modulus, speed):
    deepest = (15.0 * mass * speed**2 / (16.0 * math.sqrt(radius) * modulus)) ** 0.4
    return JOHNSON * deepest / speed, deepest


def duration(law, speed, wall=False):
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3 * (1.0 if wall else 0.5)
    if law == "linear":
        return math.pi * math.sqrt(mass / 1e3)
    return hertz_time(mass, R if wall else 0.5 * R, MODULUS if wall else 0.5 * MODULUS, speed)[0]


def measured_restitution(folder, law, speed, step, *, wall=False, ratios=RATIOS):
    """Let pairs of all ratios and restitutions collide in one run; return rebound over impact speed."""
    rng = np.random.default_rng(7)
    groups, ways = [], []
    largest = R * max(ratios)
    for k in range(len(RESTITUTIONS)):
        position, radius, velocity = [], [], []
        for n, ratio in enumerate(ratios):
            way = rng.normal(size=3)
            way = np.array([0.0, 0.0, 1.0]) if wall else way / np.linalg.norm(way)
            a, b = R, R * ratio
            share = a**3 / (a**3 + b**3)
            gap = speed * duration(law, speed, wall) * rng.uniform(0.0, 0.1)
            place = np.array([5.0 * largest * n, 5.0 * largest * k, 0.0])
            if wall:
                position += [place + (a + gap) * way]
                radius += [a]
                velocity += [-speed * way]
            else:
                position += [place - a * way, place + (b + gap) * way]
                radius += [a, b]
                velocity += [speed * (1.0 - share) * way, -speed * share * way]
            ways.append(way)
        groups.append(Grains(position, radius, velocity, material=f"grain{k}"))
    size = 5.0 * largest * 7
    walls = ({"mesh": box([-size, -size, -size], [size, size, 0.0])},) if wall else ()
    run = simulate(
        folder, *groups, materials=materials(), interactions=interactions(law), step=step, walls=walls,
        largest_overlap=1.0, lower=[-size] * 3, upper=[size] * 3,
    )  # fmt: skip
    longest = 4.0 * duration(law, speed, wall) * (1.0 if wall or law == "hertz-mindlin" else 1.5)
    run.advance(math.ceil(longest / run.system.constants.time_step.dt))
    held = run.gather()
    assert not held["force"].any(), "some impacts are not over"
    velocity = held["velocity"] if wall else held["velocity"][1::2] - held["velocity"][::2]
    rebound = np.einsum("na,na->n", velocity, np.array(ways)) / speed
    aside = np.linalg.norm(np.cross(velocity, ways), axis=1).max() / speed
    assert aside < 4e-12  # rounding, of three times as many steps where damping is heavy
    return rebound.reshape(len(RESTITUTIONS), -1)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("speed", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("wall", [False, True])
def test_restitution_is_the_given_one_at_the_automatic_step(tmp_path, law, speed, wall):
    """Any two sizes, any restitution, any phase of the first touch within a step: within 1 %."""
    measured = measured_restitution(tmp_path, law, speed, "auto", wall=wall)
    np.testing.assert_allclose(measured, np.broadcast_to(np.array(RESTITUTIONS)[:, None], measured.shape), rtol=0.01)


@pytest.mark.parametrize("law", LAWS)
def test_restitution_converges_with_the_step(tmp_path, law):
    """Its error falls at least in proportion to the step, to below 0.05 %."""
    errors = [
        measured_restitution(tmp_path, law, 1.0, duration(law, 1.0) / steps, ratios=(1.0, 3.0))
        / np.array(RESTITUTIONS)[:, None]
        - 1.0
        for steps in (40, 160)
    ]
    coarse, fine = (np.sqrt((error**2).mean()) for error in errors)
    assert coarse < 5e-3
    assert fine < min(coarse / 4.0, 5e-4)


@pytest.mark.parametrize("speed", [0.2, 0.5, 1.0, 2.0])
def test_restitution_at_the_coarse_step_of_the_rotary_mixer(tmp_path, speed):
    """Nine to fourteen steps per impact: still within 2.5 % of the mixer's 0.4."""
    for wall in (False, True):
        measured = measured_restitution(tmp_path, "hertz-mindlin", speed, 5e-5, wall=wall, ratios=(1.0,) * 8)
        error = measured / np.array(RESTITUTIONS)[:, None] - 1.0
        print(f"\n{speed} m/s wall={wall}", np.abs(error).max(axis=1).round(4))
        assert np.abs(error[2:]).max() < 0.025
        assert abs(error[2].mean()) < 0.01


@pytest.mark.parametrize(("ratio", "speed"), [(1.0, 0.3), (4.0, 1.0)])
def test_a_hertzian_impact_takes_its_time_and_depth(tmp_path, ratio, speed):
    """Contact time and largest overlap against Hertz (Johnson 1985, sect. 11.4)."""
    a, b = R, R * ratio
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * a**3 * b**3 / (a**3 + b**3)
    time, deepest = hertz_time(mass, a * b / (a + b), 0.5 * MODULUS, speed)
    steps = 2000
    run = simulate(
        tmp_path, Grains([[0, 0, 0], [a + b, 0, 0]], [a, b], [[0.0, 0, 0], [-speed, 0, 0]]), step=time / steps
    )
    overlap = []
    while len(overlap) < 2 or overlap[-1] > 0.0:
        run.advance(1)
        place = run.gather()["position"]
        overlap.append(a + b - np.linalg.norm(place[1] - place[0]))
    assert len(overlap) == pytest.approx(steps, abs=2)
    assert max(overlap) == pytest.approx(deepest, rel=1e-5)


def test_a_damped_linear_impact_takes_its_time(tmp_path):
    """The force of a spring and dashpot ends, unable to pull, at acos(2 gamma^2 - 1)/omega_d."""
    from pdem.contact.law.restitution import damping_factor

    gamma = damping_factor(0.6, False)
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3 / 2.0
    omega = math.sqrt(1e3 / mass)
    damped = omega * math.sqrt(1.0 - gamma**2)
    time = math.acos(2.0 * gamma**2 - 1.0) / damped
    step = time / 2000
    run = simulate(
        tmp_path, Grains([[0, 0, 0], [2 * R, 0, 0]], R, [[0.0, 0, 0], [-1.0, 0, 0]]), step=step,
        law={"friction": 0.0, "restitution": 0.6} | LAWS["linear"],
        interactions={"steel-steel": USUAL},  # that nothing has: then the kernels are those of other tests
    )  # fmt: skip
    steps, depth = 0, []
    while steps == 0 or run.gather()["force"][0, 0] != 0.0:
        run.advance(1)
        steps += 1
        place = run.gather()["position"]
        depth.append(2 * R - (place[1] - place[0])[0])
    assert steps == pytest.approx(2000, abs=2)
    deepest = math.exp(-gamma / math.sqrt(1 - gamma**2) * math.acos(gamma)) / omega
    assert max(depth) == pytest.approx(deepest, rel=1e-4)


@pytest.mark.parametrize("hertzian", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.05, 0.4, 0.9, math.sqrt(5.0 / 6.0), 1.0, 1.3, 6.0])
def test_the_rebound_is_that_of_the_equation_of_motion(damping, hertzian):
    from scipy.integrate import solve_ivp

    from pdem.contact.law.restitution import rebound

    def force(overlap, speed):
        elastic = max(overlap, 0.0) ** (1.5 if hertzian else 1.0)
        stiffness = 1.5 * math.sqrt(max(overlap, 0.0)) if hertzian else 1.0
        return elastic + 2.0 * damping * math.sqrt(stiffness) * speed

    def vanishes(_, state):
        return force(*state)

    vanishes.terminal, vanishes.direction = True, -1.0
    path = solve_ivp(
        lambda _, state: (state[1], -force(*state)), (0.0, 1000.0), (1e-10, 1.0), events=vanishes, method="DOP853",
        rtol=1e-10, atol=1e-13,
    )  # fmt: skip
    assert rebound(damping, hertzian) == pytest.approx(-path.y[1, -1], rel=1e-6)


@given(st.floats(1e-3, 1.0), st.booleans())
def test_the_damping_gives_the_restitution_asked_for(restitution, hertzian):
    from pdem.contact.law.restitution import damping_factor, rebound

    assert rebound(damping_factor(restitution, hertzian), hertzian) == pytest.approx(restitution, rel=1e-7)
