"""What hangs together: connected components of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def components(first: Integers, second: Integers, count: int) -> Integers:
    """Return a number for each of `count` nodes (count,), the same for those that links join directly or not.

    Parameters
    ----------
    first, second : (n,) int64 arrays
        Both ends of each link.
    count : int
        Number of nodes.
    """
    # late, because that takes a third of a second, which runs without meshes need not wait
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)
