"""Quaternions of rotation matrices, against scipy."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from pdem.foundation.rotations import quaternion_of


def test_quaternions_of_random_rotations():
    rotations = Rotation.random(500, rng=np.random.default_rng(1))
    found = [quaternion_of(matrix) for matrix in rotations.as_matrix()]
    np.testing.assert_allclose(found, rotations.as_quat(canonical=True, scalar_first=True), rtol=0.0, atol=5e-16)


def test_half_and_quarter_turns_are_exact():
    assert quaternion_of(np.eye(3)) == (1.0, 0.0, 0.0, 0.0)
    assert quaternion_of(np.diag([-1.0, 1.0, -1.0])) == (0.0, 0.0, 1.0, 0.0)
    third = quaternion_of(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert third == (0.5, 0.5, 0.5, 0.5)
