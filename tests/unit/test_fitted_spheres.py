"""Spheres that fill a closed mesh: volume, inertia, symmetry, and what cannot be filled."""

import numpy as np
import pytest

from helpers.cases import box, quad
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.meshes.solid import solid_of
from pdem.containers.primitives.round import sphere
from pdem.containers.sphere_union import union_of_spheres
from pdem.foundation.errors import InputError, MeshError
from pdem.particles.clusters.fitted_spheres import fit_spheres


def round_mesh(radius):
    (triangles,) = sphere([0.1, 0.2, 0.3], radius, 0.002 * radius)
    return Mesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))


def test_a_round_mesh_is_one_sphere():
    mesh = round_mesh(0.01)
    found = fit_spheres(mesh, 20, 0.01)
    assert len(found.radius) == 1
    assert found.radius[0] == pytest.approx((solid_of(mesh).volume * 0.75 / np.pi) ** (1 / 3), rel=1e-12)
    assert found.centre[0] == pytest.approx([0.1, 0.2, 0.3], abs=0.001)
    assert found.gap < 0.001


def test_a_cube_has_one_sphere_in_the_middle_and_one_in_each_corner():
    found = fit_spheres(box([0, 0, 0], [2, 2, 2]), 9, 0.0)
    union = union_of_spheres(found.centre, found.radius)
    assert union.volume == pytest.approx(8.0, rel=1e-12)
    assert union.centre == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)
    assert found.centre[0] == pytest.approx([1.0, 1.0, 1.0], abs=0.06)
    corners = found.centre[1:] > 1.0
    assert len(np.unique(corners, axis=0)) == 8
    assert np.ptp(found.radius[1:]) < 1e-9
    difference = np.abs(union.inertia - 16 / 3 * np.eye(3)).max() / (16 / 3)
    assert found.inertia_error == pytest.approx(difference)
    assert found.inertia_error < 0.06


def test_spheres_are_added_until_the_inertia_agrees():
    mesh = box([0, 0, 0], [1, 1, 3])
    rough, fine = fit_spheres(mesh, 60, 0.05), fit_spheres(mesh, 60, 0.02)
    assert rough.inertia_error <= 0.05
    assert fine.inertia_error <= 0.02
    assert 3 <= len(rough.radius) <= len(fine.radius) < 60
    again = fit_spheres(mesh, 60, 0.05)
    assert np.array_equal(again.radius, rough.radius)
    assert np.array_equal(again.centre, rough.centre)


def test_what_cannot_be_filled():
    with pytest.raises(InputError, match=r"0 spheres cannot fill a mesh"):
        fit_spheres(box([0, 0, 0], [1, 1, 1]), 0, 0.1)
    with pytest.raises(MeshError, match=r"close no volume"):
        fit_spheres(quad(), 5, 0.1)
