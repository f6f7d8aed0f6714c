"""What no choice of axes, units, names or frame may change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from helpers.cases import GRAIN, USUAL, Grains, simulate, state_of

R = 3.5e-3
LAW = {"friction": 0.5, "restitution": 0.6, "rolling_friction": 0.02}


def cloud(count=48, seed=5, ratio=4.0):
    """Return a cloud of spheres of different sizes that falls into itself, with spins."""
    rng = np.random.default_rng(seed)
    side = math.ceil(count ** (1 / 3))
    sites = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:count] - 0.5 * (side - 1)
    radius = rng.uniform(R / ratio, R, count)
    position = 2.1 * R * sites + rng.uniform(-0.04, 0.04, (count, 3)) * R
    velocity = -30.0 * position + rng.uniform(-0.3, 0.3, (count, 3))
    return position, radius, velocity, rng.uniform(-100.0, 100.0, (count, 3))


def run_cloud(folder, position, radius, velocity, spin, steps=400, **options):
    options = {"law": LAW, "step": 1e-5, "largest_overlap": 1.0} | options
    run = simulate(folder, Grains(position, radius, velocity, spin), **options)
    run.advance(steps)
    return run


def contacts_ever(run):
    energies = run.energies()
    return energies["normal_damping"] > 0.0 and energies["sliding"] > 0.0


@pytest.mark.parametrize(
    ("law", "unused"),
    [
        (LAW, {}),
        # with an interaction that nothing has: then the kernels are those of other tests
        ({**USUAL, "law": "linear", "normal_stiffness": 1e3}, {"steel-steel": USUAL}),
    ],
    ids=["hertz", "linear"],
)
def test_momentum_and_angular_momentum_are_kept(tmp_path, law, unused):
    parts = cloud()
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * parts[1] ** 3
    inertia = 0.4 * mass * parts[1] ** 2

    def momenta(position, velocity, spin):
        linear = (mass[:, None] * velocity).sum(axis=0)
        return linear, (np.cross(position, mass[:, None] * velocity) + inertia[:, None] * spin).sum(axis=0)

    first = momenta(parts[0], parts[2], parts[3])
    run = run_cloud(tmp_path, *parts, law=law, interactions=unused, steps=600)
    held = run.gather()
    last = momenta(held["position"], held["velocity"], held["angular_velocity"])
    assert contacts_ever(run)
    np.testing.assert_allclose(last[0], first[0], atol=1e-13 * (mass * np.linalg.norm(parts[2], axis=1)).sum())
    scale = (np.linalg.norm(parts[0], axis=1) * mass * np.linalg.norm(parts[2], axis=1)).sum()
    np.testing.assert_allclose(last[1], first[1], atol=1e-12 * scale)


def test_a_frame_that_moves_sees_the_same(tmp_path):
    parts = cloud()
    drift = np.array([0.7, -0.4, 0.2])
    still = run_cloud(tmp_path, *parts).gather()
    run = run_cloud(tmp_path, parts[0], parts[1], parts[2] + drift, parts[3])
    moving = run.gather()
    np.testing.assert_allclose(moving["position"] - drift * run.time, still["position"], atol=1e-9 * R)
    np.testing.assert_allclose(moving["velocity"] - drift, still["velocity"], atol=1e-8)
    np.testing.assert_allclose(moving["angular_velocity"], still["angular_velocity"], atol=1e-6)


def test_a_turned_cloud_moves_turned(tmp_path):
    parts = cloud()
    turn = Rotation.random(random_state=4).as_matrix()
    straight = run_cloud(tmp_path, *parts).gather()
    turned = run_cloud(tmp_path, parts[0] @ turn.T, parts[1], parts[2] @ turn.T, parts[3] @ turn.T).gather()
    np.testing.assert_allclose(turned["position"], straight["position"] @ turn.T, atol=1e-9 * R)
    np.testing.assert_allclose(turned["angular_velocity"], straight["angular_velocity"] @ turn.T, atol=1e-6)


def test_names_of_particles_do_not_matter_beyond_rounding(tmp_path):
    parts = cloud()
    order = np.random.default_rng(0).permutation(len(parts[1]))
    straight = run_cloud(tmp_path, *parts).gather()
    mixed = run_cloud(tmp_path, *(part[order] for part in parts)).gather()
    np.testing.assert_allclose(mixed["position"], straight["position"][order], atol=1e-9 * R)


def test_their_order_in_memory_changes_no_bit(tmp_path):
    start = simulate(tmp_path, Grains(*cloud()), law=LAW, step=1e-5)
    state = state_of(start)
    order = np.random.default_rng(0).permutation(len(state["particles"]["id"]))
    mixed = {**state, "particles": {name: column[order] for name, column in state["particles"].items()}}
    results = []
    for groups in (state, mixed):
        run = simulate(tmp_path, Grains(*cloud()), law=LAW, step=1e-5, state=groups)
        run.advance(400)
        results.append(run.gather())
    for name in results[0]:
        np.testing.assert_array_equal(results[0][name], results[1][name], err_msg=name)


@pytest.mark.parametrize("power", [10, -10])
def test_no_unit_of_length_is_built_in(tmp_path, power):
    """Lengths and speeds scaled by a power of two at the same density and times: same bits after scaling."""
    parts = cloud()
    scale = 2.0**power
    still = run_cloud(tmp_path, *parts).gather()
    material = GRAIN | {"youngs_modulus": GRAIN["youngs_modulus"] * scale**2}
    scaled = run_cloud(
        tmp_path, parts[0] * scale, parts[1] * scale, parts[2] * scale, parts[3],
        materials={"grain": material}, lower=[-1e3 * scale] * 3, upper=[1e3 * scale] * 3,
    ).gather()  # fmt: skip
    np.testing.assert_allclose(scaled["position"] / scale, still["position"], atol=1e-10 * R)
    np.testing.assert_allclose(scaled["angular_velocity"], still["angular_velocity"], atol=1e-7)


def test_plane_motion_stays_in_the_plane(tmp_path):
    position, radius, velocity, spin = cloud()
    position, velocity = position * [1.0, 1.0, 0.0], velocity * [1.0, 1.0, 0.0]
    sites = np.arange(len(radius))
    position[:, :2] = 2.1 * R * np.stack([sites % 7 - 3, sites // 7 - 3], axis=1)
    velocity[:, :2] = -120.0 * position[:, :2]
    for dimension in (2, 3):
        run = run_cloud(tmp_path, position, radius, velocity, spin * [0.0, 0.0, 1.0], dimension=dimension)
        held = run.gather()
        assert contacts_ever(run)
        assert not held["position"][:, 2].any()
        assert not held["velocity"][:, 2].any()
        assert not held["angular_velocity"][:, :2].any()
        if dimension == 2:
            flat = held
    for name in ("position", "velocity", "angular_velocity"):
        np.testing.assert_allclose(flat[name], held[name], atol=1e-12 * np.abs(held[name]).max())


def test_motion_out_of_the_plane_is_not_begun_in_two_dimensions(tmp_path):
    position, radius, velocity, spin = cloud(count=9)
    sites = np.arange(9)
    position = 2.1 * R * np.stack([sites % 3, sites // 3, 0 * sites], axis=1)
    run = run_cloud(tmp_path, position, radius, velocity * [1, 1, 0], spin * [0, 0, 1], dimension=2)
    assert not run.gather()["position"][:, 2].any()
