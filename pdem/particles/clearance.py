"""Overlaps of spheres with each other or with a wall, for checks before a run.

Neighbours are found by trees of boxes, `pdem.containers.meshes.box_tree`, which a few large spheres or facets among
many small ones do not slow down.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.box_tree import BoxTree, pairs_between, pairs_within
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.foundation import exact_math
from pdem.particles.regions import wrap_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats, Integers
    from pdem.particles.regions import RegionDomain

_PAIRS_PER_SPHERE = 100


def size_classes(radii: Floats) -> list[Integers]:
    """Return the indices of spheres by class: radii within a factor of two, the largest class first."""
    if radii.size == 0:
        return []
    octave = octaves(radii, float(radii.max()))
    return [np.flatnonzero(octave == value) for value in np.unique(octave)]


def octaves(radii: Floats, largest: float) -> Integers:
    """Return the index of the size class of each sphere (n,): 0 for radii above half of the largest, and so on."""
    return np.asarray(np.frexp((1.0 + 1e-9) * (largest / radii))[1] - 1, np.int64)


def overlapping_pairs(positions: Floats, radii: Floats, domain: RegionDomain) -> tuple[Integers, Floats]:
    """Find all overlapping spheres.

    Parameters
    ----------
    positions, radii : ndarray
        Shapes (n, 3) and (n,), in m.
    domain : RegionDomain
        The domain, for its periodic axes and its dimension.

    Returns
    -------
    pairs : ndarray of int64
        Integers i < j, shape (m, 2), sorted.
    overlaps : ndarray
        ``radii[i] + radii[j] - distance`` in m, shape (m,), positive.

    Notes
    -----
    With very many overlaps (radii in the wrong unit, for instance) only a part of them is returned.
    """
    centres = wrap_positions(positions, domain)
    found: list[Integers] = [np.zeros((0, 2), dtype=np.int64)]
    depths: list[Floats] = [np.zeros(0)]
    most = _PAIRS_PER_SPHERE * radii.size
    for first, second, apart in _near_pairs(centres, radii, domain):
        overlap = radii[first] + radii[second] - np.sqrt(exact_math.inner(apart, apart))
        touch = (overlap > 0.0) & (first != second)
        found.append(np.sort(np.column_stack((first[touch], second[touch])), axis=1))
        depths.append(overlap[touch])
        most -= len(depths[-1])
        if most < 0:
            break
    pairs, overlaps = np.concatenate(found), np.concatenate(depths)
    order = np.lexsort((-overlaps, pairs[:, 1], pairs[:, 0]))
    pairs, overlaps = pairs[order], overlaps[order]
    nearest = np.any(np.diff(pairs, axis=0, prepend=-1) != 0, axis=1)  # the nearest of several images of one pair
    return pairs[nearest], overlaps[nearest]


def _near_pairs(centres: Floats, radii: Floats, domain: RegionDomain) -> Iterator[tuple[Integers, Integers, Floats]]:
    """Yield pairs of spheres with overlapping boxes, in parts, and the distances of their centres; includes images."""
    if not len(centres):
        return
    lower, upper = centres - radii[:, None], centres + radii[:, None]
    tree = BoxTree(lower, upper)
    for first, second in pairs_within(tree):
        yield first, second, centres[first] - centres[second]
    period = np.subtract(domain.upper, domain.lower)
    lowest, highest = lower.min(axis=0), upper.max(axis=0)
    for steps in product(*((1, 0, -1) if periodic else (0,) for periodic in domain.periodic)):
        if steps <= (0, 0, 0):
            continue  # the image on the other side yields these pairs
        shift = steps * period
        there = np.flatnonzero(np.all((lower + shift <= highest) & (upper + shift >= lowest), axis=1))
        if len(there):
            images = BoxTree(lower[there] + shift, upper[there] + shift)
            for image, second in pairs_between(images, tree):
                yield there[image], second, centres[there[image]] + shift - centres[second]


def coincident_pair(positions: Floats, domain: RegionDomain) -> tuple[int, int] | None:
    """Return the lowest two indices of spheres with one centre, None if all centres, shape (n, 3), differ."""
    centres = wrap_positions(positions, domain)
    order = np.lexsort(centres.T)
    same = np.flatnonzero(np.all(centres[order[1:]] == centres[order[:-1]], axis=1))
    if same.size == 0:
        return None
    # lexsort is stable: equal centres are in the order of their indices
    at = same[np.argmin(order[same])]
    return int(order[at]), int(order[at + 1])


def touching_walls(
    positions: Floats, radii: Floats, vertices: Floats, facet_start: Integers, facet_vertices: Integers
) -> tuple[Integers, Floats, Integers]:
    """Find the spheres that a mesh intersects.

    Parameters
    ----------
    positions, radii : ndarray
        Shapes (n, 3) and (n,), in m.
    vertices : ndarray
        Vertices of the mesh, shape (v, 3), in m.
    facet_start, facet_vertices : ndarray of int64
        Loops of vertices of the facets: facet f has ``facet_vertices[facet_start[f]:facet_start[f + 1]]``.

    Returns
    -------
    spheres : ndarray of int64
        Integers of the spheres, increasing, each once, shape (m,).
    overlaps : ndarray
        Radius minus distance from the nearest facet, in m, shape (m,).
    facets : ndarray of int64
        The nearest facet; of several at the same distance the one with the highest index, shape (m,).
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


def near_triangles(positions: Floats, reach: float, corners: Floats) -> Iterator[tuple[Integers, Integers]]:
    """Yield pairs of points and triangles, in parts; they include all pairs with distances up to `reach` [m]."""
    if not len(positions) or not len(corners):
        return
    # A small margin, so that rounding decides nothing: `reach` depends on all spheres.
    reach *= 1.0 + 1e-9
    centres = (corners[:, 0] + corners[:, 1] + corners[:, 2]) / 3.0
    extents = exact_math.norm(corners - centres[:, None]).max(axis=1)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    across /= np.maximum(exact_math.norm(across), 1e-300)[:, None]
    boxes = BoxTree(corners.min(axis=1) - reach, corners.max(axis=1) + reach)
    for near, triangle in pairs_between(BoxTree(positions, positions), boxes):
        away = exact_math.inner(positions[near] - centres[triangle], across[triangle])
        close = np.abs(away) <= reach + 1e-9 * extents[triangle]  # distance from the plane
        yield near[close], triangle[close]


def triangle_distance(points: Floats, corners: Floats) -> Floats:
    """Return the distance in m of each point, shape (n, 3), from its triangle, shape (n, 3, 3)."""
    first, second, third = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(second - first, third - first)
    length = exact_math.norm(normal)
    inside = length > 0.0
    for start, end in ((first, second), (second, third), (third, first)):
        inside &= exact_math.inner(np.cross(end - start, points - start), normal) >= 0.0
    height = np.abs(exact_math.inner(points - first, normal)) / np.where(length > 0.0, length, 1.0)
    edges = [_segment_distance(points, *ends) for ends in ((first, second), (second, third), (third, first))]
    return np.where(inside, height, np.minimum.reduce(edges))


def _segment_distance(points: Floats, start: Floats, end: Floats) -> Floats:
    along, offset = end - start, points - start
    squared = exact_math.inner(along, along)
    share = exact_math.inner(offset, along) / np.where(squared > 0.0, squared, 1.0)
    return exact_math.norm(offset - np.clip(share, 0.0, 1.0)[:, None] * along)
