"""Planes, boxes, plates and chutes: exact polygons, except for bent plates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.primitives.frames import (
    all_placed,
    direction,
    directions_at,
    frame_of,
    placed,
    quads_of_grid,
    reversed_orientation,
)
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pdem.foundation.array_types import Floats

    Parts = list[Floats]

FACES = ("-x", "+x", "-y", "+y", "-z", "+z")
"""Names of the faces of a box, by axis and side."""

_CLOSE = 1e-9
"""Distance of corners of a polygon over the size of its box, below which they are merged."""


def square(point: Sequence[float], normal: Sequence[float], size: float) -> Parts:
    """Return a square about a point."""
    half = 0.5 * size
    corners = np.array([[-half, -half, 0.0], [half, -half, 0.0], [half, half, 0.0], [-half, half, 0.0]])
    return [placed(corners, frame_of(normal), point)[None]]


def plane_in_box(point: Sequence[float], normal: Sequence[float], lower: Floats, upper: Floats) -> Parts:
    """Return the polygon in which a plane intersects a box; no part if they do not intersect."""
    reach = 2.0 * float(exact_math.norm(upper - lower)) + float(exact_math.norm(0.5 * (lower + upper) - point))
    polygon = square(point, normal, 2.0 * reach)[0][0]
    for axis in range(3):
        polygon = _cut(polygon, polygon[:, axis] - lower[axis])
        polygon = _cut(polygon, upper[axis] - polygon[:, axis])
    polygon = _distinct(polygon, _CLOSE * float(exact_math.norm(upper - lower)))
    return [polygon[None]] if len(polygon) >= 3 else []


def _cut(polygon: Floats, height: Floats) -> Floats:
    """Return the part of a convex polygon (n, 3) where a linear function of its corners (n,) is not negative."""
    kept: list[Floats] = []
    for k in range(len(polygon)):
        here, there = height[k - 1], height[k]
        if (here < 0.0) != (there < 0.0):
            kept.append(polygon[k - 1] + here / (here - there) * (polygon[k] - polygon[k - 1]))
        if there >= 0.0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 3)


def _distinct(polygon: Floats, tolerance: float) -> Floats:
    """Return a polygon without corners that repeat the previous corner."""
    if not len(polygon):
        return polygon
    return polygon[exact_math.norm(polygon - np.roll(polygon, 1, axis=0)) > tolerance]


def box(lower: Sequence[float], upper: Sequence[float], without: Iterable[str] = ()) -> Parts:
    """Return the faces of a box without some of `FACES`, normals outward."""
    corners = (np.asarray(lower, np.float64), np.asarray(upper, np.float64))
    parts, gone = [], set(without)
    for name in FACES:
        if name in gone:
            continue
        axis, side = "xyz".index(name[1]), int(name[0] == "+")
        first, second = (axis + 1) % 3, (axis + 2) % 3
        face = np.empty((4, 3))
        for k, (a, b) in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
            face[k, axis] = corners[side][axis]
            face[k, first], face[k, second] = corners[a][first], corners[b][second]
        parts.append((face if side else face[::-1])[None])
    return parts


class Plate(NamedTuple):
    """Dimensions of a plate.

    Attributes
    ----------
    centre, axis, normal : sequence of 3 float
        Its middle [m], the direction of its length, and the direction that its face points to; only the component of
        the normal across the axis counts.
    length, width, thickness : float
        Along the axis, across it, and through the plate [m]; thickness 0 is a sheet.
    bend_radius : float
        Radius of the middle surface, about a line along the axis on the side of the normal [m]; 0 is flat.
    """

    centre: Sequence[float]
    axis: Sequence[float]
    normal: Sequence[float]
    length: float
    width: float
    thickness: float = 0.0
    bend_radius: float = 0.0


def bends_of(plate: Plate, deviation: float) -> int:
    """Return the number of flat pieces of a bent plate, 1 for a flat one.

    On a radius R, the distance between a piece of the angle a and the arc is at most R (1 - cos(a / 2)).
    """
    if not plate.bend_radius:
        return 1
    outer = plate.bend_radius + 0.5 * plate.thickness
    widest = 4.0 * exact_math.asin(math.sqrt(min(0.5 * deviation / outer, 0.5)))
    return max(1, math.ceil(plate.width / plate.bend_radius / widest))


def blade(plate: Plate, deviation: float) -> Parts:
    """Return a plate: a sheet, or closed with normals outward."""
    along = direction(plate.axis)
    face = direction(np.asarray(plate.normal) - exact_math.inner(plate.normal, along) * along)
    frame = np.array([np.cross(face, along) + 0.0, face, along])
    pieces, half = bends_of(plate, deviation), 0.5 * plate.length
    layers = [_profile(plate, pieces, height) for height in (-0.5 * plate.thickness, 0.5 * plate.thickness)]
    grids = [np.stack([_at(layer, -half), _at(layer, half)]) for layer in layers]
    upper = quads_of_grid(grids[1])
    if not plate.thickness:
        return all_placed([upper], frame, plate.centre)
    parts = [upper, *reversed_orientation([quads_of_grid(grids[0])])]
    for end in (0, 1):  # across the axis
        strip = quads_of_grid(np.stack([grids[0][end], grids[1][end]]))
        parts += [strip] if end == 0 else reversed_orientation([strip])
    for edge in (0, -1):  # along the axis
        strip = quads_of_grid(np.stack([grids[0][:, edge], grids[1][:, edge]]))
        parts += reversed_orientation([strip]) if edge == 0 else [strip]
    return all_placed(parts, frame, plate.centre)


def _profile(plate: Plate, pieces: int, height: float) -> Floats:
    """Return the corners (pieces + 1, 2), across and along the normal, of a plate's section at a height in it."""
    share = np.arange(pieces + 1) / pieces - 0.5
    if not plate.bend_radius:
        return np.column_stack([plate.width * share, np.full(pieces + 1, height)])
    angle = plate.width / plate.bend_radius * share
    points = (plate.bend_radius - height) * directions_at(angle - 0.5 * np.pi)
    return points + np.array([0.0, plate.bend_radius])


def _at(profile: Floats, place: float) -> Floats:
    return np.column_stack([profile, np.full(len(profile), place)])


class Channel(NamedTuple):
    """Dimensions of a chute.

    Attributes
    ----------
    start, leading, up : sequence of 3 float
        The middle of the upper end of its floor [m], its direction, and the upward direction; only the component of
        `leading` across `up` counts.
    inclination : float
        Angle of the floor below the horizontal [rad].
    length, width, height : float
        Length of the floor along the slope, its width, and the height of the sides; 0 for no sides [m].
    """

    start: Sequence[float]
    leading: Sequence[float]
    up: Sequence[float]
    inclination: float
    length: float
    width: float
    height: float


def chute(channel: Channel) -> Parts:
    """Return floor and sides of a chute, open at its ends and above; normals point into it."""
    up = direction(channel.up)
    level = direction(np.asarray(channel.leading) - exact_math.inner(channel.leading, up) * up)
    cosine, sine = exact_math.cos(channel.inclination), exact_math.sin(channel.inclination)
    slope, face = cosine * level - sine * up, cosine * up + sine * level
    frame = np.array([slope, np.cross(face, slope), face])
    half, height = 0.5 * channel.width, channel.height
    section = [[-half, 0.0], [half, 0.0]]
    if height:
        section = [[-half, height], *section, [half, height]]
    rims = [np.column_stack([np.full(len(section), x), section]) for x in (0.0, channel.length)]
    return all_placed([quads_of_grid(np.stack(rims))], frame, channel.start)
