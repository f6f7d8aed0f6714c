"""Sites of simple cubic and close-packed lattices inside a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.group import Group

    Floats = NDArray[np.float64]

# distances of neighbouring rows in y and layers in z over the pitch, and the number after which they repeat
_SPACING = {
    "cubic": np.array([1.0, 1.0, 1.0]),
    "hexagonal": np.array([1.0, np.sqrt(0.75), np.sqrt(2.0 / 3.0)]),
}
_REPEAT = {"cubic": np.array([1, 1, 1]), "hexagonal": np.array([1, 2, 2])}
_SLACK = 1e-9


class LatticeSites:
    """The sites of a lattice whose neighbours are at least a pitch apart, by numbers.

    Parameters
    ----------
    lower, upper : ndarray, shape (3,)
        Box of the sites, in m: a sphere's radius inside the faces that bound it.
    pitch : float
        Least distance of two sites, in m.
    free : ndarray of bool, shape (3,)
        Axes along which the box is a whole period, to which the lattice is stretched.
    arrangement : {"cubic", "hexagonal"}
        Simple cubic (square), or hexagonal close-packed with rows along x and layers along z (triangular).
    dimension : {2, 3}
        In 2D there is one layer, halfway between the faces.

    Attributes
    ----------
    count : int
        Numbers of sites, layer by layer and row by row; some of those beyond the box are counted as well.
    """

    def __init__(
        self,
        lower: Floats,
        upper: Floats,
        pitch: float,
        free: NDArray[np.bool_],
        arrangement: str,
        dimension: int,
    ) -> None:
        spacing, repeat, length = _SPACING[arrangement] * pitch, _REPEAT[arrangement], upper - lower
        counts = np.floor(np.maximum(length, 0.0) / spacing + _SLACK)
        counts = np.where(free, counts // repeat * repeat, counts + 1)
        if dimension == 2:
            counts[2] = 1
        self._counts = counts
        self.count = 0 if np.any(length[:dimension] < 0.0) else int(np.prod(counts))
        self._spacing = np.where(free & (np.arange(3) < dimension), length / np.maximum(counts, 1.0), spacing)
        self._lower, self._upper, self._limit = lower, upper, upper + _SLACK * pitch
        self._unlimited = free | (np.arange(3) >= dimension)
        self._staggered, self._dimension = arrangement == "hexagonal", dimension

    def sites(self, begin: int, end: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return the sites inside the box (m, 3) [m] with numbers from `begin` to before `end`, and their numbers."""
        number = np.arange(begin, end)
        rows, column = np.divmod(number, max(int(self._counts[0]), 1))
        layer, row = np.divmod(rows, max(int(self._counts[1]), 1))
        index = np.stack([column, row, layer], axis=-1).astype(np.float64)
        if self._staggered:
            odd_row, odd_layer = index[:, 1] % 2.0, index[:, 2] % 2.0
            index[:, 0] += 0.5 * ((odd_row + odd_layer) % 2.0)
            index[:, 1] += odd_layer / 3.0
        sites = self._lower + index * self._spacing
        if self._dimension == 2:
            sites[:, 2] = 0.5 * (self._lower[2] + self._upper[2])
        inside = np.all((sites <= self._limit) | self._unlimited, axis=1)
        return sites[inside], number[inside]


def height_keys(sites: Floats, gravity: Floats, dimension: int, over: Group) -> NDArray[np.int64]:
    """Return whole numbers that rise with the height of sites (m, 3): against gravity, else the last axis."""
    up = -gravity if np.any(gravity) else np.eye(3)[dimension - 1]
    # Equal heights differ by rounding errors; with rounded heights layers stay together on every machine.
    height = sites @ (up / np.linalg.norm(up))
    scale = float(over.largest(np.array([np.max(np.abs(height), initial=1e-300)]))[0])
    return np.rint(height / scale * 1e9).astype(np.int64)
