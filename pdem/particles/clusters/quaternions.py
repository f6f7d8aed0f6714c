"""Unit quaternions as arrays (n, 4), w first.

Functions use products and sums of single numbers, so that the bits of a row do not depend on the number of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


def product(first: Floats, second: Floats) -> Floats:
    """Return products (n, 4) of quaternions, w first: the rotation of `second`, then the rotation of `first`."""
    (a, b, c, d), (e, f, g, h) = np.moveaxis(np.asarray(first), -1, 0), np.moveaxis(np.asarray(second), -1, 0)
    parts = a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f
    return np.stack((*parts, a * h + b * g - c * f + d * e), axis=-1)


def conjugate(quaternion: Floats) -> Floats:
    """Return the inverse rotations (n, 4)."""
    return np.asarray(quaternion) * np.array((1.0, -1.0, -1.0, -1.0))


def rotated(quaternion: Floats, vector: Floats) -> Floats:
    """Return vectors (n, 3) rotated by unit quaternions (n, 4).

    The bits of a vector do not depend on the number of vectors.
    """
    w, x, y, z = np.moveaxis(np.asarray(quaternion), -1, 0)
    a, b, c = np.moveaxis(np.asarray(vector), -1, 0)
    p, q, r = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    parts = a + w * p + (y * r - z * q), b + w * q + (z * p - x * r), c + w * r + (x * q - y * p)
    return np.stack(parts, axis=-1)
