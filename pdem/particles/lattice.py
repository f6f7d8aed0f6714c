"""Sites of simple cubic and close-packed lattices inside a box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# distances of neighbouring rows in y and layers in z over the pitch, and the number after which they repeat
_SPACING = {
    "cubic": np.array([1.0, 1.0, 1.0]),
    "hexagonal": np.array([1.0, np.sqrt(0.75), np.sqrt(2.0 / 3.0)]),
}
_REPEAT = {"cubic": np.array([1, 1, 1]), "hexagonal": np.array([1, 2, 2])}
_SLACK = 1e-9


def lattice_sites(
    lower: Floats, upper: Floats, pitch: float, free: NDArray[np.bool_], arrangement: str, dimension: int
) -> Floats:
    """Return the sites of a lattice whose neighbours are at least `pitch` apart.

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

    Returns
    -------
    ndarray, shape (m, 3)
        Sites in m, layer by layer and row by row.
    """
    spacing, repeat, length = _SPACING[arrangement] * pitch, _REPEAT[arrangement], upper - lower
    if np.any(length[:dimension] < 0.0):
        return np.zeros((0, 3))
    counts = np.floor(length / spacing + _SLACK).astype(np.int64)
    counts = np.where(free, counts // repeat * repeat, counts + 1)
    if dimension == 2:
        counts[2] = 1
    if np.any(counts < 1):
        return np.zeros((0, 3))
    spacing = np.where(free & (np.arange(3) < dimension), length / counts, spacing)
    layers, rows, columns = np.meshgrid(*(np.arange(count) for count in counts[::-1]), indexing="ij")
    index = np.stack([columns, rows, layers], axis=-1).reshape(-1, 3).astype(np.float64)
    if arrangement == "hexagonal":
        odd_row, odd_layer = index[:, 1] % 2.0, index[:, 2] % 2.0
        index[:, 0] += 0.5 * ((odd_row + odd_layer) % 2.0)
        index[:, 1] += odd_layer / 3.0
    sites = lower + index * spacing
    if dimension == 2:
        sites[:, 2] = 0.5 * (lower[2] + upper[2])
    limit = upper + _SLACK * pitch
    return sites[np.all((sites <= limit) | free | (np.arange(3) >= dimension), axis=1)]


def estimated_site_count(length: Floats, pitch: float, dimension: int) -> float:
    """Return the approximate number of sites at a distance of `pitch` [m] in a box with sides `length` (3,) [m]."""
    return float(np.prod(np.maximum(length[:dimension], 0.0) / (0.8 * pitch) + 1.0))


def height_order(sites: Floats, gravity: Floats, dimension: int) -> NDArray[np.int64]:
    """Return the order of sites, shape (m, 3), from the lowest up: against gravity, else the last axis."""
    up = -gravity if np.any(gravity) else np.eye(3)[dimension - 1]
    # Equal heights differ by rounding errors; with rounded heights layers stay together on every machine.
    height = sites @ (up / np.linalg.norm(up))
    scale = np.max(np.abs(height), initial=1e-300)
    return np.argsort(np.round(height / scale, 9), kind="stable")
