"""View of spheres from above: the height of their surface at the points of a grid, without holes."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

_PER_LARGEST = 8
"""Most points of the grid along the radius of the largest sphere."""

_MOST_POINTS = 4e6

_FAR = 5.0
"""Distance from the median over the distance that includes nine tenths of the spheres; farther ones are ignored."""

HOLE = 5
"""Largest width, in points of the grid, of a hole in the surface that is closed, such as a gap between grains."""

CLIFF = 3.0
"""In mean diameters: a larger fall of the surface between neighbouring points is a cliff, where the surface ends."""


class TopView(NamedTuple):
    """Points of a grid at which spheres are visible from above.

    Attributes
    ----------
    positions : (n, k) array
        Horizontal coordinates [m], of one axis in two dimensions, else of two.
    heights : (n,) array
        Heights of the surface there [m].
    margins : (n,) array
        Distances from the edge of the surface [m].
    """

    positions: Floats
    heights: Floats
    margins: Floats

    def where(self, chosen: Booleans) -> TopView:
        """Return some of the points."""
        return TopView(self.positions[chosen], self.heights[chosen], self.margins[chosen])


def largest_surface(positions: Floats, radii: Floats) -> TopView:
    """Return the surface of the largest connected heap of spheres, in the view from above.

    A cliff separates surfaces, such as the heap on a table and the grains that have fallen from it. The largest surface
    is the one with the largest volume above its own lowest point, so that a layer on the ground is small however wide.

    Parameters
    ----------
    positions : (n, k + 1) array
        Centres: k horizontal coordinates, then the height [m]; n > 0.
    radii : (n,) array
        Radii [m].
    """
    near = _near(positions[:, :-1], radii)
    positions, radii = positions[near], radii[near]
    low, spacing, heights = _seen(positions, radii)
    heights = _without_holes(heights)
    there = np.isfinite(heights)
    found, labels = heights[there], _pieces(heights, CLIFF * 2.0 * float(radii.mean()))[there]
    numbers, piece = np.unique(labels, return_inverse=True)
    lowest = np.full(len(numbers), np.inf)
    np.minimum.at(lowest, piece, found)
    mine = piece == np.bincount(piece, found - lowest[piece]).argmax()
    there[there] = mine
    margins = spacing * (ndimage.distance_transform_edt(there)[there] - 0.5)
    return TopView(low + spacing * np.argwhere(there), found[mine], margins)


def _near(across: Floats, radii: Floats) -> Booleans:
    """Return which spheres are not outliers in their horizontal position."""
    away = np.linalg.norm(across - np.median(across, axis=0), axis=1)
    limit = _FAR * (np.quantile(away, 0.9) + 2.0 * radii.max())
    return np.asarray(away <= limit)


def _seen(positions: Floats, radii: Floats) -> tuple[Floats, float, Floats]:
    """Return the corner of a grid, its spacing, and the height of the highest sphere over each of its points."""
    order = np.argsort(-radii, kind="stable")
    positions, radii = positions[order], radii[order]
    across, largest = positions[:, :-1], float(radii[0])
    sides = np.ptp(across, axis=0) + 2.0 * largest
    axes = across.shape[1]
    finest = float(sides.prod() / _MOST_POINTS) ** (1.0 / axes)
    spacing = max(float(radii.mean()), largest / _PER_LARGEST, finest)
    low = across.min(axis=0) - largest - HOLE * spacing
    heights = np.full(tuple((sides / spacing).astype(int) + 2 * HOLE + 2), -np.inf)
    nearest = np.rint((across - low) / spacing).astype(np.int64)
    reach = math.ceil(largest / spacing) + 1
    for offset in itertools.product(range(-reach, reach + 1), repeat=axes):
        count = np.count_nonzero(radii > (math.hypot(*offset) - math.sqrt(axes) / 2.0) * spacing)
        points = nearest[:count] + np.array(offset)
        squares = radii[:count] ** 2 - ((low + spacing * points - across[:count]) ** 2).sum(axis=1)
        over = squares > 0.0
        tops = positions[:count][over, -1] + np.sqrt(squares[over])
        np.maximum.at(heights, tuple(points[over].T), tops)
    return low, spacing, heights


def _without_holes(heights: Floats) -> Floats:
    """Return a surface in which holes between grains are closed; slopes and edges do not move."""
    size = (HOLE,) * heights.ndim
    raised = ndimage.grey_dilation(heights, size=size, mode="constant", cval=-np.inf)
    found: Floats = ndimage.grey_erosion(raised, size=size, mode="constant", cval=np.inf)
    return found


def _pieces(heights: Floats, cliff: float) -> Integers:
    """Return the index of the connected piece of each point; a cliff separates neighbours of different heights."""
    numbers = np.arange(heights.size).reshape(heights.shape)
    pairs = []
    for axis in range(heights.ndim):
        one, other = np.moveaxis(heights, axis, 0)[1:], np.moveaxis(heights, axis, 0)[:-1]
        both = np.isfinite(one) & np.isfinite(other)
        joined = both & (np.abs(np.where(both, one, 0.0) - np.where(both, other, 0.0)) < cliff)
        pairs.append([np.moveaxis(numbers, axis, 0)[1:][joined], np.moveaxis(numbers, axis, 0)[:-1][joined]])
    first, second = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(heights.size,) * 2)
    labels: Integers = connected_components(graph, directed=False)[1]
    return labels.reshape(heights.shape)
