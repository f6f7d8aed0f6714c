"""Facets without area: fewer than three distinct corners, or all corners on one line. They are common in files.

They are dropped. The neighbours of such a facet still meet along its line: a corner within its longest side becomes a
hanging node of the facet beyond, see `pdem.containers.meshes.hanging_nodes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes import mesh_topology as topology
from pdem.containers.meshes.mesh_shapes import thin_facets
from pdem.foundation import exact_math
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers


class LooseFacets(NamedTuple):
    """Facets in compressed rows, with their indices in the input.

    Attributes
    ----------
    start, loops : ndarray of int64, shapes (F + 1,) and (K,)
        The loops.
    numbers : ndarray of int64, shape (F,)
        Indices in the input, ascending.
    given : int
        Number of facets in the input.
    """

    start: Integers
    loops: Integers
    numbers: Integers
    given: int

    def chosen(self, choice: Booleans) -> LooseFacets:
        """Return some of the facets.

        Raises
        ------
        MeshError
            If none remains.
        """
        if choice.all():
            return self
        if not choice.any():
            raise MeshError(
                f"all {self.given} facets are degenerate: they have fewer than 3 distinct corners (vertices closer "
                "than the weld tolerance are one) or no area; a wall needs at least one that has: check its export, "
                "and whether its coordinates have enough digits"
            )
        sides = np.diff(self.start)
        start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[choice])))
        return LooseFacets(start, self.loops[np.repeat(choice, sides)], self.numbers[choice], self.given)


def given_facets(start: Integers, loops: Integers) -> LooseFacets:
    """Return all facets that have at least three vertices."""
    count = len(start) - 1
    return LooseFacets(start, loops, np.arange(count), count).chosen(np.diff(start) >= 3)


def with_corners(facets: LooseFacets) -> tuple[LooseFacets, int]:
    """Return the facets with three distinct corners, without repetitions in a row, and the number of removed edges."""
    start, loops, collapsed = topology.without_repeats(facets.start, facets.loops)
    return facets._replace(start=start, loops=loops).chosen(np.diff(start) >= 3), collapsed


def with_area(
    vertices: Floats, facets: LooseFacets, normals: Floats, areas: Floats, tolerance: float
) -> tuple[LooseFacets, Floats, Floats]:
    """Return the facets that have an area, their normals and areas.

    Parameters
    ----------
    vertices : ndarray, shape (V, 3)
        Positions [m].
    facets : LooseFacets
        The facets, with their `normals` and `areas`.
    tolerance : float
        Largest distance of the corners of a facet without area from one line [m].

    Raises
    ------
    MeshError
        For a facet with parts of opposite orientation that cancel each other: dropping it would leave a hole.
    """
    thin = thin_facets(vertices, facets.start, facets.loops, areas)
    for row in np.flatnonzero(thin & (np.diff(facets.start) > 3)).tolist():
        loop = facets.loops[facets.start[row] : facets.start[row + 1]]
        if not _is_line(vertices[loop], tolerance) and not _goes_back(loop):
            raise topology.refusal(
                int(facets.numbers[row]),
                facets.given,
                f"has an outline that crosses itself: its parts cancel each other (area {areas[row]:.3g} m2)",
                "to leave it out would leave a hole",
                "repair it",
            )
    return facets.chosen(~thin), normals[~thin], areas[~thin]


def _is_line(corners: Floats, tolerance: float) -> bool:
    """Return whether points (n, 3) are along one line."""
    arms = corners - corners[0]
    along = arms[np.argmax(exact_math.inner(arms, arms))]
    aside = exact_math.norm(np.cross(arms, along)) / exact_math.norm(along)
    return bool(aside.max() <= tolerance)


def _goes_back(loop: Integers) -> bool:
    """Return whether a loop passes each of its edges equally often in both directions."""
    edges = list(zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True))
    return sorted(edges) == sorted((last, first) for first, last in edges)
