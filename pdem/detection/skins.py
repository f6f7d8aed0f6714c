"""Levels of particles by size, and how far beyond contact the lists of each level reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.kernels import prange, threaded_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pdem.detection.cell_sizes import CellSizes


class Skins:
    """Levels of the particles by radius, and the skin of each level.

    Lists reach beyond contact by the skins of both partners. A level's skin is proportional to its largest
    radius, so that a few large particles do not widen the lists of the many small ones.

    Parameters
    ----------
    radii : (L,) array
        Largest radius of each level [m], rising.
    fraction : float
        Skin over largest radius; may change from one detection to the next.
    expected : CellSizes, optional
        Work of one search that was expected when the levels were chosen.

    Attributes
    ----------
    beyond : callable or None
        Half of the gap that a contact of particles may have, of their radii [m], None without adhesion; it grows with
        the radius. It is known on every rank and not shared.
    """

    def __init__(
        self, radii: NDArray[np.float64], fraction: float, expected: CellSizes | None = None
    ) -> None:
        self.radii = radii
        self.fraction = fraction
        self.expected = expected
        self.beyond: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None

    def write(
        self, radius: NDArray[np.float64], skin: NDArray[np.float64], reach: NDArray[np.float64]
    ) -> None:
        """Write how far particles of these radii may move before lists are made anew, and radius plus that [m]."""
        _write_skins(radius, self.radii, self.fraction, skin, reach)
        if self.beyond is not None:
            reach[: len(radius)] += self.beyond(radius)

    def reach(self, radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return radius plus skin [m]."""
        skin, reach = np.empty(len(radius)), np.empty(len(radius))
        self.write(radius, skin, reach)
        return reach

    @property
    def least_share(self) -> float:
        """Least skin of a particle over its reach, as large as any particle of its level may be."""
        beyond = 0.0 if self.beyond is None else self.beyond(self.radii)
        skins = self.fraction * self.radii
        return float((skins / (self.radii + skins + beyond)).min())

    def __str__(self) -> str:
        """Return levels, skins and the expected work of a search, for the log."""
        levels = ", ".join(f"{radius:.4g}" for radius in self.radii)
        text = f"levels up to radius {levels} m, skin {self.fraction:g} of each"
        if self.expected is None:
            return text
        return (
            f"{text}; expected per particle and search without skins: {self.expected.checks:.3g} distance tests "
            f"and {self.expected.accesses:.3g} rows of cells"
        )

    @property
    def cell_sizes(self) -> NDArray[np.float64]:
        """Limits of the reach diameters of the levels [m]."""
        sizes = 2.0 * self.radii * (1.0 + self.fraction)
        return sizes if self.beyond is None else sizes + 2.0 * self.beyond(self.radii)


@threaded_kernel
def _write_skins(
    radius: NDArray[np.float64],
    levels: NDArray[np.float64],
    fraction: float,
    skin: NDArray[np.float64],
    reach: NDArray[np.float64],
) -> None:
    for p in prange(len(radius)):
        level = 0
        while level < len(levels) - 1 and radius[p] > levels[level]:
            level += 1
        skin[p] = fraction * levels[level]
        reach[p] = radius[p] + skin[p]
