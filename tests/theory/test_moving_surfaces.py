"""Belts and turning tables: what they do to spheres in closed form, and the work they do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, quad, simulate

R, G, MU = 3.5e-3, 9.81, 0.5
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
SLIDES = {"friction": MU, "restitution": 0.4}
STANDS = {**SLIDES, "rolling_friction": 10.0}
SPEED = 0.2
STEP = 4e-5


def sunk(load):
    """Return how deep Hertz lets a sphere sink into a rigid wall under a load [N]."""
    return (load / (4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R))) ** (2.0 / 3.0)


def on_belt(folder, surface, *, law=SLIDES, place=(0.0, 0.0), velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), **wall):
    start = [*place, R - sunk(MASS * G)]
    return simulate(
        folder, Grains([start], R, velocity, spin), law=law, step=STEP, gravity=(0.0, 0.0, -G),
        walls=({"mesh": quad(2.0), "surface": surface, **wall},),
    )  # fmt: skip


def at(run, time):
    run.advance(max(round((time - run.time) / STEP), 0))
    held = run.gather()
    return held["position"][0], held["velocity"][0], held["angular_velocity"][0]


def test_a_block_on_a_belt_is_brought_along_in_the_time_v_over_mu_g(tmp_path):
    """A sphere that cannot roll is a block: a = mu g until it has the belt's speed; half of the work is lost."""
    run = on_belt(tmp_path, {"velocity": [SPEED, 0.0, 0.0]}, law=STANDS)
    slips = SPEED / (MU * G)
    _, velocity, spin = at(run, 0.5 * slips)
    assert velocity == pytest.approx([0.5 * SPEED, 0.0, 0.0], rel=5e-3, abs=1e-6)
    assert np.abs(spin).max() * R < 3e-2 * SPEED
    loads = run.wall_loads()["wall0"]
    assert loads["force"] == pytest.approx([-MU * MASS * G, 0.0, -MASS * G], rel=5e-3)
    assert loads["power"] == pytest.approx(MU * MASS * G * SPEED, rel=5e-3)
    nodal = run.nodal_forces()["wall0"]
    assert nodal["body_power"] == pytest.approx([loads["power"]], rel=1e-12)
    slip = SPEED - velocity[0] + R * spin[1]
    assert nodal["sliding_power"].sum() == pytest.approx(MU * MASS * G * slip, rel=1e-2)
    _, velocity, _ = at(run, 0.97 * slips)
    assert velocity[0] == pytest.approx(0.97 * SPEED, rel=5e-3)
    place, velocity, _ = at(run, 3.0 * slips)
    assert velocity == pytest.approx([SPEED, 0.0, 0.0], rel=1e-3, abs=1e-5)
    assert place[0] == pytest.approx(SPEED * 2.5 * slips, rel=5e-3)
    energies = run.energies()
    assert energies["wall_work"] == pytest.approx(MASS * SPEED**2, rel=5e-3)
    assert energies["translation"] == pytest.approx(0.5 * MASS * SPEED**2, rel=2e-3)
    lost = energies["sliding"] + energies["rolling"] + energies["normal_damping"]
    assert lost == pytest.approx(0.5 * MASS * SPEED**2, rel=1e-2)
    assert abs(energies["residual"]) < 2e-3 * energies["wall_work"]


def test_a_sphere_on_a_belt_rolls_in_the_end_at_two_sevenths_of_its_speed(tmp_path):
    """It slips for 2 v / (7 mu g); then v_c = 2 v / 7, and its point of contact has the speed of the belt."""
    run = on_belt(tmp_path, {"velocity": [SPEED, 0.0, 0.0]})
    slips = 2.0 * SPEED / (7.0 * MU * G)
    _, velocity, spin = at(run, 0.9 * slips)
    assert velocity[0] == pytest.approx(0.9 * 2.0 / 7.0 * SPEED, rel=5e-3)
    assert spin[1] * R == pytest.approx(-0.9 * 5.0 / 7.0 * SPEED, rel=5e-3)
    for time in (2.0, 6.0):
        _, velocity, spin = at(run, time * slips)
        assert velocity == pytest.approx([2.0 / 7.0 * SPEED, 0.0, 0.0], rel=2e-3, abs=1e-6)
        assert spin * R == pytest.approx([0.0, -5.0 / 7.0 * SPEED, 0.0], rel=2e-3, abs=1e-6)
    energies = run.energies()
    kinetic = (0.5 * (2.0 / 7.0) ** 2 + 0.2 * (5.0 / 7.0) ** 2) * MASS * SPEED**2
    assert energies["translation"] + energies["rotation"] == pytest.approx(kinetic, rel=5e-3)
    assert energies["wall_work"] == pytest.approx(2.0 / 7.0 * MASS * SPEED**2, rel=5e-3)
    assert abs(energies["residual"]) < 2e-3 * energies["wall_work"]


def test_a_moving_surface_does_what_a_moving_plate_does(tmp_path):
    """Velocity of the surface, of the wall, and half of each: the same motion but for rounding."""
    last = []
    for surface, own in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)):
        keys = {"translation": {"velocity": [own * SPEED, 0.0, 0.0]}} if own else {}
        folder = tmp_path / str(surface)
        folder.mkdir()
        run = on_belt(folder, {"velocity": [surface * SPEED, 0.0, 0.0]}, spin=(3.0, 40.0, 10.0), **keys)
        last.append((at(run, 0.03), run.energies()))
    for other, energies in last[1:]:
        for one, two in zip(last[0][0], other, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-8, atol=1e-10)
        for name in ("wall_work", "sliding", "rotation", "translation"):
            assert energies[name] == pytest.approx(last[0][1][name], rel=1e-6)


@pytest.mark.parametrize("law", [SLIDES, STANDS], ids=["rolls", "stands"])
def test_a_turning_table_does_what_a_turning_plate_does(tmp_path, law):
    rate, place = 5.0, (0.05, 0.02)
    turn = {"rate": rate, "axis": [0.0, 0.0, 2.0], "centre": [0.01, 0.0, 0.0]}
    found = []
    for number, keys in enumerate(({"surface": {"rotation": turn}}, {"rotation": turn})):
        folder = tmp_path / str(number)
        folder.mkdir()
        surface = keys.pop("surface", {"velocity": [0.0, 0.0, 0.0]})
        run = on_belt(folder, surface, law=law, place=place, **keys)
        found.append((at(run, 0.05), run.energies()["wall_work"], run.wall_loads()["wall0"]["power"]))
    for one, two in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-3, atol=1e-7)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-3)
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-3, abs=1e-4 * MU * MASS * G)


def test_a_sphere_rolls_on_a_turning_table_in_circles_of_two_sevenths(tmp_path):
    """Without slip its centre circles at 2/7 of the table's angular velocity, whatever the circle (Earnshaw)."""
    rate, place = 5.0, np.array([0.05, 0.0])
    # v = 2/7 rate z x (place - centre of the circle); rolling: the point of contact has the table's velocity
    velocity = np.array([0.0, 0.06])
    centre = place + np.array([-velocity[1], velocity[0]]) / (2.0 / 7.0 * rate)
    slip = velocity - rate * np.array([-place[1], place[0]])
    spin = (slip[1] / -R, slip[0] / R, 0.0)  # v + w x (-R z) = rate z x place
    run = on_belt(
        tmp_path, {"rotation": {"rate": rate, "axis": [0, 0, 1]}}, place=tuple(place), velocity=(*velocity, 0.0),
        spin=spin,
    )  # fmt: skip
    for time in (0.2, 0.5):
        held = at(run, time)[0][:2]
        turned = 2.0 / 7.0 * rate * run.time
        arm = place - centre
        aside = np.array([-arm[1], arm[0]])
        wanted = centre + math.cos(turned) * arm + math.sin(turned) * aside
        assert held == pytest.approx(wanted, abs=2e-4 * np.linalg.norm(arm))


def test_a_belt_turns_its_velocity_into_each_face_and_keeps_its_length(tmp_path):
    """On a plane inclined by 40 degrees a horizontal velocity of 0.2 m/s runs uphill at 0.2 m/s."""
    tilt = math.radians(40.0)
    normal = np.array([-math.sin(tilt), 0.0, math.cos(tilt)])
    load = MASS * G * math.cos(tilt)
    run = simulate(
        tmp_path, Grains([(R - sunk(load)) * normal], R), law={**STANDS, "friction": 2.0}, step=STEP,
        gravity=(0.0, 0.0, -G), lower=(-1, -1, -1), upper=(1, 1, 1),
        walls=({"shape": "plane", "normal": normal.tolist(), "surface": {"velocity": [SPEED, 0.0, 0.0]}},),
    )  # fmt: skip
    uphill = G * (2.0 * math.cos(tilt) - math.sin(tilt))
    _, velocity, _ = at(run, 0.6 * SPEED / uphill)
    speed = uphill * run.time
    assert velocity == pytest.approx([speed * math.cos(tilt), 0.0, speed * math.sin(tilt)], rel=5e-3, abs=1e-5)
    power = run.wall_loads()["wall0"]["power"]
    assert power == pytest.approx(2.0 * load * SPEED, rel=5e-3)
    assert abs(run.energies()["residual"]) < 2e-3 * run.energies()["wall_work"]


def test_restitution_does_not_know_of_the_surface(tmp_path):
    """A sphere falls on belts of different speeds, smooth ones: it rebounds with the same bits."""
    found = []
    for number, speed in enumerate((0.0, 5.0)):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = simulate(
            folder, Grains([[0.0, 0.0, 1.05 * R]], R, (0.0, 0.0, -0.3)), law={"friction": 0.0, "restitution": 0.7},
            step=2e-6, walls=({"mesh": quad(), "surface": {"velocity": [speed, 1e-3, 0.0]}},),
        )  # fmt: skip
        run.advance(1500)
        found.append(run.gather()["velocity"][0])
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0][2] == pytest.approx(0.7 * 0.3, rel=5e-3)


def test_a_table_of_velocities_starts_and_stops_the_belt(tmp_path):
    """Slower than friction could: the block follows the table, v = 2 t up to 0.1 m/s, then to rest."""
    table = {"times": [0.0, 0.05, 0.1, 0.15], "velocities": [[0, 0, 0], [0.1, 0, 0], [0.1, 0, 0], [0, 0, 0]]}
    run = on_belt(tmp_path, {"velocity_table": table}, law=STANDS)
    for time, speed in ((0.025, 0.05), (0.08, 0.1), (0.125, 0.05), (0.2, 0.0)):
        _, velocity, _ = at(run, time)
        assert velocity[0] == pytest.approx(speed, abs=2e-3)
    assert abs(run.energies()["residual"]) < 1e-2 * 0.5 * MASS * 0.1**2


def test_the_axis_of_a_table_goes_with_its_wall(tmp_path):
    """A turning table on a moving wall: a block beside its axis has both velocities."""
    run = on_belt(
        tmp_path, {"rotation": {"rate": 4.0, "axis": [0, 0, 1], "centre": [-0.02, 0.0, 0.0]}}, law=STANDS,
        translation={"velocity": [0.1, 0.0, 0.0]}, velocity=(0.1, 0.08, 0.0), spin=(0.0, 0.0, 4.0),
    )  # fmt: skip
    place, velocity, spin = at(run, 0.2)
    centre = np.array([-0.02 + 0.1 * run.time, 0.0])
    arm = place[:2] - centre
    assert np.linalg.norm(arm) == pytest.approx(0.02, rel=2e-2)
    assert velocity[:2] - [0.1, 0.0] == pytest.approx([-4.0 * arm[1], 4.0 * arm[0]], abs=4e-3)
    assert spin[2] == pytest.approx(4.0, rel=1e-2)


def test_a_servo_with_a_belt_counts_the_work_of_the_belt(tmp_path):
    """A plate pressed on a block by a servo, with a belt below it: its power is that of friction, ledger closed."""
    force = 2.0 * MASS * G
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, R]], R), law=STANDS, step=STEP, gravity=(0.0, 0.0, -G),
        walls=(
            {"mesh": quad(2.0)},
            {
                "mesh": quad(2.0, 2.0 * R + 1e-5), "surface": {"velocity": [SPEED, 0.0, 0.0]},
                "servo": {"axis": [0, 0, -1], "force": -force, "largest_rate": 0.02},
            },
        ),
    )  # fmt: skip
    run.advance(2000)
    loads = run.wall_loads()["wall1"]
    energies = run.energies()
    # the block is held by the floor, which friction presses three weights against, and the belt slips on two
    assert loads["force"][2] == pytest.approx(force, rel=1e-2)
    assert loads["power"] == pytest.approx(MU * force * SPEED, rel=1e-2)
    assert energies["wall_work"] > 0.9 * MU * force * SPEED * 0.5 * run.time
    assert abs(energies["residual"]) < 1e-2 * energies["wall_work"]


@pytest.mark.parametrize("share", [1 / 100, 1 / 1000])
def test_a_sphere_rolls_in_a_cylinder_along_the_true_circle_within_the_deviation(tmp_path, share):
    """It rolls to and fro in a drum, never deeper than in the true one, and as near to it as the deviation says."""
    radius = 0.05
    deviation = share * radius
    lie = radius - R
    start, angle = lie - deviation, math.radians(20.0)
    run = simulate(
        tmp_path, Grains([[0.0, start * math.sin(angle), -start * math.cos(angle)]], R),
        law={**SLIDES, "rolling_friction": 0.05}, step=STEP, gravity=(0.0, 0.0, -G), lower=(-1, -1, -1),
        upper=(1, 1, 1),
        walls=({"shape": "cylinder", "axis": [1, 0, 0], "radius": radius, "length": 0.1, "deviation": deviation},),
    )  # fmt: skip
    depths, sides = [], []
    for _ in range(60):
        run.advance(125)
        y, z = run.gather()["position"][0, 1:]
        depths.append(math.hypot(y, z))
        sides.append(y)
    sinks = sunk(3.0 * MASS * G)
    assert min(sides) < -0.2 * lie * math.sin(angle)
    assert max(sides) > 0.5 * lie * math.sin(angle)
    assert max(depths) <= lie + sinks
    assert min(depths) >= lie - deviation * radius / lie - sinks
