"""Random surfaces for tests of wall contacts."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation


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
