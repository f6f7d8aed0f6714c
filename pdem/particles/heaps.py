"""Heaps: how steep they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RINGS = 5
"""Rings about the axis of a heap, of the same width, of each of which the highest grain counts."""


def slope_of(places: NDArray[np.float64], radius: float) -> float:
    """Return the slope of a heap [degrees]: that of a line through the highest grains at each distance from its axis.

    Parameters
    ----------
    places : (n, 3) array
        Centres of the grains, from the axis of the heap [m].
    radius : float
        Grains farther from the axis do not count [m].

    Returns
    -------
    float
        NaN if grains are in one ring alone.
    """
    aside = np.hypot(places[:, 0], places[:, 1])
    ring = np.floor(aside / radius * RINGS).astype(int)
    rows = [np.flatnonzero(ring == k) for k in range(RINGS)]
    highest = [mine[places[mine, 2].argmax()] for mine in rows if len(mine)]
    if len(highest) < 2:
        return math.nan
    return math.degrees(math.atan(-np.polyfit(aside[highest], places[highest, 2], 1)[0]))
