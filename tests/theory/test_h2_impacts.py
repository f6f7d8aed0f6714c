"""H2 sect. 6.1.1 and 6.1.2 (Santasusana et al. 2016) with motion: landing on a facet, an edge, a vertex."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cases import Grains, box, simulate

SOFT = {"density": 100.0, "youngs_modulus": 1e5, "poisson_ratio": 0.2}
MATERIALS = {"grain": SOFT, "steel": {}}
RADIUS, GRAVITY, STEP = 0.3, 9.81, 1e-5


def landing(folder, steps_before):
    """Return a run of three spheres over a facet, an edge and a vertex of a block, fallen from 1 m so far."""
    time = steps_before * STEP
    height = 1.0 - 0.5 * GRAVITY * time**2
    corners = [[-5.0, -5.0], [0.0, -5.0], [0.0, 0.0]]
    return simulate(
        folder, Grains([[x, y, height] for x, y in corners], RADIUS, [0.0, 0.0, -GRAVITY * time]),
        materials=MATERIALS, walls=({"mesh": box([-10.0, -10.0, -10.0], [0.0, 0.0, 0.0])},), step=STEP,
        gravity=(0.0, 0.0, -GRAVITY), largest_overlap=1.0,
    )  # fmt: skip


def check_landing(run, steps):
    forces, heights = [], []
    for _ in range(steps // 5):
        run.advance(5)
        held = run.gather()
        np.testing.assert_allclose(held["position"][:, 2], held["position"][0, 2], rtol=1e-12)
        np.testing.assert_allclose(held["position"][:, :2], [[-5, -5], [0, -5], [0, 0]], atol=1e-12)
        forces.append(held["force"][0, 2])
        heights.append(held["position"][0, 2])
    assert max(forces) == pytest.approx(2286.08, abs=0.05)
    assert RADIUS - min(heights) == pytest.approx(0.096659, abs=1e-6)
    return held


def test_landing_on_facet_edge_and_vertex(tmp_path):
    """6.1.1: one trajectory, 32 % indentation, and the energy of 1 m of height comes back."""
    run = landing(tmp_path, 37000)
    held = check_landing(run, 9000)
    time = 0.46
    rises = held["velocity"][:, 2]
    top = held["position"][:, 2] + rises**2 / (2.0 * GRAVITY)
    np.testing.assert_allclose(top, 1.0, rtol=1e-6)
    np.testing.assert_allclose(time + rises / GRAVITY, 0.8302, atol=5e-5)


@pytest.mark.slow
def test_the_whole_fall_and_rise(tmp_path):
    """6.1.1 from rest at 1 m."""
    run = landing(tmp_path, 0)
    held = check_landing(run, 83020)
    np.testing.assert_allclose(held["position"][:, 2], 1.0, rtol=1e-6)
    assert np.abs(held["velocity"][:, 2]).max() < 1e-3


def test_constant_force_around_edge_and_vertex(tmp_path):
    """6.1.2: held at 0.01 m indentation anywhere around an edge or a vertex, the force is 76.07 N outwards."""
    angles = np.linspace(0.0, math.pi / 2, 31)
    ways = [[math.sin(angle), 0.0, math.cos(angle)] for angle in angles]
    slants = np.array([[math.sin(a), math.cos(a), 0.5] for a in angles])
    ways = np.array([*ways, *(slants / np.linalg.norm(slants, axis=1)[:, None])])
    feet = np.array([[0.0, -5.0, 0.0]] * len(angles) + [[0.0, 0.0, 0.0]] * len(angles))
    measured = []
    for way, foot in zip(ways, feet, strict=True):
        run = simulate(
            tmp_path, Grains([foot + (RADIUS - 0.01) * way], RADIUS), materials=MATERIALS, step=STEP,
            walls=({"mesh": box([-10.0, -10.0, -10.0], [0.0, 0.0, 0.0])},),
        )  # fmt: skip
        measured.append(run.gather()["force"][0])
    np.testing.assert_allclose(measured, 76.0726 * ways, atol=1e-4)
