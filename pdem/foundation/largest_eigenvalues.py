"""Largest eigenvalues of symmetric matrices, with the same bits on every machine: without BLAS and LAPACK.

Lanczos' method for one large matrix (C. Lanczos, J. Res. Natl. Bur. Stand. 45 (1950) 255): the matrix is projected on
the vectors that it makes of a start vector one after another, and the largest eigenvalue of the projection rises to the
one of the matrix. Rounding makes copies of eigenvalues, but none that is too large (C. Paige, Linear Algebra Appl. 34
(1980) 235).

Repeated squares for many small matrices without negative eigenvalues: the largest eigenvalue is at most the root of
order m of the trace of the power m, and at least this over the root of order m of the size.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.foundation.array_types import Floats

_MOST, _BETWEEN = 3000, 8
"""Largest number of steps of Lanczos' method, and the number after which the eigenvalue is computed again."""

_CLOSE = 1e-10
"""Relative change of the eigenvalue between two computations at which it counts as found, if this occurs twice."""

_SQUARES = 24
"""Number of squares: the bound exceeds the eigenvalue of a matrix of size n by at most a share of ln(n) / 2^24."""


def largest_eigenvalue(product: Callable[[Floats], Floats], start: Floats) -> float:
    """Return the largest eigenvalue of a symmetric matrix without negative eigenvalues.

    Parameters
    ----------
    product : callable
        ``product(vector)`` returns the product of the matrix and a vector (n,).
    start : (n,) array
        Start vector; it must not be orthogonal to the eigenvector.
    """
    diagonal: list[float] = []
    beside: list[float] = []
    now, before, link, found, calm = start / math.sqrt(_scalar(start, start)), np.zeros(len(start)), 0.0, 0.0, 0
    for step in range(1, _MOST + 1):
        following = product(now) - link * before
        diagonal.append(_scalar(following, now))
        following = following - diagonal[-1] * now
        link = math.sqrt(_scalar(following, following))
        ends = step == _MOST or link <= 1e-14 * max(diagonal)
        if ends or step % _BETWEEN == 0:
            earlier, found = found, _largest_of(diagonal, beside, found)
            calm = calm + 1 if found - earlier <= _CLOSE * found else 0
            if ends or calm == 2:
                break
        beside.append(link)
        before, now = now, following / link
    return found


def _scalar(one: Floats, other: Floats) -> float:
    """Return the scalar product of two vectors, added up in order."""
    return float(np.cumsum(one * other)[-1])


def _largest_of(diagonal: Sequence[float], beside: Sequence[float], low: float) -> float:
    """Return the largest eigenvalue of a matrix with numbers only on and beside its diagonal, no less than `low`."""
    low, ways = max(low, *diagonal, 0.0), (0.0, *beside, 0.0)
    high = max(one + a + b for one, a, b in zip(diagonal, ways[:-1], ways[1:], strict=True))
    squares = [one * one for one in ways[:-1]]
    while low < (middle := 0.5 * (low + high)) < high and high - low > 1e-15 * high:
        if _is_above(middle, diagonal, squares):
            high = middle
        else:
            low = middle
    return high


def _is_above(value: float, diagonal: Sequence[float], squares: Sequence[float]) -> bool:
    """Return whether a value is above all eigenvalues: all pivots of the elimination are positive (Sturm)."""
    pivot = 1.0
    for one, square in zip(diagonal, squares, strict=True):
        pivot = value - one - square / pivot
        if pivot <= 0.0:
            return False
    return True


def gram(rows: Floats) -> Floats:
    """Return the products of matrices (n, r, k), transposed, and themselves: (n, k, k), added up in order of the r."""
    found = rows[:, 0, :, None] * rows[:, 0, None, :]
    for row in range(1, rows.shape[1]):
        found += rows[:, row, :, None] * rows[:, row, None, :]
    return found


def bound_of_eigenvalues(matrices: Floats) -> float:
    """Return the largest of all eigenvalues of symmetric matrices (n, k, k), rounded up by a share of 2e-7 or less.

    They must not have negative eigenvalues.
    """
    size, powers, scales = matrices.shape[1], matrices, np.zeros((0, len(matrices)))
    for _ in range(_SQUARES):
        trace = _traces(powers)
        rows = np.flatnonzero(trace > 0.0)
        if not len(rows):
            return 0.0
        scales = np.concatenate((scales[:, rows], trace[None, rows]))
        rows_left = _roots(scales, 1.0) >= _roots(scales, 1.0 / size).max()
        kept = rows[rows_left]
        scales = scales[:, rows_left]
        powers = gram(powers[kept] / trace[kept, None, None])
    return float(_roots(np.concatenate((scales, _traces(powers)[None])), 1.0).max())


def _traces(matrices: Floats) -> Floats:
    found: Floats = np.cumsum(np.diagonal(matrices, axis1=1, axis2=2), axis=1)[:, -1]
    return found


def _roots(scales: Floats, last: float) -> Floats:
    """Return the eigenvalues whose repeated squares, each over its scale, have the eigenvalue `last` at the end."""
    value = last * scales[-1]
    for scale in scales[-2::-1]:
        value = scale * np.sqrt(value)
    return np.asarray(value)
