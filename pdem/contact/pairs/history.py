"""The history of one contact: where it lies, how it begins, and how it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.forces import HISTORY, OVERLAP
from pdem.contact.pairs.layout import BLOCK
from pdem.foundation.kernels import inlined
from pdem.foundation.prefetch import LINE, fetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKNOWN = -np.inf
"""Overlap in the history of a contact that was none in the last step."""


@inlined
def history_of(index: int) -> int:
    """Return where the history with an index begins; its numbers are `BLOCK` apart."""
    return index // BLOCK * (BLOCK * HISTORY) + index % BLOCK


@inlined
def begin_history(index: int, history: NDArray[np.float64]) -> None:
    """Write the history of a contact that begins."""
    at = history_of(index)
    for column in range(OVERLAP):
        history[at + BLOCK * column] = 0.0
    history[at + BLOCK * OVERLAP] = UNKNOWN


@inlined
def move_history(source: int, target: int, history: NDArray[np.float64]) -> None:
    """Copy a history from one index to another."""
    there, here = history_of(source), history_of(target)
    for column in range(HISTORY):
        history[here + BLOCK * column] = history[there + BLOCK * column]


@inlined
def prefetch_history(first: int, count: int, history: NDArray[np.float64]) -> None:
    """Prefetch as many numbers as `count` histories have, from the block of the index `first` on."""
    for line in range((count * HISTORY + LINE - 1) // LINE):
        fetch(history, np.uint64(HISTORY * first + LINE * line))
