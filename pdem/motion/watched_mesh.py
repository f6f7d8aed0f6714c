"""The present vertices and normals of moving walls: of all facets, or only of facets near particles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.index_set import IndexSet
from pdem.containers.meshes.mesh_topology import members_of
from pdem.motion.placing import place_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers
    from pdem.motion.poses import Pose

    Rows = tuple[Integers, Integers]


class WatchedMesh:
    """Present positions of the vertices and directions of the normals of all walls.

    Parameters
    ----------
    mesh : Mesh
        All walls joined, at time 0.
    facet_rows, vertex_rows : (W + 1,) int64 arrays
        First facet and first vertex of each wall, and the total numbers.
    moving : list of int
        Walls that move.
    placed : bool
        Whether all vertices and normals are up to date from the beginning, see `pdem.motion.walls.MovingWalls`.

    Attributes
    ----------
    vertices, normals : (V, 3) and (F, 3) arrays
        Present positions [m] and unit normals; those of the mesh itself where no wall moves.
    watched : tuple of two int64 arrays, or None
        Vertices and facets that move with their walls, rising; None for all.
    """

    def __init__(
        self, mesh: Mesh, facet_rows: Integers, vertex_rows: Integers, moving: Sequence[int],
        *, placed: bool,
    ) -> None:  # fmt: skip
        self._mesh, self._moving = mesh, moving
        self._facet_rows, self._vertex_rows = facet_rows, vertex_rows
        self._normals = np.ascontiguousarray(mesh.facet_normals, np.float64)
        self._vertices = np.ascontiguousarray(mesh.vertices, np.float64)
        self.watched: Rows | None = None
        self._own: dict[int, Rows] = {}  # watched rows, wall by wall
        self._joined: tuple[Rows, Rows] | None = None
        self._facet_set, self._vertex_set = IndexSet(mesh.facet_count), IndexSet(mesh.vertex_count)
        self._rests = True  # whether all walls that do not move are up to date
        if not moving:
            self.vertices, self.normals = self._vertices, self._normals
        elif placed:
            self.vertices, self.normals = self._vertices.copy(), self._normals.copy()
        else:
            self.vertices, self.normals = np.zeros(self._vertices.shape), np.zeros(self._normals.shape)
            self.watched, self._rests = (np.zeros(0, np.int64), np.zeros(0, np.int64)), False

    def facets_of(self, wall: int) -> slice:
        """Return the facets of a wall."""
        return slice(int(self._facet_rows[wall]), int(self._facet_rows[wall + 1]))

    def vertices_of(self, wall: int) -> slice:
        """Return the vertices of a wall."""
        return slice(int(self._vertex_rows[wall]), int(self._vertex_rows[wall + 1]))

    def first_vertices(self, wall: int) -> Floats:
        """Return the positions (n, 3) of the vertices of a wall at time 0 [m]."""
        return self._vertices[self.vertices_of(wall)]

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """Vertices and normals at time 0, and at present."""
        return self._vertices, self._normals, self.vertices, self.normals

    def place_all(self, poses: Mapping[int, Pose]) -> None:
        """Update all vertices and normals to the present poses of moving walls."""
        if not self._rests:
            self.vertices[:], self.normals[:] = self._vertices, self._normals
            self._rests = True
        if self.watched is not None:
            for wall in self._moving:
                self._write(self._all_of(wall), poses[wall])

    def watch(self, facets: Integers, poses: Mapping[int, Pose]) -> None:
        """Restrict `move` to these facets (repetitions are allowed) and to all facets that share a vertex with them."""
        mesh, near = self._mesh, self._facet_set.distinct(facets)
        around = self._vertex_set.distinct(members_of(mesh.facet_start, mesh.facet_vertices, near))
        chosen = self._facet_set.distinct(members_of(mesh.vertex_facet_start, mesh.vertex_facet_ids, around))
        nodes = self._vertex_set.distinct(members_of(mesh.facet_start, mesh.facet_vertices, chosen))
        if not self._rests:
            self.vertices[nodes], self.normals[chosen] = self._vertices[nodes], self._normals[chosen]
        self.watched = nodes, chosen
        self._own.clear()
        self._joined = None
        for wall in self._moving:
            self.move(wall, poses[wall])

    def places_of(self, vertices: Integers, poses: Mapping[int, Pose]) -> Floats:
        """Return the present positions of some vertices, watched or not."""
        places = self._vertices[vertices]
        walls = np.searchsorted(self._vertex_rows, vertices, side="right") - 1
        for wall, pose in poses.items():
            place_rows(np.flatnonzero(walls == wall), pose.numbers, True, places, places)
        return places

    def move(self, wall: int, pose: Pose) -> None:
        """Write the present positions of the watched rows of a wall; of all rows if `watch` has not been called."""
        self._write(self.rows_of(wall), pose)

    def rows_of(self, wall: int) -> Rows:
        """Return the watched vertices and facets of a wall."""
        if wall not in self._own:
            self._own[wall] = self._all_of(wall) if self.watched is None else self._watched_of(wall)
        return self._own[wall]

    @property
    def moving_rows(self) -> tuple[Rows, Rows]:
        """Watched vertices of moving walls and the first index of each wall among them; the same for facets."""
        if self._joined is None:
            rows = [self.rows_of(wall) for wall in self._moving]
            self._joined = _joined([nodes for nodes, _ in rows]), _joined([facets for _, facets in rows])
        return self._joined

    def _all_of(self, wall: int) -> Rows:
        nodes, facets = self.vertices_of(wall), self.facets_of(wall)
        return np.arange(nodes.start, nodes.stop), np.arange(facets.start, facets.stop)

    def _watched_of(self, wall: int) -> Rows:
        assert self.watched is not None
        nodes, facets = (
            rows[slice(*np.searchsorted(rows, (own.start, own.stop)))]
            for rows, own in zip(self.watched, (self.vertices_of(wall), self.facets_of(wall)), strict=True)
        )
        return nodes, facets

    def _write(self, rows: Rows, pose: Pose) -> None:
        place_rows(rows[0], pose.numbers, True, self._vertices, self.vertices)
        place_rows(rows[1], pose.numbers, False, self._normals, self.normals)


def _joined(parts: Sequence[Integers]) -> Rows:
    """Return concatenated rows, and the first index of each part."""
    return np.concatenate(parts), np.cumsum([0, *map(len, parts)])
