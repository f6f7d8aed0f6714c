"""Quaternions of rotation matrices, with the same bits on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

    Quaternion = tuple[float, float, float, float]


def quaternion_of(matrix: Floats) -> Quaternion:
    """Return the unit quaternion (w, x, y, z) of a rotation matrix (3, 3), the first component that is not 0 positive.

    By the largest of the four components, as S. W. Shepperd, J. Guidance and Control 1 (1978) 223, so that nothing
    cancels.
    """
    rows = matrix.tolist()
    diagonal = [rows[axis][axis] for axis in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    numbers = [0.0, 0.0, 0.0, 0.0]
    if trace >= max(diagonal):
        numbers = [1.0 + trace, rows[2][1] - rows[1][2], rows[0][2] - rows[2][0], rows[1][0] - rows[0][1]]
    else:
        a = diagonal.index(max(diagonal))
        b, c = (a + 1) % 3, (a + 2) % 3
        numbers[1 + a] = 1.0 - trace + 2.0 * diagonal[a]
        numbers[1 + b], numbers[1 + c] = rows[b][a] + rows[a][b], rows[c][a] + rows[a][c]
        numbers[0] = rows[c][b] - rows[b][c]
    size = float(exact_math.norm(numbers))
    sign = -1.0 if next(one for one in numbers if one) < 0.0 else 1.0
    w, x, y, z = (sign * one / size + 0.0 for one in numbers)
    return w, x, y, z
