"""Cylinders, cones, tubes and spheres, with corners on the surface and facets inside it by at most a deviation.

The sides of a polygon of n sides on a circle of radius R are inside the circle by R (1 - cos(pi / n)). A sphere is an
icosahedron; each of its faces is divided into f^2 triangles, and these are projected onto the sphere. The triangles in
the middle of a face are the largest.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.primitives.frames import (
    LEAST_SIDES,
    all_placed,
    between_rings,
    circle,
    ends,
    frame_of,
    reversed_orientation,
    ring,
    sides_of,
)
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Booleans, Floats

    Parts = list[Floats]
    Axis = tuple[Sequence[float], Sequence[float]]
    """Centre [m] and direction."""

ICOSAHEDRON_FACES = 20
_NARROWING = 4.0
"""Ratio of radii of a cone at which half the number of sides has the same deviation, or a smaller one."""

_INRADIUS = math.sqrt((5.0 + 2.0 * math.sqrt(5.0)) / 15.0)
"""Distance of the faces of an icosahedron from its centre, over that of its corners."""


def cylinder(axis: Axis, radius: float, length: float, caps: str, deviation: float) -> Parts:
    """Return a cylinder about an axis, its ends closed as `caps` says; normals outward."""
    return cone(axis, (radius, radius), length, caps, deviation)


def cone_rings(radii: tuple[float, float], length: float, deviation: float) -> list[tuple[float, int]]:
    """Return radii of rings of a cone from the wide to the narrow end, and their numbers of sides.

    At a quarter of the radius half the number of sides is enough; a row of triangles, as long as wide, joins both
    numbers.
    """
    wide, narrow = max(radii), min(radii)
    sides = sides_of(wide, deviation)
    if narrow * _NARROWING >= wide or sides <= LEAST_SIDES:
        return [(wide, sides), (narrow, sides)]
    sides = LEAST_SIDES << (math.ceil(sides / LEAST_SIDES) - 1).bit_length()
    slope = (wide - narrow) / exact_math.hypot(wide - narrow, length)
    rings = [(wide, sides)]
    while sides > LEAST_SIDES and rings[-1][0] > _NARROWING * narrow:
        last, radius = rings[-1][0], rings[-1][0] / _NARROWING
        before = radius * (1.0 + slope * 2.0 * exact_math.sin(2.0 * math.pi / sides))
        rings += [(before, sides)] if before < 0.5 * (radius + last) else []
        sides //= 2
        rings.append((radius, sides))
    return [*rings, (narrow, sides)] if narrow < rings[-1][0] else rings


def cone(axis: Axis, radii: tuple[float, float], length: float, caps: str, deviation: float) -> Parts:
    """Return a cone or a part of one: `radii` at its lower end and at the upper end, to which the axis points [m]."""
    rising = radii[0] >= radii[1]
    rings: list[Floats] = []
    for radius, sides in cone_rings(radii, length, deviation):
        share = (radii[0] - radius) / (radii[0] - radii[1]) if radii[0] != radii[1] else float(len(rings))
        rings.append(ring(circle(sides), radius, length * (share - 0.5)))
    parts: Parts = []
    for one, other in pairwise(rings):
        part = _from_ring_to_ring(one, other)
        parts += part if rising else reversed_orientation(part)
    lower, upper = (rings[0], rings[-1]) if rising else (rings[-1], rings[0])
    closed = _closable(caps, *radii)
    return all_placed(parts + ends(lower, upper, closed), frame_of(axis[1]), axis[0])


def _closable(caps: str, lower: float, upper: float) -> str:
    """Return which ends to close: a tip needs no disc."""
    wanted = {end for end, radius in (("lower", lower), ("upper", upper)) if caps in ("both", end) and radius > 0.0}
    return "both" if len(wanted) == 2 else wanted.pop() if wanted else "none"


def _from_ring_to_ring(wide: Floats, narrow: Floats) -> Parts:
    """Return the facets between two rings; the second has as many corners, half as many, or radius zero."""
    if not np.any(narrow[:, :2]):
        tip = np.repeat(narrow[:1], len(wide), axis=0)
        return [np.stack([wide, np.roll(wide, -1, axis=0), tip], axis=1)]
    if len(wide) == len(narrow):
        return [between_rings(wide, narrow)]
    even, odd, after = wide[0::2], wide[1::2], np.roll(wide[0::2], -1, axis=0)
    here, there = narrow, np.roll(narrow, -1, axis=0)
    corners = [(even, odd, here), (odd, after, there), (here, odd, there)]
    return [np.concatenate([np.stack(three, axis=1) for three in corners])]


def cone_facets(radii: tuple[float, float], length: float, deviation: float) -> int:
    """Return the approximate number of facets of a cone."""
    return sum(2 * sides for _, sides in cone_rings(radii, length, deviation))


def tube(axis: Axis, radii: tuple[float, float], length: float, deviation: float) -> Parts:
    """Return a tube with a wall between an inner and an outer radius [m], closed, normals out of the wall."""
    corners = circle(sides_of(radii[1], deviation))
    lower, upper = ([ring(corners, radius, end * length) for radius in radii] for end in (-0.5, 0.5))
    parts = [
        between_rings(lower[1], upper[1]),
        between_rings(upper[0], lower[0]),
        between_rings(lower[0], lower[1]),
        between_rings(upper[1], upper[0]),
    ]
    return all_placed(parts, frame_of(axis[1]), axis[0])


def divisions_of(radius: float, deviation: float) -> int:
    """Return the number of parts into which the edges of the icosahedron of a sphere are divided.

    The triangle in the middle of a face has the edge e / f before the projection, with the edge e of the icosahedron.
    The angle between its corners and its middle is atan(e / (sqrt(3) f r)), with the radius r of the inscribed sphere
    of the icosahedron. The triangle is inside the sphere by radius (1 - cos) of that angle; other triangles by less.
    """
    edge = math.sqrt(2.0 - 2.0 / math.sqrt(5.0))
    angle = 2.0 * exact_math.asin(math.sqrt(min(0.5 * deviation / radius, 0.5)))
    return max(1, math.ceil(edge / (math.sqrt(3.0) * _INRADIUS * exact_math.tan(angle))))


def sphere(centre: Sequence[float], radius: float, deviation: float) -> Parts:
    """Return a sphere of triangles, normals outward, with corners where it is lowest and highest."""
    parts = divisions_of(radius, deviation)
    corners = _icosahedron()
    a, b, c = (corners[:, k][:, None] for k in range(3))
    triangles = []
    for shares in _divided(parts):  # (n, 3, 3): by triangle and corner, the weights of the corners of the face
        points = a[:, :, None] * shares[None, :, :, :1] + b[:, :, None] * shares[None, :, :, 1:2]
        triangles.append((points + c[:, :, None] * shares[None, :, :, 2:]).reshape(-1, 3, 3))
    points = np.concatenate(triangles)
    lifted = points / exact_math.norm(points)[..., None]
    return [radius * np.where(np.abs(lifted) < 1e-15, 0.0, lifted) + np.asarray(centre)]


def _icosahedron() -> Floats:
    """Return the corners (20, 3, 3) of the faces of an icosahedron in the unit sphere, with corners at both poles."""
    height, radius = 1.0 / math.sqrt(5.0), 2.0 / math.sqrt(5.0)
    angle = 0.4 * np.pi * np.arange(5)
    upper = np.column_stack([radius * exact_math.cos(angle), radius * exact_math.sin(angle), np.full(5, height)])
    turned = angle + 0.2 * np.pi
    lower = np.column_stack([radius * exact_math.cos(turned), radius * exact_math.sin(turned), np.full(5, -height)])
    top, bottom = np.tile([0.0, 0.0, 1.0], (5, 1)), np.tile([0.0, 0.0, -1.0], (5, 1))
    above, below = np.roll(upper, -1, axis=0), np.roll(lower, -1, axis=0)
    faces = [(top, upper, above), (upper, lower, above), (lower, below, above), (bottom, below, lower)]
    return np.concatenate([np.stack(face, axis=1) for face in faces])


def _divided(parts: int) -> list[Floats]:
    """Return the weights (n, 3, 3) of a face's corners at the corners of its triangles, upright and inverted ones."""
    i, j = np.meshgrid(np.arange(parts), np.arange(parts), indexing="ij")
    up, down = i + j < parts, i + j < parts - 1

    def shares(chosen: Booleans, steps: tuple[tuple[int, int], ...]) -> Floats:
        corners = [(i[chosen] + di, j[chosen] + dj) for di, dj in steps]
        return np.stack([np.stack([parts - a - b, a, b], axis=-1) for a, b in corners], axis=1) / parts

    return [shares(up, ((0, 0), (1, 0), (0, 1))), shares(down, ((1, 0), (1, 1), (0, 1)))]
