"""Boxes, cylinders and balls: their size, bounding box, and tests of spheres inside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats

    Bounds = tuple[Floats, Floats]

Vector = tuple[float, float, float]


class RegionDomain(Protocol):
    """The box of the particles; `pdem.case.sections.general.Domain` is one.

    Attributes
    ----------
    lower, upper : tuple of 3 float
        Corners [m].
    periodic : tuple of 3 bool
        Axes along which the domain is periodic.
    gravity : tuple of 3 float
        Acceleration [m/s^2].
    dimension : {2, 3}
        2 keeps centres in a plane of constant z.
    """

    lower: Vector
    upper: Vector
    periodic: tuple[bool, bool, bool]
    gravity: Vector
    dimension: Literal[2, 3]


class Box(Protocol):
    """A box from `lower` to `upper` [m]."""

    shape: Literal["box"]
    lower: Vector
    upper: Vector


class Cylinder(Protocol):
    """A cylinder of `radius` [m] about `centre` [m], `length` [m] long along the direction `axis`."""

    shape: Literal["cylinder"]
    centre: Vector
    axis: Vector
    radius: float
    length: float


class Ball(Protocol):
    """A ball about `centre` [m] of the given `radius` [m]."""

    shape: Literal["sphere"]
    centre: Vector
    radius: float


Region = Box | Cylinder | Ball

_NO_WAY = 1e-100
"""A displacement along an axis of at most this length counts as zero [m]."""


def open_axes(region: Region, domain: RegionDomain) -> Booleans:
    """Return the axes, shape (3,), along which a region is a whole period and therefore has no boundary."""
    lower, upper = bounds(region)
    period = np.subtract(domain.upper, domain.lower)
    across = np.asarray(domain.periodic) & (upper - lower >= period * (1.0 - 1e-12))
    if region.shape == "cylinder":
        return across & (np.abs(_direction(region)) > 1.0 - 1e-12)
    return across & (region.shape == "box")


def unbounded_axes(region: Region, domain: RegionDomain) -> Booleans:
    """Return the axes, shape (3,), along which spheres of a region have no limits: open axes, and z in 2D."""
    axes = open_axes(region, domain)
    axes[domain.dimension :] = True
    return axes


def bounds(region: Region) -> Bounds:
    """Return the corners, each of shape (3,) in m, of the box around a region."""
    if region.shape == "box":
        return np.asarray(region.lower), np.asarray(region.upper)
    centre = np.asarray(region.centre)
    if region.shape == "sphere":
        return centre - region.radius, centre + region.radius
    axis = _direction(region)
    reach = 0.5 * region.length * np.abs(axis) + region.radius * np.sqrt(np.maximum(0.0, 1.0 - axis * axis))
    return centre - reach, centre + reach


def size(region: Region, dimension: int) -> float:
    """Return the volume of a region in m^3, or in 2D the area in m^2 of its section through the middle."""
    lower, upper = bounds(region)
    if region.shape == "box":
        return math.prod((upper - lower)[:dimension].tolist())
    disc = math.pi * region.radius * region.radius
    if region.shape == "sphere":
        return disc * (1.0 if dimension == 2 else 4.0 / 3.0 * region.radius)
    along_z = abs(_direction(region)[2]) > 0.5
    if dimension == 2:
        return disc if along_z else 2.0 * region.radius * region.length
    return disc * region.length


def contains(region: Region, positions: Floats, radii: Floats, free: Booleans) -> Booleans:
    """Return which spheres, positions (n, 3) and radii (n,), are completely inside a region.

    Along the axes marked in `free`, shape (3,), spheres may extend across its faces (periodic directions, and the
    direction across the plane of a 2D case).
    """
    if region.shape == "box":
        lower, upper = bounds(region)
        inside = (positions - radii[:, None] >= lower) & (positions + radii[:, None] <= upper)
        return np.asarray(np.all(inside | free, axis=1))
    offset = np.where(free & (region.shape != "cylinder"), 0.0, positions - np.asarray(region.centre))
    if region.shape == "sphere":
        return np.asarray(exact_math.norm(offset) + radii <= region.radius)
    height, across = _cylindrical(region, offset)
    unbounded = bool(np.any(free & (np.abs(_direction(region)) > 0.5)))
    return (across + radii <= region.radius) & (unbounded | (np.abs(height) + radii <= 0.5 * region.length))


def distance(region: Region, positions: Floats) -> Floats:
    """Return the distance of positions, shape (n, 3), from a region, in m; 0 inside."""
    if region.shape == "box":
        lower, upper = bounds(region)
        return exact_math.norm(np.maximum(0.0, np.maximum(lower - positions, positions - upper)))
    offset = positions - np.asarray(region.centre)
    if region.shape == "sphere":
        return np.maximum(0.0, exact_math.norm(offset) - region.radius)
    height, across = _cylindrical(region, offset)
    beside = np.stack((np.abs(height) - 0.5 * region.length, across - region.radius), axis=-1)
    return exact_math.norm(np.maximum(0.0, beside))


def inside(region: Region, positions: Floats, dimension: int) -> Booleans:
    """Return which positions, shape (n, 3) in m, are in a region; in 2D only x and y are tested."""
    return distance(region, in_plane(region, positions, dimension)) == 0.0


def in_plane(region: Region, positions: Floats, dimension: int) -> Floats:
    """Return positions, shape (n, 3) in m; in 2D moved along z to the middle of a region."""
    if dimension == 3:
        return positions
    lower, upper = bounds(region)
    middle = np.full(len(positions), 0.5 * (lower[2] + upper[2]))
    return np.column_stack((positions[:, :2], middle))


def share_inside(region: Region, begin: Floats, way: Floats) -> Floats:
    """Return the fraction, shape (n,), of straight segments that is in a region; `begin` and `way` (n, 3) in m.

    All regions are convex: the part inside is between two points of the segment.
    """
    if region.shape == "box":
        lower, upper = bounds(region)
        spans = [_between(begin[:, a], way[:, a], lower[a], upper[a]) for a in range(3)]
    elif region.shape == "sphere":
        offset = begin - np.asarray(region.centre)
        spans = [_within(offset, way, region.radius)]
    else:
        axis, offset = _direction(region), begin - np.asarray(region.centre)
        height, rise = along(offset, axis), along(way, axis)
        across = offset - height[:, None] * axis, way - rise[:, None] * axis
        half = 0.5 * region.length
        spans = [_between(height, rise, -half, half), _within(*across, region.radius)]
    first, last = np.zeros(len(begin)), np.ones(len(begin))
    for low, high in spans:
        first, last = np.maximum(first, low), np.minimum(last, high)
    return np.maximum(last - first, 0.0)


def _between(begin: Floats, way: Floats, lower: float, upper: float) -> Bounds:
    """Return the interval of segments with a coordinate between two values, as fractions; 1 and 0 if it is empty."""
    moves = np.abs(way) > _NO_WAY
    safe = np.where(moves, way, 1.0)
    one, other = (lower - begin) / safe, (upper - begin) / safe
    there = (begin >= lower) & (begin <= upper)
    return (
        np.where(moves, np.minimum(one, other), np.where(there, 0.0, 1.0)),
        np.where(moves, np.maximum(one, other), np.where(there, 1.0, 0.0)),
    )


def _within(offset: Floats, way: Floats, radius: float) -> Bounds:
    """Return the interval of segments within a radius of the origin, as fractions; 1 and 0 if it is empty."""
    squared = _dot(way, way)
    half, rest = _dot(offset, way), _dot(offset, offset) - radius * radius
    moves = squared > _NO_WAY * _NO_WAY
    safe = np.where(moves, squared, 1.0)
    root = half * half - squared * rest
    meets, reach = root >= 0.0, np.sqrt(np.maximum(root, 0.0))
    still = np.where(rest <= 0.0, 0.0, 1.0)
    return (
        np.where(moves, np.where(meets, (-half - reach) / safe, 1.0), still),
        np.where(moves, np.where(meets, (-half + reach) / safe, 0.0), 1.0 - still),
    )


def _dot(one: Floats, other: Floats) -> Floats:
    """Return the scalar products (n,) of vectors (n, 3), summed in the order of the axes."""
    found: Floats = one[:, 0] * other[:, 0] + one[:, 1] * other[:, 1] + one[:, 2] * other[:, 2]
    return found


def _direction(region: Cylinder) -> Floats:
    return np.asarray(region.axis) / exact_math.hypot(*region.axis)


def _cylindrical(region: Cylinder, offset: Floats) -> Bounds:
    axis = _direction(region)
    height = along(offset, axis)
    return height, exact_math.norm(offset - height[:, None] * axis)


def along(vectors: Floats, axis: Floats) -> Floats:
    """Return the components (n,) of vectors (n, 3) along a direction.

    The bits of each do not depend on the other vectors, whereas in a matrix product rounding depends on the row index.
    """
    return vectors[:, 0] * axis[0] + vectors[:, 1] * axis[1] + vectors[:, 2] * axis[2]


def wrap_positions(positions: Floats, domain: RegionDomain) -> Floats:
    """Return positions, shape (n, 3), shifted by whole periods into the domain along its periodic axes."""
    lower, upper = np.asarray(domain.lower), np.asarray(domain.upper)
    width = upper - lower
    moved = positions - np.floor((positions - lower) / width) * width
    # Rounding may yield a position on the upper face, which is equivalent to the lower one.
    moved = np.where(moved >= upper, lower, np.maximum(moved, lower))
    return np.where(np.asarray(domain.periodic), moved, positions)
