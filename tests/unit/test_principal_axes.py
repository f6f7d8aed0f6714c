"""Principal axes: they diagonalise the tensor, are right-handed, and do not jump."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pdem.containers.principal_axes import principal_axes

MOMENTS = st.floats(0.1, 10.0)
TURNS = st.tuples(*(3 * [st.floats(-3.0, 3.0)]))


def tensor(moments, turn):
    matrix = Rotation.from_rotvec(turn).as_matrix()
    return matrix @ np.diag(moments) @ matrix.T


def turned(one, other):
    """Return the angle between two frames."""
    return Rotation.from_matrix(one.T @ other).magnitude()


@given(st.tuples(MOMENTS, MOMENTS, MOMENTS), TURNS)
def test_the_tensor_is_diagonal_in_its_axes(moments, turn):
    inertia = tensor(moments, turn)
    found, axes = principal_axes(inertia)
    assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes @ np.diag(found) @ axes.T == pytest.approx(inertia, abs=1e-9 * max(moments))


@given(MOMENTS, MOMENTS, TURNS, st.integers(0, 2), st.integers(0, 2**32 - 1))
@example(own=2.0, other=1.0, turn=(0.0, 1.0, 1.0), place=0, seed=0)
@example(own=2.0, other=1.0, turn=(0.0, 0.0, 0.25 * np.pi), place=0, seed=1)
def test_rounding_does_not_turn_the_axes_of_a_top(own, other, turn, place, seed):
    moments = np.full(3, other)
    moments[place] = own
    inertia = tensor(moments, turn)
    noise = 1e-16 * max(own, other) * np.random.default_rng(seed).normal(size=(3, 3))
    _, axes = principal_axes(inertia)
    _, again = principal_axes(inertia + noise + noise.T)
    if abs(own - other) > 1e-3:
        assert turned(axes, again) < 1e-8
    if own == other:
        assert np.array_equal(axes, np.eye(3))


@pytest.mark.parametrize("moments", [(1, 1, 1), (1, 1, 2), (3, 2, 1), (2, 5, 2)])
def test_a_diagonal_tensor_keeps_its_axes(moments):
    found, axes = principal_axes(np.diag(np.array(moments, np.float64)))
    assert np.array_equal(axes, np.eye(3))
    assert found.tolist() == list(moments)


@pytest.mark.parametrize("moments", [(1.0, 2.0, 3.0), (1.0, 1.0, 2.0), (2.0, 1.0, 1.0)])
def test_axes_turn_with_the_body(moments):
    """From the axes of the tensor on, step by step, by up to 40 degrees: frames follow the body without a jump."""
    before = np.eye(3)
    for angle in np.linspace(0.0, 0.7, 50):
        _, axes = principal_axes(tensor(moments, [0.0, angle, 0.0]))
        assert turned(before, axes) < 0.05
        before = axes
