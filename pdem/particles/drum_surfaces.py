"""The free surface of the bed in a rotating drum: its mean slope over time, in the plane across the axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

_CELLS = 4
"""Cells of the map per mean diameter."""

_COLUMNS = 2
"""Columns of the bed per mean diameter."""

_ROUNDS = 8
_FEW = 5
_FLYING = 2.0
"""Height above the surface, in mean diameters, beyond which a grain counts as flying."""

_ROUND = 0.1
"""Distance of the centre of mass from the axis over the radius, below which there is no free surface.

Such a bed covers the wall all around, or fills the drum."""


@dataclass(frozen=True)
class FreeSurface:
    """The free surface of a bed, as a straight line in its middle.

    Attributes
    ----------
    angle : float
        Slope in degrees, positive in either direction; NaN if there is no free surface.
    residual : float
        Root mean square distance from the line [m].
    chord : float
        Length of the surface from wall to wall [m].
    flying : float
        Volume fraction of the grains that are above the surface.
    grain : float
        Mean diameter of the grains [m].
    fault : str
        Reason why there is no angle; empty if there is one.
    """

    angle: float = math.nan
    residual: float = math.nan
    chord: float = math.nan
    flying: float = math.nan
    grain: float = math.nan
    fault: str = ""


class DrumMap:
    """Distribution of grains in the plane across the axis of a drum, added up over snapshots.

    Parameters
    ----------
    grain : float
        Mean diameter of the grains [m].
    radius : float
        Distance from the axis beyond which grains do not count [m].
    """

    def __init__(self, grain: float, radius: float) -> None:
        self._grain, self._radius = grain, radius
        count = 2 * math.ceil(radius / grain * _CELLS)
        self._edges = np.linspace(-radius, radius, count + 1)
        self._volume = np.zeros((count, count))

    def add(self, positions: Floats, volumes: Floats) -> None:
        """Add the grains of a snapshot.

        Parameters
        ----------
        positions : (n, 2) array
            Centres in the plane: horizontal coordinate, height, both from the axis [m].
        volumes : (n,) array
            Volumes of the grains, in any unit.
        """
        bins = [self._edges, self._edges]
        self._volume += np.histogram2d(positions[:, 0], positions[:, 1], bins, weights=volumes)[0]

    def surface(self, share: float) -> FreeSurface:
        """Return the free surface, by a line through its middle.

        The bed is divided into columns, in a frame that is rotated with the surface. The surface of a column is the
        height at which the solid fraction, averaged over time, falls to half of that of the bed.

        Parameters
        ----------
        share : float
            Fraction of the surface from wall to wall, about its middle, that is fitted.
        """
        rows = np.argwhere(self._volume > 0.0)
        if not len(rows):
            return FreeSurface(fault="there is no grain in the drum")
        middles = 0.5 * (self._edges[1:] + self._edges[:-1])
        positions, volumes = middles[rows], self._volume[tuple(rows.T)]
        mean = volumes @ positions / volumes.sum()
        if math.hypot(*mean) < _ROUND * self._radius:
            return FreeSurface(fault="no free surface: grains fill the drum, or lie on its wall all around")
        angle, line = math.atan2(mean[0], -mean[1]), FreeSurface()  # the centre of mass is below the middle
        for _ in range(_ROUNDS):
            turned = positions @ np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
            slope, line = self._line(turned, volumes, share)
            if line.fault:
                return line
            angle += math.atan(slope)
            if abs(slope) < 1e-4:
                break
        return replace(line, angle=abs(math.degrees(angle)))

    def _line(self, positions: Floats, volumes: Floats, share: float) -> tuple[float, FreeSurface]:
        """Return the slope of the surface in a frame in which it is almost level, and further results of the fit."""
        across, heights = self._heights(positions, volumes)
        near = np.abs(across) < 2.0 * self._grain
        level = float(np.nanmedian(heights[near])) if np.isfinite(heights[near]).any() else math.nan
        half = math.sqrt(max(self._radius**2 - level**2, 0.0)) if math.isfinite(level) else 0.0
        middle = (np.abs(across) <= share * half) & np.isfinite(heights)
        if np.count_nonzero(middle) < _FEW:
            return 0.0, FreeSurface(fault="no free surface: fewer than five columns of the bed have one")
        slope, tip = np.polyfit(across[middle], heights[middle], 1)
        off = heights[middle] - tip - slope * across[middle]
        above = positions[:, 1] > tip + slope * positions[:, 0] + _FLYING * self._grain
        above &= np.abs(positions[:, 0]) < half
        flying = float(volumes[above].sum() / volumes.sum())
        return float(slope), FreeSurface(0.0, float(np.sqrt((off**2).mean())), 2.0 * half, flying, self._grain)

    def _heights(self, positions: Floats, volumes: Floats) -> tuple[Floats, Floats]:
        """Return the middles of the columns of the bed, and the heights of their surfaces, NaN for an empty column."""
        count = 2 * math.ceil(self._radius / self._grain * _COLUMNS)
        edges = np.linspace(-1.0, 1.0, count + 1) * self._radius * math.sqrt(2.0)
        filled = np.histogram2d(positions[:, 0], positions[:, 1], [edges, edges], weights=volumes)[0]
        filled = ndimage.gaussian_filter(filled, 0.5 * _COLUMNS, mode="constant")
        order = np.sort(filled[filled > 0.0])
        dense = float(order[np.searchsorted(np.cumsum(order), 0.5 * order.sum())])
        middles = 0.5 * (edges[1:] + edges[:-1])
        heights = np.full(count, np.nan)
        for column, some in enumerate(filled):
            rows = np.flatnonzero(some >= 0.5 * dense)
            if len(rows) and rows[-1] + 1 < count:
                top = rows[-1]
                part = (some[top] - 0.5 * dense) / (some[top] - some[top + 1])
                heights[column] = middles[top] + part * (middles[1] - middles[0])
        return middles, heights
