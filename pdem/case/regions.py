"""Boxes, cylinders and balls: what is inside, what touches them, how large they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.particles import BoxRegion, CylinderRegion, SphereRegion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.case.sections import Domain

    AnyRegion = BoxRegion | CylinderRegion | SphereRegion
    Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]


def open_axes(region: AnyRegion, domain: Domain) -> NDArray[np.bool_]:
    """Return the axes, shape (3,), along which a region is a whole period and therefore has no boundary."""
    lower, upper = bounds(region)
    period = np.subtract(domain.upper, domain.lower)
    across = np.asarray(domain.periodic) & (upper - lower >= period * (1.0 - 1e-12))
    if isinstance(region, CylinderRegion):
        return across & (np.abs(_direction(region)) > 1.0 - 1e-12)
    return across & isinstance(region, BoxRegion)


def bounds(region: AnyRegion) -> Bounds:
    """Return the corners, each of shape (3,) in m, of the box around a region."""
    if isinstance(region, BoxRegion):
        return np.asarray(region.lower), np.asarray(region.upper)
    centre = np.asarray(region.centre)
    if isinstance(region, SphereRegion):
        return centre - region.radius, centre + region.radius
    axis = _direction(region)
    reach = 0.5 * region.length * np.abs(axis) + region.radius * np.sqrt(np.maximum(0.0, 1.0 - axis**2))
    return centre - reach, centre + reach


def size(region: AnyRegion, dimension: int) -> float:
    """Return the volume of a region in m^3, or in 2D the area in m^2 of its cut through the middle."""
    lower, upper = bounds(region)
    if isinstance(region, BoxRegion):
        return float(np.prod((upper - lower)[:dimension]))
    if isinstance(region, SphereRegion):
        return math.pi * region.radius**2 * (1.0 if dimension == 2 else 4.0 / 3.0 * region.radius)
    along_z = abs(_direction(region)[2]) > 0.5
    if dimension == 2:
        return math.pi * region.radius**2 if along_z else 2.0 * region.radius * region.length
    return math.pi * region.radius**2 * region.length


def contains(
    region: AnyRegion, positions: NDArray[np.float64], radii: NDArray[np.float64], free: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which spheres, positions (n, 3) and radii (n,), lie wholly inside a region.

    Along the axes marked in `free`, shape (3,), they may reach across its faces (periodic directions, and the
    direction across the plane of a 2D case).
    """
    if isinstance(region, BoxRegion):
        lower, upper = bounds(region)
        inside = (positions - radii[:, None] >= lower) & (positions + radii[:, None] <= upper)
        return np.asarray(np.all(inside | free, axis=1))
    offset = np.where(
        free & (not isinstance(region, CylinderRegion)), 0.0, positions - np.asarray(region.centre)
    )
    if isinstance(region, SphereRegion):
        return np.asarray(np.linalg.norm(offset, axis=1) + radii <= region.radius)
    along, across = _cylindrical(region, offset)
    unbounded = bool(np.any(free & (np.abs(_direction(region)) > 0.5)))
    return (across + radii <= region.radius) & (unbounded | (np.abs(along) + radii <= 0.5 * region.length))


def distance(region: AnyRegion, positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far positions, shape (n, 3), are outside a region, in m; 0 inside."""
    if isinstance(region, BoxRegion):
        lower, upper = bounds(region)
        return np.linalg.norm(np.maximum(0.0, np.maximum(lower - positions, positions - upper)), axis=1)
    offset = positions - np.asarray(region.centre)
    if isinstance(region, SphereRegion):
        return np.maximum(0.0, np.linalg.norm(offset, axis=1) - region.radius)
    along, across = _cylindrical(region, offset)
    return np.hypot(
        np.maximum(0.0, np.abs(along) - 0.5 * region.length), np.maximum(0.0, across - region.radius)
    )


def _direction(region: CylinderRegion) -> NDArray[np.float64]:
    return np.asarray(region.axis) / math.hypot(*region.axis)


def _cylindrical(region: CylinderRegion, offset: NDArray[np.float64]) -> Bounds:
    axis = _direction(region)
    along = offset @ axis
    return along, np.linalg.norm(offset - along[:, None] * axis, axis=1)
