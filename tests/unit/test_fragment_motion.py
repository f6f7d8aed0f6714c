"""Motion of fragments: momentum and angular momentum are those that are wanted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.features.breakage.fragment_motion import common_spin, fragment_motion, inertia
from pdem.features.breakage.fragment_places import fragment_places

VECTORS = st.tuples(*(st.floats(-10.0, 10.0),) * 3)
RADII = st.lists(st.floats(0.02, 0.6), min_size=1, max_size=30)
DENSITY = 2500.0


def spheres(sizes, room=1.0, uniform=0.4):
    """Return masses, radii and places of fragments."""
    radii = room * np.array(sizes)
    return 4.0 / 3.0 * np.pi * DENSITY * radii**3, radii, fragment_places(radii, room, uniform)


@given(RADII, VECTORS, VECTORS, st.floats(1e-5, 10.0))
def test_momentum_and_angular_momentum_are_exact(sizes, velocity, momentum, room):
    mass, radius, offset = spheres(sizes, room)
    unit = np.sum(mass) * room**2
    velocities, spins, energy = fragment_motion(mass, radius, offset, velocity, unit * np.array(momentum))
    wanted = np.sum(mass) * np.array(velocity)
    size = max(np.abs(velocities).max(), 1e-300)
    np.testing.assert_allclose(mass @ velocities, wanted, rtol=0.0, atol=4e-15 * np.sum(mass) * size)
    total = mass @ np.cross(offset, velocities) + np.sum(0.4 * mass * radius**2) * spins[0]
    fastest = np.abs(spins).max() * room + size
    np.testing.assert_allclose(total, unit * np.array(momentum), rtol=0.0, atol=1e-14 * np.sum(mass) * room * fastest)
    turning = 0.4 * mass * radius**2 * np.sum(spins**2, axis=1)
    assert energy == pytest.approx(0.5 * np.sum(mass * np.sum(velocities**2, axis=1) + turning), rel=1e-12)
    assert np.all(spins == spins[0])


def test_one_sphere_keeps_its_motion():
    mass, radius, offset = spheres([0.5])
    spin = np.array([1.0, -2.0, 3.0])
    velocities, spins, energy = fragment_motion(mass, radius, offset, [1.0, 2.0, 3.0], 0.4 * mass * radius**2 * spin)
    np.testing.assert_array_equal(velocities, [[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(spins, [spin], rtol=1e-15)
    assert energy == pytest.approx(mass[0] * (7.0 + 0.2 * radius[0] ** 2 * 14.0))


def test_the_tensor_of_inertia():
    mass, radius = np.array([2.0, 3.0]), np.array([0.1, 0.2])
    offset = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
    own = 0.4 * (2.0 * 0.01 + 3.0 * 0.04)
    wanted = [(m * (x @ x * np.eye(3) - np.outer(x, x))) for m, x in zip(mass, offset, strict=True)]
    np.testing.assert_allclose(inertia(mass, radius, offset), wanted[0] + wanted[1] + own * np.eye(3), rtol=1e-15)


@given(RADII, VECTORS)
def test_the_spin_solves_the_equation(sizes, momentum):
    tensor = inertia(*spheres(sizes))
    spin = common_spin(tensor, momentum)
    np.testing.assert_allclose(
        spin, np.linalg.solve(tensor, momentum), rtol=0.0, atol=1e-12 * np.abs(spin).max() + 1e-300
    )


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_very_small_and_large_bodies(scale):
    mass, radius, offset = spheres([0.5, 0.4, 0.3])
    tensor = scale * inertia(mass, radius, offset)
    np.testing.assert_allclose(
        tensor @ common_spin(tensor, scale * np.array([1.0, 2.0, 3.0])), scale * np.arange(1.0, 4.0)
    )


def test_fragments_in_a_plane_turn_in_it():
    radii = np.array([0.5, 0.4, 0.3])
    offset = fragment_places(radii, 1.0, 0.4, axes=2)
    velocities, spins, _ = fragment_motion(radii**3, radii, offset, [1.0, 2.0, 0.0], [0.0, 0.0, 2.0])
    assert not velocities[:, 2].any()
    assert not spins[:, :2].any()
    assert np.all(spins[:, 2] > 0.0)
