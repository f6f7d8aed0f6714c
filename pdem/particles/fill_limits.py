"""Limits of the volume fraction of random fills, checked before placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.errors import CaseError
from pdem.particles import regions
from pdem.particles.clearance import size_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.particles.filling import FillRequest

LARGEST_FRACTION = {2: 0.7, 3: 0.45}
"""Largest volume fraction of spheres within a factor of two in size, of the volume free of larger spheres.

Measured with equal spheres in a periodic box (`pdem.particles.monte_carlo`): 0.40 is reached in seconds, 0.42 is
not; for discs 0.63 is. Walls lower both. At 0.494 and 0.70 fluids of them freeze (Alder, Hoover, Young, J. Chem. Phys.
49 (1968) 3688; Bernard, Krauth, Phys. Rev. Lett. 107 (2011) 155704): above, Monte Carlo moves make no room for another
sphere.
"""

CLOSEST_FRACTION = {2: 0.91, 3: 0.74}
"""The same of close packings. In a tube as narrow as its spheres, random sequential addition reaches 0.50."""

NARROW = 4.0
"""Width of a region, over the largest diameter, below which only the fraction of close packing is the limit."""

USUAL_FRACTION = {2: 0.5, 3: 0.3}
"""Volume fraction that random placement reaches in most regions: less at walls, more if sizes differ widely."""


def require_volume(request: FillRequest, radii: NDArray[np.float64], dimension: int) -> None:
    """Refuse a random fill whose particles have too much volume for random placement in its region.

    Raises
    ------
    CaseError
        With their volume fraction, and the number that would fit.
    """
    volumes = np.pi * radii**2 if dimension == 2 else 4.0 / 3.0 * np.pi * radii**3
    lower, upper = regions.bounds(request.region)
    room = regions.size(request.region, dimension)
    narrow = (upper - lower)[:dimension].min() < NARROW * 2.0 * radii.max(initial=0.0)
    if _fits(radii, volumes, room, (CLOSEST_FRACTION if narrow else LARGEST_FRACTION)[dimension]):
        return
    key = next(
        name for name in ("volume_fraction", "mass", "count") if getattr(request.fill, name) is not None
    )
    given = getattr(request.fill, key)
    usual = USUAL_FRACTION[dimension]
    number = int(np.searchsorted(np.cumsum(volumes), usual * room))
    what = "area" if dimension == 2 else "volume"
    raise CaseError(
        f"{request.where}.{key} = {given:g}: these {len(radii)} particles have {volumes.sum() / room:.3g} of the "
        f"region's {what}; random places hold about {usual:g}, {number} of them: make the region larger, "
        'or use arrangement = "hexagonal" and let it settle'
    )


def _fits(radii: NDArray[np.float64], volumes: NDArray[np.float64], room: float, most: float) -> bool:
    """Return whether each class of sizes fills at most the fraction `most` of the volume free of larger ones."""
    for members in size_classes(radii):
        volume = float(volumes[members].sum())
        if len(members) > 1 and volume > most * room:  # a single sphere may fill its region
            return False
        room -= volume
    return room > 0.0
