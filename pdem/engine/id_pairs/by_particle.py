"""The pairs of a table by particle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers


class PairsOfParticles(NamedTuple):
    """The pairs of each owned particle, in the order of the ids of its partners.

    Attributes
    ----------
    starts : (owned + 1,) int64 array
        Index of the first entry of each particle, and the number of entries at the end.
    entries : (m,) int64 array
        Twice the number of a pair, plus 1 if the particle is the higher end.
    """

    starts: Integers
    entries: Integers


def pairs_of_particles(rows: Integers, owned: int) -> PairsOfParticles:
    """Return the pairs of each owned particle.

    Parameters
    ----------
    rows : (n, 2) int64 array
        Rows of the lower and the higher ends of pairs. The pairs are sorted by their lower, then their higher ids. Rows
        from `owned` on are ghosts; -1 is no particle.
    owned : int
        Number of owned particles.
    """
    pair = np.arange(len(rows))
    # the pairs with a particle as their higher end come first: their partners have lower ids
    row = np.concatenate((rows[:, 1], rows[:, 0]))
    entry = np.concatenate((2 * pair + 1, 2 * pair))
    mine = (row >= 0) & (row < owned)
    row, entry = row[mine], entry[mine]
    starts = np.zeros(owned + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=owned), out=starts[1:])
    return PairsOfParticles(starts, entry[np.argsort(row, kind="stable")])
