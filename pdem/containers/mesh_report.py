"""What is worth knowing about a wall mesh before a simulation trusts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_topology import MeshOrigin, Topology, successors

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class MeshReport:
    """Findings about a mesh.

    Attributes
    ----------
    facets, edges, vertices : int
        How many.
    triangles, quads, polygons : int
        Facets of 3, 4 and more sides.
    open_edges : int
        Edges with one facet.
    non_manifold_edges : int
        Edges with more than two facets.
    inconsistent_edges : int
        Edges of two facets that both run along it in the same direction: their normals disagree.
    duplicated_facets : int
        Facets that repeat the vertices of an earlier one.
    welded_vertices, collapsed_edges, unused_vertices : int
        Vertices joined to others, edges that lost their length by it, vertices that no facet uses.
    passed_over : tuple of (str, int)
        Cells of the file that are no surface.
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

    @property
    def closed(self) -> bool:
        """Whether every edge has exactly two facets."""
        return self.open_edges == 0 and self.non_manifold_edges == 0

    def lines(self) -> list[str]:
        """Return the report as sentences for a reader."""
        surface = "closed" if self.closed else f"open ({self.open_edges} open edges)"
        volume = "" if self.volume is None else f", volume {self.volume:.6g} m3"
        text = [
            f"{self.facets} facets ({self.triangles} triangles, {self.quads} quads, {self.polygons} "
            f"polygons), {self.vertices} vertices, {surface}",
            f"area {self.area:.6g} m2{volume}, box {list(self.lower)} to {list(self.upper)} m",
            f"facet size {self.smallest_facet:.4g} to {self.largest_facet:.4g} m, "
            f"smallest angle {self.smallest_angle:.3g} degrees",
        ]
        return text + [f"{count} {what}" for what, count in self._oddities() if count]

    def _oddities(self) -> list[tuple[str, int]]:
        return [
            ("edges with more than two facets", self.non_manifold_edges),
            ("edges where the normals of the two facets disagree", self.inconsistent_edges),
            ("duplicated facets", self.duplicated_facets),
            ("edges without length, left out", self.collapsed_edges),
            ("vertices that no facet uses", self.unused_vertices),
            *((f"{kind} cells of the file, no surface, left out", count) for kind, count in self.passed_over),
        ]


def report_of(
    vertices: NDArray[np.float64],
    mesh: Topology,
    normals: NDArray[np.float64],
    areas: NDArray[np.float64],
    origin: MeshOrigin,
) -> MeshReport:
    """Return the report of a mesh given by its arrays."""
    sides = np.diff(mesh.facet_start)
    length = np.linalg.norm(vertices[mesh.edges[:, 1]] - vertices[mesh.edges[:, 0]], axis=1)
    size = np.maximum.reduceat(length[mesh.facet_edges], mesh.facet_start[:-1])
    facets_at = np.diff(mesh.edge_facet_start)
    inconsistent = int(np.count_nonzero((facets_at == 2) & (_directions(mesh) != 0)))
    whole = bool((facets_at == 2).all()) and inconsistent == 0
    volume = _signed_volume(vertices, mesh, normals, areas) if whole else None
    lower, upper = _box(vertices[mesh.facet_vertices])
    return MeshReport(
        facets=len(sides),
        edges=len(mesh.edges),
        vertices=len(vertices),
        triangles=int((sides == 3).sum()),
        quads=int((sides == 4).sum()),
        polygons=int((sides > 4).sum()),
        open_edges=int((facets_at == 1).sum()),
        non_manifold_edges=int((facets_at > 2).sum()),
        inconsistent_edges=inconsistent,
        duplicated_facets=_duplicated(mesh, sides),
        welded_vertices=origin.welded_vertices,
        collapsed_edges=origin.collapsed_edges,
        unused_vertices=int((np.diff(mesh.vertex_facet_start) == 0).sum()),
        passed_over=origin.passed_over,
        smallest_angle=_smallest_angle(vertices, mesh),
        smallest_edge=float(length.min()),
        largest_edge=float(length.max()),
        smallest_facet=float(size.min()),
        largest_facet=float(size.max()),
        area=float(areas.sum()),
        volume=None if volume is None else abs(volume),
        normals_outward=None if volume is None else volume > 0,
        lower=lower,
        upper=upper,
    )


def _box(points: NDArray[np.float64]) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    (a, b, c), (d, e, f) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return (a, b, c), (d, e, f)


def _directions(mesh: Topology) -> NDArray[np.int64]:
    """Return for each edge how often facets run along it upwards (low to high vertex) minus downwards."""
    upwards = np.where(mesh.facet_vertices == mesh.edges[mesh.facet_edges, 0], 1, -1)
    return np.bincount(mesh.facet_edges, weights=upwards, minlength=len(mesh.edges)).astype(np.int64)


def _duplicated(mesh: Topology, sides: NDArray[np.int64]) -> int:
    """Count facets with the same set of vertices as an earlier one."""
    count = 0
    for order in np.unique(sides):
        places = mesh.facet_start[:-1][sides == order][:, None] + np.arange(order)
        loops = np.sort(mesh.facet_vertices[places], axis=1)
        loops = loops[np.lexsort(loops.T)]
        count += int((loops[1:] == loops[:-1]).all(axis=1).sum())
    return count


def _smallest_angle(vertices: NDArray[np.float64], mesh: Topology) -> float:
    following = successors(mesh.facet_start)
    along = vertices[mesh.facet_vertices[following]] - vertices[mesh.facet_vertices]
    back, ahead = -along, along[following]
    sine = np.linalg.norm(np.cross(ahead, back), axis=1)
    return float(np.degrees(np.arctan2(sine, np.einsum("ij,ij->i", ahead, back)).min()))


def _signed_volume(
    vertices: NDArray[np.float64], mesh: Topology, normals: NDArray[np.float64], areas: NDArray[np.float64]
) -> float:
    """Divergence theorem about the middle of the box, where the terms are smallest."""
    first = vertices[mesh.facet_vertices[mesh.facet_start[:-1]]]
    middle = 0.5 * (first.min(axis=0) + first.max(axis=0))
    return float((np.einsum("ij,ij->i", first - middle, normals) * areas).sum() / 3.0)
