"""Checks of walls at periodic sides of the box, across which particles are repeated and walls are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.rules.checks import AXES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pdem.case.sections.general import Domain

    Ends = tuple[float, float]

SPAN = 0.9
"""Extent of a wall over the period above which it is taken to continue through the periodic sides."""

_SLACK = 1e-3
"""Tolerance over the radius for rounding, for instance in mesh files of single precision."""


def periodic_wall_warnings(
    domain: Domain, lower: NDArray[np.float64], upper: NDArray[np.float64], radius: float
) -> Iterator[str]:
    """Yield warnings of parts of a wall that are missing because it is not repeated across periodic sides.

    A wall that spans the box has to reach beyond both sides by the largest radius; any other has to stay as
    far away from them.

    Parameters
    ----------
    domain : Domain
        The box and its periodic axes.
    lower, upper : ndarray
        Corners of the wall's bounding box, shape (3,), in m.
    radius : float
        Largest radius of all particles, in m.
    """
    for axis in np.flatnonzero(domain.periodic):
        sides, ends = (domain.lower[axis], domain.upper[axis]), (float(lower[axis]), float(upper[axis]))
        spans = ends[1] - ends[0] > SPAN * (sides[1] - sides[0])
        text = (_short_of_sides if spans else _near_sides)(sides, ends, radius)
        if text:
            extent = f"walls are not repeated along the periodic axis {AXES[axis]}, and this one reaches from"
            yield f"{extent} {ends[0]:g} to {ends[1]:g} m, {text}"


def _short_of_sides(sides: Ends, ends: Ends, radius: float) -> str:
    least = (sides[0] - radius, sides[1] + radius)
    if ends[0] <= least[0] + _SLACK * radius and ends[1] >= least[1] - _SLACK * radius:
        return ""
    text = f"not beyond both sides ({sides[0]:g} and {sides[1]:g} m) by the largest radius {radius:g} m"
    return f"{text}: extend it to at least {least[0]:.10g} and {least[1]:.10g} m"


def _near_sides(sides: Ends, ends: Ends, radius: float) -> str:
    reach = radius * (1.0 - _SLACK)
    near = [f"{side:g}" for side in sides if ends[0] < side + reach and ends[1] > side - reach]
    if not near:
        return ""
    text = f"across the side at {' and '.join(near)} m or closer to it than the largest radius {radius:g} m"
    return f"{text}: move it away, or repeat it {sides[1] - sides[0]:g} m further in the same mesh"
