"""Slabs: cuts across one axis. Pure functions on arrays, usable without MPI and for any number of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Slabs:
    """A division of space by cuts across one axis.

    Attributes
    ----------
    axis : int
        0, 1 or 2.
    cuts : (P - 1,) float64 array
        Rising coordinates [m]; part p reaches from cut p - 1 up to, but not including, cut p.
    """

    axis: int
    cuts: NDArray[np.float64]

    @property
    def parts(self) -> int:
        """Number of slabs."""
        return len(self.cuts) + 1

    def owners(self, position: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the slab (n,) in which each of the positions (n, 3) lies; the outer ones have no end."""
        return np.searchsorted(self.cuts, position[:, self.axis], side="right")


def longest_axis(lower: Sequence[float], upper: Sequence[float]) -> int:
    """Return the axis along which a box is longest, the first of equals."""
    return int(np.argmax(np.asarray(upper) - np.asarray(lower)))


def cut_slabs(
    coordinate: NDArray[np.float64], parts: int, axis: int, weights: NDArray[np.float64] | None = None
) -> Slabs:
    """Cut particles into slabs of equal weight, as nearly as whole particles allow.

    Parameters
    ----------
    coordinate : (n,) array
        Of the particles along the axis [m].
    parts : int
        Number of slabs.
    axis : int
        0, 1 or 2.
    weights : (n,) array, optional
        Work of each particle; equal unless given.
    """
    order = np.argsort(coordinate, kind="stable")
    sorted_coordinates = coordinate[order]
    work = np.cumsum(np.ones(len(order)) if weights is None else weights[order])
    if len(order) == 0:
        return Slabs(axis, np.zeros(parts - 1))
    wanted = work[-1] * np.arange(1, parts) / parts
    after = np.minimum(np.searchsorted(work, wanted * (1.0 - 1e-12)), len(order) - 1)
    following = np.minimum(after + 1, len(order) - 1)
    return Slabs(axis, 0.5 * (sorted_coordinates[after] + sorted_coordinates[following]))


def distance_to_intervals(
    coordinate: NDArray[np.float64], low: float, high: float, period: float
) -> NDArray[np.float64]:
    """Return how far coordinates are from the interval [low, high], by the nearest image [m]."""
    if period <= 0.0:
        return np.maximum(np.maximum(low - coordinate, coordinate - high), 0.0)
    above = np.mod(coordinate - low, period)  # distance upwards from the lower end
    return np.where(above <= high - low, 0.0, np.minimum(above - (high - low), period - above))
