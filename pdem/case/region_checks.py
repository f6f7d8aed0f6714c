"""Rules on regions: boxes, cylinders and balls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.case.messages import Problem
from pdem.case.particles import BoxRegion, CylinderRegion
from pdem.case.value_rules import direction_problems

if TYPE_CHECKING:
    from collections.abc import Iterator


def region_problems(region: Any, where: tuple[str | int, ...]) -> Iterator[Problem]:
    """Yield the problems of a region: corners of a box in the wrong order, an axis without direction."""
    if isinstance(region, BoxRegion):
        for axis in range(3):
            if not region.lower[axis] < region.upper[axis]:
                text = f"must be greater than lower ({region.lower[axis]}) along {'xyz'[axis]}"
                yield Problem((*where, "upper", axis), text)
    if isinstance(region, CylinderRegion):
        yield from direction_problems(region.axis, (*where, "axis"))
