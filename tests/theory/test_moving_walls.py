"""Walls that move: what they carry along, and the work they do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, box, simulate
from pdem.containers.meshes.mesh import Mesh

R, G = 3.5e-3, 9.81
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
ROUGH = {"friction": 0.6, "restitution": 0.3, "rolling_friction": 0.5}


def plates(half, gap):
    """Return two parallel horizontal squares `gap` apart about z = 0."""
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    vertices = [[x, y, z] for z in (-0.5 * gap, 0.5 * gap) for x, y in corners]
    return Mesh(vertices, [[0, 1, 2, 3], [4, 5, 6, 7]])


def squeezed(share):
    """Return the indentation at which Hertz gives `share` weights."""
    return (share * MASS * G / (4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R))) ** (2.0 / 3.0)


def test_particles_stuck_to_a_plate_take_its_velocity_and_the_ledger_its_work(tmp_path):
    """A plate jumps to 0.1 m/s sideways and 0.05 m/s up; friction brings the spheres along."""
    places = [[0.02 * k, 0.01 * k, R - squeezed(1.0)] for k in range(4)]
    plate = Mesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2, 3]])
    run = simulate(
        tmp_path, Grains(places, R), law=ROUGH, step=2e-5, gravity=(0.0, 0.0, -G),
        walls=({"mesh": plate, "translation": {"velocity": [0.1, 0.0, 0.05]}},),
    )  # fmt: skip
    first = run.energies()
    run.advance(6000)
    held = run.gather()
    np.testing.assert_allclose(held["velocity"], np.tile([0.1, 0.0, 0.05], (4, 1)), atol=2e-5)
    assert np.abs(held["angular_velocity"]).max() * R < 2e-5
    energies = run.energies()
    stored = sum(
        energies[name] - first[name] for name in ("translation", "rotation", "gravity", "elastic", "tangential")
    )
    lost = sum(energies[name] for name in ("normal_damping", "sliding", "rolling"))
    assert lost > 0.0
    assert energies["wall_work"] == pytest.approx(stored + lost, rel=2e-3)
    assert abs(energies["residual"]) < 2e-3 * energies["wall_work"]
    loads = run.wall_loads()["wall0"]
    np.testing.assert_allclose(loads["force"], [0.0, 0.0, -4 * MASS * G], atol=1e-3 * MASS * G)
    assert loads["power"] == pytest.approx(4 * MASS * G * 0.05, rel=2e-3)


@pytest.mark.parametrize("axis", [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 2.0, 3.0]])
def test_friction_holds_a_sphere_in_a_turning_frame(tmp_path, axis):
    """Squeezed between two turning plates a sphere stays in its place over turns: the history turns along."""
    rate, step = 40.0, 2e-5
    place = np.array([0.01, 0.0, 0.0])
    unit = np.array(axis) / np.linalg.norm(axis)
    need = rate**2 * 0.01 / G
    run = simulate(
        tmp_path, Grains([place], R, rate * np.cross(unit, place), rate * unit),
        law={"friction": 0.6, "restitution": 0.3}, step=step,
        walls=({"mesh": plates(0.1, 2.0 * (R - squeezed(4.0 * need))), "rotation": {"rate": rate, "axis": axis}},),
    )  # fmt: skip

    def in_frame():
        turn = run.system.contacts.walls.walls.motions[0].pose(run.time).rotation
        held = run.gather()
        spin = turn.T @ held["angular_velocity"][0] - rate * unit
        return turn.T @ held["position"][0], turn.T @ held["velocity"][0], spin

    run.advance(2500)
    first = in_frame()
    run.advance(4500)
    last = in_frame()
    assert run.time * rate > 5.5
    np.testing.assert_allclose(last[0], first[0], atol=1e-6 * R)
    np.testing.assert_allclose(last[0], place, atol=0.01 * R)
    assert np.abs(last[2] - first[2]).max() < 1e-5 * rate


def test_one_sphere_in_a_rotating_drum(tmp_path):
    """Twelve-sided drum: work of the wall = stored + lost, and torque times rate = power."""
    sides, radius, half = 12, 0.05, 0.02
    angles = 2.0 * np.pi * np.arange(sides) / sides
    ring = [[radius * math.cos(a), y, radius * math.sin(a)] for a in angles for y in (-half, half)]
    drum = Mesh(ring, [[2 * k, 2 * k + 1, (2 * k + 3) % (2 * sides), (2 * k + 2) % (2 * sides)] for k in range(sides)])
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, -0.9 * radius + R]], R), step=4e-5, gravity=(0.0, 0.0, -G),
        law={"friction": 0.5, "restitution": 0.4, "rolling_friction": 0.01},
        walls=({"mesh": drum, "rotation": {"rate": 6.0, "axis": [0.0, 1.0, 0.0]}},),
    )  # fmt: skip
    turned_over = 0.0
    for _ in range(20):
        run.advance(400)
        energies = run.energies()
        turned_over = max(turned_over, energies["normal_damping"] + energies["sliding"] + energies["rolling"])
    load = run.wall_loads()["wall0"]
    assert load["power"] == pytest.approx(-load["torque"][1] * 6.0, rel=1e-9, abs=1e-15)
    print("\ndrum: residual / lost", energies["residual"] / turned_over, energies)
    assert abs(energies["residual"]) < 0.01 * turned_over
    assert np.hypot(*run.gather()["position"][0, [0, 2]]) < radius


def test_a_piston_does_work_on_a_gas(tmp_path):
    """Frictionless elastic spheres pushed by a plate: the energy gained is the work, to the error of the step."""
    rng = np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3) * 0.012 + 0.006
    run = simulate(
        tmp_path, Grains(places, R, rng.uniform(-1, 1, (27, 3))), step="auto", lower=(0, 0, 0), upper=(0.04,) * 3,
        walls=(
            {"mesh": box([0, 0, 0], [0.04] * 3)},
            {
                "mesh": Mesh([[-1e-3, -1, -1], [-1e-3, 1, -1], [-1e-3, 1, 1], [-1e-3, -1, 1]], [[0, 1, 2, 3]]),
                "translation": {"velocity": [0.2, 0.0, 0.0]},
            },
        ),
    )  # fmt: skip
    first = run.energies()
    run.advance(1500)
    energies = run.energies()
    gained = sum(energies[name] - first[name] for name in ("translation", "rotation", "elastic"))
    assert energies["wall_work"] > 0.05 * first["translation"]
    assert gained == pytest.approx(energies["wall_work"], rel=0.01)


@pytest.mark.parametrize(
    ("motion", "at"),
    [
        ({"oscillation": {"amplitude": [4e-3, 0.0, 1e-3], "frequency": 5.0}}, [0.02, 0.01]),
        ({"swing": {"amplitude": 0.02, "frequency": 5.0, "axis": [0, 1, 0], "centre": [0, 0, -0.1]}}, [0.0, 0.01]),
    ],
    ids=["oscillation", "swing"],
)
def test_a_sphere_between_plates_that_go_to_and_fro_goes_with_them(tmp_path, motion, at):
    """Friction holds it; the ledger stays level while the wall works on it and takes work back."""
    run = simulate(
        tmp_path, Grains([[*at, 0.0]], R), law=ROUGH, step=2e-5, gravity=(0.0, 0.0, -G),
        walls=({"mesh": plates(0.5, 2.0 * (R - squeezed(60.0))), **motion},),
    )  # fmt: skip
    pose = run.system.contacts.walls.walls.motions[0].pose
    works, speeds = [], []
    for _ in range(20):
        run.advance(500)
        held = run.gather()
        carried = pose(run.time).place(np.array([[*at, 0.0]]))[0]
        assert np.linalg.norm(held["position"][0] - carried) < 0.01 * R
        np.testing.assert_allclose(held["velocity"][0], pose(run.time).velocity_at(carried), atol=3e-3)
        np.testing.assert_allclose(held["angular_velocity"][0], pose(run.time).spin, atol=0.05)
        energies = run.energies()
        works.append(energies["wall_work"])
        speeds.append(np.linalg.norm(held["velocity"][0]))
    assert max(speeds) > 0.05
    kinetic = 0.5 * MASS * max(speeds) ** 2
    assert max(works) - min(works) > 0.5 * kinetic
    assert abs(energies["residual"]) < 0.02 * kinetic
