"""Arrays aligned to cache lines.

A vector as long as a cache line, or half as long, is then never split between two lines, so that both would have to be
read. Arrays of numpy are aligned to 16 bytes only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

LINE_BYTES = 64


def line_zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return an array of zeros in C order, aligned to a cache line.

    Parameters
    ----------
    shape : int or tuple of int
        Shape, as for `numpy.zeros`.
    dtype
        Type, as for `numpy.zeros`.
    """
    kind = np.dtype(dtype)
    size = kind.itemsize * math.prod((shape,) if isinstance(shape, int) else shape)
    held = np.zeros(size + LINE_BYTES, np.uint8)
    first = -held.ctypes.data % LINE_BYTES
    return held[first : first + size].view(kind).reshape(shape)


def lengthened(rows: NDArray[Any], length: int) -> NDArray[Any]:
    """Return an aligned copy of an array with room for `length` rows."""
    longer = line_zeros((length, *rows.shape[1:]), rows.dtype)
    longer[: len(rows)] = rows
    return longer


def with_spare(needed: int) -> int:
    """Return the capacity in rows for a number of rows that varies: a tenth more than needed."""
    return int(1.1 * needed) + 16


def room_for(needed: int, held: int) -> int:
    """Return the capacity in rows after a capacity `held`: exactly `needed` the first time, with spare rows later.

    Thus arrays of constant size, as in most runs on one rank, have no spare rows.
    """
    return needed if held == 0 else with_spare(needed)
