"""What hangs together: connected components of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers


def components(first: Integers, second: Integers, count: int) -> Integers:
    """Return a number for each of `count` nodes (count,), the same for those that links join directly or not.

    Parameters
    ----------
    first, second : (n,) int64 arrays
        Both ends of each link.
    count : int
        Number of nodes.
    """
    lowest = np.arange(count)  # of the nodes that are known to hang together with each
    while True:
        low, high = np.minimum(lowest[first], lowest[second]), np.maximum(lowest[first], lowest[second])
        apart = low < high
        if not apart.any():
            return np.unique(lowest, return_inverse=True)[1].astype(np.int64)
        first, second = low[apart], high[apart]
        np.minimum.at(lowest, second, first)
        while not np.array_equal(lowest, further := lowest[lowest]):
            lowest = further
