"""Eigenvalues and eigenvectors of symmetric 3 x 3 matrices, with the same bits on every machine.

The routines of LAPACK round differently by version and by processor. The iteration of Jacobi needs only the four basic
operations and square roots: a rotation in the plane of two axes makes their entry of the matrix zero, in turn for the
three pairs of axes. The entries beside the diagonal shrink quadratically, so that a few sweeps are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats

_PLANES = ((0, 1, 2), (0, 2, 1), (1, 2, 0))
_MOST_SWEEPS = 12
"""Six are enough for nearly every matrix; rotations by nothing change no bit, so that the limit may be larger."""


def eigenvalues(matrices: ArrayLike) -> Floats:
    """Return the eigenvalues of a symmetric 3 x 3 matrix, or of a stack of them, in ascending order.

    Parameters
    ----------
    matrices : array_like, shape (..., 3, 3)
        Only the entries on and above the diagonal are read.

    Returns
    -------
    ndarray, shape (..., 3)
        The same for a matrix by itself and in a stack.
    """
    return eigenvectors(matrices)[0]


def eigenvectors(matrices: ArrayLike) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric 3 x 3 matrix, or of a stack of them, and the eigenvectors.

    Parameters
    ----------
    matrices : array_like, shape (..., 3, 3)
        Only the entries on and above the diagonal are read.

    Returns
    -------
    ndarray, shape (..., 3)
        Eigenvalues, in ascending order.
    ndarray, shape (..., 3, 3)
        Unit eigenvectors, in the columns in the same order. Their signs follow from the matrix by no simple rule.
    """
    given = np.asarray(matrices, np.float64)
    matrix = given.reshape(-1, 3, 3).copy()
    vectors = np.zeros_like(matrix) + np.eye(3)
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(_MOST_SWEEPS):
            if not any(matrix[:, p, q].any() for p, q, _ in _PLANES):
                break
            for plane in _PLANES:
                _rotate(matrix, vectors, *plane)
    values = matrix[:, (0, 1, 2), (0, 1, 2)]
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    vectors = np.take_along_axis(vectors, order[:, None, :], axis=2)
    return values.reshape(given.shape[:-1]), vectors.reshape(given.shape)


def _rotate(matrix: Floats, vectors: Floats, p: int, q: int, r: int) -> None:
    """Turn the axes p and q so that their entry above the diagonal becomes zero; r is the third axis."""
    tangent = _tangent(matrix[:, q, q] - matrix[:, p, p], matrix[:, p, q])
    cosine = 1.0 / np.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    shift = tangent * matrix[:, p, q]
    matrix[:, p, p] -= shift
    matrix[:, q, q] += shift
    matrix[:, p, q] = 0.0
    first, second = (min(p, r), max(p, r)), (min(q, r), max(q, r))
    _turn(matrix[:, *first], matrix[:, *second], cosine, sine)
    _turn(vectors[:, :, p], vectors[:, :, q], cosine[:, None], sine[:, None])


def _turn(one: Floats, other: Floats, cosine: Floats, sine: Floats) -> None:
    """Turn two components of vectors, in place."""
    turned = cosine * one - sine * other
    other[...] = sine * one + cosine * other
    one[...] = turned


def _tangent(apart: Floats, beside: Floats) -> Floats:
    """Return the tangent of the smaller angle of rotation; 0 where the entry beside the diagonal is 0."""
    is_zero = beside == 0.0
    ratio = apart / np.where(is_zero, 1.0, 2.0 * beside)
    size = np.abs(ratio) + np.sqrt(ratio * ratio + 1.0)
    return np.where(is_zero, 0.0, np.where(ratio < 0.0, -1.0, 1.0) / size)
