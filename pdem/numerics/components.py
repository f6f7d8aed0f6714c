"""Connected components of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers


def components(first: Integers, second: Integers, count: int) -> Integers:
    """Return a component number for each of `count` nodes (count,), equal for nodes that links connect.

    Parameters
    ----------
    first, second : (n,) int64 arrays
        Nodes at both ends of each link.
    count : int
        Number of nodes.
    """
    lowest = np.arange(count)  # lowest node in the part of each component that is connected so far
    while True:
        low, high = np.minimum(lowest[first], lowest[second]), np.maximum(lowest[first], lowest[second])
        apart = low < high
        if not apart.any():
            return np.unique(lowest, return_inverse=True)[1].astype(np.int64)
        first, second = low[apart], high[apart]
        np.minimum.at(lowest, second, first)
        while not np.array_equal(lowest, further := lowest[lowest]):
            lowest = further
