"""Overlaps of spheres with one another or with a wall, for checks before a run.

Spheres are searched in classes of similar size, so that a few large ones do not widen the search of many small ones.
Distances of spheres come from `scipy.spatial.cKDTree`, across periodic faces too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.box_tree import BoxTree, pairs_between
from pdem.containers.mesh_splitting import triangle_fans
from pdem.particles.regions import wrap_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.spatial import cKDTree

    from pdem.particles.regions import Domain

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

_NEIGHBOURS_LIMIT = 400


def size_classes(radii: Floats) -> list[Indices]:
    """Return the indices of spheres by class: radii within a factor of two, the largest class first."""
    if radii.size == 0:
        return []
    octave = octaves(radii, float(radii.max()))
    return [np.flatnonzero(octave == value) for value in np.unique(octave)]


def octaves(radii: Floats, largest: float) -> Indices:
    """Return the number of the class of sizes of each sphere (n,): 0 for radii above half of the largest, and so on."""
    return np.floor(np.log2(largest / radii) + 1e-9).astype(np.int64)


def overlapping_pairs(positions: Floats, radii: Floats, domain: Domain) -> tuple[Indices, Floats]:
    """Find all overlapping spheres.

    Parameters
    ----------
    positions, radii : ndarray
        Shapes (n, 3) and (n,), in m.
    domain : Domain
        For its periodic axes and its dimension.

    Returns
    -------
    pairs : ndarray of int64
        Indices i < j, shape (m, 2), sorted.
    overlaps : ndarray
        ``radii[i] + radii[j] - distance`` in m, shape (m,), positive.

    Notes
    -----
    With very many overlaps (radii in the wrong unit, for instance) only a part of them is returned.
    """
    classes = size_classes(radii)
    trees = [_tree(positions[members], domain) for members in classes]
    found: list[Indices] = []
    depths: list[Floats] = []
    for first in range(len(classes)):
        for second in range(first, len(classes)):
            members, others = classes[first], classes[second]
            reach = radii[members].max() + radii[others].max()
            members, tree = _sampled(members, trees[first], trees[second], reach, positions, domain)
            near = tree.sparse_distance_matrix(trees[second], reach, output_type="ndarray")
            pairs = np.stack([members[near["i"]], others[near["j"]]], axis=1)
            overlap = radii[pairs].sum(axis=1) - near["v"]
            keep = overlap > 0.0
            keep &= (pairs[:, 0] < pairs[:, 1]) if first == second else True
            found.append(np.sort(pairs[keep], axis=1))
            depths.append(overlap[keep])
    if not found:
        return np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    pairs, overlaps = np.concatenate(found), np.concatenate(depths)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    return pairs[order], overlaps[order]


def _sampled(
    members: Indices, tree: cKDTree, others: cKDTree, reach: float, positions: Floats, domain: Domain
) -> tuple[Indices, cKDTree]:
    """Return a regular sample of the spheres of a class and its tree, if all would have too many neighbours."""
    excess = int(tree.count_neighbors(others, reach)) // (_NEIGHBOURS_LIMIT * (tree.n + others.n))
    if excess == 0:
        return members, tree
    chosen = members[:: excess + 1]
    return chosen, _tree(positions[chosen], domain)


def coincident_pair(positions: Floats, domain: Domain) -> tuple[int, int] | None:
    """Return the lowest two indices of spheres with one centre, None if all centres, shape (n, 3), differ."""
    centres = wrap_positions(positions, domain)
    order = np.lexsort(centres.T)
    same = np.flatnonzero(np.all(centres[order[1:]] == centres[order[:-1]], axis=1))
    if same.size == 0:
        return None
    # lexsort is stable: equal centres are in the order of their indices
    at = same[np.argmin(order[same])]
    return int(order[at]), int(order[at + 1])


def _tree(positions: Floats, domain: Domain) -> cKDTree:
    from scipy.spatial import cKDTree  # late, because it takes longer to import than most else of a run

    periodic = np.asarray(domain.periodic)
    if not periodic.any():
        return cKDTree(positions)
    period = np.where(periodic, np.subtract(domain.upper, domain.lower), 0.0)
    # Subtracting the corner can round up to the period itself, which the tree refuses.
    shifted = wrap_positions(positions, domain) - np.where(periodic, domain.lower, 0.0)
    return cKDTree(np.where(periodic & (shifted >= period), 0.0, shifted), boxsize=period)


def touching_walls(
    positions: Floats, radii: Floats, vertices: Floats, facet_start: Indices, facet_vertices: Indices
) -> tuple[Indices, Floats, Indices]:
    """Find the spheres that a mesh intersects.

    Parameters
    ----------
    positions, radii : ndarray
        Shapes (n, 3) and (n,), in m.
    vertices : ndarray
        Of the mesh, shape (v, 3), in m.
    facet_start, facet_vertices : ndarray of int64
        Loops of vertices of the facets: facet f has ``facet_vertices[facet_start[f]:facet_start[f + 1]]``.

    Returns
    -------
    spheres : ndarray of int64
        Indices of the spheres, increasing, each once, shape (m,).
    overlaps : ndarray
        Radius minus distance from the nearest facet, in m, shape (m,).
    facets : ndarray of int64
        That facet, of several the one with the highest number, shape (m,).
    """
    depth = np.zeros(radii.size)
    facet = np.full(radii.size, -1, dtype=np.int64)
    triangles, owners = triangle_fans(facet_start, facet_vertices)
    corners = vertices[triangles]
    for members in size_classes(radii):
        for near, triangle in near_triangles(positions[members], float(radii[members].max()), corners):
            overlap = radii[members[near]] - triangle_distance(positions[members[near]], corners[triangle])
            touch = overlap > 0.0
            sphere, overlap, owner = members[near[touch]], overlap[touch], owners[triangle[touch]]
            # the deepest facet is written last, of several the one with the highest number
            order = np.lexsort((owner, overlap))
            sphere, overlap, owner = sphere[order], overlap[order], owner[order]
            deeper = overlap > depth[sphere]
            deeper |= (overlap == depth[sphere]) & (owner > facet[sphere])
            depth[sphere[deeper]] = overlap[deeper]
            facet[sphere[deeper]] = owner[deeper]
    spheres = np.flatnonzero(facet >= 0)
    return spheres, depth[spheres], facet[spheres]


def near_triangles(positions: Floats, reach: float, corners: Floats) -> Iterator[tuple[Indices, Indices]]:
    """Yield pairs of points and triangles among which are all that are no farther from each other than `reach` [m]."""
    if not len(positions) or not len(corners):
        return
    # A little more, so that rounding decides nothing: `reach` depends on the other spheres.
    reach *= 1.0 + 1e-9
    centres = corners.mean(axis=1)
    extents = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    across /= np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]
    boxes = BoxTree(corners.min(axis=1) - reach, corners.max(axis=1) + reach)
    for near, triangle in pairs_between(BoxTree(positions, positions), boxes):
        away = np.einsum("ij,ij->i", positions[near] - centres[triangle], across[triangle])
        close = np.abs(away) <= reach + 1e-9 * extents[triangle]  # of its plane, which large triangles leave
        yield near[close], triangle[close]


def triangle_distance(points: Floats, corners: Floats) -> Floats:
    """Return the distance in m of each point, shape (n, 3), from its triangle, shape (n, 3, 3)."""
    first, second, third = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(second - first, third - first)
    length = np.linalg.norm(normal, axis=1)
    inside = length > 0.0
    for start, end in ((first, second), (second, third), (third, first)):
        inside &= np.einsum("ij,ij->i", np.cross(end - start, points - start), normal) >= 0.0
    height = np.abs(np.einsum("ij,ij->i", points - first, normal)) / np.where(length > 0.0, length, 1.0)
    edges = [_segment_distance(points, *ends) for ends in ((first, second), (second, third), (third, first))]
    return np.where(inside, height, np.minimum.reduce(edges))


def _segment_distance(points: Floats, start: Floats, end: Floats) -> Floats:
    along, offset = end - start, points - start
    squared = np.einsum("ij,ij->i", along, along)
    share = np.einsum("ij,ij->i", offset, along) / np.where(squared > 0.0, squared, 1.0)
    return np.linalg.norm(offset - np.clip(share, 0.0, 1.0)[:, None] * along, axis=1)
