"""Torques on walls that move: about the point the documentation names, in whatever way they are reported."""

from __future__ import annotations

import numpy as np
import pytest
import tomli_w

from helpers.cases import Grains, make_case, simulate
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.output.series import read_series
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.snapshot_files import WALL_FILE
from pdem.run.run import run
from pdem.run.simulation import Simulation

RADIUS, STEP, STEPS = 0.06, 2e-5, 40
TIME = STEP * STEPS
ORIGIN = [0.0, 0.0, 0.0]
AXIS = {"axis": [0.0, 0.2, 1.0], "centre": [0.4, 0.3, 0.2]}
TURN = {"rotation": {"rate": 3.0, **AXIS}}
SWING = {"swing": {"amplitude": 0.1, "frequency": 3.0, "axis": [1.0, 0.0, 0.0], "centre": [0.1, 0.2, -0.1]}}
SLIDE = {"translation": {"velocity": [2.0, -1.0, 0.0]}}
SHAKE = {"oscillation": {"amplitude": [0.001, 0.002, 0.0], "frequency": 40.0}}
BODY = {"mass": 0.5, "centre": [0.4, 0.5, 0.1], "inertia": [0.1, 0.1, 0.1], "velocity": [0.3, 0.0, 0.0]}
SERVO = {"axis": [1.0, 0.0, 0.0], "force": 1.0, "largest_rate": 0.5}
WHIRL = {"axis": [0.0, 0.0, 1.0], "centre": [0.5, 0.5, 0.0], "torque": 0.1, "largest_rate": 3.0}


def later(point, velocity):
    return np.array(point) + TIME * np.array(velocity)


MOVES = {
    # what the wall does, motions it may be on, and about which point its torque is
    "at rest": ({}, {}, ORIGIN),
    "sliding": (SLIDE, {}, ORIGIN),
    "shaken": (SHAKE, {}, ORIGIN),
    "turning": (TURN, {}, AXIS["centre"]),
    "turning and swinging": (TURN | SWING, {}, AXIS["centre"]),
    "swinging": (SWING, {}, SWING["swing"]["centre"]),
    "turning, sliding": (TURN | SLIDE, {}, later(AXIS["centre"], SLIDE["translation"]["velocity"])),
    "shaken on what turns": (SHAKE | {"on": "drum"}, {"drum": TURN}, AXIS["centre"]),
    "shaken on what turns and slides": (
        SHAKE | {"on": "drum"}, {"drum": TURN | SLIDE}, later(AXIS["centre"], SLIDE["translation"]["velocity"]),
    ),
    "turning on what slides": (
        TURN | {"on": "cart"}, {"cart": SLIDE}, later(AXIS["centre"], SLIDE["translation"]["velocity"]),
    ),
    "sliding on what is shaken": (SLIDE | {"on": "cart"}, {"cart": SHAKE}, ORIGIN),
    "servo": ({"servo": SERVO}, {}, ORIGIN),
    "servo that is shaken": ({"servo": SERVO, **SHAKE}, {}, ORIGIN),
    "servo that turns": ({"servo": WHIRL}, {}, WHIRL["centre"]),
    "servo that turns what is shaken": ({"servo": WHIRL, **SHAKE}, {}, WHIRL["centre"]),
    "hinged body": ({"body": {**BODY, "velocity": ORIGIN, "hinge": AXIS}}, {}, AXIS["centre"]),
}  # fmt: skip


def sheet_and_grains():
    """Return a bumpy sheet over the unit square, and spheres that press into it a little."""
    generator = np.random.default_rng(3)
    x, y = (one.ravel() for one in np.meshgrid(*[np.linspace(0, 1, 9)] * 2))
    at = (np.arange(8)[:, None] * 9 + np.arange(8)).ravel()
    loops = [loop for k in at for loop in ([k, k + 1, k + 10], [k, k + 10, k + 9])]
    places = np.stack(np.meshgrid(*[np.linspace(0.1, 0.9, 5)] * 2), -1).reshape(-1, 2)
    centres = np.column_stack((places, 0.057 + generator.uniform(-4e-3, 0, len(places))))
    return Mesh(np.column_stack((x, y, 0.02 * generator.uniform(size=len(x)))), loops), centres


def moved(tmp_path, name, law=None, **options):
    """Return a case, the mesh of its wall, and the point its torque is about."""
    mesh, centres = sheet_and_grains()
    keys, motions, point = MOVES[name]
    case = make_case(
        tmp_path, Grains(centres, RADIUS), walls=({"mesh": mesh},), law=law, step=STEP, end=TIME,
        gravity=(1.0, 2.0, -9.0), **options,
    )  # fmt: skip
    document = case.model_dump(exclude_defaults=True)
    document["walls"][0].update(keys)
    document["motions"] = motions
    document["output"] = {"folder": str(tmp_path / "out"), "snapshots_every": TIME, "series_every": TIME}
    return Case.from_text(tomli_w.dumps(plain(document)), tmp_path), mesh, np.array(point)


def plain(value):
    """Return a document without None and tuples, as TOML can say it."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if one is not None}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("method", ["h2", "signed"])
@pytest.mark.parametrize("name", MOVES)
def test_torques_are_the_moments_of_the_nodal_forces_about_the_point_stated(tmp_path, name, method):
    case, mesh, point = moved(tmp_path, name, detection={"walls": method})
    simulation = Simulation(case, meshes=[mesh], threads=1)
    run(simulation, quiet=True)
    on, load = simulation.nodal_forces()["wall0"], simulation.wall_loads()["wall0"]
    size = np.abs(load["force"]).max()
    assert size > 1.0
    assert (np.abs(on["vertices"] - mesh.vertices).max() > 1e-6) == (name != "at rest")
    torque = np.cross(on["vertices"] - point, on["force"]).sum(axis=0)
    np.testing.assert_allclose(load["torque"], torque, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(on["body_torque"].sum(axis=0), torque, rtol=0, atol=1e-10 * size)
    walls = simulation.system.contacts.walls.walls
    np.testing.assert_allclose(walls.centre[0], point, rtol=0, atol=1e-12)
    power = -load["force"] @ walls.velocity[0] - load["torque"] @ walls.angular_velocity[0]
    assert load["power"] == pytest.approx(power, abs=1e-9 * size)
    assert on["body_power"].sum() == pytest.approx(power, abs=1e-9 * size)
    last = vtkhdf.read_step(tmp_path / "out" / WALL_FILE)
    np.testing.assert_allclose(last.step_data["torque"][0], torque, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(last.step_data["body_torque"].sum(axis=0), torque, rtol=0, atol=1e-10 * size)
    series = read_series(tmp_path / "out" / "series.h5")
    row = [series[f"wall0_torque_{axis}"][-1] for axis in "xyz"]
    np.testing.assert_allclose(row, torque, rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize("arm", ["radius", "contact"])
def test_with_friction_torques_differ_by_overlap_times_friction_where_it_acts_at_the_radius(tmp_path, arm):
    law = {"friction": 0.5, "restitution": 0.8}
    case, mesh, point = moved(tmp_path, "shaken", law, detection={"wall_lever_arm": arm, "walls": "h2"})
    simulation = Simulation(case, meshes=[mesh], threads=1)
    simulation.advance(STEPS)
    on, load = simulation.nodal_forces()["wall0"], simulation.wall_loads()["wall0"]
    moments = np.cross(on["vertices"] - point, on["force"]).sum(axis=0)
    system = simulation.system
    contacts = system.contacts.walls.loaded(
        simulation.particles, system.constants.parameters(system.constants.time_step)
    )
    arms = contacts["point"] - contacts["nearest"]
    lever = np.cross(arms, contacts["force"]).sum(axis=0)
    np.testing.assert_allclose(load["torque"] - moments, lever, rtol=0, atol=1e-9)
    assert (np.abs(lever).max() > 1e-5) == (arm == "radius")
    overlap = simulation.measures().largest_overlap * RADIUS
    assert np.linalg.norm(arms, axis=1).max() == pytest.approx(overlap if arm == "radius" else 0.0, rel=1e-6)


def test_a_torque_servo_is_loaded_about_its_axis_wherever_the_wall_is(tmp_path):
    """One sphere on a plate that is carried sideways: the load is its weight times its distance from the axis."""
    axis = {"axis": [0.0, 1.0, 0.0], "centre": [0.0, 0.0, 0.0]}
    servo = {**axis, "torque": 1.0, "largest_rate": 1e-9, "start": 1e3}
    sheet = Mesh([[0.0, -1, 0], [2, -1, 0], [2, 1, 0], [0.0, 1, 0]], [[0, 1, 2, 3]])
    grains = Grains([[1.0, 0.0, 0.99 * RADIUS]], RADIUS)
    simulation = simulate(
        tmp_path, grains, walls=({"mesh": sheet, "servo": servo, "translation": {"velocity": [500.0, 0, 0]}},),
        step=STEP,
    )  # fmt: skip
    simulation.advance(20)
    load, force = simulation.driven_walls()["wall0"]["load"], simulation.wall_loads()["wall0"]["force"]
    assert load == pytest.approx(-force[2] * simulation.gather()["position"][0, 0], rel=1e-9)
