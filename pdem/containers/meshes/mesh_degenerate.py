"""Facets that are no surface: fewer than three distinct corners, or all corners on one line. Files are full of them.

They are dropped. What is beside such a facet then meets along its line as before: where it had a corner within its
longest side, this is a hanging node of the facet beyond, see `pdem.containers.meshes.hanging_nodes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.meshes import mesh_topology as topology
from pdem.containers.meshes.mesh_shapes import thin_facets
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers


class LooseFacets(NamedTuple):
    """Facets in compressed rows, with their numbers among those that were given.

    Attributes
    ----------
    start, loops : ndarray of int64, shapes (F + 1,) and (K,)
        The loops.
    numbers : ndarray of int64, shape (F,)
        Ascending.
    given : int
        How many there were.
    """

    start: Integers
    loops: Integers
    numbers: Integers
    given: int

    def chosen(self, choice: Booleans) -> LooseFacets:
        """Return some of them.

        Raises
        ------
        MeshError
            If there are none.
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
    """Return all facets that name three vertices at least."""
    count = len(start) - 1
    return LooseFacets(start, loops, np.arange(count), count).chosen(np.diff(start) >= 3)


def with_corners(facets: LooseFacets) -> tuple[LooseFacets, int]:
    """Return the facets that have three distinct corners, none twice in a row, and how many edges have gone."""
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
        How far corners of a facet without area may lie beside one line [m].

    Raises
    ------
    MeshError
        Naming a facet whose parts cancel each other: without it there would be a hole.
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
    """Tell whether points (n, 3) lie along one line."""
    arms = corners - corners[0]
    along = arms[np.argmax((arms**2).sum(axis=1))]
    aside = np.linalg.norm(np.cross(arms, along), axis=1) / np.linalg.norm(along)
    return bool(aside.max() <= tolerance)


def _goes_back(loop: Integers) -> bool:
    """Tell whether a loop runs along all its edges as often one way as the other."""
    edges = list(zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True))
    return sorted(edges) == sorted((last, first) for first, last in edges)
