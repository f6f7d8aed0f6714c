"""Principal axes of inertia: right-handed, near the axes of the tensor, continuous where moments are equal."""

from __future__ import annotations

import itertools

import numpy as np

from pdem.foundation import exact_math, jacobi
from pdem.foundation.array_types import Floats

_SAME = 1e-10
"""Difference of moments, relative to the largest, below which they count as equal."""


def principal_axes(inertia: Floats) -> tuple[Floats, Floats]:
    """Return the principal moments (3,) and, in columns, their right-handed axes (3, 3).

    Axis k is the one that is nearest to axis k of the tensor. Where two moments are equal within rounding, any rotation
    about the third axis would be valid: the axes are rotated as little as possible. A body with three equal moments
    keeps the axes of the tensor.

    Parameters
    ----------
    inertia : (3, 3) array
        Symmetric tensor [kg m^2].
    """
    diagonal = np.diag(inertia).copy()
    size = float(np.abs(diagonal).max())
    if np.abs(inertia - np.diag(diagonal)).max() <= _SAME * size:
        return diagonal, np.eye(3)
    moments, vectors = jacobi.eigenvectors(inertia)
    if moments[1] - moments[0] <= _SAME * size:
        return _of_top(moments[2], 0.5 * (moments[0] + moments[1]), vectors[:, 2])
    if moments[2] - moments[1] <= _SAME * size:
        return _of_top(moments[0], 0.5 * (moments[1] + moments[2]), vectors[:, 0])
    orders = list(itertools.permutations(range(3)))
    order = orders[_first_largest(np.array([exact_math.total(np.abs(np.diag(vectors[:, one]))) for one in orders]))]
    axes = vectors[:, order]
    axes = axes * np.where(np.diag(axes) < 0.0, -1.0, 1.0)
    if exact_math.inner(np.cross(axes[0], axes[1]), axes[2]) < 0.0:
        farthest = _first_largest(-np.abs(np.diag(axes)))
        axes[:, farthest] = -axes[:, farthest]
    return moments[list(order)], axes


def _first_largest(numbers: Floats) -> int:
    """Return the index of the first of the numbers that are the largest within rounding."""
    return int(np.flatnonzero(numbers >= numbers.max() - _SAME)[0])


def _of_top(own: float, other: float, axis: Floats) -> tuple[Floats, Floats]:
    """Return moments and axes of a body with one moment about an axis, and another moment about all axes across it."""
    nearest = _first_largest(np.abs(axis))
    axis = axis if axis[nearest] > 0.0 else -axis
    moments = np.full(3, other)
    moments[nearest] = own
    # the smallest rotation that takes the coordinate axis to this axis
    start = np.eye(3)[nearest]
    turn = np.cross(start, axis)
    across = np.array(((0.0, -turn[2], turn[1]), (turn[2], 0.0, -turn[0]), (-turn[1], turn[0], 0.0)))
    axes: Floats = np.eye(3) + across + exact_math.matmul(across, across) / (1.0 + axis[nearest])
    return moments, axes
