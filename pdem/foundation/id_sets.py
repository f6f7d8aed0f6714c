"""Lookup of a few ids in a long array of ids, and of pairs of ids in other pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Integers

_SPARSE = 16


def rows_among(ids: Integers, wanted: Integers) -> Integers:
    """Return the indices, ascending, at which `ids` contains one of a few `wanted` ids.

    Only ids that share their last bits with a wanted id are sorted; `numpy.isin` alone would sort all of them.

    Parameters
    ----------
    ids : (n,) int64 array
        Ids, not negative.
    wanted : (m,) int64 array
        Ids to look up, not negative; duplicates are allowed.
    """
    if not len(wanted):
        return np.empty(0, np.int64)
    mask = (1 << (_SPARSE * len(wanted)).bit_length()) - 1
    marked = np.zeros(mask + 1, np.bool_)
    marked[wanted & mask] = True
    rows = np.flatnonzero(marked[ids & mask])
    return rows[np.isin(ids[rows], wanted)]


def pairs_among(pairs: Integers, wanted: Integers) -> Booleans:
    """Return for each pair of ids (n, 2) whether it is one of the `wanted` pairs (m, 2), with the ids in this order."""
    ids, numbers = np.unique(np.concatenate((pairs, wanted)), return_inverse=True)
    first, second = numbers.reshape(-1, 2).T
    keys = first * len(ids) + second
    return np.isin(keys[: len(pairs)], keys[len(pairs) :])
