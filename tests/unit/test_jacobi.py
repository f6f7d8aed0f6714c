"""Eigenvalues and eigenvectors of symmetric 3 x 3 matrices, against LAPACK and against closed solutions."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.foundation import jacobi


def symmetric(count: int, seed: int) -> np.ndarray:
    matrices = np.random.default_rng(seed).standard_normal((count, 3, 3))
    return matrices + np.swapaxes(matrices, 1, 2)


def test_a_stack_has_the_eigenvalues_of_lapack():
    matrices = symmetric(2000, 1)
    np.testing.assert_allclose(jacobi.eigenvalues(matrices), np.linalg.eigvalsh(matrices), rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1.0, 1e120])
def test_vectors_are_orthonormal_and_restore_the_matrix(scale):
    matrices = scale * symmetric(500, 2)
    values, vectors = jacobi.eigenvectors(matrices)
    again = np.einsum("nij,nj,nkj->nik", vectors, values, vectors)
    products = np.einsum("nij,nik->njk", vectors, vectors)
    np.testing.assert_allclose(again, matrices, rtol=0.0, atol=2e-14 * scale)
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), products.shape), rtol=0.0, atol=3e-15)


def test_values_ascend():
    assert np.all(np.diff(jacobi.eigenvalues(symmetric(500, 3)), axis=1) >= 0.0)


def test_a_diagonal_matrix_keeps_its_bits():
    values, vectors = jacobi.eigenvectors(np.diag([0.3, -0.1, 0.2]))
    assert values.tolist() == [-0.1, 0.2, 0.3]
    assert vectors.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_equal_eigenvalues():
    values, vectors = jacobi.eigenvectors(np.ones((3, 3)))
    np.testing.assert_allclose(values, [0.0, 0.0, 3.0], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(np.abs(vectors[:, 2]), np.full(3, 3.0**-0.5), rtol=1e-15)


def test_zero_and_nearly_diagonal_matrices():
    assert jacobi.eigenvalues(np.zeros((3, 3))).tolist() == [0.0, 0.0, 0.0]
    slanted = np.diag([1.0, 2.0, 3.0])
    slanted[0, 1] = slanted[1, 0] = 1e-300
    assert jacobi.eigenvalues(slanted).tolist() == [1.0, 2.0, 3.0]


def test_a_matrix_by_itself_has_the_bits_that_it_has_in_a_stack():
    matrices = symmetric(50, 4)
    matrices[::7] *= np.eye(3)
    values, vectors = jacobi.eigenvectors(matrices)
    for matrix, value, vector in zip(matrices, values, vectors, strict=True):
        one, axes = jacobi.eigenvectors(matrix)
        assert np.array_equal(one, value)
        assert np.array_equal(axes, vector)


def test_a_stack_may_be_empty_or_have_two_axes():
    assert jacobi.eigenvalues(np.zeros((0, 3, 3))).shape == (0, 3)
    values, vectors = jacobi.eigenvectors(symmetric(6, 5).reshape(2, 3, 3, 3))
    assert values.shape == (2, 3, 3)
    assert vectors.shape == (2, 3, 3, 3)
