"""Global order of rows on many ranks: it determines how distributed tables are written into one file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Integers

_LARGEST = 2**63 - 1


class OrderedRows(Protocol):
    """Position of this rank's rows in the global order, and the exchange of columns into this order.

    Attributes
    ----------
    begin, total : int
        Index of the first row that this rank gets, and total number of rows.
    """

    begin: int
    total: int

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """Pass a column ``(n, ...)`` of this rank's rows; return the part from row `begin` on. Collective."""
        ...


class OwnRows:
    """Rows that are all on this rank.

    Parameters
    ----------
    total : int
        Number of rows.
    order : (n,) int64 array, optional
        Permutation that sorts the rows; None if they are sorted.
    """

    begin = 0

    def __init__(self, total: int, order: Integers | None = None) -> None:
        self.total = total
        self._order = order

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the sorted rows of a column."""
        return column if self._order is None else taken(column, self._order)


def part_of(total: int, rank: int, size: int) -> tuple[int, int]:
    """Return the first row of a rank and the row after its last; all ranks get about as many of `total` rows."""
    return total * rank // size, total * (rank + 1) // size


def taken(column: NDArray[Any], rows: Integers) -> NDArray[Any]:
    """Return some rows of a column; all indices must be valid."""
    return np.take(column, rows, axis=0, mode="clip")  # "raise" or indexing by brackets takes twice as long


def order_of(keys: Sequence[Integers]) -> Integers:
    """Return the permutation that sorts rows by their keys, the first key first; the sort is stable.

    Parameters
    ----------
    keys : sequence of (n,) int64 arrays
        Keys of the rows, at least one array.
    """
    count = len(keys[0])
    if count == 0:
        return np.empty(0, np.int64)
    lowest = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lowest, strict=True)]
    if math.prod(spans) * count > _LARGEST:
        return np.lexsort(tuple(reversed(keys)))
    joined = np.zeros(count, np.int64)
    for key, low, span in zip(keys, lowest, spans, strict=True):
        joined = joined * span + (key - low)
    joined *= count  # sorting key * count + row as values gives the order, and is far faster
    joined += np.arange(count)
    joined.sort()
    return joined % count
