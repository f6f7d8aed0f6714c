"""Servo walls: the limit of stability, the approach to a load, and that the load is held."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, box, quad, simulate
from pdem.contact.law.restitution import damping_factor
from pdem.containers.meshes.mesh import Mesh
from pdem.motion.servo import SHARE, ServoDrive

R, G = 3.5e-3, 9.81
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
HERTZ = 4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R)
DOWN = [0.0, 0.0, -1.0]


def growth(gain, stiffness, damping, dt):
    """Return the largest factor by which a wrong place grows in a step, for contacts that do not give way."""
    roots = np.roots([1.0, -1.0 + gain * (dt * stiffness + 1.5 * damping), -2.0 * gain * damping, 0.5 * gain * damping])
    return np.abs(roots).max()


@pytest.mark.parametrize("seed", range(20))
def test_the_limit_of_stability_is_the_one_stated(seed):
    rng = np.random.default_rng(seed)
    stiffness, damping, dt = (10.0 ** rng.uniform(0, 4), 10.0 ** rng.uniform(-3, 1), 10.0 ** rng.uniform(-6, -3))
    limit = 2.0 / (dt * stiffness + 4.0 * damping)
    assert growth(0.99 * limit, stiffness, damping, dt) < 1.0
    assert growth(1.01 * limit, stiffness, damping, dt) > 1.0001


def linear_bed(share, stiffness, gain, dt=1e-3, masses=6, steps=4000, ratio=1.0):
    """Press a chain of masses and springs with a servo, by the scheme of a step; return the loads."""
    servo = ServoDrive(
        np.array([0.0, 0.0, 1.0]), None, np.zeros(1), np.array([-1.0]), largest_rate=1e9,
        gain=gain if gain else share / (dt * stiffness),
    )  # fmt: skip
    mass = stiffness / (ratio / dt) ** 2 if ratio else 1.0
    x, v = np.zeros(masses), np.zeros(masses)
    loads, force = [], np.zeros(masses)
    for step in range(steps):
        servo.begin(step * dt, dt)
        v += 0.5 * dt * force / mass
        x += dt * v
        before = np.concatenate(([servo.travel], x))
        spring = stiffness * (before - np.append(x, 0.0))  # the last one rests on the floor
        force = spring[:-1] - spring[1:]
        v += 0.5 * dt * force / mass
        servo.finish(np.array([0, 0, -spring[0], 0, 0, 0, 0.0 if gain else stiffness, 0.0]), 0.0, 0.5 * dt)
        loads.append(spring[0])
    return np.array(loads)


@pytest.mark.parametrize("ratio", [0.05, 0.3, 1.0])
def test_no_chain_of_springs_is_made_to_ring(ratio):
    """A step `ratio` over the frequency of one mass on one spring; a chain has no damping of its own."""
    loads = linear_bed(SHARE, 50.0, None, ratio=ratio, steps=12000)
    assert np.abs(loads[-2000:] - 1.0).max() < 0.05
    assert np.abs(loads).max() < 2.0
    assert np.abs(loads[6000:]).max() <= np.abs(loads[:6000]).max()


def hertz(force):
    return (force / HERTZ) ** (2.0 / 3.0)


def pressed(tmp_path, servo, *, steps, step=2e-5, law=None, gap=2e-4, height=None, **options):
    """Press one sphere on a floor with a plate; return the simulation and its loads."""
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, R]], R), step=step, law=law,
        walls=({"mesh": quad(0.1)}, {"mesh": quad(0.1, 2.0 * R + gap), "servo": {"axis": DOWN, **servo}}),
        **options,
    )  # fmt: skip
    rows = []
    for _ in range(steps):
        run.advance(1)
        rows.append(run.driven_walls()["wall1"])
    return run, {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize("restitution", [0.3, 0.9])
def test_a_piston_on_one_sphere_reaches_the_overlap_of_hertz(tmp_path, restitution):
    """Through the gap at the largest rate, then without overshoot; two contacts share the travel."""
    load, rate = 0.5, 0.05
    run, seen = pressed(
        tmp_path, {"force": -load, "largest_rate": rate}, steps=3000, law={"friction": 0.3, "restitution": restitution}
    )
    assert seen["travel"][-1] == pytest.approx(2e-4 + 2.0 * hertz(load), rel=1e-6)
    assert run.gather()["position"][0, 2] == pytest.approx(R - hertz(load), rel=1e-9)
    assert seen["load"][-1] == pytest.approx(-load, rel=1e-6)
    assert run.wall_loads()["wall1"]["force"][2] == pytest.approx(load, rel=1e-6)
    assert seen["load"].min() > -1.01 * load
    gap = int(1.9e-4 / rate / 2e-5)
    np.testing.assert_allclose(seen["rate"][:gap], rate, rtol=1e-12)


def test_a_load_is_approached_with_the_time_constant_stated(tmp_path):
    """Linear contacts, in series half as stiff: exp(-t / T), T = target / (10 largest_rate k); and their damping."""
    stiffness, load, rate = 2e3, 0.2, 0.005
    law = {"law": "linear", "normal_stiffness": stiffness, "friction": 0.0, "restitution": 0.5}
    _, seen = pressed(tmp_path, {"force": -load, "largest_rate": rate}, steps=2900, law=law, gap=0.0)
    damping = 2.0 * damping_factor(0.5, False) * math.sqrt(MASS * stiffness)
    time = load / (10.0 * rate * 0.5 * stiffness) + damping / stiffness
    wrong = 1.0 + seen["load"] / load
    late = np.arange(2300, 2900)
    slope = np.polyfit(late * 2e-5, np.log(wrong[late]), 1)[0]
    assert -1.0 / slope == pytest.approx(time, rel=0.01)


def test_a_gain_beyond_the_limit_is_cut(tmp_path):
    """With a gain a thousand times too large the load is reached all the same, without overshoot to speak of."""
    law = {"law": "linear", "normal_stiffness": 2e3, "friction": 0.0, "restitution": 0.3}
    servo = {"force": -0.2, "largest_rate": 0.02, "gain": 1000.0 * 2.0 / (2e-5 * 2e3)}
    _, seen = pressed(tmp_path, servo, steps=2500, law=law)
    assert seen["load"][-1] == pytest.approx(-0.2, rel=2e-3)
    assert seen["load"].min() > -1.1 * 0.2


def test_start_limits_and_tables_are_kept(tmp_path):
    """Waits, moves, rests at its limit; then on another run follows a load that is drawn as a table."""
    servo = {"force": -0.5, "largest_rate": 0.05, "start": 0.004, "travel_limits": [-1e-4, 1.5e-4]}
    _, seen = pressed(tmp_path, servo, steps=600)
    assert not seen["travel"][:199].any()
    assert seen["travel"][-1] == pytest.approx(1.5e-4, rel=1e-12)
    assert not seen["load"].any()
    (tmp_path / "load.csv").write_text("time, force\n0.0, -0.1\n0.04; -0.1 # rests\n0.08 -0.4\n")
    table = {"force_table": {"file": "load.csv"}, "largest_rate": 0.05}
    law = {"friction": 0.0, "restitution": 0.3}
    _, seen = pressed(tmp_path, table, steps=4500, law=law, gap=0.0)
    assert seen["load"][1990] == pytest.approx(-0.1, rel=0.01)
    assert seen["target"][2999] == pytest.approx(-0.25, rel=1e-3)
    np.testing.assert_allclose(seen["load"][2500:3990:100], seen["target"][2500:3990:100], rtol=0.12)
    assert seen["load"][-1] == pytest.approx(-0.4, rel=1e-3)


def test_a_turning_plate_presses_with_its_torque(tmp_path):
    """A sphere at the arm a: the torque is a times the force, and the sphere is as flat as Hertz says."""
    arm, torque = 0.03, 0.01
    run = simulate(
        tmp_path, Grains([[arm, 0.0, R]], R), step=2e-5, law={"friction": 0.5, "restitution": 0.5},
        walls=(
            {"mesh": quad(0.1)},
            {"mesh": quad(0.1, 2.0 * R + 1e-5),
             "servo": {"axis": [0, 1, 0], "centre": [0, 0, 2.0 * R + 1e-5], "torque": -torque, "largest_rate": 0.5}},
        ),
    )  # fmt: skip
    run.advance(2000)
    seen, load = run.driven_walls()["wall1"], run.wall_loads()["wall1"]
    assert seen["load"] == pytest.approx(-torque, rel=1e-5)
    assert load["torque"][1] == pytest.approx(-torque, rel=1e-5)
    assert R - run.gather()["position"][0, 2] == pytest.approx(hertz(torque / arm), rel=0.01)
    assert seen["travel"] == pytest.approx((1e-5 + 2.0 * hertz(torque / arm)) / arm, rel=0.02)


def bed(tmp_path, lid, layers=7, **options):
    """Return layers of 36 spheres that fall in a box with a lid."""
    rng = np.random.default_rng(11)
    cells = np.stack(np.meshgrid(np.arange(6), np.arange(6), np.arange(layers), indexing="ij"), axis=-1).reshape(-1, 3)
    places = (cells + 0.5) * 0.008 + rng.uniform(-4e-4, 4e-4, cells.shape)
    tray = box([0, 0, 0], [0.048, 0.048, 0.12])
    height = 0.008 * layers + 0.002
    corners = ((-0.01, -0.01), (0.06, -0.01), (0.06, 0.06), (-0.01, 0.06))
    plate = Mesh([[x, y, height] for x, y in corners], [[0, 1, 2, 3]])
    return simulate(
        tmp_path, Grains(places, rng.uniform(0.8 * R, R, len(places))), step=4e-5, gravity=(0.0, 0.0, -G),
        law={"friction": 0.4, "restitution": 0.4, "rolling_friction": 0.02},
        walls=({"mesh": tray}, {"mesh": plate, **lid}), **options,
    )  # fmt: skip


def test_a_piston_on_a_bed_holds_its_load(tmp_path):
    run = bed(tmp_path, {"servo": {"axis": DOWN, "force": -20.0, "largest_rate": 0.2}})
    run.advance(5600)
    first = run.energies()
    loads = []
    for _ in range(40):
        run.advance(20)
        loads.append(run.driven_walls()["wall1"]["load"])
    energies = run.energies()
    print("\nbed: load", np.min(loads), np.max(loads), "travel", run.driven_walls()["wall1"]["travel"], energies)
    assert np.abs(np.array(loads) / -20.0 - 1.0).max() < 0.01
    lost = sum(energies[name] for name in ("normal_damping", "sliding", "rolling"))
    assert energies["wall_work"] > 0.1 * lost
    assert abs(energies["residual"]) < 0.01 * lost
    assert first["wall_work"] != 0.0


def test_a_lid_turns_while_it_presses(tmp_path):
    """A given rotation on a servo: the load is held while the bed is sheared, and all work is in the books."""
    lid = {
        "servo": {"axis": DOWN, "force": -20.0, "largest_rate": 0.2},
        "rotation": {"rate": 5.0, "axis": [0, 0, 1], "centre": [0.024, 0.024, 0.0]},
    }
    run = bed(tmp_path, lid, layers=4)
    run.advance(4000)
    loads = []
    for _ in range(40):
        run.advance(30)
        loads.append(run.driven_walls()["wall1"]["load"])
    energies = run.energies()
    lost = sum(energies[name] for name in ("normal_damping", "sliding", "rolling"))
    print("\nlid:", np.mean(loads), np.std(loads), energies)
    assert np.mean(loads) == pytest.approx(-20.0, rel=0.06)  # the sheared bed goes on giving way
    assert energies["sliding"] > energies["normal_damping"]
    assert abs(energies["residual"]) < 0.01 * lost
    assert run.wall_loads()["wall1"]["torque"][2] < 0.0
