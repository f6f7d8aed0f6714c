"""Few ids among many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers

_SPARSE = 16


def rows_among(ids: Integers, wanted: Integers) -> Integers:
    """Return the rows, rising, of those of many ids that are among a few wanted ones.

    Nothing is sorted but what shares its last bits with a wanted one: `numpy.isin` sorts all.

    Parameters
    ----------
    ids : (n,) int64 array
        Not negative.
    wanted : (m,) int64 array
        Not negative, maybe some of them more than once.
    """
    if not len(wanted):
        return np.empty(0, np.int64)
    mask = (1 << (_SPARSE * len(wanted)).bit_length()) - 1
    marked = np.zeros(mask + 1, np.bool_)
    marked[wanted & mask] = True
    rows = np.flatnonzero(marked[ids & mask])
    return rows[np.isin(ids[rows], wanted)]
