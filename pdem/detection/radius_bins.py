"""A short table of the radii of the particles of all ranks, for the choice of size levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Floats, Integers

BINS = 4096
"""Intervals of equal ratio between the smallest and the largest radius."""


def binned_radii(radius: Floats, over: Group) -> tuple[Floats, Integers]:
    """Return the largest radius of each interval with particles, increasing, and the numbers of particles. Collective.

    Parameters
    ----------
    radius : (n,) array
        Radii of the particles of this rank [m].
    over : Group
        The ranks.

    Returns
    -------
    radii : (b,) array
        Radii in m; the last is the largest of all. Empty without particles.
    counts : (b,) int64 array
        Number of particles in each interval.
    """
    ends = over.largest(np.array([-radius.min(initial=np.inf), radius.max(initial=0.0)]))
    smallest, largest = -float(ends[0]), float(ends[1])
    if largest == 0.0:
        return np.empty(0), np.empty(0, np.int64)
    scale = BINS / np.log(largest / smallest) if smallest < largest else 0.0
    of = np.clip(np.log(radius / smallest) * scale, 0.0, BINS - 1).astype(np.int64)
    most = np.zeros(BINS)
    np.maximum.at(most, of, radius)
    counts, most = over.add(np.bincount(of, minlength=BINS)), over.largest(most)
    return most[counts > 0], counts[counts > 0]
