"""Distinct indices of a list with repetitions, out of a very large range, in time proportional to the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers

PAGE = 4096
"""Number of indices with a common page mark, which is set if any of them is marked."""


class IndexSet:
    """Marks of indices, which are all clear between two calls.

    Parameters
    ----------
    count : int
        Number of all indices. Memory is touched only where indices are marked.
    """

    def __init__(self, count: int) -> None:
        self._marks = np.zeros(count, np.bool_)
        self._pages = np.zeros(count // PAGE + 1, np.bool_)

    def distinct(self, numbers: Integers) -> Integers:
        """Return the numbers without repetitions, increasing."""
        found = np.empty(len(numbers), np.int64)
        return found[: _distinct(numbers, self._marks, self._pages, found)]


@kernel
def _distinct(numbers: Any, marks: Any, pages: Any, found: Any) -> int:
    """Write the numbers without repetitions, increasing; clear all marks; return the count of written numbers."""
    for number in numbers:
        marks[number] = True
        pages[number // PAGE] = True
    count = 0
    for page in range(len(pages)):
        if not pages[page]:
            continue
        pages[page] = False
        for number in range(page * PAGE, min(len(marks), (page + 1) * PAGE)):
            if marks[number]:
                marks[number] = False
                found[count] = number
                count += 1
    return count
