"""Wall meshes: planar convex facets of any number of sides, welded, checked and with their adjacency."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pdem.containers.mesh_files.reading import read_surface
from pdem.containers.mesh_files.writing import write_surface
from pdem.containers.meshes import mesh_topology as topology
from pdem.containers.meshes.hanging_nodes import ROUNDED, WELD, welding
from pdem.containers.meshes.mesh_degenerate import LooseFacets, given_facets, with_area, with_corners
from pdem.containers.meshes.mesh_joining import joined_origin, joined_topology, shifted
from pdem.containers.meshes.mesh_report import MeshReport, report_of
from pdem.containers.meshes.mesh_shapes import check_shapes, unfit_facets
from pdem.containers.meshes.mesh_splitting import with_split
from pdem.containers.meshes.mesh_topology import MeshOrigin, Topology
from pdem.containers.meshes.placement import placement_of
from pdem.containers.meshes.rounding import require_shape, rounding_of
from pdem.foundation.arguments import path_of, real_number
from pdem.foundation.errors import MeshError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Booleans, Floats, Integers

Derived = TypeVar("Derived")

FLATNESS = 1e-5
"""Largest distance of a vertex from the plane of its facet, relative to the longest edge of the facet."""


class Mesh:
    """A surface of planar convex facets with shared vertices and edges.

    Parameters
    ----------
    vertices : array_like, shape (V, 3)
        Positions [m]. Coincident ones are joined, so that triangle soups become connected.
    facets : array_like, shape (F, k), or sequence of loops
        Vertex indices around each facet: triangles, quads, planar convex polygons, mixed.
    weld : float
        Vertices closer than this fraction of the bounding box's diagonal are merged.
    flatness : float
        Largest distance of a vertex from the plane of its facet, and largest sine by which a corner may
        turn inwards, relative to the facet's longest edge.
    split_facets : bool
        Cut facets that are not planar or not convex into triangles, which replace them, instead of raising an error.

    Attributes
    ----------
    vertices : ndarray, shape (V, 3), float64
        Positions [m] of the distinct vertices, in the given order.
    facet_normals : ndarray, shape (F, 3), float64
        Unit normals by the right hand rule around the loop.
    facet_areas : ndarray, shape (F,), float64
        Areas [m2].
    facet_numbers : ndarray, shape (F,), int64
        Index of each facet in the input (in the selected group of the file), counted from 0; not consecutive where
        facets were dropped or cut.
    facet_wall, vertex_wall : ndarray, shapes (F,) and (V,), int32
        Index of the joined mesh to which each facet or vertex belongs (zeros unless made by `join_meshes`).
    facet_body, facet_side : ndarray, shape (F,), int64 and int8
        Connected piece of each facet, and 1 or -1 by its orientation where the piece is closed (zeros unless made by
        `pdem.containers.meshes.surface.surface_of`).
    vertex_euler : ndarray, shape (V,), int32
        Weight of each vertex in the Euler sum of the surface, 1 inside and 0 at a rim (made there too).
    topology : Topology
        Loops, edges and adjacency, also available as attributes of the mesh.

    Raises
    ------
    MeshError
        For a facet (or vertex), with the limit and the remedy: no facets, a coordinate that is not finite, an index out
        of range, no facet with an area, a facet that is not planar or not convex, or a facet without area with an
        outline that crosses itself.

    Notes
    -----
    Features are identified as (kind, index): facet f is (0, f), edge e is (1, e), vertex v is (2, v).
    Facets with fewer than three distinct corners or without area are dropped, see
    `pdem.containers.meshes.mesh_degenerate`; later facets move up. Results by facet, such as `Simulation.nodal_forces`,
    refer to the facets of the mesh, and `facet_numbers` has their indices in the input. Messages about single facets of
    the input quote the index in the input. Arrays are shared, not copied: treat them as read-only.
    """

    _numbers: Integers | None
    _derived: dict[Any, Any]

    def __init__(
        self,
        vertices: ArrayLike,
        facets: ArrayLike | Sequence[ArrayLike],
        *,
        weld: float = WELD,
        flatness: float = FLATNESS,
        split_facets: bool = False,
    ) -> None:
        for name, value in (("weld", weld), ("flatness", flatness)):
            if real_number(name, value, MeshError) < 0:
                raise MeshError(f"{name} is {value}; it must not be negative")
        start, loops = topology.flattened_loops(facets)
        self._build(topology.checked_vertices(vertices), start, loops, weld, flatness, split_facets, MeshOrigin())

    @classmethod
    def from_loops(
        cls,
        vertices: ArrayLike,
        facet_start: Integers,
        facet_vertices: Integers,
        *,
        weld: float = WELD,
        flatness: float = FLATNESS,
        split_facets: bool = False,
        origin: MeshOrigin | None = None,
    ) -> Mesh:
        """Return the mesh of loops that are already in compressed rows; otherwise like the constructor.

        Parameters
        ----------
        vertices : array_like, shape (V, 3)
            Positions [m].
        facet_start : ndarray, shape (F + 1,), int64
            First index of each loop in `facet_vertices`.
        facet_vertices : ndarray, shape (K,), int64
            Vertex indices of all loops.
        weld, flatness, split_facets
            As in `Mesh`.
        origin : MeshOrigin, optional
            Findings of a reader, for the report.
        """
        mesh = cls.__new__(cls)
        start, loops = np.asarray(facet_start, dtype=np.int64), np.asarray(facet_vertices, dtype=np.int64)
        if len(start) < 2:
            raise MeshError("the mesh has no facets; at least one is needed: check its export")
        checked = topology.checked_vertices(vertices)
        mesh._build(checked, start, loops, weld, flatness, split_facets, origin or MeshOrigin())
        return mesh

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        scale: float = 1.0,
        *,
        rotate: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        group: str | int | None = None,
        weld: float = WELD,
        flatness: float = FLATNESS,
        split_facets: bool = False,
    ) -> Mesh:
        """Read a surface from a file: STL, OBJ, PLY, VTK, VTU, Gmsh, or any other format that meshio reads.

        Coordinates of the file are first scaled, then rotated, then shifted, in double precision.

        Parameters
        ----------
        path : path
            The file; its extension determines the format.
        scale : float
            Factor on all coordinates (0.001 for a drawing in millimetres).
        rotate : mapping or sequence of mappings, optional
            Rotations, one after the other, with the keys of the case file: ``{"axis": [0, 0, 1], "angle": 0.5}``. The
            angle is in rad, or ``{"degrees": 90}``; the default of ``centre`` [m] is the origin.
        offset : array_like, shape (3,)
            Added to all coordinates [m].
        group : str or int, optional
            Only the facets of one part of the file: a solid (STL), a group or else an object (OBJ), a physical
            group by name or number (Gmsh).
        weld, flatness, split_facets
            As in `Mesh`.

        Raises
        ------
        MeshError
            The message has the file: it is missing, cannot be read, is empty, has no such group, has no facets or
            curved cells, its coordinates are rounded too much for the size of its facets, or a facet is invalid.
        """
        path = path_of(path, MeshError)
        try:
            placement = placement_of(scale, rotate, offset)
        except MeshError as error:
            raise MeshError(f"{path}: {error}") from None
        group = None if group is None else str(group)
        read = read_surface(path, group)
        rounding = rounding_of(read.vertices).scaled(placement.scale)
        vertices = placement.applied(read.vertices)
        origin = MeshOrigin(
            passed_over=read.passed_over, groups=tuple(read.groups), group=group, notes=read.notes,
            resolution=max(rounding.size, 0.5 * topology.coordinate_step(vertices)), certain=rounding.certain,
            rounded_by=rounding.cause,
        )  # fmt: skip
        try:
            return cls.from_loops(
                vertices, read.start, read.loops, weld=weld, flatness=flatness, split_facets=split_facets,
                origin=origin,
            )  # fmt: skip
        except MeshError as error:
            raise MeshError(f"{path}: {error}") from None

    def write(self, path: str | PathLike[str]) -> None:
        """Write the mesh in the format that the extension of `path` names.

        Raises
        ------
        MeshError
            If the format cannot hold these facets or the file cannot be written.
        """
        write_surface(path_of(path, MeshError), self.vertices, self.facet_start, self.facet_vertices)

    def report(self, *, intersections: bool = True) -> MeshReport:
        """Return a report about the mesh, to read before it is used as a wall.

        Parameters
        ----------
        intersections : bool
            Search for facets that intersect each other, which takes most of the time of a report.
        """
        measured = self.vertices, self.topology, self.facet_normals, self.facet_areas
        return report_of(*measured, self.pieces[1], self.origin, intersections)

    def derived(self, make: Callable[[Mesh], Derived]) -> Derived:
        """Return what a function makes of this mesh, computed at the first call and shared by all later ones.

        A mesh that is scaled, turned, moved, cut or joined is another mesh, with results of its own.

        Parameters
        ----------
        make : callable
            A function of a module, of the mesh alone: `pdem.containers.meshes.surface.surface_of` and
            `pdem.containers.meshes.solid.solid_of` are such.

        Raises
        ------
        Exception
            As `make`, which is then called again by the next call.
        """
        results: dict[Callable[[Mesh], Derived], Derived] = self._derived
        if make not in results:
            results[make] = make(self)
        return results[make]

    @cached_property
    def pieces(self) -> tuple[Integers, Booleans]:
        """Piece of each facet (F,), and whether each piece is closed; pieces hang together by edges."""
        return topology.pieces_of(self.topology)

    def normals(self, vertices: Floats) -> Floats:
        """Return the facet normals ``(F, 3)`` for other (moved) positions ``(V, 3)`` of the vertices."""
        return topology.normals_and_areas(vertices, self.facet_start, self.facet_vertices)[0]

    def loop(self, facet: int) -> Integers:
        """Return the vertices around one facet."""
        return self.facet_vertices[self.facet_start[facet] : self.facet_start[facet + 1]]

    @property
    def facet_numbers(self) -> Integers:
        """Index of each facet in the input."""
        return np.arange(self.facet_count) if self._numbers is None else self._numbers

    @property
    def vertex_count(self) -> int:
        """Number of distinct vertices."""
        return len(self.vertices)

    @property
    def facet_count(self) -> int:
        """Number of facets."""
        return len(self.facet_start) - 1

    @property
    def edge_count(self) -> int:
        """Number of distinct edges."""
        return len(self.edges)

    @property
    def largest_order(self) -> int:
        """Largest number of sides of a facet."""
        return int(np.diff(self.facet_start).max())

    def __repr__(self) -> str:
        """Return the size of the mesh."""
        return f"Mesh({self.vertex_count} vertices, {self.edge_count} edges, {self.facet_count} facets)"

    def _build(
        self,
        vertices: Floats,
        start: Integers,
        loops: Integers,
        weld: float,
        flatness: float,
        split_facets: bool,
        origin: MeshOrigin,
    ) -> None:
        topology.check_indices(start, loops, len(vertices))
        facets = given_facets(start, loops)
        topology.check_coordinates(vertices, facets.start, facets.loops)
        kept, new_index = topology.welded(vertices, facets.loops, weld)
        facets, collapsed = with_corners(facets._replace(loops=new_index[facets.loops]))
        facets = facets._replace(loops=topology.canonical_loops(facets.start, facets.loops))
        normals, areas = topology.normals_and_areas(kept, facets.start, facets.loops)
        if not origin.resolution:
            size, certain, cause = rounding_of(kept)
            origin = replace(origin, resolution=size, certain=certain, rounded_by=cause)
        beside = max(welding(kept[facets.loops]), ROUNDED * origin.resolution)
        facets, normals, areas = with_area(kept, facets, normals, areas, beside)
        require_shape(origin, kept, facets)
        start, loops, numbers, given = facets
        unfit = unfit_facets(kept, start, loops, normals, flatness) if split_facets else np.zeros(0, np.int64)
        if len(unfit):
            start, loops, numbers = with_split(kept, start, loops, normals, unfit, numbers, given)
            loops = topology.canonical_loops(start, loops)
            normals, areas = topology.normals_and_areas(kept, start, loops)
            facets = LooseFacets(start, loops, numbers, given)
            (start, loops, numbers, given), normals, areas = with_area(kept, facets, normals, areas, beside)
        check_shapes(kept, start, loops, normals, flatness, numbers, given)
        found = replace(
            origin,
            welded_vertices=len(vertices) - len(kept),
            collapsed_edges=collapsed,
            split_facets=len(unfit),
            dropped_facets=tuple(np.setdiff1d(np.arange(given), numbers).tolist()),
        )
        self._set(kept, topology.topology_of(start, loops, len(kept)), normals, areas, found)
        self._numbers = None if np.array_equal(numbers, np.arange(given)) else numbers

    def _set(self, vertices: Floats, parts: Topology, normals: Floats, areas: Floats, origin: MeshOrigin) -> None:
        self.vertices = vertices
        self.topology = parts
        self.facet_start, self.facet_vertices, self.facet_edges, self.edges = parts[:4]
        self.edge_facet_start, self.edge_facet_ids = parts[4:6]
        self.vertex_facet_start, self.vertex_facet_ids = parts[6:8]
        self.facet_normals = normals
        self.facet_areas = areas
        self.origin = origin
        self._numbers = None
        self._derived = {}
        self.facet_wall = np.zeros(self.facet_count, dtype=np.int32)
        self.facet_body = np.zeros(self.facet_count, dtype=np.int64)
        self.facet_side = np.zeros(self.facet_count, dtype=np.int8)
        self.vertex_euler = np.zeros(self.vertex_count, dtype=np.int32)
        self.vertex_wall = np.zeros(self.vertex_count, dtype=np.int32)


def mesh_of_loops(vertices: Floats, start: Integers, loops: Integers, origin: MeshOrigin) -> Mesh:
    """Return the mesh of vertices and facets that have been welded and checked before, without changes."""
    mesh = Mesh.__new__(Mesh)
    normals, areas = topology.normals_and_areas(vertices, start, loops)
    mesh._set(vertices, topology.topology_of(start, loops, len(vertices)), normals, areas, origin)
    return mesh


def join_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """Return one mesh of several walls, which are not welded to each other.

    Parameters
    ----------
    meshes : sequence of Mesh
        The walls; facets, edges and vertices are numbered consecutively in this order.

    Returns
    -------
    Mesh
        Joined mesh; ``facet_wall`` and ``vertex_wall`` are the indices of the walls (0, 1, ...).

    Raises
    ------
    MeshError
        If the sequence is empty.
    """
    if not meshes:
        raise MeshError("no meshes were given to join; at least one is needed: name a wall")
    joined = Mesh.__new__(Mesh)
    joined._set(
        np.concatenate([m.vertices for m in meshes]),
        joined_topology([m.topology for m in meshes], [m.vertex_count for m in meshes]),
        np.concatenate([m.facet_normals for m in meshes]),
        np.concatenate([m.facet_areas for m in meshes]),
        joined_origin([m.origin for m in meshes]),
    )
    walls = np.arange(len(meshes), dtype=np.int32)
    joined.facet_wall = np.repeat(walls, [m.facet_count for m in meshes])
    joined.vertex_wall = np.repeat(walls, [m.vertex_count for m in meshes])
    # fewer bodies than facets: some facets are connected
    joined.facet_body = shifted([m.facet_body for m in meshes], [m.facet_count for m in meshes])
    joined.facet_side = np.concatenate([m.facet_side for m in meshes])
    joined.vertex_euler = np.concatenate([m.vertex_euler for m in meshes])
    return joined
