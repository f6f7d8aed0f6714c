"""Adjacency of the facets of a mesh: welding, loops, edges, neighbours, and the checks on each facet.

Everything here is a pure function on arrays. Facets are loops of vertex indices in compressed rows:
facet ``f`` is ``loops[start[f]:start[f + 1]]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.containers.meshes.box_tree import BoxTree, pairs_within
from pdem.foundation import exact_math
from pdem.foundation.errors import MeshError
from pdem.numerics.components import components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from pdem.foundation.array_types import Booleans, Floats, Integers

LARGEST_COORDINATE = 1e15
"""Largest coordinate [m]: larger ones are errors of a file, and would overflow in products."""


class Topology(NamedTuple):
    """The integer arrays of a mesh in the order of the arguments of contact kernels.

    Attributes
    ----------
    facet_start : ndarray, shape (F + 1,), int64
        Facet f is the loop ``facet_vertices[facet_start[f]:facet_start[f + 1]]``.
    facet_vertices : ndarray, shape (K,), int64
        Vertices of all loops, one after the other; every loop begins at its lowest vertex.
    facet_edges : ndarray, shape (K,), int64
        Edge between the loop vertex at the same index and the next one.
    edges : ndarray, shape (E, 2), int64
        Vertices of each edge, the lower first; rows ascending.
    edge_facet_start, edge_facet_ids : ndarray, shapes (E + 1,) and (K,), int64
        Facets at each edge, ascending, in compressed rows.
    vertex_facet_start, vertex_facet_ids : ndarray, shapes (V + 1,) and (K,), int64
        Facets at each vertex, ascending, in compressed rows.
    """

    facet_start: Integers
    facet_vertices: Integers
    facet_edges: Integers
    edges: Integers
    edge_facet_start: Integers
    edge_facet_ids: Integers
    vertex_facet_start: Integers
    vertex_facet_ids: Integers


@dataclass(frozen=True)
class MeshOrigin:
    """Changes during the construction of a mesh (joined, dropped, skipped), for the report.

    Attributes
    ----------
    welded_vertices : int
        Vertices that were joined to an earlier one.
    collapsed_edges : int
        Edges that lost their length when vertices were joined.
    passed_over : tuple of (str, int)
        Cells of a file that are not surfaces, for example (``"line"``, 12).
    split_facets : int
        Facets that were cut into triangles because they were not planar or not convex.
    dropped_facets : tuple of int
        Indices in the input of facets without three distinct corners or without area.
    groups : tuple of str
        Names of the parts that the file distinguishes.
    group : str, optional
        Name of the selected part.
    notes : tuple of str
        Further data of the file that the reader ignored or interpreted differently.
    resolution : float
        Largest possible rounding error of coordinates [m]; 0 if unknown.
    certain : float
        Rounding error that some coordinates certainly have [m].
    rounded_by : str
        Cause of the rounding.
    wall_resolutions : tuple of float
        The resolution of each wall, if several are joined.
    """

    welded_vertices: int = 0
    collapsed_edges: int = 0
    passed_over: tuple[tuple[str, int], ...] = ()
    split_facets: int = 0
    dropped_facets: tuple[int, ...] = ()
    groups: tuple[str, ...] = ()
    group: str | None = None
    notes: tuple[str, ...] = ()
    resolution: float = 0.0
    certain: float = 0.0
    rounded_by: str = ""
    wall_resolutions: tuple[float, ...] = ()


def coordinate_step(vertices: Floats) -> float:
    """Return the largest step of double precision at coordinates of this size [m]."""
    return 2.0**-52 * float(np.abs(vertices).max(initial=0.0))


def checked_vertices(vertices: ArrayLike) -> Floats:
    """Return `vertices` as a new ``(V, 3)`` array; plane points get z = 0.

    Raises
    ------
    MeshError
        If the shape is wrong.
    """
    try:
        array = np.array(vertices, dtype=np.float64, order="C", ndmin=2)
    except (TypeError, ValueError):
        raise MeshError("vertices are no table of real numbers; it must be (V, 3): one row x, y, z each") from None
    if array.size == 0:
        raise MeshError("the mesh has no vertices; a facet needs at least 3: check its export")
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise MeshError(f"vertices have shape {array.shape}; it must be (V, 3): one row x, y, z each")
    if array.shape[1] == 2:
        array = np.column_stack((array, np.zeros(len(array))))
    return array + 0.0  # turns -0.0 into 0.0, so that equal values have the same bits


def check_coordinates(vertices: Floats, start: Integers, loops: Integers) -> None:
    """Raise an error for coordinates that are not finite or absurdly large; the message has a facet that uses one."""
    bad = np.flatnonzero(~(np.abs(vertices) <= LARGEST_COORDINATE).all(axis=1))
    if not len(bad):
        return
    places = np.flatnonzero(np.isin(loops, bad))
    number = int(loops[places[0]]) if len(places) else int(bad[0])
    facet = int(np.searchsorted(start, places[0], side="right")) - 1 if len(places) else -1
    owner = f"of facet {facet} (of {len(start) - 1}, counted from 0)" if facet >= 0 else "of no facet"
    raise MeshError(
        f"vertex {number} {owner} is {vertices[number].tolist()} m ({len(bad)} such vertices); coordinates "
        f"must be finite and at most {LARGEST_COORDINATE:g}: repair the file or script that wrote it"
    )


def flattened_loops(facets: ArrayLike | Sequence[ArrayLike]) -> tuple[Integers, Integers]:
    """Return ``(start, loops)`` of facets given as an ``(F, k)`` array or as loops of any sizes."""
    is_table = isinstance(facets, np.ndarray) and facets.ndim == 2
    rows: Any = facets if is_table else list(facets) if hasattr(facets, "__iter__") else [facets]  # type: ignore[arg-type]
    if not is_table and not all(hasattr(row, "__len__") for row in rows):
        raise MeshError("facets are no rows; give for each facet the numbers of its vertices: [[0, 1, 2], ...]")
    if len(rows) == 0:
        raise MeshError("the mesh has no facets; at least one is needed: check its export")
    try:
        table: NDArray[Any] | None = np.asarray(facets)
    except ValueError:  # loops of different lengths
        table = None
    if table is not None and table.ndim == 2:
        start = np.arange(len(table) + 1, dtype=np.int64) * table.shape[1]
        return start, _as_indices(table.reshape(-1))
    lengths = np.fromiter(map(len, facets), dtype=np.int64)  # type: ignore[arg-type]
    start = np.concatenate(([0], np.cumsum(lengths)))
    flat = list(chain.from_iterable(facets))  # type: ignore[arg-type]
    return start, _as_indices(np.asarray(flat) if flat else np.zeros(0, dtype=np.int64))


def _as_indices(values: NDArray[Any]) -> Integers:
    if values.dtype.kind not in "iu":
        raise MeshError(f"facets hold values of type {values.dtype}; vertex indices must be whole numbers")
    return values.astype(np.int64)


def check_indices(start: Integers, loops: Integers, vertex_count: int) -> None:
    """Raise an error for loops with the index of a missing vertex."""
    wrong = np.flatnonzero((loops < 0) | (loops >= vertex_count))
    if len(wrong):
        number = int(np.searchsorted(start, wrong[0], side="right")) - 1
        raise refusal(
            number,
            len(start) - 1,
            f"names vertex {loops[wrong[0]]}",
            f"vertices are numbered 0 to {vertex_count - 1}",
            "correct its indices",
        )


def welded(vertices: Floats, loops: Integers, tolerance: float) -> tuple[Floats, Integers]:
    """Return the vertices with coincident ones joined, and the new index of each old vertex.

    Vertices closer than `tolerance` times the diagonal of the used bounding box become the first of these in the given
    order, so that the result does not depend on the order of the search.
    """
    used = vertices[loops]
    distance = tolerance * float(exact_math.norm(used.max(axis=0) - used.min(axis=0)))
    _check_far_off(vertices, loops, distance)
    unique, first, back = _exactly_equal(vertices)
    pairs = np.zeros((0, 2), dtype=np.int64)
    if distance > 0:
        pairs = _closer_than(unique, distance)
    label = components(pairs[:, 0], pairs[:, 1], len(unique)) if len(pairs) else np.arange(len(unique))
    earliest = np.full(label.max() + 1, len(vertices), dtype=np.int64)
    np.minimum.at(earliest, label, first)
    kept, rank = np.unique(earliest, return_inverse=True)
    return np.ascontiguousarray(vertices[kept]), rank.astype(np.int64)[label[back]]


def _closer_than(points: Floats, distance: float) -> Integers:
    """Return all pairs of points with at most this distance, shape (n, 2)."""
    tree = BoxTree(points - distance, points)
    found = [np.zeros((0, 2), dtype=np.int64)]
    for first, second in pairs_within(tree):
        apart = points[first] - points[second]
        close = exact_math.inner(apart, apart) <= distance * distance
        found.append(np.column_stack((first[close], second[close])))
    return np.concatenate(found)


def _check_far_off(vertices: Floats, loops: Integers, distance: float) -> None:
    """Raise an error for a mesh so wide that welding would join most of it, due to one wrong coordinate."""
    used = vertices[loops]
    typical = float(np.median(exact_math.norm(used[1:] - used[:-1])))
    if 0.0 < typical < distance:
        middle = np.median(used, axis=0)
        far = int(loops[np.argmax(exact_math.norm(used - middle))])
        raise MeshError(
            f"vertex {far} is {vertices[far].tolist()} m, so that vertices closer than {distance:.3g} m would be "
            f"joined, while facets are about {typical:.3g} m large: correct its coordinates, or weld= less"
        )


def _exactly_equal(vertices: Floats) -> tuple[Floats, Integers, Integers]:
    """Return the distinct rows, the index of their first occurrence, and the distinct row of every row."""
    order = np.lexsort(vertices.T[::-1])
    rows = vertices[order]
    new = np.concatenate(([True], (rows[1:] != rows[:-1]).any(axis=1)))
    group = np.cumsum(new) - 1
    back = np.empty(len(vertices), dtype=np.int64)
    back[order] = group
    return rows[new], order[new], back  # lexsort is stable: the first of a group is the earliest


def successors(start: Integers) -> Integers:
    """Return for every index of `loops` the index of the next vertex around its facet."""
    following = np.arange(1, start[-1] + 1, dtype=np.int64)
    following[start[1:] - 1] = start[:-1]
    return following


def without_repeats(start: Integers, loops: Integers) -> tuple[Integers, Integers, int]:
    """Remove the second of two equal neighbours in a loop (an edge without length); also return their number."""
    keep = loops != loops[successors(start)]
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    new_start = kept_before[start]
    return new_start, loops[keep], int(len(loops) - keep.sum())


def canonical_loops(start: Integers, loops: Integers) -> Integers:
    """Rotate every loop, keeping its orientation, so that it starts at its lowest vertex.

    Results with last bits that depend on the first vertex are then independent of the first vertex in the file.
    """
    length = np.diff(start)
    facet = np.repeat(np.arange(len(length)), length)
    first = _lowest_place(loops, start) - start[:-1]
    within = np.arange(len(loops)) - start[facet]
    return loops[start[facet] + (within + first[facet]) % length[facet]]


def _lowest_place(values: NDArray[Any], start: Integers) -> Integers:
    """Return for each loop the first index with its lowest value."""
    lowest = np.minimum.reduceat(values, start[:-1])
    places = np.flatnonzero(values == np.repeat(lowest, np.diff(start)))
    facet = np.searchsorted(start, places, side="right") - 1
    new = np.concatenate(([True], facet[1:] != facet[:-1]))
    return places[new]


def edges_of(start: Integers, loops: Integers) -> tuple[Integers, Integers]:
    """Return the distinct edges ``(E, 2)``, ascending by their vertices, and the edge at each index of `loops`."""
    following = loops[successors(start)]
    low, high = np.minimum(loops, following), np.maximum(loops, following)
    width = int(loops.max()) + 1
    keys, facet_edges = np.unique(low * width + high, return_inverse=True)
    edges = np.ascontiguousarray(np.column_stack(np.divmod(keys, width)))
    return edges, facet_edges.astype(np.int64).reshape(-1)


def incidence(start: Integers, members: Integers, count: int) -> tuple[Integers, Integers]:
    """Return ``(first, facets)``: facets at member m (an edge or a vertex), ascending, in compressed rows."""
    facet = np.repeat(np.arange(len(start) - 1, dtype=np.int64), np.diff(start))
    first = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(members, minlength=count), out=first[1:])
    return first, facet[np.argsort(members, kind="stable")]


def members_of(start: Integers, members: Integers, rows: Integers) -> Integers:
    """Return the members of some compressed rows, one row after the other."""
    sizes = start[rows + 1] - start[rows]
    shift = np.repeat(start[rows] - (np.cumsum(sizes) - sizes), sizes)
    return members[np.arange(len(shift)) + shift]


def topology_of(start: Integers, loops: Integers, vertex_count: int) -> Topology:
    """Return all integer arrays of a mesh with these loops."""
    edges, facet_edges = edges_of(start, loops)
    edge_start, edge_facet_ids = incidence(start, facet_edges, len(edges))
    vertex_start, vertex_facet_ids = incidence(start, loops, vertex_count)
    return Topology(start, loops, facet_edges, edges, edge_start, edge_facet_ids, vertex_start, vertex_facet_ids)


def pieces_of(mesh: Topology) -> tuple[Integers, Booleans]:
    """Return the piece of each facet, where pieces are connected by edges, and whether each piece is closed.

    Pieces are numbered by their first facets; they are closed if all their edges have exactly two facets.
    """
    count, sides = len(mesh.facet_start) - 1, np.diff(mesh.facet_start)
    facet = np.repeat(np.arange(count), sides)
    label = components(facet, count + mesh.facet_edges, count + len(mesh.edges))[:count]
    _, first, piece = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    piece = rank[piece]
    closed = np.ones(len(first), dtype=bool)
    closed[piece[facet[np.diff(mesh.edge_facet_start)[mesh.facet_edges] != 2]]] = False
    return piece, closed


def normals_and_areas(vertices: Floats, start: Integers, loops: Integers) -> tuple[Floats, Floats]:
    """Return unit normals ``(F, 3)`` (right hand rule) and areas ``(F,)`` of the facets (H2 eqs. 14-15)."""
    along = vertices[loops[successors(start)]] - vertices[loops]
    # Starting at the shortest edge avoids products of two long, nearly parallel sides: the normals of needles are then
    # as exact as their coordinates.
    base = _lowest_place(exact_math.inner(along, along), start)
    facet = np.repeat(np.arange(len(start) - 1), np.diff(start))
    products = np.cross(vertices[loops] - vertices[loops[base]][facet], along)
    twice = np.stack([np.bincount(facet, products[:, axis], len(start) - 1) for axis in range(3)], axis=1)
    size = exact_math.norm(twice)
    return twice / np.where(size > 0, size, 1.0)[:, None], 0.5 * size


def refusal(number: int, count: int, fact: str, limit: str, remedy: str) -> MeshError:
    """Return the error for one facet; numbers count from 0 in the order of the input."""
    return MeshError(f"facet {number} (of {count}, counted from 0) {fact}; {limit}: {remedy}")
