"""Arrays that begin where a line of the cache does.

Vectors as long as such a line, or half as long, then never lie across two of them, each of which would have to be
read. What numpy gives begins at a multiple of 16 bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

LINE_BYTES = 64


def line_zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return an array of zeros, in the order of C, whose first number is the first of a line of the cache.

    Parameters
    ----------
    shape : int or tuple of int
        As `numpy.zeros` takes it.
    dtype
        Likewise.
    """
    kind = np.dtype(dtype)
    size = kind.itemsize * math.prod((shape,) if isinstance(shape, int) else shape)
    held = np.zeros(size + LINE_BYTES, np.uint8)
    first = -held.ctypes.data % LINE_BYTES
    return held[first : first + size].view(kind).reshape(shape)


def lengthened(rows: NDArray[Any], length: int) -> NDArray[Any]:
    """Return such an array with room for more rows, which holds those there are."""
    longer = line_zeros((length, *rows.shape[1:]), rows.dtype)
    longer[: len(rows)] = rows
    return longer


def with_spare(needed: int) -> int:
    """Return for how many rows to make room where the number that is needed goes up and down: for a tenth more."""
    return int(1.1 * needed) + 16


def room_for(needed: int, held: int) -> int:
    """Return for how many rows to make room where there was room for `held`: some to spare, but not the first time.

    What keeps its size, as most runs on one rank do, then has nothing to spare.
    """
    return needed if held == 0 else with_spare(needed)
