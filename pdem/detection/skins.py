"""Levels of particles by size, and the skin of the lists of each level."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.kernels import prange, threaded_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.group import Group
    from pdem.detection.cell_sizes import CellSizes
    from pdem.foundation.array_types import Floats

AT_REST = 0.7
"""Speed that is added to the speed of each particle where skins grow with the speed, over the mean of the level: a
slow particle may be hit before the next list build."""

FAST = 2.0
"""Skin over the mean skin of its level beyond which a particle gets into a coarser level of cells."""

WIDEST = 1.0
"""Largest skin over the largest radius of the level, unless the mean skin is larger."""


PARTS = 2.0**20
"""Number of parts into which the largest speed is divided, so that speeds are summed as integers."""


class Skins:
    """Levels of the particles by radius, and the skin of each level.

    Lists contain pairs with gaps up to the sum of both skins. A level's mean skin is proportional to its largest
    radius, so that a few large particles do not widen the lists of the many small ones. Lists stay valid until one
    particle has used up its skin, usually a fast one. Where the speeds of the levels are known, skins grow with the
    speed of a particle, so that all skins last about equally long, and slow particles get small skins.

    Parameters
    ----------
    radii : (L,) array
        Largest radius of each level [m], rising.
    fraction : float
        Mean skin over largest radius; may change between list builds.
    expected : CellSizes, optional
        Expected work of one search, from the choice of the levels.
    by_speed : bool
        Whether skins grow with the speed; otherwise `speeds` is None.

    Attributes
    ----------
    speeds : (L,) array or None
        Mean speed of the particles of each level [m/s], the same on every rank; zeros if speeds have not been measured,
        or nothing moves.
    beyond : callable or None
        Function of radii that returns half of the largest gap of a contact [m]; None without adhesion. It increases
        with the radius. Every rank sets it; it is never communicated.
    """

    def __init__(
        self, radii: Floats, fraction: float, expected: CellSizes | None = None, *, by_speed: bool = False,
    ) -> None:  # fmt: skip
        self.radii = radii
        self.fraction = fraction
        self.expected = expected
        self.speeds = np.zeros(len(radii)) if by_speed else None
        self.beyond: Callable[[Floats], Floats] | None = None

    def write(
        self, radius: Floats, velocity: Floats, skin: Floats,
        reach: Floats,
    ) -> None:  # fmt: skip
        """Write the skin, the allowed displacement until the next list build, and the reach, radius plus skin [m].

        Parameters
        ----------
        radius, velocity : (n,) and (n, 3) arrays
            Radii and velocities of the particles [m], [m/s].
        skin, reach : (>= n,) arrays
            Written.
        """
        _write_skins(radius, velocity, self.radii, *self._growth(), skin, reach)
        if self.beyond is not None:
            reach[: len(radius)] += self.beyond(radius)

    def _growth(self) -> tuple[Floats, Floats, Floats]:
        """Return by level the skin of a particle at rest [m], its growth with the speed [s], and the widest skin [m].

        With these coefficients the mean skin of a level is `fraction` of its radius.
        """
        mean = self.fraction * self.radii
        speeds = np.zeros(len(mean)) if self.speeds is None else self.speeds
        moves = speeds > 0.0
        growth = np.divide(mean, (1.0 + AT_REST) * speeds, out=np.zeros_like(mean), where=moves)
        at_rest = np.where(moves, mean * (AT_REST / (1.0 + AT_REST)), mean)
        return at_rest, growth, np.maximum(mean, WIDEST * self.radii)

    @property
    def life(self) -> float:
        """Lifetime of lists with a `fraction` of 1 at the present speeds [s]; infinite if the speeds are unknown."""
        if self.speeds is None or not self.speeds.any():
            return math.inf
        return float(np.min(self.radii / np.maximum((1.0 + AT_REST) * self.speeds, 1e-300)))

    def measure_speeds(self, radius: Floats, velocity: Floats, group: Group) -> None:
        """Measure the mean speeds of the levels, over the particles of all ranks, if skins depend on them. Collective.

        Speeds are rounded to integer multiples of a fraction of the largest speed: sums of integers are the same on
        every rank.
        """
        if self.speeds is None:
            return
        levels = len(self.radii)
        level = np.minimum(np.searchsorted(self.radii, radius), levels - 1)
        speed = np.sqrt(np.einsum("ij,ij->i", velocity, velocity))
        largest = np.zeros(levels)
        np.maximum.at(largest, level, speed)
        unit = group.largest(largest) / PARTS
        parts = np.rint(np.divide(speed, unit[level], out=np.zeros_like(speed), where=unit[level] > 0.0))
        sums = [np.bincount(level, one, levels).astype(np.int64) for one in (None, parts)]
        count, total = group.add(np.concatenate(sums)).reshape(2, levels)
        self.speeds = unit * total / np.maximum(count, 1)

    def reach(self, radius: Floats, velocity: Floats) -> Floats:
        """Return radius plus skin [m]."""
        skin, reach = np.empty(len(radius)), np.empty(len(radius))
        self.write(radius, velocity, skin, reach)
        return reach

    @property
    def least_share(self) -> float:
        """Smallest ratio of skin to reach of any particle, for the largest radius of each level."""
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
    def cell_sizes(self) -> Floats:
        """Limits of the reach diameters of the levels of cells [m].

        Where skins depend on speeds, particles that are much faster than the mean of their level are assigned to the
        next level, so that they do not widen all cells; an extra level after the last one is for the fast largest
        particles.
        """
        if self.speeds is None:
            sizes = 2.0 * self.radii * (1.0 + self.fraction)
            return sizes if self.beyond is None else sizes + 2.0 * self.beyond(self.radii)
        sizes = 2.0 * self.radii * (1.0 + FAST * self.fraction)
        sizes = sizes if self.beyond is None else sizes + 2.0 * self.beyond(self.radii)
        return np.append(sizes, sizes[-1] + 2.0 * self.radii[-1] * max(WIDEST, self.fraction))


@threaded_kernel
def _write_skins(
    radius: Floats,
    velocity: Floats,
    levels: Floats,
    at_rest: Floats,
    growth: Floats,
    widest: Floats,
    skin: Floats,
    reach: Floats,
) -> None:
    for p in prange(len(radius)):
        level = 0
        while level < len(levels) - 1 and radius[p] > levels[level]:
            level += 1
        v = velocity[p]
        speed = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        skin[p] = min(at_rest[level] + growth[level] * speed, widest[level])
        reach[p] = radius[p] + skin[p]
