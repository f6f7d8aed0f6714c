"""Runs on terrain in map coordinates, 5,000 km from the origin, and on the same brought there by an offset."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains, simulate, state_of
from pdem.containers.meshes.mesh import Mesh

pytestmark = pytest.mark.compiles

MAP = np.array([5e5, 5e6, 300.0])
STEPS = 3000


def terrain(path, place, digits):
    """Write a sheet of triangles of 1 m that slopes and is rough, with heights in whole parts of 1/64 m."""
    x, y = (one.ravel() for one in np.mgrid[-4:5, -4:5].astype(float))
    rough = np.random.default_rng(4).uniform(0.0, 0.1, x.size)
    points = np.column_stack((x, y, np.round((0.1 * rough - 0.36 * x) * 64) / 64)) + place
    at = (np.arange(8)[:, None] * 9 + np.arange(8)).ravel() + 1
    facets = [*zip(at, at + 9, at + 10, strict=True), *zip(at, at + 10, at + 1, strict=True)]
    lines = ["v " + " ".join(f"{value:.{digits}f}" for value in point) for point in points.tolist()]
    path.write_text("\n".join([*lines, *("f {} {} {}".format(*facet) for facet in facets)]))
    return path


def run(folder, mesh, place=(0.0, 0.0, 0.0)):
    """Return a simulation of spheres that roll down the sheet."""
    places = np.stack(np.meshgrid([-3.0, -2.25, -1.5], [-0.75, 0.0, 0.75], indexing="ij"), -1).reshape(-1, 2)
    centres = np.column_stack((places, 0.375 - 0.36 * places[:, 0])) + place
    simulation = simulate(
        folder, Grains(centres, 0.3), walls=({"mesh": mesh},), gravity=(0.0, 0.0, -9.81), step=2e-4,
        law={"friction": 0.5, "restitution": 0.5}, lower=np.add(place, -8), upper=np.add(place, 8),
    )  # fmt: skip
    simulation.advance(STEPS)
    assert simulation.measures().wall_contacts > 5
    return simulation


def test_an_offset_brings_a_map_to_the_origin_with_the_same_bits(tmp_path):
    near = run(tmp_path, Mesh.read(terrain(tmp_path / "near.obj", 0.0, 6)))
    brought = run(tmp_path, Mesh.read(terrain(tmp_path / "map.obj", MAP, 6), offset=-MAP))
    for group, columns in state_of(near).items():
        for name, column in columns.items():
            assert column.tobytes() == state_of(brought)[group][name].tobytes(), f"{group}/{name}"
    assert near.energies() == brought.energies()


@pytest.mark.parametrize("digits", [2, 3, 6])
def test_a_run_in_map_coordinates_is_that_at_the_origin(tmp_path, digits):
    """Up to the steps of positions there, 1e-9 m, and to the decimals of the file."""
    near = run(tmp_path, Mesh.read(terrain(tmp_path / "near.obj", 0.0, digits)))
    far = run(tmp_path, Mesh.read(terrain(tmp_path / "map.obj", MAP, digits)), MAP)
    moved = run(tmp_path, Mesh.read(tmp_path / "near.obj", offset=MAP), MAP)
    one, other = (np.array(simulation.particles.position) for simulation in (near, far))
    assert np.abs(one[:, 2] - one[0, 2]).max() > 0.1  # they have rolled
    np.testing.assert_allclose(other - MAP, one, rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.array(moved.particles.position), other, rtol=0, atol=1e-5)
