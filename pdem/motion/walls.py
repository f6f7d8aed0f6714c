"""Walls that move as rigid bodies: by given motions, evaluated from the time and never accumulated, or driven."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.mesh_topology import members_of
from pdem.foundation.geometry_kernels import geometry_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.containers.mesh import Mesh
    from pdem.motion.drives import Drive
    from pdem.motion.motions import Motion, Pose


@geometry_kernel
def _place(
    rows: NDArray[np.int64],
    rotation: NDArray[np.float64],
    shift: NDArray[np.float64],
    reference: NDArray[np.float64],
    result: NDArray[np.float64],
) -> None:
    """Write rotation x + shift for some rows: the same bits whichever other rows there are."""
    for place in range(len(rows)):
        row = rows[place]
        x, y, z = reference[row, 0], reference[row, 1], reference[row, 2]
        for axis in range(3):
            result[row, axis] = (
                rotation[axis, 0] * x + rotation[axis, 1] * y + rotation[axis, 2] * z + shift[axis]
            )


def _within(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of things within their groups, given where groups begin and end."""
    return np.arange(rows[-1]) - np.repeat(rows[:-1], np.diff(rows))


def _marked(count: int, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    marks = np.zeros(count, np.bool_)
    marks[places] = True
    return marks


class MovingWalls:
    """All walls at the present time.

    Parameters
    ----------
    mesh : Mesh
        All walls joined, at time 0.
    facet_wall, vertex_wall : int arrays, shapes (F,) and (V,)
        Wall of each facet and vertex, rising.
    motions : sequence of Motion
        One per wall.
    facet_origin, vertex_origin : int arrays, shapes (F,) and (V,), optional
        Their numbers in the walls' own meshes; by default they are numbered through wall by wall.
    drives : mapping of int to Drive, optional
        By the number of the wall, those that particles drive.
    placed : bool
        Whether all are in place from the beginning. Otherwise only what `watch` names is, and pages of memory for
        the rest are not even touched: of a large mesh a rank has its own part alone, until `place_all`.

    Attributes
    ----------
    vertices, normals : (V, 3) and (F, 3) arrays
        Present places [m] and unit normals: of all since `place_all`, later of the facets that `watch` has named.
        Those of the mesh itself where no wall moves.
    centre : (W, 3) array
        Present place of each wall's centre [m].
    angular_velocity, velocity : (W, 3) arrays
        Angular velocity [rad/s], and velocity of the centre [m/s].
    mean_turn, mean_velocity : (W, 3, 3) and (W, 3) arrays
        Over the last step the body point now at x has moved at the mean velocity
        ``mean_velocity + mean_turn (x - centre)`` [1/s, m/s].
    driven : list of Drive
        Those there are, in the order of their walls.
    driven_row : (W,) int64 array
        Row of each wall among them, -1 for the others.
    along, about : (W, 3) arrays
        What a driven wall's travel is, see `Drive`.
    inverse_mass, inverse_inertia : (W, 3) and (W, 3, 3) arrays
        How a free body gives way, zeros for other walls [1/kg, 1/(kg m^2)].
    counted : (W,) array
        1 if the work of the wall is added up contact by contact, 0 if it is driven.
    """

    def __init__(
        self,
        mesh: Mesh,
        facet_wall: NDArray[np.int32],
        vertex_wall: NDArray[np.int32],
        motions: Sequence[Motion],
        facet_origin: NDArray[np.int64] | None = None,
        vertex_origin: NDArray[np.int64] | None = None,
        drives: Mapping[int, Drive] | None = None,
        *,
        placed: bool = True,
    ) -> None:
        self.mesh = mesh
        self.facet_wall = facet_wall
        self.motions = tuple(motions)
        count = len(self.motions)
        self._vertex_rows = np.searchsorted(vertex_wall, np.arange(count + 1))
        self._facet_rows = np.searchsorted(facet_wall, np.arange(count + 1))
        self.facet_origin = _within(self._facet_rows) if facet_origin is None else facet_origin
        self.vertex_origin = _within(self._vertex_rows) if vertex_origin is None else vertex_origin
        self._normals = np.ascontiguousarray(mesh.facet_normals, np.float64)
        self._vertices = np.ascontiguousarray(mesh.vertices, np.float64)
        self.centre = np.zeros((count, 3))
        self.angular_velocity, self.velocity = np.zeros((count, 3)), np.zeros((count, 3))
        self.mean_turn, self.mean_velocity = np.zeros((count, 3, 3)), np.zeros((count, 3))
        self.drives = dict(sorted((drives or {}).items()))
        self._lay_out_drives(count)
        self._moving = [
            wall for wall, motion in enumerate(self.motions) if motion.moves or wall in self.drives
        ]
        self._corners = np.array([self._box_of(wall) for wall in self._moving]).reshape(-1, 8, 3)
        self._places = self._corners.copy()
        self._listed = self._corners.copy()
        self._before = self._corners.copy()
        for wall in range(count):
            self.centre[wall] = self._centre_of(wall)
        self._poses = [self._pose(wall, 0.0) for wall in self._moving]
        self._make_room(placed)
        self._times = -math.inf, -math.inf
        self.place(0.0, 0.0)

    def _make_room(self, placed: bool) -> None:
        """Lay out present places and normals; if not `placed`, nothing is written yet."""
        self._watched: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._rests = True  # all walls that do not move are in place
        if not self._moving:
            self.vertices, self.normals = self._vertices, self._normals
        elif placed:
            self.vertices, self.normals = self._vertices.copy(), self._normals.copy()
        else:
            self.vertices, self.normals = np.zeros(self._vertices.shape), np.zeros(self._normals.shape)
            self._watched, self._rests = (np.zeros(0, np.int64), np.zeros(0, np.int64)), False

    def facets_of(self, wall: int) -> slice:
        """Return which facets a wall has."""
        return slice(int(self._facet_rows[wall]), int(self._facet_rows[wall + 1]))

    def vertices_of(self, wall: int) -> slice:
        """Return which vertices a wall has."""
        return slice(int(self._vertex_rows[wall]), int(self._vertex_rows[wall + 1]))

    def _lay_out_drives(self, count: int) -> None:
        self.driven = list(self.drives.values())
        self.driven_row = np.full(count, -1, np.int64)
        self.driven_row[list(self.drives)] = np.arange(len(self.drives))
        self.along, self.about = np.zeros((count, 3)), np.zeros((count, 3))
        self.inverse_mass, self.inverse_inertia = np.zeros((count, 3)), np.zeros((count, 3, 3))
        self.counted = (self.driven_row < 0).astype(np.float64)
        for wall, drive in self.drives.items():
            self.along[wall], self.about[wall] = drive.along, drive.about
            self.inverse_mass[wall] = drive.inverse_mass

    def _centre_of(self, wall: int) -> NDArray[np.float64]:
        """Return the point about which torques on a wall are taken, at time 0 [m]."""
        return self.drives[wall].centre if wall in self.drives else self.motions[wall].centre

    def _pose(self, wall: int, time: float, *, before: bool = False) -> Pose:
        """Return where a wall is at a time; a driven one at the end of its last step, or `before` it."""
        if wall not in self.drives:
            return self.motions[wall].pose(time)
        return self.drives[wall].then(time) if before else self.drives[wall].now(time)

    def _box_of(self, wall: int) -> NDArray[np.float64]:
        """Return the corners of a box around a wall at time 0 [m]."""
        own = self._vertices[self._vertex_rows[wall] : self._vertex_rows[wall + 1]]
        low, high = own.min(axis=0), own.max(axis=0)
        return np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, 8).T

    def place(self, time: float, before: float) -> None:
        """Put every moving wall where it is at a time; velocities are also averaged since the time before [s]."""
        if self._times == (time, before):
            return
        self._times = time, before
        for number, wall in enumerate(self._moving):
            now = self._pose(wall, time)
            self.centre[wall] = now.place(self._centre_of(wall))
            self._set_velocity(wall, now)
            self._average(wall, now, time, before)
            if wall in self.drives:
                self.inverse_inertia[wall] = self.drives[wall].inverse_inertia()
            self._before[number] = self._places[number]
            self._places[number] = now.place(self._corners[number])
            self._poses[number] = now
        self._move(self._watched)

    def place_all(self) -> None:
        """Bring all vertices and normals up to the present time."""
        if not self._rests:
            self.vertices[:], self.normals[:] = self._vertices, self._normals
            self._rests = True
        if self._watched is not None:
            self._move(None)

    def watch(self, facets: NDArray[np.int64]) -> None:
        """Let `place` move only these facets (others may repeat) and all that have a vertex with them in common.

        A large mesh that few particles are near then costs no more than a small one.
        """
        if not self._moving:
            return
        mesh = self.mesh
        near = _marked(mesh.facet_count, facets)
        nodes = members_of(mesh.facet_start, mesh.facet_vertices, np.flatnonzero(near))
        around = np.flatnonzero(_marked(mesh.vertex_count, nodes))
        chosen = np.flatnonzero(
            _marked(mesh.facet_count, members_of(mesh.vertex_facet_start, mesh.vertex_facet_ids, around))
        )
        nodes = members_of(mesh.facet_start, mesh.facet_vertices, chosen)
        nodes = np.flatnonzero(_marked(mesh.vertex_count, nodes))
        if not self._rests:
            self.vertices[nodes], self.normals[chosen] = self._vertices[nodes], self._normals[chosen]
        self._watched = nodes, chosen
        self._move(self._watched)

    def places_of(self, vertices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the present places of some vertices, whether they are watched or not."""
        places = self._vertices[vertices]
        walls = np.searchsorted(self._vertex_rows, vertices, side="right") - 1
        for pose, wall in zip(self._poses, self._moving, strict=True):
            _place(np.flatnonzero(walls == wall), pose.rotation, pose.shift, places, places)
        return places

    def _move(self, watched: tuple[NDArray[np.int64], NDArray[np.int64]] | None) -> None:
        """Write the present places of vertices and facets, all if there are none to watch."""
        for pose, wall in zip(self._poses, self._moving, strict=True):
            own = [slice(*rows[wall : wall + 2].tolist()) for rows in (self._vertex_rows, self._facet_rows)]
            if watched is None:
                nodes, facets = (np.arange(one.start, one.stop) for one in own)
            else:
                nodes, facets = (
                    rows[slice(*np.searchsorted(rows, (one.start, one.stop)))]
                    for rows, one in zip(watched, own, strict=True)
                )
            _place(nodes, pose.rotation, pose.shift, self._vertices, self.vertices)
            _place(facets, pose.rotation, np.zeros(3), self._normals, self.normals)

    def _set_velocity(self, wall: int, now: Pose) -> None:
        self.angular_velocity[wall] = now.spin
        self.velocity[wall] = now.velocity(self.centre[wall])

    def begin_step(self, before: float, time: float) -> None:
        """Let driven walls begin a step; `place` puts them where they are then."""
        for drive in self.driven:
            drive.begin(before, time - before)
        if self.driven:
            self._times = -math.inf, -math.inf

    def finish_step(self, loads: NDArray[np.float64], time: float, half: float) -> None:
        """Give driven walls the loads (D, 8) of their new places for half a step [s]."""
        for (wall, drive), load in zip(self.drives.items(), loads, strict=True):
            drive.finish(load, time, half)
            self._set_velocity(wall, drive.now(time))

    def driven_ways(self) -> dict[int, float]:
        """Return by wall how far the corners of the driven ones went in the last step, at most [m]."""
        ways = {}
        for wall in self.drives:
            number = self._moving.index(wall)
            ways[wall] = float(
                np.sqrt(((self._places[number] - self._before[number]) ** 2).sum(axis=-1)).max()
            )
        return ways

    def driven_state(self) -> NDArray[np.float64]:
        """Return the state of all driven walls, a row for each."""
        return np.array([drive.state() for drive in self.driven]).reshape(len(self.driven), -1)

    def adopt_driven(self, state: NDArray[np.float64]) -> None:
        """Go on from a state of the driven walls; `place` puts them there."""
        for drive, row in zip(self.driven, state, strict=True):
            drive.adopt(row)
        self._times = -math.inf, -math.inf

    def _average(self, wall: int, now: Pose, time: float, before: float) -> None:
        """Find the mean velocities since a time before; there are none if no time has passed."""
        step = time - before
        if step == 0.0:
            x, y, z = self.angular_velocity[wall]
            self.mean_turn[wall] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
            self.mean_velocity[wall] = self.velocity[wall]
            return
        then = self._pose(wall, before, before=True)
        self.mean_turn[wall] = (np.eye(3) - then.rotation @ now.rotation.T) / step
        self.mean_velocity[wall] = (self.centre[wall] - then.place(self._centre_of(wall))) / step

    def note_places(self) -> None:
        """Let `moved` count from where the walls are now."""
        self._listed[:] = self._places

    @property
    def moves(self) -> bool:
        """Whether any wall moves at all."""
        return bool(self._moving)

    @property
    def moved(self) -> float:
        """How far any point of the walls is from where it was at `note_places`, at most [m].

        The displacement is linear in the place, so that nothing inside a box moves farther than its corners.
        """
        return float(np.sqrt(((self._places - self._listed) ** 2).sum(axis=-1)).max(initial=0.0))
