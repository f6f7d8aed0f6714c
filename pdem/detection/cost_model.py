"""Expected work of the hierarchical grid per particle, computed before any particle has a position.

The model of Krijgsman, Ogarko and Luding, Comput. Part. Mech. 1 (2014) 357-372, for uncorrelated homogeneous positions
and any distribution of radii. It gives the numbers of distance tests and cell accesses of one search for any cell
sizes, top-down and bottom-up, in two and three dimensions. The unit of time is one distance test. A cell access takes
the time of `overhead` tests; this number depends on the layout of the data and must be measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.moments import below_smallest
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.detection.moments import Moments
    from pdem.foundation.array_types import Floats

DIRECTIONS = ("top-down", "bottom-up")
UNITS = ("cells", "rows")
OWN_LEVELS = ("half-mask", "search-box")
_BALL = {2: math.pi, 3: 4.0 * math.pi / 3.0}


def number_density(moments: Moments, volume_fraction: float, dimension: int) -> float:
    """Return the number of particles per area (2D) or volume (3D) in m**-dimension at a volume fraction."""
    whole = moments.moment(dimension, np.array([below_smallest(moments)]), np.array([moments.largest]))
    return volume_fraction / (_BALL[dimension] * float(whole[0]))


def expected_counts(
    moments: Moments,
    sizes: Floats,
    *,
    density: float,
    dimension: int,
    direction: str = "top-down",
    unit: str = "cells",
    own_level: str = "half-mask",
) -> tuple[Floats, Floats]:
    """Return the expected distance tests and accesses per particle.

    Parameters
    ----------
    moments : Moments
        Distribution of radii (plus half the skin, if there is any).
    sizes : (..., L) array
        Increasing limits of the diameters of the levels in m, equal to the edges of their cells; several grids at once
        along the leading axes.
    density : float
        Particles per area or volume, in m**-dimension.
    dimension : int
        2 or 3.
    direction : {"top-down", "bottom-up"}
        Large particles search the levels of small ones, or small particles search the levels of large ones.
    unit : {"cells", "rows"}
        Unit of an access: one cell, or one row of cells with particles that are adjacent in memory.
    own_level : {"half-mask", "search-box"}
        Search of a particle in its own level: its cell and half of the neighbours, as published; or all cells that its
        search box intersects, with tests of later particles only, as in `pdem.detection.hgrid`. The box of a particle
        much smaller than its cells intersects fewer cells.

    Returns
    -------
    checks, accesses : (...) arrays
    """
    levels = sizes.shape[-1]
    bottom = np.full((*sizes.shape[:-1], 1), below_smallest(moments))
    edges = np.concatenate((np.minimum(bottom, 0.5 * sizes[..., :1]), 0.5 * sizes), axis=-1)
    parts = [moments.moment(power, edges[..., :-1], edges[..., 1:]) for power in range(dimension + 1)]
    population = parts[0]
    occupancy = density * population * sizes**dimension
    searched = np.tri(levels, k=-1) if direction == "top-down" else np.tri(levels, k=-1).T
    axes = dimension if unit == "cells" else dimension - 1
    every, meets = _cross_level(parts, sizes, dimension), _cross_level(parts, sizes, axes)
    cells, visits = searched * every, searched * meets
    if own_level == "half-mask":
        tests, looks = 0.5 * 3**dimension * population, 0.5 * (3**axes + 1) * population
    else:
        tests, looks = 0.5 * _diagonal(every), _diagonal(meets)
    checks = np.sum(tests * occupancy, axis=-1) + np.sum(cells * occupancy[..., None, :], axis=(-2, -1))
    accesses = np.sum(looks, axis=-1) + np.sum(visits, axis=(-2, -1))
    return checks, accesses


def _diagonal(matrices: Floats) -> Floats:
    return np.diagonal(matrices, axis1=-2, axis2=-1)


def _cross_level(parts: list[Floats], sizes: Floats, axes: int) -> Floats:
    """Return the number of cells (or rows) of level j that particles of level h visit, per particle of the system.

    A search box of edge 2 r + s_j at a random position over cells of edge s_j meets 2 + 2 r / s_j of them per axis.
    """
    inverse = 1.0 / sizes[..., None, :]
    visits = parts[axes][..., :, None] * inverse
    for power in range(axes - 1, 0, -1):
        visits = (visits + math.comb(axes, power) * parts[power][..., :, None]) * inverse
    return 2.0**axes * (visits + parts[0][..., :, None])


def check_options(direction: str, unit: str, own_level: str, dimension: int) -> None:
    """Check direction, unit, search of the own level, and dimension.

    Raises
    ------
    InputError
        An option is unknown; the message lists the valid ones.
    """
    choices = (("direction", direction, DIRECTIONS), ("unit", unit, UNITS), ("own_level", own_level, OWN_LEVELS))
    for name, value, allowed in choices:
        if value not in allowed:
            raise InputError(f"{name} is {value!r}; use one of {', '.join(allowed)}")
    if dimension not in (2, 3):
        raise InputError(f"dimension is {dimension!r}; use 2 or 3")
