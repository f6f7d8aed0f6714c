"""The history of one contact: its index in memory, how it begins and how it moves. `width` is its number of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.contact_law import OVERLAP, UNKNOWN
from pdem.contact.pairs.layout import BLOCK
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.prefetch import LINE, fetch

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


@inlined
def history_of(index: int, width: int) -> int:
    """Return the index of the first number of a history; its numbers are `BLOCK` apart."""
    return index // BLOCK * (BLOCK * width) + index % BLOCK


@inlined
def begin_history(index: int, width: int, history: Floats) -> None:
    """Write the history of a new contact."""
    at = history_of(index, width)
    for column in range(width):
        history[at + BLOCK * column] = 0.0
    history[at + BLOCK * OVERLAP] = UNKNOWN


@inlined
def move_history(source: int, target: int, width: int, history: Floats) -> None:
    """Copy a history from one index to another."""
    there, here = history_of(source, width), history_of(target, width)
    for column in range(width):
        history[here + BLOCK * column] = history[there + BLOCK * column]


@inlined
def prefetch_history(first: int, count: int, width: int, history: Floats) -> None:
    """Prefetch as many numbers as `count` histories have, from the block of the index `first` on."""
    for line in range((count * width + LINE - 1) // LINE):
        fetch(history, np.uint64(width * first + LINE * line))
