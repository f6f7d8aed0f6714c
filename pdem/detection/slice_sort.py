"""Sorting a part of an integer array in place, inside a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.geometry_kernels import geometry_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@geometry_kernel
def sort_slice(values: NDArray[np.int64], first: int, last: int) -> None:
    """Sort a part of an array in place: by insertion when short, else by heap."""
    if last - first <= 32:
        for index in range(first + 1, last):
            value = values[index]
            at = index
            while at > first and values[at - 1] > value:
                values[at] = values[at - 1]
                at -= 1
            values[at] = value
        return
    count = last - first
    for root in range(count // 2 - 1, -1, -1):
        _sift(values, first, root, count)
    for size in range(count - 1, 0, -1):
        values[first], values[first + size] = values[first + size], values[first]
        _sift(values, first, 0, size)


@geometry_kernel
def _sift(values: NDArray[np.int64], first: int, root: int, count: int) -> None:
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and values[first + child] < values[first + child + 1]:
            child += 1
        if values[first + root] >= values[first + child]:
            return
        values[first + root], values[first + child] = values[first + child], values[first + root]
        root = child
