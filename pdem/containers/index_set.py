"""Which of very many things are meant by a list with repetitions, in work that follows the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers

PAGE = 4096
"""Things that have one mark in common, which says whether any of theirs is set."""


class IndexSet:
    """Marks of things, which are empty between two calls.

    Parameters
    ----------
    count : int
        Of all things. Memory that is never marked is never touched.
    """

    def __init__(self, count: int) -> None:
        self._marks = np.zeros(count, np.bool_)
        self._pages = np.zeros(count // PAGE + 1, np.bool_)

    def distinct(self, numbers: Integers) -> Integers:
        """Return the numbers without repetitions, rising."""
        found = np.empty(len(numbers), np.int64)
        return found[: _distinct(numbers, self._marks, self._pages, found)]


@kernel
def _distinct(numbers: Any, marks: Any, pages: Any, found: Any) -> int:
    """Write the numbers without repetitions, rising, and return how many there are; clear all marks."""
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
