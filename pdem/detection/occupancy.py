"""Local number density of particles, from which the levels of a grid are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.group import OneRank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.containers.group import Group
    from pdem.foundation.array_types import Floats

_SAMPLE = 20_000
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def local_density(
    positions: Floats, size: float, lower: Floats, upper: Floats, periodic: Sequence[bool], over: Group | None = None
) -> float:
    """Return the number of particles per volume around a particle, counted in cells as large as the largest sphere.

    In a homogeneous system this is the number density. In a clustered system, or in a bed that fills a part of its box,
    it is the density within the clusters or the bed, which determines the work of a search. A sample of the particles
    is enough.

    Parameters
    ----------
    positions : (n, d) array
        Centres [m], d = 2 or 3.
    size : float
        Edge of the cells [m].
    lower, upper : (d,) arrays
        The box [m].
    periodic : sequence of d bool
        Which axes are periodic.
    over : Group, optional
        The ranks, if each rank passes the positions of its own particles; then the call is collective.

    Returns
    -------
    float
        Density in m^-d; no less than the mean over the box.
    """
    dimension, over = positions.shape[1], OneRank() if over is None else over
    count = int(over.add(np.array([len(positions)]))[0])
    open_axes = ~np.array(periodic, dtype=bool)
    mean = count / float(np.prod(upper - lower + open_axes * size))
    every = max(1, count // _SAMPLE)
    cells = np.floor((positions[::every] - lower) / size).astype(np.int64)
    keys = np.zeros(len(cells), dtype=np.uint64)
    for axis in range(dimension):
        keys = (keys ^ cells[:, axis].astype(np.uint64)) * _MIXER
    counts = np.unique(keys, return_counts=True)[1]
    companions, sampled = over.add(np.array([np.sum(counts * (counts - 1)), len(cells)])).tolist()
    return max(mean, companions / max(sampled, 1) * every / size**dimension)
