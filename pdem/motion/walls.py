"""Walls that move as rigid bodies: by prescribed motions, which are functions of the time, or driven by particles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation import exact_math
from pdem.motion.placing import (
    ANCHOR,
    ANCHOR_VELOCITY,
    ANGULAR_VELOCITY,
    CENTRE,
    CORNERS,
    ROWS,
    VELOCITY,
    largest_displacement,
    largest_distance,
    write_mean_velocity,
    write_state,
)
from pdem.motion.planned_walls import PlannedWalls
from pdem.motion.poses import REST
from pdem.motion.surfaces import MovingSurfaces
from pdem.motion.watched_mesh import WatchedMesh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
    from pdem.motion.drives import Drive
    from pdem.motion.motions import RigidMotion
    from pdem.motion.poses import Pose
    from pdem.motion.surfaces import SurfaceCourse

    Facets = Integers | None


def _within(rows: Integers) -> Integers:
    """Return the index of each element within its group, for groups given by first and last indices."""
    return np.arange(rows[-1]) - np.repeat(rows[:-1], np.diff(rows))


def _extent(points: Floats) -> Floats:
    """Return the lowest and the highest coordinates (2, 3) of points (n, 3)."""
    return np.array((points.min(axis=0), points.max(axis=0)))


class MovingWalls:
    """All walls at the present time.

    Parameters
    ----------
    mesh : Mesh
        All walls joined, at time 0.
    facet_wall, vertex_wall : int arrays, shapes (F,) and (V,)
        Wall of each facet and vertex, rising.
    motions : sequence of RigidMotion
        One per wall.
    facet_origin, vertex_origin : int arrays, shapes (F,) and (V,), optional
        Indices of facets and vertices in the meshes of the walls; by default consecutive within each wall.
    drives : mapping of int to Drive, optional
        Drives by wall index, for walls that particles drive.
    surfaces : mapping of int to SurfaceCourse, optional
        Courses by wall index, for walls with a moving surface.
    placed : bool
        Whether all vertices and normals are up to date from the beginning. Otherwise only the facets of `watch` are,
        and memory pages of the other facets are not touched: a rank holds only its own part of a large mesh, until
        `place_all`.

    Attributes
    ----------
    vertices, normals : (V, 3) and (F, 3) arrays
        Present positions [m] and unit normals: of all vertices and facets at `place_all`, later only near the facets
        that `watch` has named. They are the arrays of the mesh itself where no wall moves.
    centre : (W, 3) array
        Present reference point of torques on each wall [m]: the centre of rotation of the part that turns the wall, the
        centre of mass of a body, the origin of space for a wall without rotation.
    angular_velocity, velocity : (W, 3) arrays
        Angular velocity [rad/s], and velocity of the wall at the centre [m/s].
    anchor, anchor_velocity : (W, 3) arrays
        Present position and velocity of a point of each wall [m, m/s], from which contacts count its motion.
    velocity_gradient, mean_velocity : (W, 3, 3) and (W, 3) arrays
        Over the last step the body point that is now at x has moved at the mean velocity
        ``mean_velocity + velocity_gradient (x - anchor)`` [1/s, m/s].
    displacements : (W,) array
        Largest displacement in the last step of a corner of a box around each wall [m].
    largest_displacement : float
        The largest of `displacements` [m].
    driven : list of Drive
        All drives, in the order of their walls.
    driven_row : (W,) int64 array
        Index of each wall in `driven`, -1 for walls without a drive.
    translation_axis, rotation_axis : (W, 3) arrays
        Direction of translation and rotation axis of a driven wall, see `Drive`.
    inverse_mass, inverse_inertia : (W, 3) and (W, 3, 3) arrays
        Of free bodies, zeros for other walls [1/kg, 1/(kg m^2)].
    counted : (W,) array
        1 if the work of the wall is added up contact by contact, 0 if it is driven.
    surfaces : MovingSurfaces
        Motion of surfaces relative to their walls.
    planned : PlannedWalls or None
        The next steps of walls with prescribed motions; None if there are none, or if other walls move as well.
    placed : WatchedMesh
        Present vertices and normals of the walls.
    present : (W,) bool array
        Which walls are present; `set_present` changes it. An absent wall has no contacts, and no load moves it.
    present_facets : (f,) int64 array or None
        Facets of the present walls, rising; None if all walls are present.
    """

    def __init__(
        self,
        mesh: Mesh,
        facet_wall: Int32s,
        vertex_wall: Int32s,
        motions: Sequence[RigidMotion],
        facet_origin: Integers | None = None,
        vertex_origin: Integers | None = None,
        drives: Mapping[int, Drive] | None = None,
        surfaces: Mapping[int, SurfaceCourse] | None = None,
        *,
        placed: bool = True,
    ) -> None:
        self.mesh = mesh
        self.facet_wall = facet_wall
        self.motions = tuple(motions)
        count = len(self.motions)
        facet_rows, vertex_rows = (np.searchsorted(walls, np.arange(count + 1)) for walls in (facet_wall, vertex_wall))
        self.facet_origin = _within(facet_rows) if facet_origin is None else facet_origin
        self.vertex_origin = _within(vertex_rows) if vertex_origin is None else vertex_origin
        self._state = np.zeros((ROWS, count, 3))
        self.anchor, self.anchor_velocity = self._state[ANCHOR], self._state[ANCHOR_VELOCITY]
        self.centre, self.velocity = self._state[CENTRE], self._state[VELOCITY]
        self.angular_velocity = self._state[ANGULAR_VELOCITY]
        self.velocity_gradient, self.mean_velocity = np.zeros((count, 3, 3)), np.zeros((count, 3))
        self.displacements, self.largest_displacement = np.zeros(count), 0.0
        self.drives = dict(sorted((drives or {}).items()))
        self._lay_out_drives(count)
        self._moving = [wall for wall, motion in enumerate(self.motions) if motion.moves or wall in self.drives]
        self.placed = WatchedMesh(mesh, facet_rows, vertex_rows, self._moving, placed=placed)
        self.vertices, self.normals = self.placed.vertices, self.placed.normals
        self._centres = [self._centre_of(wall) for wall in range(count)]
        self.anchor[:] = self.centre[:] = np.array(self._centres).reshape(count, 3)
        self._first_extents: dict[int, Floats] = {}
        self._corners = {wall: self._box_of(wall).reshape(-1) for wall in self._moving}
        self.surfaces = MovingSurfaces(count, surfaces or {})
        self.planned = self._make_plan()
        self._poses: dict[int, Pose] = {}
        self._before: dict[int, Pose] = {}  # at the start of the step
        self._rest: dict[int, Pose] = {}  # poses of walls that did not move in the last step
        self._listed = np.zeros((ROWS - CORNERS, count, 3))
        self.present = np.ones(count, np.bool_)
        self.present_facets: Facets = None
        self._times = -math.inf, -math.inf
        self._begun = False  # whether driven walls have begun a step and are not placed yet
        self.place(0.0, 0.0)
        self.note_places()

    def _make_plan(self) -> PlannedWalls | None:
        """Return the planner of the walls' steps, None if there is a driven wall or a moving surface without a plan."""
        moving = self._moving
        if not moving or self.drives or self.surfaces.vary or not set(moving).isdisjoint(self.surfaces.courses):
            return None
        motions, corners = [self.motions[wall] for wall in moving], [self._corners[wall] for wall in moving]
        centres = np.array([self._centres[wall] for wall in moving])
        targets = self._state, self.velocity_gradient, self.mean_velocity
        return PlannedWalls(moving, motions, centres, np.array(corners), self.placed, *targets)

    def set_present(self, present: Booleans) -> None:
        """Set which walls are present. The facet lists must be made again; loads on absent walls end."""
        for wall, drive in self.drives.items():
            if not present[wall]:
                drive.last_load = np.zeros_like(drive.last_load)
        self.present = present.copy()
        if self.planned is not None:
            self.planned.drop()
        self.present_facets = None if present.all() else np.flatnonzero(present[self.facet_wall])

    def there(self, facets: Integers) -> Integers:
        """Return the facets that belong to present walls, out of some facets."""
        return facets if self.present_facets is None else facets[self.present[self.facet_wall[facets]]]

    def _lay_out_drives(self, count: int) -> None:
        self.driven = list(self.drives.values())
        self.driven_row = np.full(count, -1, np.int64)
        self.driven_row[list(self.drives)] = np.arange(len(self.drives))
        self.translation_axis, self.rotation_axis = np.zeros((count, 3)), np.zeros((count, 3))
        self.inverse_mass, self.inverse_inertia = np.zeros((count, 3)), np.zeros((count, 3, 3))
        self.counted = (self.driven_row < 0).astype(np.float64)
        for wall, drive in self.drives.items():
            self.translation_axis[wall], self.rotation_axis[wall] = (drive.translation_axis, drive.rotation_axis)
            self.inverse_mass[wall] = drive.inverse_mass

    def _centre_of(self, wall: int) -> Floats:
        """Return the reference point of torques on a wall at time 0."""
        return self.drives[wall].centre if wall in self.drives else self.motions[wall].centre

    def _poses_of(self, wall: int, time: float, before: float) -> tuple[Pose, Pose, Pose]:
        """Return the poses of a wall and of the frame of its centre at a time, and the wall's pose at the time before.

        For a driven wall these are the end and the start of its last step.
        """
        motion, drive = self.motions[wall], self.drives.get(wall)
        if before == self._placed_at:
            then = self._poses[wall]
        else:
            then = motion.pose(before) if drive is None else drive.then(before)
        if drive is None:
            return motion.pose(time), motion.frame(time), then
        now = drive.now(time)
        return now, drive.frame(time, now), then

    def pose_of(self, wall: int) -> Pose:
        """Return the pose of a wall."""
        return self._poses.get(wall, REST)

    def _box_of(self, wall: int) -> Floats:
        """Return the corners of a box around a wall at time 0 [m]."""
        return np.array(np.meshgrid(*self.first_extent(wall).T)).reshape(3, 8).T

    def first_extent(self, wall: int) -> Floats:
        """Return the lowest and the highest coordinates (2, 3) of a wall at time 0 [m]; measured once."""
        if wall not in self._first_extents:
            self._first_extents[wall] = _extent(self.placed.first_vertices(wall))
        return self._first_extents[wall]

    def extent(self, wall: int) -> Floats:
        """Return the lowest and the highest present coordinates (2, 3) of a wall [m]."""
        pose = self.pose_of(wall)
        return self.first_extent(wall) if pose is REST else _extent(pose.place(self.placed.first_vertices(wall)))

    def place(self, time: float, before: float) -> None:
        """Move every moving wall to its pose at a time; velocities are also averaged since the time before [s]."""
        if self._times == (time, before) and not self._begun:
            return
        self._begun = False
        self._placed_at, self._times = self._times[0], (time, before)
        self.largest_displacement = 0.0
        for wall in self._moving:
            now, frame, then = self._poses_of(wall, time, before)
            if now is then and self._rest.get(wall) is now:
                continue
            moved = self._poses.get(wall) is not now
            self._poses[wall] = now
            self._write_state(wall, now, frame, then, time - before)
            if moved:
                self.placed.move(wall, now)
        self.surfaces.place(time, self._poses)

    def adopt_planned(self, step: int, time: float, before: float) -> None:
        """Update the state after a kernel has placed all walls by the plan of a step, at this time [s]."""
        assert self.planned is not None
        now, then, displacements = self.planned.at(step)
        self._poses.update(zip(self.planned.walls, now, strict=True))
        self._before.update(zip(self.planned.walls, then, strict=True))
        self._rest.clear()
        self.displacements[list(self.planned.walls)] = displacements
        self.largest_displacement = float(displacements.max())
        self._times = time, before

    def planned_steps(self, step: int, last: int, time_of: Callable[[int], float], limits: tuple[float, float]) -> int:
        """Return the number of steps after `step`, up to `last`, in which a kernel can place the walls.

        `limits` are the largest distance of a wall from its position at `note_places`, and its largest displacement in
        a step [m]; see `PlannedWalls.steps`.
        """
        assert self.planned is not None
        return self.planned.steps(step, last, time_of, self.present, (self._listed, *limits))

    def _write_state(self, wall: int, now: Pose, frame: Pose, then: Pose, step: float) -> None:
        """Write position and velocities of a wall, and store whether it rested throughout the step."""
        centre, corners = self._centres[wall], self._corners[wall]
        write_state(now.numbers, frame.numbers, centre, corners, wall, self._state)
        still = write_mean_velocity(
            now.numbers, then.numbers, centre, step, wall, self._state, self.velocity_gradient, self.mean_velocity
        )
        self._before[wall] = then
        moved = now is not then and self.present[wall]
        displacement = largest_displacement(then.numbers, corners, wall, self._state) if moved else 0.0
        self.displacements[wall], self.largest_displacement = (
            displacement,
            max(self.largest_displacement, displacement),
        )
        if wall in self.drives:
            self.inverse_inertia[wall] = self.drives[wall].inverse_inertia()
        if still and now is then:
            self._rest[wall] = now

    def place_all(self) -> None:
        """Bring all vertices and normals up to the present time."""
        self.placed.place_all(self._poses)

    def watch(self, facets: Integers) -> None:
        """Restrict `place` to these facets (repetitions are allowed) and to all facets that share a vertex with them.

        A large mesh with particles near few of its facets then costs as little as a small mesh.
        """
        if self._moving:
            self.placed.watch(facets, self._poses)

    def places_of(self, vertices: Integers) -> Floats:
        """Return the present positions of some vertices, watched or not."""
        return self.placed.places_of(vertices, self._poses)

    def begin_step(self, before: float, time: float) -> None:
        """Begin a step of the driven walls; `place` then moves them."""
        for wall, drive in self.drives.items():
            if self.present[wall]:
                drive.begin(before, time - before)
        self._begun = bool(self.driven)

    def finish_step(self, loads: Floats, time: float, half: float) -> None:
        """Pass the loads (D, 8) at the new positions to the driven walls, for half a step [s]."""
        for (wall, drive), load in zip(self.drives.items(), loads, strict=True):
            if not self.present[wall]:
                continue
            drive.finish(load, time, half)
            now = drive.now(time)
            write_state(
                now.numbers, drive.frame(time, now).numbers, self._centres[wall], self._corners[wall], wall, self._state
            )

    def passage(self, wall: int) -> tuple[float, Floats, Floats]:
        """Return the largest displacement of a vertex of a wall in the last step [m], and a box around its passage.

        The box, given by its lower and its upper corner, contains all vertices before and after the step.
        """
        points = self.placed.first_vertices(wall)
        now, then = self._poses[wall].place(points), self._before[wall].place(points)
        both = np.concatenate((now, then))
        displacement = float(exact_math.norm(now - then).max())
        return displacement, both.min(axis=0), both.max(axis=0)

    def driven_state(self) -> Floats:
        """Return the state of all driven walls, a row for each."""
        return np.array([drive.state() for drive in self.driven]).reshape(len(self.driven), -1)

    def adopt_driven(self, state: Floats) -> None:
        """Restore a saved state of the driven walls; `place` then moves them."""
        for drive, row in zip(self.driven, state, strict=True):
            drive.load_state(row)
        self._times = -math.inf, -math.inf

    def note_places(self) -> None:
        """Store the present positions of the walls as the reference of `moved`."""
        self._listed[:] = self._state[CORNERS:]

    @property
    def moves(self) -> bool:
        """Whether any wall moves at all."""
        return bool(self._moving)

    @property
    def moved(self) -> float:
        """Upper bound of the distance of any wall point from its position at `note_places` [m].

        The displacement is linear in the position, so that no point of a box moves farther than its corners.
        """
        return float(largest_distance(self._state, self._listed)) if self._moving else 0.0
