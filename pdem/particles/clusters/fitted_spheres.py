"""Overlapping spheres that fill a closed mesh, as a rigid cluster of the same shape.

Points of a grid inside the mesh are candidates, each with the largest sphere about it that stays inside. The algorithm
repeatedly selects the sphere that covers the largest volume outside all selected spheres. Spheres that stay inside
leave edges and corners empty. Therefore all radii are enlarged by the same length, so that the union has the volume of
the mesh. Spheres are added until the inertia agrees as well.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from pdem.containers.meshes.closed_surfaces import inside_closed_pieces
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.containers.meshes.solid import Solid, solid_of
from pdem.containers.sphere_union import union_of_spheres
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError, MeshError
from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers

_POINTS = 20_000
"""Approximate number of grid points inside the mesh."""

_SAMPLES = 0.5
"""Spacing of the surface points from which distances to the surface are measured, in steps of the grid."""

_CLOSE = 1e-9
"""Samples are compared if their distance exceeds the smallest one by up to this fraction."""

_SECANTS = 50


class FittedSpheres(NamedTuple):
    """Spheres that fill a mesh.

    Attributes
    ----------
    centre : (n, 3) array
        Centres [m].
    radius : (n,) array
        Radii [m].
    inertia_error : float
        Largest difference of a component between the tensors of inertia of mesh and spheres, each about its own centre
        of mass, over the largest component.
    gap : float
        Largest distance of the surface of the mesh from the surface of the union [m].
    """

    centre: Floats
    radius: Floats
    inertia_error: float
    gap: float


def fit_spheres(mesh: Mesh, most: int, error: float) -> FittedSpheres:
    """Return spheres with a union that has the volume of a closed mesh, and nearly its inertia.

    Parameters
    ----------
    mesh : Mesh
        Closed mesh of one piece.
    most : int
        Largest number of spheres.
    error : float
        Error of the inertia at which no more spheres are added; 0 to use the largest number of spheres.

    Raises
    ------
    InputError
        If `most` is not positive.
    MeshError
        If the mesh is not closed.
    """
    if most < 1:
        raise InputError(f"{most} spheres cannot fill a mesh; allow at least 1")
    inside = _inside(mesh)
    chosen: list[int] = []
    more = 0.0
    for row in _by_gain(inside):
        chosen.append(row)
        more, found = _enlarged(inside, inside.centre[chosen], inside.room[chosen], more)
        if found.inertia_error <= error or len(chosen) == most:
            break
    return found


class _Inside(NamedTuple):
    """The inside of a mesh: mass properties, points on its surface, and grid points inside.

    Attributes
    ----------
    solid : Solid
        Volume, centre and inertia.
    samples : (m, 3) array
        Points on the surface [m].
    step : float
        Step of the grid [m].
    cells : (n, 3) int64 array
        Integer grid coordinates of the points inside.
    centre : (n, 3) array
        Positions of these points [m].
    room : (n,) array
        Their distances from the surface [m].
    """

    solid: Solid
    samples: Floats
    step: float
    cells: Integers
    centre: Floats
    room: Floats


def _inside(mesh: Mesh) -> _Inside:
    solid = solid_of(mesh)
    step = exact_math.cbrt(solid.volume / _POINTS)
    lower, upper = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    counts = np.maximum(np.round((upper - lower) / step).astype(np.int64), 1)
    shift = 0.5 * ((upper - lower) - (counts - 1) * step)  # equal margins at both sides, to keep symmetry
    axes = (np.arange(count) for count in counts)
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = lower + shift + step * cells
    inside = np.logical_or.reduce(list(inside_closed_pieces(points, mesh).values()))
    if not inside.any():
        raise MeshError("the mesh is too thin to be filled with spheres; give them")
    samples = _samples(mesh, _SAMPLES * step)
    return _Inside(solid, samples, step, cells[inside], points[inside], _room(samples, points[inside]))


def _room(samples: Floats, points: Floats) -> Floats:
    """Return the distance of each point from the nearest sample; the tree only selects the samples to compare."""
    tree = cKDTree(samples)
    reach = tree.query(points)[0] * (1.0 + _CLOSE)
    near = tree.query_ball_point(points, reach)
    sizes = np.array([len(one) for one in near])
    distance = exact_math.norm(samples[np.concatenate(near).astype(np.int64)] - np.repeat(points, sizes, axis=0))
    return np.minimum.reduceat(distance, np.cumsum(sizes) - sizes)


def _samples(mesh: Mesh, spacing: float) -> Floats:
    """Return points on a surface with about this spacing."""
    triangles, _ = triangle_fans(mesh.facet_start, mesh.facet_vertices)
    corners = mesh.vertices[triangles]
    sides = exact_math.norm(corners - np.roll(corners, 1, axis=1)).max(axis=1)
    parts = np.maximum(np.ceil(sides / spacing).astype(np.int64), 1)
    found = []
    for count in np.unique(parts):
        i, j = np.nonzero(np.add.outer(np.arange(count + 1), np.arange(count + 1)) <= count)
        weights = np.column_stack((i, j, count - i - j)) / count
        found.append(exact_math.matmul(weights, corners[parts == count]).reshape(-1, 3))
    return np.concatenate(found)


def _by_gain(inside: _Inside) -> Iterator[int]:
    """Yield candidates in the order of the volume that they add to the candidates before.

    The gain of a candidate never increases as others are selected: it is recomputed only when the candidate is first in
    the queue.
    """
    cells, reach = inside.cells, inside.room / inside.step
    free = np.zeros(cells.max(axis=0) + 1, np.int64)
    free[tuple(cells.T)] = 1
    # upper bound of the grid points in a sphere: the volume of a sphere enlarged by half the diagonal of a cell
    queue = [(-4.19 * ((r + 0.87) * (r + 0.87) * (r + 0.87)), row) for row, r in enumerate(reach.tolist())]
    heapq.heapify(queue)
    while queue:
        _, row = heapq.heappop(queue)
        gain = _count(free, cells[row], reach[row], False)
        if queue and -gain > queue[0][0]:
            heapq.heappush(queue, (-gain, row))
        elif gain:
            _count(free, cells[row], reach[row], True)
            yield row


@kernel
def _count(free: Integers, cell: Integers, reach: float, clear: bool) -> int:
    """Return the number of marked cells within reach of a cell, in steps of the grid; with `clear` unmark them."""
    found = 0
    width = int(reach)
    for i in range(max(cell[0] - width, 0), min(cell[0] + width + 1, free.shape[0])):
        for j in range(max(cell[1] - width, 0), min(cell[1] + width + 1, free.shape[1])):
            for k in range(max(cell[2] - width, 0), min(cell[2] + width + 1, free.shape[2])):
                away = (i - cell[0]) ** 2 + (j - cell[1]) ** 2 + (k - cell[2]) ** 2
                if away <= reach * reach:
                    found += free[i, j, k]
                    if clear:
                        free[i, j, k] = 0
    return found


def _enlarged(inside: _Inside, centre: Floats, radius: Floats, before: float) -> tuple[float, FittedSpheres]:
    """Return the enlargement of the radii to the volume of the solid [m], and the spheres; `before` is a guess."""
    solid = inside.solid
    size = exact_math.cbrt(solid.volume)

    def excess(more: float) -> float:
        return union_of_spheres(centre, radius + more).volume / solid.volume - 1.0

    more = _root(excess, before, before + 0.01 * size, 1e-13 * size)
    union = union_of_spheres(centre, radius + more)
    error = np.abs(union.inertia - solid.inertia).max() / np.abs(solid.inertia).max()
    outside = np.full(len(inside.samples), np.inf)
    for place, r in zip(centre, radius + more, strict=True):
        np.minimum(outside, exact_math.norm(inside.samples - place) - r, out=outside)
    return float(more), FittedSpheres(centre, radius + more, float(error), float(np.abs(outside).max()))


def _root(function: Callable[[float], float], before: float, last: float, tolerance: float) -> float:
    """Return where a function is zero, by the secant method from two guesses until a step is within a tolerance."""
    old, new = function(before), function(last)
    for _ in range(_SECANTS):
        if new == old:
            break
        step = new * (last - before) / (new - old)
        before, last, old = last, last - step, new
        if abs(step) <= tolerance:
            break
        new = function(last)
    return last
