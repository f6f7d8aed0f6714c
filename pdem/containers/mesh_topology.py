"""How the facets of a mesh hang together: welding, loops, edges, adjacency, and the checks on each facet.

Everything here is a pure function on arrays. Facets are loops of vertex indices in compressed rows:
facet ``f`` is ``loops[start[f]:start[f + 1]]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

DEGENERATE_HEIGHT = 1e-10
"""A facet whose area is less than this part of half its longest edge squared has no direction."""


_SAMPLE = 4096
_EXACT = 4e-16  # a scale and its inverse


class Topology(NamedTuple):
    """The integer arrays of a mesh in the order in which the contact kernels take them.

    Attributes
    ----------
    facet_start : ndarray, shape (F + 1,), int64
        Facet f is the loop ``facet_vertices[facet_start[f]:facet_start[f + 1]]``.
    facet_vertices : ndarray, shape (K,), int64
        Vertices of all loops, one after the other; every loop begins at its lowest vertex.
    facet_edges : ndarray, shape (K,), int64
        Edge between the loop vertex at the same place and the next one.
    edges : ndarray, shape (E, 2), int64
        Vertices of each edge, the lower first; rows ascending.
    edge_facet_start, edge_facet_ids : ndarray, shapes (E + 1,) and (K,), int64
        Facets at each edge, ascending, in compressed rows.
    vertex_facet_start, vertex_facet_ids : ndarray, shapes (V + 1,) and (K,), int64
        Facets at each vertex, ascending, in compressed rows.
    """

    facet_start: NDArray[np.int64]
    facet_vertices: NDArray[np.int64]
    facet_edges: NDArray[np.int64]
    edges: NDArray[np.int64]
    edge_facet_start: NDArray[np.int64]
    edge_facet_ids: NDArray[np.int64]
    vertex_facet_start: NDArray[np.int64]
    vertex_facet_ids: NDArray[np.int64]


@dataclass(frozen=True)
class MeshOrigin:
    """What was joined, dropped or passed over while a mesh was built, so that nothing goes unnoticed.

    Attributes
    ----------
    welded_vertices : int
        Vertices that were joined to an earlier one.
    collapsed_edges : int
        Edges that lost their length when vertices were joined.
    passed_over : tuple of (str, int)
        Cells of a file that are no surface, as (``"line"``, 12).
    resolution : float
        By how much coordinates may be rounded [m].
    """

    welded_vertices: int = 0
    collapsed_edges: int = 0
    passed_over: tuple[tuple[str, int], ...] = ()
    resolution: float = 0.0


def resolution_of(vertices: NDArray[np.float64]) -> float:
    """Return by how much coordinates of this size may have been rounded, as a sample of them tells [m].

    Files hold numbers in single precision, or to so many digits. 6 digits are taken for the least: boxes and the like
    need fewer, and have no detail below.
    """
    values = np.abs(vertices.reshape(-1))
    largest = float(values.max(initial=0.0))
    values = values[:: max(len(values) // _SAMPLE, 1)]

    def are_kept(rounded: NDArray[np.floating[Any]]) -> bool:
        return bool((np.abs(rounded - values) <= _EXACT * values).all())

    if are_kept(values.astype(np.float32)):
        return largest * 2.0**-24
    for digits in range(6, 10):
        if are_kept(np.array([float(f"{value:.{digits - 1}e}") for value in values.tolist()])):
            return 0.5 * largest * 10.0 ** (1 - digits)
    return largest * 2.0**-53


def checked_vertices(vertices: ArrayLike) -> NDArray[np.float64]:
    """Return `vertices` as a finite ``(V, 3)`` array that nobody else holds; plane points get z = 0.

    Raises
    ------
    MeshError
        If the shape is wrong or a coordinate is not finite.
    """
    array = np.array(vertices, dtype=np.float64, order="C", ndmin=2)
    if array.size == 0:
        raise MeshError("the mesh has no vertices; a facet needs at least 3: check its export")
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise MeshError(f"vertices have shape {array.shape}; it must be (V, 3): one row x, y, z each")
    if array.shape[1] == 2:
        array = np.column_stack((array, np.zeros(len(array))))
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise MeshError(
            f"vertex {bad[0]} is {array[bad[0]].tolist()} ({len(bad)} such vertices); "
            "coordinates must be finite: repair the file or script that wrote it"
        )
    return array + 0.0  # turns -0.0 into 0.0, so that equal means the same bits


def flattened_loops(
    facets: ArrayLike | Sequence[ArrayLike],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``(start, loops)`` of facets given as an ``(F, k)`` array or as loops of any sizes."""
    if len(facets) == 0:  # type: ignore[arg-type]
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


def _as_indices(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype.kind not in "iu":
        raise MeshError(f"facets hold values of type {values.dtype}; vertex indices must be whole numbers")
    return values.astype(np.int64)


def check_indices(start: NDArray[np.int64], loops: NDArray[np.int64], vertex_count: int) -> None:
    """Refuse loops that are too short or name a vertex that is not there."""
    short = np.flatnonzero(np.diff(start) < 3)
    if len(short):
        number = int(short[0])
        raise _refusal(
            number,
            len(start) - 1,
            f"has {start[number + 1] - start[number]} vertices",
            "a facet needs 3 distinct ones",
            "remove it",
        )
    wrong = np.flatnonzero((loops < 0) | (loops >= vertex_count))
    if len(wrong):
        number = int(np.searchsorted(start, wrong[0], side="right")) - 1
        raise _refusal(
            number,
            len(start) - 1,
            f"names vertex {loops[wrong[0]]}",
            f"vertices are numbered 0 to {vertex_count - 1}",
            "correct its indices",
        )


def welded(
    vertices: NDArray[np.float64], loops: NDArray[np.int64], tolerance: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the vertices with coincident ones joined, and the new index of each old vertex.

    Vertices closer than `tolerance` times the diagonal of the used bounding box become the first of
    them in the given order, so the outcome does not depend on how the search goes.
    """
    used = vertices[loops]
    distance = tolerance * float(np.linalg.norm(used.max(axis=0) - used.min(axis=0)))
    unique, first, back = _exactly_equal(vertices)
    pairs = np.zeros((0, 2), dtype=np.int64)
    if distance > 0:
        pairs = cKDTree(unique).query_pairs(distance, output_type="ndarray")
    label = np.arange(len(unique))
    if len(pairs):
        shape = (len(unique), len(unique))
        graph = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=shape)
        label = connected_components(graph, directed=False)[1]
    earliest = np.full(label.max() + 1, len(vertices), dtype=np.int64)
    np.minimum.at(earliest, label, first)
    kept, rank = np.unique(earliest, return_inverse=True)
    return np.ascontiguousarray(vertices[kept]), rank.astype(np.int64)[label[back]]


def _exactly_equal(
    vertices: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows, where each occurs first, and which of them every row is."""
    order = np.lexsort(vertices.T[::-1])
    rows = vertices[order]
    new = np.concatenate(([True], (rows[1:] != rows[:-1]).any(axis=1)))
    group = np.cumsum(new) - 1
    back = np.empty(len(vertices), dtype=np.int64)
    back[order] = group
    return rows[new], order[new], back  # lexsort is stable: the first of a group is the earliest


def successors(start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every loop place the place that follows it around its facet."""
    following = np.arange(1, start[-1] + 1, dtype=np.int64)
    following[start[1:] - 1] = start[:-1]
    return following


def without_repeats(
    start: NDArray[np.int64], loops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Drop the second of two equal neighbours in a loop (an edge without length); also return how many."""
    keep = loops != loops[successors(start)]
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    new_start = kept_before[start]
    few = np.flatnonzero(np.diff(new_start) < 3)
    if len(few):
        number = int(few[0])
        distinct = max(int(new_start[number + 1] - new_start[number]), 1)
        raise _refusal(
            number,
            len(start) - 1,
            f"has {distinct} distinct vertices",
            "a facet needs 3 (vertices closer than the weld tolerance are one)",
            "remove it",
        )
    return new_start, loops[keep], int(len(loops) - keep.sum())


def canonical_loops(start: NDArray[np.int64], loops: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn every loop, keeping its sense, so that it starts at its lowest vertex.

    Results that depend on the first vertex in their last bits then do not depend on how the file
    happened to begin each facet.
    """
    length = np.diff(start)
    facet = np.repeat(np.arange(len(length)), length)
    first = _lowest_place(loops, start) - start[:-1]
    within = np.arange(len(loops)) - start[facet]
    return loops[start[facet] + (within + first[facet]) % length[facet]]


def _lowest_place(values: NDArray[Any], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each loop the first place with its lowest value."""
    lowest = np.minimum.reduceat(values, start[:-1])
    places = np.flatnonzero(values == np.repeat(lowest, np.diff(start)))
    facet = np.searchsorted(start, places, side="right") - 1
    new = np.concatenate(([True], facet[1:] != facet[:-1]))
    return places[new]


def edges_of(
    start: NDArray[np.int64], loops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct edges ``(E, 2)``, ascending by their vertices, and the edge of each loop place."""
    following = loops[successors(start)]
    low, high = np.minimum(loops, following), np.maximum(loops, following)
    width = int(loops.max()) + 1
    keys, facet_edges = np.unique(low * width + high, return_inverse=True)
    edges = np.ascontiguousarray(np.column_stack(np.divmod(keys, width)))
    return edges, facet_edges.astype(np.int64).reshape(-1)


def incidence(
    start: NDArray[np.int64], members: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``(first, facets)``: facets at member m (an edge or a vertex), ascending, in compressed rows."""
    facet = np.repeat(np.arange(len(start) - 1, dtype=np.int64), np.diff(start))
    first = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(members, minlength=count), out=first[1:])
    return first, facet[np.argsort(members, kind="stable")]


def topology_of(start: NDArray[np.int64], loops: NDArray[np.int64], vertex_count: int) -> Topology:
    """Return all integer arrays of a mesh with these loops."""
    edges, facet_edges = edges_of(start, loops)
    edge_start, edge_facet_ids = incidence(start, facet_edges, len(edges))
    vertex_start, vertex_facet_ids = incidence(start, loops, vertex_count)
    return Topology(
        start, loops, facet_edges, edges, edge_start, edge_facet_ids, vertex_start, vertex_facet_ids
    )


def normals_and_areas(
    vertices: NDArray[np.float64], start: NDArray[np.int64], loops: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return unit normals ``(F, 3)`` (right hand rule) and areas ``(F,)`` of the facets (H2 eqs. 14-15)."""
    along = vertices[loops[successors(start)]] - vertices[loops]
    # From the beginning of the shortest edge no product of two long, nearly parallel sides occurs:
    # normals of needles then are as exact as their coordinates.
    base = _lowest_place(np.einsum("ij,ij->i", along, along), start)
    corner = vertices[loops] - np.repeat(vertices[loops[base]], np.diff(start), axis=0)
    twice = np.add.reduceat(np.cross(corner, along), start[:-1], axis=0)
    size = np.linalg.norm(twice, axis=1)
    return twice / np.where(size > 0, size, 1.0)[:, None], 0.5 * size


def check_shapes(
    vertices: NDArray[np.float64],
    start: NDArray[np.int64],
    loops: NDArray[np.int64],
    normals: NDArray[np.float64],
    areas: NDArray[np.float64],
    flatness: float,
) -> None:
    """Refuse facets that are degenerate, that touch themselves, that are not planar or not convex."""
    count = len(start) - 1
    along = vertices[loops[successors(start)]] - vertices[loops]
    length = np.linalg.norm(along, axis=1)
    longest = np.maximum.reduceat(length, start[:-1])
    thin = np.flatnonzero(2.0 * areas <= DEGENERATE_HEIGHT * longest**2)
    if len(thin):
        number = int(thin[0])
        raise _refusal(
            number,
            count,
            f"is degenerate: area {areas[number]:.3g} m2 at a longest edge of {longest[number]:.3g} m",
            f"twice the area must exceed {DEGENERATE_HEIGHT:g} of its square ({len(thin)} such facets)",
            "remove them or merge their vertices",
        )
    _check_planar(vertices, start, loops, normals, longest, flatness)
    _check_convex(start, loops, along, length, normals, flatness)


def _check_planar(
    vertices: NDArray[np.float64],
    start: NDArray[np.int64],
    loops: NDArray[np.int64],
    normals: NDArray[np.float64],
    longest: NDArray[np.float64],
    flatness: float,
) -> None:
    sides = np.diff(start)
    facet = np.repeat(np.arange(len(sides)), sides)
    offset = vertices[loops] - vertices[loops[start[:-1]]][facet]
    height = np.maximum.reduceat(np.abs(np.einsum("ij,ij->i", offset, normals[facet])), start[:-1])
    bent = np.flatnonzero((height > flatness * longest) & (sides > 3))
    if len(bent):
        number = int(bent[0])
        raise _refusal(
            number,
            len(sides),
            f"is not planar: a vertex lies {height[number]:.3g} m, {height[number] / longest[number]:.2g} "
            "of the longest edge, off its plane",
            f"at most {flatness:g} of that edge is allowed ({len(bent)} such facets)",
            "split it into triangles, or allow more with flatness=",
        )


def _check_convex(
    start: NDArray[np.int64],
    loops: NDArray[np.int64],
    along: NDArray[np.float64],
    length: NDArray[np.float64],
    normals: NDArray[np.float64],
    flatness: float,
) -> None:
    """Every corner turns left and all corners together turn once (a pentagram turns twice)."""
    sides = np.diff(start)
    facet = np.repeat(np.arange(len(sides)), sides)
    following = successors(start)
    scale = length * length[following]
    sine = np.einsum("ij,ij->i", np.cross(along, along[following]), normals[facet]) / scale
    cosine = np.einsum("ij,ij->i", along, along[following]) / scale
    turning = np.add.reduceat(np.arctan2(sine, cosine), start[:-1])
    lowest = np.minimum.reduceat(sine, start[:-1])
    wrong = np.flatnonzero(((lowest < -flatness) | (np.abs(turning - 2 * np.pi) > 1.0)) & (sides > 3))
    if len(wrong):
        number = int(wrong[0])
        raise _refusal(
            number,
            len(sides),
            f"is not convex (it has {sides[number]} sides)",
            f"every corner must turn the same way and the outline once ({len(wrong)} such facets)",
            "split it into convex parts or triangles",
        )


def _refusal(number: int, count: int, fact: str, limit: str, remedy: str) -> MeshError:
    """Return the error about one facet; numbers count from 0 in the given order."""
    return MeshError(f"facet {number} (of {count}, counted from 0) {fact}; {limit}: {remedy}")
