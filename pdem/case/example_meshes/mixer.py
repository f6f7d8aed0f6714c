"""Geometry of the horizontal rotary mixer (Santasusana et al. 2016, sect. 6.2).

The paper gives the numbers of facets (1,600 quads, 848 triangles) but no dimensions. The dimensions here are chosen so
that its 29,559 spheres of radius 3.5 mm settle to about half of the drum.

The drum is a closed prism along x. The rotor is a double ribbon: a shaft that ends behind the caps, two outer ribbons
with one handedness and two inner ribbons with the opposite one, each of one turn and zero thickness, and flat arms at
the crossings of inner and outer ribbons. No rotating part comes closer to the drum than 1.6 particle diameters, and the
ribbons are two diameters apart, so that no sphere can be wedged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.mesh import Mesh
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

    Part = tuple[Floats, Floats]

LENGTH = 0.35
"""Inner length of the drum, in m; it reaches from x = -LENGTH / 2 to LENGTH / 2."""

DRUM_RADIUS = 0.13
"""Radius of the drum's vertices, in m."""

SHAFT_RADIUS = 0.02
OUTER_RIBBON = (0.090, 0.118)
INNER_RIBBON = (0.045, 0.075)
CLEARANCE = 0.012
"""Distance of the ribbons' ends from the caps, in m; the distance from the mantle is nearly the same."""

_AROUND = 40
_ALONG = 25
_SQUARE = 10
_RINGS = 5
_SQUARE_HALF = 0.055
_SHAFT_SIDES = 8
_SHAFT_PARTS = 6
_SHAFT_OVERHANG = 0.005
_RIBBON_PARTS = 86
_ARM_PARTS = 4
_ARM_WIDTH = 0.012
_ARM_ROOT = 0.018


def drum() -> Mesh:
    """Return the drum: 1,600 planar convex quads, closed, normals into the volume."""
    mantle = _mantle()
    cap = _cap()
    # facets are loops of corner positions; the mesh joins equal corners
    sign = np.array([-1.0, 1.0, 1.0])
    corners = np.concatenate([mantle, cap[:, ::-1], cap * sign])
    return _mesh_of(corners)


def rotor() -> Mesh:
    """Return the rotor: 848 triangles."""
    parts = [_shaft()]
    for start in (0.0, np.pi):
        parts.append(_ribbon(OUTER_RIBBON, start, 2.0 * np.pi))
        parts.append(_ribbon(INNER_RIBBON, start + 0.5 * np.pi, -2.0 * np.pi))
        parts += [_arm(share, start + 2.0 * np.pi * share) for share in (0.125, 0.375, 0.625, 0.875)]
    quads = np.concatenate(parts)
    halves = np.stack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1)
    return _mesh_of(halves.reshape(-1, 3, 3))


def _mesh_of(corners: Floats) -> Mesh:
    """Return the mesh of facets given by the positions of their corners, shape (facets, sides, 3)."""
    # Rounding to a picometre makes shared corners equal before they are joined.
    vertices, index = np.unique(np.round(corners.reshape(-1, 3), 12) + 0.0, axis=0, return_inverse=True)
    return Mesh(vertices, index.reshape(corners.shape[:2]))


def _circle(radius: float, angle: Floats | float) -> Floats:
    angle = np.asarray(angle)
    return radius * np.stack([exact_math.cos(angle), exact_math.sin(angle)], axis=-1)


def _quads_of_grid(points: Floats) -> Floats:
    """Return the quads, shape (m, 4, 3), of a grid of points, shape (a, b, 3)."""
    loops = [points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]]
    return np.stack(loops, axis=2).reshape(-1, 4, 3)


def _with_x(x: Floats | float, plane: Floats) -> Floats:
    x = np.broadcast_to(np.asarray(x), plane.shape[:-1])
    return np.concatenate([x[..., None], plane], axis=-1)


def _mantle() -> Floats:
    around = _circle(DRUM_RADIUS, _angles())
    along = np.linspace(-0.5 * LENGTH, 0.5 * LENGTH, _ALONG + 1)
    points = np.stack([_with_x(x, around) for x in along])
    return _quads_of_grid(points)


def _angles() -> Floats:
    # The first corner is that of the square in the caps, at -135 degrees, and the last corner equals the first.
    return -0.75 * np.pi + 2.0 * np.pi * np.arange(_AROUND + 1) / _AROUND


def _cap() -> Floats:
    """Return the quads of the cap at positive x: a square in the middle, surrounded by rings."""
    grid = np.linspace(-_SQUARE_HALF, _SQUARE_HALF, _SQUARE + 1)
    square = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    border = np.concatenate([square[:-1, 0], square[-1, :-1], square[:0:-1, -1], square[0, ::-1]])
    share = np.linspace(0.0, 1.0, _RINGS + 1)[:, None, None]
    rings = (1.0 - share) * border + share * _circle(DRUM_RADIUS, _angles())
    quads = np.concatenate([_quads_of_grid(_with_x(0.5 * LENGTH, part)) for part in (square, rings)])
    return _same_orientation(quads)


def _same_orientation(quads: Floats) -> Floats:
    """Return the quads of a cap with all normals along +x."""
    diagonals = quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1]
    turned = np.cross(*diagonals)[:, 0] < 0.0
    return np.where(turned[:, None, None], quads[:, ::-1], quads)


def _shaft() -> Floats:
    angles = 2.0 * np.pi * np.arange(_SHAFT_SIDES + 1) / _SHAFT_SIDES
    half = 0.5 * LENGTH + _SHAFT_OVERHANG
    along = np.linspace(-half, half, _SHAFT_PARTS + 1)
    return _quads_of_grid(np.stack([_with_x(x, _circle(SHAFT_RADIUS, angles)) for x in along]))


def _ribbon(radii: tuple[float, float], start: float, turn: float) -> Floats:
    share = np.linspace(0.0, 1.0, _RIBBON_PARTS + 1)
    edges = [_with_x(_ribbon_x(share), _circle(radius, start + turn * share)) for radius in radii]
    return _quads_of_grid(np.stack(edges, axis=1))


def _ribbon_x(share: Floats | float) -> Floats:
    half = 0.5 * LENGTH - CLEARANCE
    return -half + 2.0 * half * np.asarray(share)


def _arm(share: float, angle: float) -> Floats:
    """Return a flat arm from inside the shaft to the inner edge of the outer ribbon, parallel to the axis."""
    reach = np.linspace(_ARM_ROOT, OUTER_RIBBON[0], _ARM_PARTS + 1)
    middle, half = float(_ribbon_x(share)), 0.5 * _ARM_WIDTH
    sides = [_with_x(middle + side, np.stack([_circle(radius, angle) for radius in reach])) for side in (-half, half)]
    return _quads_of_grid(np.stack(sides, axis=1))
