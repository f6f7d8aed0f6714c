"""Walls that are free bodies: tops, pendulums, impacts, and what is conserved with particles."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from helpers.cases import GRAIN, USUAL, Grains, box, quad, simulate
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


R = 3.5e-3
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3


def only_body(run):
    (body,) = run.system.contacts.walls.walls.driven
    return body


def momenta(run):
    """Return linear and angular momentum about the origin of all particles and bodies, and the size of their parts."""
    held = run.gather()
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * held["radius"] ** 3
    linear = mass[:, None] * held["velocity"]
    angular = np.cross(held["position"], linear)
    angular += (0.4 * mass * held["radius"] ** 2)[:, None] * held["angular_velocity"]
    parts = [(linear, angular)]
    for body in run.system.contacts.walls.walls.driven:
        own = body.momentum()
        parts.append((own[None], (np.cross(body.place, own) + body.spin.momentum)[None]))
    linear, angular = (np.concatenate(part) for part in zip(*parts, strict=True))
    return linear.sum(axis=0), angular.sum(axis=0), np.abs(linear).sum(), np.abs(angular).sum()


@pytest.mark.parametrize("walls", ["h2", "signed"])
def test_momentum_of_particles_and_a_body_is_conserved(tmp_path, walls):
    """A light tumbling box in a cloud of spheres, with friction, rolling resistance and damping: to rounding."""
    rng = np.random.default_rng(5)
    places = np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3) * 0.009 - 0.018
    places = places[np.abs(places).max(axis=1) > 0.01]
    run = simulate(
        tmp_path, Grains(places, R, -30.0 * places + rng.uniform(-0.2, 0.2, places.shape)),
        law={"friction": 0.5, "restitution": 0.6, "rolling_friction": 0.1}, detection={"walls": walls}, step=2e-5,
        walls=({
            "mesh": box([-0.004, -0.005, -0.006], [0.004, 0.004, 0.005]),
            "body": {"density": 800.0, "velocity": [0.1, -0.2, 0.3], "angular_velocity": [30.0, 10.0, -50.0]},
        },),
    )  # fmt: skip
    linear, angular, linear_size, angular_size = momenta(run)
    first = only_body(run).momentum()
    run.advance(1500)
    now = momenta(run)
    assert np.linalg.norm(only_body(run).momentum() - first) > 0.2 * np.linalg.norm(first)
    np.testing.assert_allclose(now[0], linear, atol=1e-13 * linear_size)
    np.testing.assert_allclose(now[1], angular, atol=1e-13 * angular_size)
    energies = run.energies()
    assert energies["sliding"] > 0.0
    assert energies["wall_work"] == 0.0
    assert abs(energies["residual"]) < 0.02 * (energies["normal_damping"] + energies["sliding"])


USUAL_IMPACTS = (1.0, 0.2), (0.8, 1.0), (0.4, 10.0)
IMPACTS = [
    pytest.param(*one, marks=() if one in USUAL_IMPACTS else pytest.mark.slow)
    for one in product((1.0, 0.8, 0.4), (0.2, 1.0, 10.0))
]


@pytest.mark.parametrize("law", ["hertz-mindlin", "linear"])
@pytest.mark.parametrize(("restitution", "heavier"), IMPACTS)
@pytest.mark.parametrize("offset", [0.0, 0.01])
def test_a_sphere_and_a_free_plate_part_with_the_restitution(tmp_path, law, restitution, heavier, offset):
    """The contact point of a plate that may turn moves as theory has it for the effective mass."""
    interaction = {"law": law, "friction": 0.0, "restitution": restitution}
    unused = {}
    if law == "linear":
        interaction["normal_stiffness"] = 2e3
        unused["steel-steel"] = USUAL  # so that the kernels are those of other tests
    mass, inertia, speed = heavier * MASS, heavier * MASS * 1e-4, 0.3
    run = simulate(
        tmp_path, Grains([[offset, 0.0, R + 1e-5]], R, [0.0, 0.0, -speed]), law=interaction, step=1.5e-5,
        interactions=unused,
        walls=({
            "mesh": quad(0.05),
            "body": {"mass": mass, "centre": [0, 0, 0], "inertia": [inertia, inertia, 1.5 * inertia]},
        },),
    )  # fmt: skip
    run.advance(600)
    body, sphere = only_body(run), run.gather()
    assert run.measures().wall_contacts == 0
    effective = 1.0 / (1.0 / MASS + 1.0 / mass + offset**2 / inertia)
    impulse = (1.0 + restitution) * effective * speed
    assert sphere["velocity"][0, 2] == pytest.approx(impulse / MASS - speed, abs=0.02 * speed)
    assert body.velocity[2] == pytest.approx(-impulse / mass, rel=0.015)
    assert body.spin.velocity()[1] == pytest.approx(impulse * offset / inertia, rel=0.015, abs=1e-12)
    assert abs(run.energies()["residual"]) < 0.01 * 0.5 * MASS * speed**2


def fallen_plate(tmp_path, step, time):
    """Drop a plate on 16 elastic spheres on a floor; return the simulation."""
    places = [[0.008 * i, 0.008 * j, 0.999 * R] for i in range(4) for j in range(4)]
    run = simulate(
        tmp_path, Grains(places, R), step=step, gravity=(0.0, 0.0, -G),
        walls=(
            {"mesh": quad(0.1)},
            {
                "mesh": quad(0.1, 2.0 * R + 1e-4),
                "body": {"mass": 10 * MASS, "free_translation": [False, False, True],
                         "free_rotation": [False] * 3, "velocity": [0, 0, -0.1]},
            },
        ),
    )  # fmt: skip
    scale, worst = 10 * MASS * 0.01, 0.0
    for _ in range(20):
        run.advance(round(time / step / 20))
        worst = max(worst, abs(run.energies()["residual"]) / scale)
    return run, worst


def test_a_plate_that_bounces_on_elastic_spheres_keeps_the_energy_to_second_order(tmp_path):
    errors = []
    for step in (4e-5, 2e-5, 1e-5):
        run, worst = fallen_plate(tmp_path, step, 0.04)
        errors.append(worst)
    print("\nplate on spheres: energy errors", errors)
    assert errors[2] < 1e-3
    assert errors[0] / errors[2] > 6.0
    assert run.energies()["body_gravity"] != 0.0


def test_a_plate_comes_to_rest_on_a_bed_with_its_weight(tmp_path):
    """Damped, free in all ways, not above the middle of three spheres: loads add up to its weight, without torque."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    places = np.stack((0.02 * np.cos(angles), 0.02 * np.sin(angles), np.full(3, 0.9999 * R)), axis=1)
    run = simulate(
        tmp_path, Grains(places, R), step=2e-5, gravity=(0.0, 0.0, -G),
        law={"friction": 0.5, "restitution": 0.2, "rolling_friction": 0.1},
        walls=(
            {"mesh": quad(0.1)},
            {
                "mesh": quad(0.1, 2.0 * R),
                "body": {"mass": 0.005, "centre": [0.004, 0.002, 2.0 * R + 0.002], "inertia": [5e-6, 5e-6, 1e-5]},
            },
        ),
    )  # fmt: skip
    run.advance(6000)
    body, load = only_body(run), run.wall_loads()["wall1"]
    np.testing.assert_allclose(load["force"], [0.0, 0.0, 0.005 * G], atol=1e-3 * 0.005 * G)
    np.testing.assert_allclose(load["torque"], np.zeros(3), atol=1e-2 * 0.005 * G * 0.02)
    assert np.abs(body.velocity).max() < 5e-4
    assert run.driven_walls()["wall1"]["position_z"] == pytest.approx(body.place[2])
    energies = run.energies()
    assert abs(energies["residual"]) < 0.02 * energies["normal_damping"]
