"""Report about a wall mesh: properties and faults to check before a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.meshes.hanging_nodes import hanging_nodes
from pdem.containers.meshes.mesh_topology import MeshOrigin, Topology, successors
from pdem.containers.meshes.rounding import DIGITS, facet_size
from pdem.containers.meshes.self_intersections import self_intersections
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers

SLIVER_ANGLE = 1.0
"""Corner [degrees] below which a facet is called a sliver."""


@dataclass(frozen=True)
class MeshReport:
    """Findings about a mesh.

    Attributes
    ----------
    facets, edges, vertices : int
        Numbers of facets, edges and vertices.
    triangles, quads, polygons : int
        Facets of 3, 4 and more sides.
    open_edges : int
        Edges with one facet.
    non_manifold_edges : int
        Edges with more than two facets.
    inconsistent_edges : int
        Edges of two facets that both pass it in the same direction: their normals disagree.
    duplicated_facets : int
        Facets that repeat the vertices of an earlier one.
    welded_vertices, collapsed_edges, unused_vertices : int
        Vertices joined to others, edges that lost their length by joining, vertices that no facet uses.
    passed_over : tuple of (str, int)
        Cells of the file that are not surfaces.
    split_facets : int
        Facets of the file that were cut into triangles.
    dropped_facets : int
        Facets of the file without three distinct corners or without area, which are not part of the mesh. In `first`
        the index in the file.
    hanging_nodes : int
        Vertices on an edge of a facet to which they do not belong (T-junctions).
    self_intersections : int or None
        Pairs of facets that intersect each other without a common vertex, None if they were not searched.
    all_intersections : bool
        False if the count was stopped because there were too many.
    pieces, closed_pieces : int
        Pieces connected by edges, and the number of pieces with two facets at every edge.
    slivers : int
        Facets with a corner below `SLIVER_ANGLE`.
    smallest_angle : float
        Smallest corner of all facets [degrees].
    smallest_edge, largest_edge : float
        Shortest and longest edge [m].
    smallest_facet, largest_facet : float
        Facet size (longest edge of a facet) of the smallest and the largest facet [m].
    area : float
        Surface area [m2].
    volume : float or None
        Volume [m3] enclosed, if the mesh is closed and consistently oriented.
    normals_outward : bool or None
        Whether the normals of such a mesh point out of the volume.
    lower, upper : tuple of 3 floats
        Bounding box [m] of the vertices in use.
    rounding : float
        Largest rounding error of coordinates [m], unless it is probably chance; `rounded_by` is its cause.
    typical_edge : float
        Median of the shortest edges of facets [m].
    notes : tuple of str
        Data of the file that the reader ignored or interpreted differently.
    groups : tuple of str
        Parts that the file distinguishes; `group` is the selected part, None for all.
    first : dict of str to tuple of int
        Facets (for hanging nodes: the vertex) of the first finding, by the name of the attribute.
    """

    facets: int
    edges: int
    vertices: int
    triangles: int
    quads: int
    polygons: int
    open_edges: int
    non_manifold_edges: int
    inconsistent_edges: int
    duplicated_facets: int
    welded_vertices: int
    collapsed_edges: int
    unused_vertices: int
    passed_over: tuple[tuple[str, int], ...]
    split_facets: int
    dropped_facets: int
    hanging_nodes: int
    self_intersections: int | None
    all_intersections: bool
    pieces: int
    closed_pieces: int
    slivers: int
    smallest_angle: float
    smallest_edge: float
    largest_edge: float
    smallest_facet: float
    largest_facet: float
    area: float
    volume: float | None
    normals_outward: bool | None
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]
    rounding: float = 0.0
    rounded_by: str = ""
    typical_edge: float = 0.0
    notes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    group: str | None = None
    first: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def closed(self) -> bool:
        """Whether every edge has exactly two facets."""
        return self.open_edges == 0 and self.non_manifold_edges == 0

    def lines(self) -> list[str]:
        """Return the report as sentences for a reader."""
        surface = "closed" if self.closed else f"open ({self.open_edges} open edges)"
        pieces = "1 piece" if self.pieces == 1 else f"{self.pieces} pieces, {self.closed_pieces} of them closed"
        volume = "" if self.volume is None else f", volume {self.volume:.6g} m3"
        text = [
            f"{_counted(self.facets, 'facet')} ({_counted(self.triangles, 'triangle')}, "
            f"{_counted(self.quads, 'quad')}, {_counted(self.polygons, 'polygon')}), {self.vertices} vertices, "
            f"{surface}, {pieces}",
            f"area {self.area:.6g} m2{volume}, box {_point(self.lower)} to {_point(self.upper)} m",
            f"facet size {self.smallest_facet:.4g} to {self.largest_facet:.4g} m, "
            f"smallest angle {self.smallest_angle:.3g} degrees",
        ]
        return text + [f"{count} {what}" for what, count in self._oddities() if count] + list(self.notes)

    def _oddities(self) -> list[tuple[str, int]]:
        return [
            ("edges with more than two facets", self.non_manifold_edges),
            ("edges where the normals of the two facets disagree", self.inconsistent_edges),
            ("duplicated facets", self.duplicated_facets),
            ("pairs of facets that cut each other", self.self_intersections or 0),
            ("hanging nodes (vertices within the edge of another facet)", self.hanging_nodes),
            (f"slivers (a corner below {SLIVER_ANGLE:g} degrees)", self.slivers),
            ("facets, not planar or not convex, cut into triangles", self.split_facets),
            ("facets without three distinct corners or without area, left out", self.dropped_facets),
            ("edges without length, left out", self.collapsed_edges),
            ("vertices that no facet uses", self.unused_vertices),
            *((f"{kind} cells of the file, no surface, left out", count) for kind, count in self.passed_over),
        ]


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _point(place: tuple[float, float, float]) -> str:
    """Return a point to nine digits, in which rounding errors of its computation do not show."""
    return "[" + ", ".join(f"{one:.9g}" for one in place) + "]"


def report_of(
    vertices: Floats,
    mesh: Topology,
    normals: Floats,
    areas: Floats,
    closed: Booleans,
    origin: MeshOrigin,
    intersections: bool,
) -> MeshReport:
    """Return the report of a mesh given by its arrays.

    Parameters
    ----------
    vertices, mesh, normals, areas, origin
        Arrays of the mesh.
    closed : ndarray of bool
        Whether each piece of the mesh is closed.
    intersections : bool
        Search for facets that intersect each other.
    """
    sides = np.diff(mesh.facet_start)
    length = exact_math.norm(vertices[mesh.edges[:, 1]] - vertices[mesh.edges[:, 0]])
    size = np.maximum.reduceat(length[mesh.facet_edges], mesh.facet_start[:-1])
    first: dict[str, tuple[int, ...]] = {}
    cut = self_intersections(vertices, mesh.facet_start, mesh.facet_vertices) if intersections else None
    if cut is not None and cut.first is not None:
        first["self_intersections"] = cut.first
    edges = _edge_findings(mesh, first)
    whole = edges["open_edges"] == edges["non_manifold_edges"] == edges["inconsistent_edges"] == 0
    volume = _signed_volume(vertices, mesh, normals, areas) if whole else None
    angle = _angles(vertices, mesh)
    slivers = _noted("slivers", np.flatnonzero(angle < SLIVER_ANGLE), first)
    lower, upper = _box(vertices[mesh.facet_vertices])
    return MeshReport(
        facets=len(sides),
        edges=len(mesh.edges),
        vertices=len(vertices),
        triangles=int((sides == 3).sum()),
        quads=int((sides == 4).sum()),
        polygons=int((sides > 4).sum()),
        **edges,
        duplicated_facets=_duplicated(mesh, sides, first),
        welded_vertices=origin.welded_vertices,
        collapsed_edges=origin.collapsed_edges,
        unused_vertices=int((np.diff(mesh.vertex_facet_start) == 0).sum()),
        passed_over=origin.passed_over,
        split_facets=origin.split_facets,
        dropped_facets=_noted("dropped_facets", np.array(origin.dropped_facets, np.int64), first),
        hanging_nodes=_hanging_nodes(vertices, mesh, origin, first),
        self_intersections=None if cut is None else cut.pairs,
        all_intersections=cut is None or cut.complete,
        pieces=len(closed),
        closed_pieces=int(closed.sum()),
        slivers=slivers,
        smallest_angle=float(angle.min()),
        smallest_edge=float(length.min()),
        largest_edge=float(length.max()),
        smallest_facet=float(size.min()),
        largest_facet=float(size.max()),
        area=exact_math.total(areas),
        volume=None if volume is None else abs(volume),
        normals_outward=None if volume is None else volume > 0,
        lower=lower,
        upper=upper,
        rounding=origin.resolution if origin.rounded_by.endswith(DIGITS) else origin.certain,
        rounded_by=origin.rounded_by,
        typical_edge=facet_size(vertices, mesh.facet_start, mesh.facet_vertices),
        groups=origin.groups,
        notes=origin.notes,
        group=origin.group,
        first=first,
    )


def _noted(name: str, facets: Integers, first: dict[str, tuple[int, ...]]) -> int:
    """Store the first of some facets under a name, and return their number."""
    if len(facets):
        first[name] = (int(facets[0]),)
    return len(facets)


def _edge_findings(mesh: Topology, first: dict[str, tuple[int, ...]]) -> dict[str, int]:
    """Count edges that are open, that more than two facets share, or that two facets pass in the same direction."""
    facets_at = np.diff(mesh.edge_facet_start)
    edges = {
        "open_edges": facets_at == 1,
        "non_manifold_edges": facets_at > 2,
        "inconsistent_edges": (facets_at == 2) & (_directions(mesh) != 0),
    }
    for name, found in edges.items():
        if found.any():
            edge = int(np.argmax(found))
            around = mesh.edge_facet_ids[mesh.edge_facet_start[edge] : mesh.edge_facet_start[edge + 1]]
            first[name] = tuple(around.tolist())
    return {name: int(found.sum()) for name, found in edges.items()}


def _hanging_nodes(vertices: Floats, mesh: Topology, origin: MeshOrigin, first: dict[str, tuple[int, ...]]) -> int:
    """Count vertices on an edge of a different facet."""
    _, node, _ = hanging_nodes(
        vertices, np.zeros(len(vertices), np.int32), mesh.facet_start, mesh.facet_vertices, mesh.edges,
        mesh.facet_edges, np.array([origin.resolution]),
    )  # fmt: skip
    return _noted("hanging_nodes", np.unique(node), first)


def _box(points: Floats) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    (a, b, c), (d, e, f) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return (a, b, c), (d, e, f)


def _directions(mesh: Topology) -> Integers:
    """Return for each edge the number of facets that pass it upwards (low to high vertex) minus downwards."""
    upwards = np.where(mesh.facet_vertices == mesh.edges[mesh.facet_edges, 0], 1, -1)
    return np.bincount(mesh.facet_edges, weights=upwards, minlength=len(mesh.edges)).astype(np.int64)


def _duplicated(mesh: Topology, sides: Integers, first: dict[str, tuple[int, ...]]) -> int:
    """Count facets with the same set of vertices as an earlier one."""
    repeated = []
    for order in np.unique(sides):
        facets = np.flatnonzero(sides == order)
        loops = np.sort(mesh.facet_vertices[mesh.facet_start[facets][:, None] + np.arange(order)], axis=1)
        by_loop = np.lexsort(loops.T)
        same = (loops[by_loop[1:]] == loops[by_loop[:-1]]).all(axis=1)
        repeated.append(np.stack((facets[by_loop[:-1][same]], facets[by_loop[1:][same]]), axis=1))
    pairs = np.concatenate(repeated)
    if len(pairs):
        low, high = pairs[np.argmin(pairs[:, 1])].tolist()
        first["duplicated_facets"] = (low, high)
    return len(pairs)


def _angles(vertices: Floats, mesh: Topology) -> Floats:
    """Return the smallest corner of each facet [degrees]."""
    following = successors(mesh.facet_start)
    along = vertices[mesh.facet_vertices[following]] - vertices[mesh.facet_vertices]
    back, ahead = -along, along[following]
    sine = exact_math.norm(np.cross(ahead, back))
    corners = np.arctan2(sine, exact_math.inner(ahead, back))
    return np.degrees(np.minimum.reduceat(corners, mesh.facet_start[:-1]))


def _signed_volume(vertices: Floats, mesh: Topology, normals: Floats, areas: Floats) -> float:
    """Apply the divergence theorem about the middle of the box, where the terms are smallest."""
    first = vertices[mesh.facet_vertices[mesh.facet_start[:-1]]]
    middle = 0.5 * (first.min(axis=0) + first.max(axis=0))
    return exact_math.total(exact_math.inner(first - middle, normals) * areas) / 3.0
