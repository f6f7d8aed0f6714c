"""Largest eigenvalues agree with LAPACK."""

import numpy as np
import pytest

from pdem.foundation.largest_eigenvalues import bound_of_eigenvalues, gram, largest_eigenvalue
from pdem.numerics.random import keyed_uniform


@pytest.mark.parametrize("size", [1, 2, 7, 60, 300])
@pytest.mark.parametrize("rows", [1, 5, 400])
def test_one_matrix(size: int, rows: int) -> None:
    """Lanczos' method finds the largest eigenvalue, also of matrices that make few vectors."""
    factor = np.random.default_rng(size).normal(size=(rows, size))
    matrix = factor.T @ factor
    start = 0.5 + keyed_uniform(0, 0, np.arange(size))
    found = largest_eigenvalue(lambda vector: matrix @ vector, start)
    assert found == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-9)


def test_close_eigenvalues() -> None:
    """The largest eigenvalues of a long chain differ little."""
    size = 2000

    def chain(vector: np.ndarray) -> np.ndarray:
        result = 2.0 * vector
        result[1:] -= vector[:-1]
        result[:-1] -= vector[1:]
        return result

    start = 0.5 + keyed_uniform(0, 0, np.arange(size))
    expected = 2.0 + 2.0 * np.cos(np.pi / (size + 1))
    assert largest_eigenvalue(chain, start) == pytest.approx(expected, rel=1e-6)


def test_no_matrix() -> None:
    """The matrix of zeros has the eigenvalue 0."""
    assert largest_eigenvalue(lambda vector: 0.0 * vector, np.ones(3)) == 0.0
    assert bound_of_eigenvalues(np.zeros((4, 6, 6))) == 0.0


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e40])
def test_many_matrices(scale: float) -> None:
    """The bound is above the largest eigenvalue of all, and close to it."""
    rows = scale * np.random.default_rng(1).normal(size=(500, 9, 6)) * np.linspace(0.1, 1.0, 500)[:, None, None]
    matrices = gram(rows)
    assert matrices == pytest.approx(np.einsum("nsi,nsj->nij", rows, rows), rel=1e-12, abs=1e-12 * scale**2)
    expected = np.linalg.eigvalsh(matrices)[:, -1].max()
    assert expected * (1.0 - 1e-13) <= bound_of_eigenvalues(matrices) <= expected * (1.0 + 2e-7)


def test_equal_eigenvalues() -> None:
    """A multiple of the identity has as many eigenvalues of the same size as possible."""
    assert bound_of_eigenvalues(np.array([3.0 * np.eye(6)])) == pytest.approx(3.0, rel=2e-7)
