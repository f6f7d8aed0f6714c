"""Rows that have an order of their own, whoever holds them: how tables that many ranks hold become one file."""

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
    """The place of this rank's rows among those of all ranks, and how columns get there.

    Attributes
    ----------
    begin, total : int
        Number of the first row that this rank gets, and of all rows.
    """

    begin: int
    total: int

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """Hand over a column ``(n, ...)`` of the rows this rank holds; return those from `begin` on. Collective."""
        ...


class OwnRows:
    """Rows that are all here.

    Parameters
    ----------
    total : int
        How many.
    order : (n,) int64 array, optional
        Which comes first, second, ...; None if they are in order.
    """

    begin = 0

    def __init__(self, total: int, order: Integers | None = None) -> None:
        self.total = total
        self._order = order

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the rows in order."""
        return column if self._order is None else taken(column, self._order)


def part_of(total: int, rank: int, size: int) -> tuple[int, int]:
    """Return the first row of a rank and the one after its last, where all ranks have about as many of `total`."""
    return total * rank // size, total * (rank + 1) // size


def taken(column: NDArray[Any], rows: Integers) -> NDArray[Any]:
    """Return some rows of a column; rows must be there."""
    return np.take(column, rows, axis=0, mode="clip")  # with the check, or by brackets, it takes twice as long


def order_of(keys: Sequence[Integers]) -> Integers:
    """Return the order of rows by their keys, the first key first; rows of the same keys stay as they are.

    Parameters
    ----------
    keys : sequence of (n,) int64 arrays
        At least one.
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
    joined *= count  # with the row behind the keys, sorting values, which is far faster, gives the order
    joined += np.arange(count)
    joined.sort()
    return joined % count
