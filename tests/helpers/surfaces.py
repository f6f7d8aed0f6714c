"""Random surfaces for tests of wall contacts."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

from pdem.containers.meshes.mesh import Mesh


def flat_polygon(generator, sides, squeeze):
    """Return one convex facet with random corners on an ellipse at height 0, `squeeze` times as wide as it is long."""
    angles = 2 * np.pi * (np.arange(sides) + generator.uniform(0, 0.8, sides)) / sides
    return Mesh(np.column_stack((np.cos(angles), squeeze * np.sin(angles), 0 * angles)), [range(sides)])


def grid_of_quads_and_triangles(generator):
    """Rectangles of random sizes, some of them split along either diagonal."""
    n = generator.integers(1, 8)
    columns, rows = (np.cumsum(generator.uniform(0.05, 1.0, n + 1)) for _ in range(2))
    x, y = np.meshgrid(columns - columns.mean(), rows - rows.mean())
    facets = []
    for first in (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel():
        a, b, c, d = first, first + 1, first + n + 2, first + n + 1
        facets += [[[a, b, c, d]], [[a, b, c], [a, c, d]], [[a, b, d], [b, c, d]]][generator.integers(3)]
    return np.column_stack((x.ravel(), y.ravel())), facets


def fan(generator):
    """Needles that meet in one vertex."""
    n = int(generator.integers(3, 40))
    angles = 2 * np.pi * (np.arange(n) + generator.uniform(0, 0.9, n)) / n
    if n < 5:
        angles = 2 * np.pi * np.arange(n) / n
    rim = np.column_stack((np.cos(angles), np.sin(angles)))
    return np.vstack(([[0.0, 0.0]], rim)), [[0, 1 + k, 1 + (k + 1) % n] for k in range(n)]


def needles(generator):
    """Slivers side by side, up to 10,000 times longer than wide."""
    n = int(generator.integers(3, 40))
    y = np.cumsum(generator.uniform(0.3, 1.0, n)) * 10 ** generator.uniform(-4, -1)
    ends = np.vstack([np.column_stack((np.full(n, x), y - y.mean())) for x in (-1.0, 1.0)])
    return ends, [t for k in range(n - 1) for t in ([k, n + k, k + 1], [n + k, n + k + 1, k + 1])]


def delaunay(generator):
    """Triangles of all sizes and shapes."""
    inside = generator.uniform(-1, 1, (int(generator.integers(1, 150)), 2))
    points = np.vstack((inside, [[-1.1, -1.1], [1.1, -1.1], [1.1, 1.1], [-1.1, 1.1]]))
    return points, Delaunay(points).simplices.tolist()


FLAT = [grid_of_quads_and_triangles, fan, needles, delaunay]


def random_place(generator, points, facets):
    """Return a point of a random facet, often one very near to or exactly on an edge or a vertex."""
    loop = facets[generator.integers(len(facets))]
    choice = generator.integers(4)
    if choice == 0:
        return points[generator.choice(loop)]
    if choice == 1:
        k = generator.integers(len(loop))
        part = generator.choice([generator.uniform(), 10 ** generator.uniform(-12, 0)])
        return part * points[loop[k]] + (1 - part) * points[loop[k - 1]]
    weights = generator.dirichlet(np.full(len(loop), 0.05 if choice == 2 else 1.0))
    return weights @ points[loop]


def moved(generator, points):
    """Return a random rigid motion, and the points moved by it."""
    turn = Rotation.random(random_state=int(generator.integers(2**31))).as_matrix()
    shift = generator.uniform(-2, 2, 3)
    flat = np.column_stack((points, np.zeros((len(points), 3 - points.shape[1]))))
    return turn, shift, flat @ turn.T + shift


def nearest_on_hull(centre, vertices, facets):
    """Nearest point of triangles by another road: the best of corners, edges and insides."""
    best = None
    for a, b, c in vertices[facets]:
        options = [a, b, c]
        for u, v in ((a, b), (b, c), (c, a)):
            part = np.dot(centre - u, v - u) / np.dot(v - u, v - u)
            options += [u + part * (v - u)] if 0 < part < 1 else []
        sides = np.column_stack((b - a, c - a))
        p, q = np.linalg.lstsq(sides, centre - a, rcond=None)[0]
        options += [a + p * (b - a) + q * (c - a)] if p >= 0 and q >= 0 and p + q <= 1 else []
        for point in options:
            if best is None or np.linalg.norm(point - centre) < np.linalg.norm(best - centre):
                best = point
    return best


def rough(generator):
    """Return a surface with ridges, valleys, peaks and pits."""
    points, facets = delaunay(generator)
    return np.column_stack((points, 0.3 * generator.uniform(size=len(points)))), facets


def blocks(generator):
    """Return which blocks of a random grid are solid, the grid, and the surface of this body."""
    while True:
        shape = generator.integers(1, 4, 3)
        solid = generator.uniform(size=shape) < generator.uniform(0.3, 0.9)
        solid.flat[generator.integers(solid.size)] = True
        steps = [generator.uniform(0.05, 1.0, n) * 10 ** generator.uniform(-1, 0) for n in shape]
        lines = [np.concatenate(([0.0], np.cumsum(step))) for step in steps]
        points, facets = _sides_of_blocks(solid, lines)
        if _is_manifold(facets):
            return solid, lines, points, facets


def _sides_of_blocks(solid, lines):
    """Rectangles between solid and air."""
    padded, number, facets = np.pad(solid, 1), {}, []
    for block in np.argwhere(solid):
        for axis, side in product(range(3), range(2)):
            unit = np.eye(3, dtype=int)
            if padded[tuple(block + 1 + (2 * side - 1) * unit[axis])]:
                continue
            first, second = unit[axis - 2], unit[axis - 1]
            corners = block + side * unit[axis] + np.array([0 * first, first, first + second, second])
            facets.append([number.setdefault(tuple(corner), len(number)) for corner in corners.tolist()])
    return np.array([[line[k] for line, k in zip(lines, place, strict=True)] for place in number]), facets


def _is_manifold(facets):
    """Two facets at every edge, and one round of facets at every vertex."""
    sides = [{frozenset((loop[k - 1], loop[k])) for k in range(4)} for loop in facets]
    if any(sum(edge in other for other in sides) != 2 for side in sides for edge in side):
        return False
    for vertex in {vertex for loop in facets for vertex in loop}:
        around = [{edge for edge in side if vertex in edge} for side in sides]
        left = [edges for edges in around if edges]
        reached = left.pop()
        while any(edges & reached for edges in left):
            reached = reached.union(*(edges for edges in left if edges & reached))
            left = [edges for edges in left if not edges & reached]
        if left:
            return False
    return True


def block_cells(solid, lines):
    """Return the blocks, sides, edges and corners of a solid as boxes, and how often each counts in its Euler sum.

    A block counts once, what several blocks share as often as makes one with all it is a part of.
    """
    keys = {tuple(2 * block + place) for block in np.argwhere(solid) for place in product((0, 1, 2), repeat=3)}
    counts = {}
    for key in sorted(keys, key=lambda key: -sum(place % 2 for place in key)):
        around = product(*((place,) if place % 2 else (place - 1, place, place + 1) for place in key))
        counts[key] = 1 - sum(counts.get(other, 0) for other in around if other != key)
    box = [
        [np.array([line[(k + up) // 2] for line, k in zip(lines, key, strict=True)]) for up in (0, 1)] for key in counts
    ]
    return [(low, high, count) for (low, high), count in zip(box, counts.values(), strict=True) if count]


def subdivided(generator, points, facets, share=1.0, parts=2):
    """Cut a share of the triangles of each facet into four, `parts` - 1 times, or about a point of their inside."""
    triangles = [[loop[0], loop[k], loop[k + 1]] for loop in facets for k in range(1, len(loop) - 1)]
    points = list(np.asarray(points, dtype=float))
    for _ in range(parts - 1):
        middle, result = {}, []
        for a, b, c in triangles:
            choice = generator.uniform()
            if choice > share:
                result.append([a, b, c])
            elif choice < 0.2 * share:
                points.append(generator.dirichlet([1.0, 1.0, 1.0]) @ np.array([points[a], points[b], points[c]]))
                inner = len(points) - 1
                result += [[a, b, inner], [b, c, inner], [c, a, inner]]
            else:
                ab, bc, ca = (_middle(points, middle, *ends) for ends in ((a, b), (b, c), (c, a)))
                result += [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
        triangles = result
    return np.array(points), triangles


def _middle(points, middle, a, b):
    key = min(a, b), max(a, b)
    if key not in middle:
        points.append(0.5 * (points[a] + points[b]))
        middle[key] = len(points) - 1
    return middle[key]
