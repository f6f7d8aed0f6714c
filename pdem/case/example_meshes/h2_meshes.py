"""Walls of the benchmarks of the double hierarchy paper (Santasusana et al. 2016, sect. 6.1 and 7).

The paper shows most of these walls in pictures without dimensions; the dimensions here agree with its text.
"""

from __future__ import annotations

import numpy as np

from pdem.containers.meshes.mesh import Mesh
from pdem.foundation import exact_math

SUPPORT_DISTANCE = 2.0
"""Distance of plate, ridge and pyramid of `supports` along x, in m."""

HOLE_RADIUS = 0.25
"""Distance of the edges and vertices that hold a sphere from the axis of a hole, in m."""

TILE = 1.6
"""Width of the square around each hole, in m."""

CREASE_SLOPE = 10.0
"""Rise of one side of `crease`, in degrees: the planes form an angle of 170."""

TILE_LENGTH = 0.2
"""Length L of the facets of `tiles`, in m."""

_HALF = 0.5
_CELLS = 10


def supports() -> Mesh:
    """Return a plate, a ridge along y and a pyramid, tops at z = 0, of triangles smaller than the contacts."""
    positions = np.linspace(-_HALF, _HALF, _CELLS + 1)
    x, y = (one.ravel() for one in np.meshgrid(positions, positions, indexing="ij"))
    heights = 0.0 * x, -np.abs(x), -np.maximum(np.abs(x), np.abs(y))
    vertices, facets = [], []
    for number, height in enumerate(heights):
        middle = SUPPORT_DISTANCE * (number - 1)
        vertices.append(np.stack([x + middle, y, height], axis=-1))
        facets.append(_grid_triangles(_CELLS) + number * len(x))
    return Mesh(np.concatenate(vertices), np.concatenate(facets))


def _grid_triangles(cells: int) -> np.ndarray:
    """Return two triangles for each cell of a square grid, split along the diagonals from its middle."""
    triangles = []
    for i in range(cells):
        for j in range(cells):
            a, b = i * (cells + 1) + j, (i + 1) * (cells + 1) + j
            rising = (2 * i < cells) == (2 * j < cells)
            triangles += [[a, b, b + 1], [a, b + 1, a + 1]] if rising else [[a, b, a + 1], [b, b + 1, a + 1]]
    return np.array(triangles)


def edge_block() -> Mesh:
    """Return a box of triangles with an edge along y at x = z = 0."""
    return _block((-1.2, -0.6, -1.2), (0.0, 0.6, 0.0))


def corner_block() -> Mesh:
    """Return a box of triangles with a corner at (0, 3, 0)."""
    return _block((-1.2, 1.8, -1.2), (0.0, 3.0, 0.0))


def _block(lower: tuple[float, float, float], upper: tuple[float, float, float]) -> Mesh:
    corners = [(x, y, z) for x in (lower[0], upper[0]) for y in (lower[1], upper[1]) for z in (lower[2], upper[2])]
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return Mesh(corners, [[quad[a] for a in part] for quad in quads for part in ((0, 1, 2), (0, 2, 3))])


def holes() -> Mesh:
    """Return a plate in z = 0 with three holes, at x = -TILE, 0 and TILE.

    A sphere touches four edges of a square, the four inner vertices of a cross, two edges and a vertex of a heart, all
    at `HOLE_RADIUS` from the axis and at equal angles around it.
    """
    outlines = [_square(), _cross(), _heart()]
    angles = np.unique(np.round(np.concatenate([_angles_of(one) for one in outlines]), 9))
    vertices, facets = [], []
    outer = _ray_intersections(_square_of(0.5 * TILE), angles)
    count = len(angles)
    for number, outline in enumerate(outlines):
        ring = np.concatenate([_ray_intersections(outline, angles), outer])
        ring[:, 0] += TILE * (number - 1)
        vertices.append(np.column_stack([ring, np.zeros(2 * count)]))
        for a in range(count):
            b, first = (a + 1) % count, 2 * count * number
            facets += [[first + a, first + a + count, first + b + count], [first + a, first + b + count, first + b]]
    # rounding to a picometre makes shared vertices of tiles equal, which the mesh joins
    return Mesh(np.round(np.concatenate(vertices), 12) + 0.0, facets)


def _square_of(half: float) -> np.ndarray:
    return half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def _square() -> np.ndarray:
    return _square_of(HOLE_RADIUS)


def _cross() -> np.ndarray:
    near, far = HOLE_RADIUS / np.sqrt(2.0), 0.45
    quarter = np.array([[far, -near], [far, near], [near, near]])
    rotations = [np.array([[0, -1], [1, 0]]), np.array([[-1, 0], [0, -1]]), np.array([[0, 1], [-1, 0]])]
    return np.concatenate([quarter, *(exact_math.matmul(quarter, rotation.T) for rotation in rotations)])


def _heart() -> np.ndarray:
    r = HOLE_RADIUS
    side = np.array([r * np.sqrt(3.0) / 2.0, -r / 2.0]) + 1.8 * r * np.array([0.5, np.sqrt(3.0) / 2.0])
    return np.array([[0.0, -2.0 * r], side, [0.0, r], side * (-1.0, 1.0)])


def _angles_of(outline: np.ndarray) -> np.ndarray:
    """Return the directions of the corners of an outline and of a tile, and of their mirror images, in [0, 2 pi)."""
    x, y = np.concatenate([outline, outline * (-1.0, 1.0), _square_of(1.0)]).T
    return np.asarray(exact_math.atan2(y, x) % (2.0 * np.pi))


def _ray_intersections(outline: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return the intersections (n, 2) of rays from the origin with an outline, one per ray [m]."""
    points = np.empty((len(angles), 2))
    start, side = outline, np.roll(outline, -1, axis=0) - outline
    for number, angle in enumerate(angles):
        direction = np.array([exact_math.cos(angle), exact_math.sin(angle)])
        across = direction[0] * side[:, 1] - direction[1] * side[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (start[:, 0] * side[:, 1] - start[:, 1] * side[:, 0]) / across
            share = (start[:, 0] * direction[1] - start[:, 1] * direction[0]) / across
        crosses = (reach > 0.0) & (share > -1e-8) & (share < 1.0 + 1e-8)
        points[number] = reach[crosses].min() * direction
    return points


def one_quad() -> Mesh:
    """Return a strip in z = 0 along x, 7 m long, of one quad."""
    return Mesh([[-1.0, -1.0, 0.0], [6.0, -1.0, 0.0], [6.0, 1.0, 0.0], [-1.0, 1.0, 0.0]], [[0, 1, 2, 3]])


def triangles_80() -> Mesh:
    """Return the same strip made of 80 triangles, 3 m beside it."""
    x = np.linspace(-1.0, 6.0, 41)
    vertices = [[value, y, 0.0] for value in x for y in (2.0, 4.0)]
    facets = [part for a in range(0, 80, 2) for part in ([a, a + 2, a + 3], [a, a + 3, a + 1])]
    return Mesh(vertices, facets)


def crease(slope: float = CREASE_SLOPE, length: float = 3.0, half_width: float = 3.0) -> Mesh:
    """Return two quads that meet at x = z = 0: a level one at x < 0, and one that rises by `slope` degrees."""
    rise = np.radians(slope)
    far = [length * exact_math.cos(rise), length * exact_math.sin(rise)]
    rows = [[-length, 0.0], [0.0, 0.0], far]
    vertices = [[x, y, z] for x, z in rows for y in (-half_width, half_width)]
    return Mesh(vertices, [[0, 2, 3, 1], [2, 4, 5, 3]])


def tiles() -> Mesh:
    """Return a strip in z = 0 of three square facets, `TILE_LENGTH` long, from x = 0 on."""
    x = TILE_LENGTH * np.arange(4)
    vertices = [[value, y, 0.0] for value in x for y in (-1.0, 1.0)]
    return Mesh(vertices, [[a, a + 2, a + 3, a + 1] for a in (0, 2, 4)])


def tile(number: int) -> Mesh:
    """Return one facet of this strip, 3 m beside it, as a separate mesh."""
    low, high = TILE_LENGTH * number, TILE_LENGTH * (number + 1)
    return Mesh([[low, 2.0, 0.0], [high, 2.0, 0.0], [high, 4.0, 0.0], [low, 4.0, 0.0]], [[0, 1, 2, 3]])
