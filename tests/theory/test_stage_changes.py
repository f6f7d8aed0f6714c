"""What stages change: walls, interactions, gravity, motions, insertions; and that no energy comes from nowhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, box, quad, state_of
from helpers.rank_cases import require_same_bits
from helpers.staged_grains import MASS, STEP, G, R, on_plate, resting_depth, run_of
from pdem.detection.walls import facets as facet_search


def test_a_grain_falls_freely_once_its_plate_is_gone(tmp_path):
    run = on_plate(tmp_path, {"name": "rest", "end": 100 * STEP}, {"name": "fall", "walls": {"gate": {"remove": True}}})
    run.advance(100)
    assert run.wall_loads()["gate"]["force"][2] == pytest.approx(-MASS * G, rel=1e-3)
    before, place = run.energies(), run.particles.position[0, 2]
    modulus = GRAIN["youngs_modulus"] / (1.0 - GRAIN["poisson_ratio"] ** 2)
    stored = 8.0 / 15.0 * modulus * math.sqrt(R) * resting_depth() ** 2.5
    steps = 500
    run.advance(steps)
    after, time = run.energies(), steps * STEP
    # the force of the plate still acts for half of the first step
    assert run.particles.velocity[0, 2] == pytest.approx(-G * (time - 0.5 * STEP), rel=1e-4)
    assert run.particles.position[0, 2] - place == pytest.approx(-0.5 * G * time**2, rel=1e-2)
    assert before["stages"] == 0.0
    assert after["stages"] == pytest.approx(stored, rel=1e-3)
    assert after["elastic"] == 0.0
    assert abs(after["residual"] - before["residual"]) < 0.01 * stored
    load = run.wall_loads()["gate"]
    assert not load["force"].any()
    assert not load["torque"].any()
    assert load["power"] == 0.0
    assert run.measures().wall_contacts == 0


@pytest.mark.parametrize("large", [False, True])
def test_facets_of_a_removed_wall_leave_detection(tmp_path, monkeypatch, large):
    """Facets of other walls keep their numbers, by which contacts are known."""
    monkeypatch.setattr(facet_search, "LARGE", 0 if large else 1 << 14)
    walls = ({"mesh": quad(0.1, 0.0), "name": "gate"}, {"mesh": quad(0.1, -5.0 * R), "name": "floor"})
    grains = Grains([[0, 0, R], [0.05, 0, -4.0 * R]], R)
    stages = [{"name": "a", "end": 20 * STEP}, {"name": "b", "walls": {"gate": {"remove": True}}}]
    run = run_of(tmp_path, grains, walls=walls, stages=stages)
    assert (run.system.lists.facet_tree is not None) == large

    def candidates():
        lists = run.system.contacts.walls.lists
        near = [lists.candidates[a:b] for a, b in zip(lists.start, lists.end, strict=True)]
        return set(run.system.walls.facet_wall[np.concatenate(near)].tolist()) if near else set()

    run.advance(20)
    assert 0 in candidates()
    histories = state_of(run)["wall_contacts"]
    run.advance(1)
    assert 0 not in candidates()
    assert run.system.walls.present.tolist() == [False, True]
    kept = state_of(run)["wall_contacts"]
    assert set(histories["facet"].tolist()) >= set(kept["facet"].tolist()) == {1}
    run.advance(6000)
    assert 0 not in candidates()
    position = run.gather()["position"]
    assert position[0, 2] < -2.0 * R, "the first grain has fallen through"
    assert position[:, 2].min() > -5.0 * R, "and the floor holds both"


def test_a_removed_solid_has_no_inside(tmp_path):
    """A closed body is one of the sides of the signed contact sum; taken out it neither holds nor pushes."""
    stages = [{"name": "a", "end": 20 * STEP}, {"name": "b", "walls": {"block": {"remove": True}}}]
    walls = ({"mesh": box([-0.05] * 3, [0.05] * 3), "name": "block"},)
    grains = Grains([[0, 0, 0.05 + R], [0.2, 0, 0.05 + R]], R)
    run = run_of(tmp_path, grains, walls=walls, stages=stages)
    run.advance(20)
    before, time = run.gather(), 3500 * STEP
    assert run.measures().wall_contacts == 1
    run.advance(3500)
    after = run.gather()
    expected = before["position"][0, 2] + before["velocity"][0, 2] * time - 0.5 * G * time**2
    assert after["position"][0, 2] == pytest.approx(expected, rel=0.01)
    assert -0.05 < after["position"][0, 2] < 0.04, "it falls through what was the inside"
    assert run.measures().wall_contacts == 0


def test_the_rest_of_a_run_is_that_of_a_case_that_never_had_the_wall(tmp_path):
    """From the first step of the stage on the state is what it is without the wall."""
    floor = {"mesh": quad(0.2, -0.02), "name": "floor"}
    stages = [{"name": "a", "end": 30 * STEP}, {"name": "b", "walls": {"gate": {"remove": True}}}]
    grain = Grains([[0, 0, R], [0.03, 0.01, R]], R)
    run = run_of(tmp_path, grain, walls=(floor, {"mesh": quad(0.1), "name": "gate"}), stages=stages)
    run.advance(31)
    middle = {name: dict(columns) for name, columns in state_of(run).items() if name != "stages"}
    other = run_of(tmp_path, grain, walls=(floor,), state=middle)
    run.advance(4000)
    other.advance(4000)
    found, expected = state_of(run), state_of(other)
    for name in ("particles", "contacts", "wall_contacts"):
        require_same_bits({name: found[name]}, {name: expected[name]})
    assert found["particles"]["velocity"][:, 2].min() > 0.0, "they have met the floor"


def test_a_wall_that_is_added_holds_from_then_on_and_may_go_again(tmp_path):
    walls = ({"mesh": quad(0.1), "name": "gate"},)
    stages = [
        {"name": "open", "end": 20 * STEP},
        {"name": "shut", "walls": {"gate": {"add": True}}, "end": 4000 * STEP},
        {"name": "again", "walls": {"gate": {"remove": True}}},
    ]
    grains = Grains([[0, 0, 1.5 * R], [0.05, 0, -1.5 * R]], R)
    run = run_of(tmp_path, grains, walls=walls, stages=stages)
    assert run.system.walls.present.tolist() == [False]
    run.advance(4020)
    height = run.gather()["position"][:, 2]
    assert height[0] == pytest.approx(R, rel=0.1)
    assert height[1] < -1.6 * R
    run.advance(1000)
    assert run.gather()["position"][0, 2] < 0.99 * R
    assert abs(run.energies()["residual"]) < 1e-3 * MASS * G * R


def test_friction_of_a_stage_lets_grains_slide(tmp_path):
    """On a slope that is steeper than 2/7 of its tangent allows to roll, friction gone means g sin."""
    angle = 0.3
    gravity = (G * math.sin(angle), 0.0, -G * math.cos(angle))
    pair = {"friction": 0.5, "restitution": 0.5}
    stages = [
        {"name": "rough", "end": 500 * STEP},
        {"name": "smooth", "interactions": {"grain-steel": {"friction": 0.0}}},
    ]
    grain = Grains([0, 0, R - resting_depth()], R)
    run = run_of(
        tmp_path, grain, stages=stages, walls=({"mesh": quad(0.5), "name": "plate"},), gravity=gravity,
        interactions={"grain-steel": pair},
    )  # fmt: skip
    run.advance(500)
    rolling = run.particles.velocity[0, 0], run.particles.angular_velocity[0, 1]
    assert rolling[0] == pytest.approx(5.0 / 7.0 * gravity[0] * 500 * STEP, rel=0.02)
    run.advance(500)
    gained = run.particles.velocity[0, 0] - rolling[0]
    assert gained == pytest.approx(gravity[0] * 500 * STEP, rel=0.01)
    assert run.particles.angular_velocity[0, 1] == pytest.approx(rolling[1], rel=0.02)
    assert abs(run.energies()["residual"]) < 1e-3 * run.energies()["translation"]


def test_another_stiffness_is_accounted_for(tmp_path):
    linear = {"law": "linear", "normal_stiffness": 1e3, "friction": 0.5, "restitution": 0.5}
    depth = MASS * G / 1e3
    stages = [
        {"name": "soft", "end": 50 * STEP},
        {"name": "stiff", "interactions": {"grain-steel": {"normal_stiffness": 4e3}}},
    ]
    grain = Grains([0, 0, R - depth], R)
    run = run_of(tmp_path, grain, stages=stages, walls=({"mesh": quad(0.1), "name": "plate"},), law=linear)
    run.advance(50)
    before = run.energies()
    run.advance(1)
    after = run.energies()
    assert before["elastic"] == pytest.approx(0.5 * 1e3 * depth**2, rel=1e-3)
    assert after["stages"] == pytest.approx(-3.0 * before["elastic"], rel=1e-3)
    run.advance(2000)
    assert abs(run.energies()["residual"] - before["residual"]) < 0.05 * abs(after["stages"])
    assert run.energies()["elastic"] == pytest.approx(before["elastic"] / 4.0, rel=0.01)


def test_gravity_that_jumps_delivers_the_change_of_its_potential(tmp_path):
    start, other = np.array([0.3, -0.2, 0.7]), np.array([1.0, 2.0, -3.0])
    stages = [{"name": "a", "end": 100 * STEP}, {"name": "b", "gravity": other.tolist()}]
    run = run_of(tmp_path, Grains(start, R, [0.5, 0.0, 0.0]), stages=stages)
    run.advance(100)
    place, speed = run.particles.position[0].copy(), run.particles.velocity[0].copy()
    work = -MASS * float((other - [0.0, 0.0, -G]) @ place)
    run.advance(200)
    time = 200 * STEP
    assert run.particles.velocity[0] == pytest.approx(speed + other * time, rel=1e-12)
    assert run.particles.position[0] == pytest.approx(place + speed * time + 0.5 * other * time**2, rel=1e-12)
    energies = run.energies()
    assert energies["gravity_work"] == pytest.approx(work, rel=1e-12)
    assert abs(energies["residual"]) < 1e-12 * abs(work)
    assert energies["stages"] == 0.0


def tilting(folder, table, **options):
    more = {"domain": {"gravity_table": table}}
    return run_of(folder, Grains([0.3, -0.2, 0.7], R), more=more, gravity=(0.0, 0.0, 0.0), **options)


@pytest.mark.parametrize("every", [None, STEP, 7 * STEP])
def test_gravity_follows_its_table(tmp_path, every):
    """A free grain has the integral of the table; what is lost to intervals is of second order in them."""
    times, values = [100 * STEP, 300 * STEP, 500 * STEP], [[0, 0, -G], [G, 0, 0], [G, 0, 0]]
    table = {"times": times, "values": values, **({"every": every} if every else {})}
    run = tilting(tmp_path, table)
    run.advance(100)
    assert run.particles.velocity[0] == pytest.approx([0.0, 0.0, -G * 100 * STEP], abs=1e-5)
    run.advance(500)
    # the trapezoids of the table, with what is left of an interval at its bends
    exact = np.array([G * (100 + 300) * STEP, 0.0, -G * (100 + 100) * STEP])
    interval = 20 * STEP if every is None else every
    assert run.particles.velocity[0] == pytest.approx(exact, abs=G * interval**2 / (200 * STEP) + 1e-12)
    energies = run.energies()
    assert energies["gravity_work"] != 0.0
    assert abs(energies["residual"]) < 1e-12 * abs(energies["gravity"])
    assert run.system.features.named("gravity").next_step > 2**60, "after the table nothing happens any more"


def test_gravity_by_a_file_and_from_a_stage_on(tmp_path):
    (tmp_path / "tilt.csv").write_text("time, x, y, z\n0 0 0 -9.81\n0.004 9.81 0 0\n")
    given = {"times": [0.0, 0.004], "values": [[0, 0, -9.81], [9.81, 0, 0]]}
    runs = [tilting(tmp_path, table) for table in ({"file": "tilt.csv"}, given)]
    for run in runs:
        run.advance(250)
    require_same_bits(state_of(runs[0]), state_of(runs[1]))
    stages = [{"name": "a", "end": 40 * STEP}, {"name": "b", "gravity_table": given}]
    late = run_of(tmp_path, Grains([0.3, -0.2, 0.7], R), stages=stages, gravity=(0.0, 0.0, 0.0))
    late.advance(40 + 250)
    assert late.particles.velocity[0] == pytest.approx(runs[0].particles.velocity[0], rel=1e-12)
    assert np.array_equal(late.system.constants.gravity, [9.81, 0.0, 0.0])


def test_bodies_feel_gravity_that_changes(tmp_path):
    body = {"density": 1000.0}
    walls = ({"mesh": box([-0.05] * 3, [0.05] * 3), "name": "block", "body": body},)
    stages = [{"name": "a", "end": 50 * STEP}, {"name": "b", "gravity": [1.0, 0.0, 0.0]}]
    run = run_of(tmp_path, Grains([5.0, 0, 1], R), walls=walls, stages=stages)
    run.advance(50)
    assert run.driven_walls()["block"]["velocity_z"] == pytest.approx(-G * 50 * STEP)
    run.advance(100)
    block = run.driven_walls()["block"]
    assert block["velocity_x"] == pytest.approx(100 * STEP)
    assert block["velocity_z"] == pytest.approx(-G * 50 * STEP)
    assert abs(run.energies()["residual"]) < 1e-12 * abs(run.energies()["gravity_work"])


def test_a_body_that_is_not_there_stays_where_it_is(tmp_path):
    walls = ({"mesh": box([-0.05] * 3, [0.05] * 3), "name": "block", "body": {"density": 1000.0}},)
    stages = [
        {"name": "a", "end": 50 * STEP},
        {"name": "b", "walls": {"block": {"add": True}}, "end": 50 * STEP},
        {"name": "c", "walls": {"block": {"remove": True}}},
    ]
    run = run_of(tmp_path, Grains([5.0, 0, 1], R), walls=walls, stages=stages)
    run.advance(50)
    assert run.driven_walls()["block"]["velocity_z"] == 0.0
    run.advance(50)
    falling = run.driven_walls()["block"]["velocity_z"]
    assert falling == pytest.approx(-G * 50 * STEP, rel=0.02)
    kinetic = run.energies()["body_motion"]
    run.advance(50)
    assert run.driven_walls()["block"]["velocity_z"] == falling
    energies = run.energies()
    assert energies["body_motion"] == energies["body_gravity"] == 0.0
    assert kinetic > 0.0
    assert abs(energies["residual"]) < 1e-12


def test_motions_and_servos_count_from_their_stage(tmp_path):
    walls = (
        {"mesh": quad(0.1), "name": "drum", "stage": "b", "rotation": {"rate": 3.0, "axis": [0, 0, 1]}},
        {"mesh": quad(0.1, 0.2), "name": "arm", "on": "arm"},
        {
            "mesh": quad(0.1, 0.5), "name": "piston", "stage": "b",
            "servo": {"axis": [0, 0, -1], "force": -1.0, "largest_rate": 0.1, "start": 10 * STEP},
        },
    )  # fmt: skip
    table = {"times": [0.0, 1.0], "displacements": [[0, 0, 0], [0.5, 0, 0]]}
    more = {"motions": {"arm": {"stage": "b", "translation_table": table}}}
    stages = [{"name": "a", "end": 40 * STEP}, {"name": "b"}]
    run = run_of(tmp_path, Grains([5.0, 0, 1], R), walls=walls, stages=stages, more=more)
    moving = run.system.walls
    run.advance(40)
    assert not moving.angular_velocity.any()
    assert not moving.velocity.any()
    run.advance(25)
    time = 25 * STEP
    assert moving.angular_velocity[0, 2] == 3.0
    point = np.array([[1.0, 0.0, 0.0]])
    turned = [[math.cos(3.0 * time), math.sin(3.0 * time), 0.0]]
    assert moving.pose_of(0).place(point) == pytest.approx(np.array(turned))
    assert moving.pose_of(1).place(point) == pytest.approx(np.array([[1.0 + 0.5 * time, 0.0, 0.0]]))
    assert run.driven_walls()["piston"]["travel"] == pytest.approx(0.1 * 15 * STEP, abs=0.11 * STEP)


def test_insertions_count_from_their_stage(tmp_path):
    inlet = {
        "name": "inlet", "material": "grain", "radius": 0.002, "stage": "b", "every": 10 * STEP,
        "start": 20 * STEP, "end": 120 * STEP, "velocity": [0.0, 0.0, -1.0],
        "region": {"lower": [-0.1] * 3, "upper": [0.1] * 3},
        "count_rate": {"times": [0.0, 120 * STEP], "values": [0.0, 2e5]},
    }  # fmt: skip
    stages = [{"name": "a", "end": 35 * STEP}, {"name": "b"}]
    late = run_of(tmp_path, stages=stages, more={"insertions": [inlet]})
    plain = run_of(tmp_path, more={"insertions": [{k: v for k, v in inlet.items() if k != "stage"}]})
    late.advance(35 + 20)
    assert late.insertions["inlet"].count == 0
    late.advance(180)
    plain.advance(20 + 180)
    assert late.insertions["inlet"].count == plain.insertions["inlet"].count > 100
    assert not late.insertions["inlet"].running
    assert np.array_equal(late.gather()["radius"], plain.gather()["radius"])
