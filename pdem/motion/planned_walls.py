"""Walls with prescribed motions, which a kernel places in each of many steps.

Poses are functions of the time alone. The poses of the next steps are computed together, by the same functions as the
poses of a single step, and so are all numbers that follow from them. A kernel that runs these steps copies the numbers
to the arrays that contacts read. Results have the bits of `pdem.motion.walls.MovingWalls.place`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.motion.placing import (
    CORNERS,
    ROWS,
    largest_displacement,
    largest_distance,
    place_rows,
    write_mean_velocity,
    write_state,
)
from pdem.motion.poses import NUMBERS
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry
from pdem.numerics.kernel_calls import call_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.motion.motions import RigidMotion
    from pdem.motion.poses import Pose
    from pdem.motion.watched_mesh import WatchedMesh

MOST_STEPS = 64
"""Largest number of steps in a plan."""

MOST_POSES = 2048
"""Largest number of poses in a plan, for all walls together; a plan has at least one step."""


class Poses(NamedTuple):
    """Poses of walls in steps, and the numbers that follow from them; n steps, m moving walls.

    Attributes
    ----------
    wall : (m,) int64 array
        Indices of the walls.
    pose, frame : (n + 1, m, 18) and (n, m, 18) arrays
        Poses of the walls before the first step and at the end of each step; and at the end of each step the poses of
        the frames in which their centres rest.
    moved : (n, m) bool array
        Whether the pose differs from the pose before the step.
    step : (n,) array
        Durations of the steps [s].
    state, gradient, mean, displacement : (n, 13, m, 3), (n, m, 3, 3), (n, m, 3) and (n, m) arrays
        See `pdem.motion.placing` and `pdem.motion.walls.MovingWalls`.
    """

    wall: Integers
    pose: Floats
    frame: Floats
    moved: Booleans
    step: Floats
    state: Floats
    gradient: Floats
    mean: Floats
    displacement: Floats

    @classmethod
    def room(cls, wall: Sequence[int], steps: int) -> Poses:
        """Return empty arrays for a number of steps of some walls."""
        m, n = len(wall), steps
        return cls(
            np.array(wall, np.int64), np.empty((n + 1, m, NUMBERS)), np.empty((n, m, NUMBERS)),
            np.zeros((n, m), np.bool_), np.empty(n), np.empty((n, ROWS, m, 3)), np.empty((n, m, 3, 3)),
            np.empty((n, m, 3)), np.zeros((n, m)),
        )  # fmt: skip


class WallPlaces(NamedTuple):
    """Arrays into which kernels write positions and velocities of walls.

    They belong to `pdem.motion.walls.MovingWalls` and `pdem.motion.watched_mesh.WatchedMesh`.

    Attributes
    ----------
    state, gradient, mean : (13, W, 3), (W, 3, 3) and (W, 3) arrays
        States and velocities of all walls.
    nodes, facets : int64 arrays
        Watched vertices and facets of each moving wall, wall by wall.
    node_start, facet_start : (m + 1,) int64 arrays
        First index of each wall in `nodes` and `facets`.
    first_vertices, first_normals, vertices, normals : (V, 3) and (F, 3) arrays
        Vertices and normals at time 0 and at present.
    """

    state: Floats
    gradient: Floats
    mean: Floats
    nodes: Integers
    node_start: Integers
    facets: Integers
    facet_start: Integers
    first_vertices: Floats
    first_normals: Floats
    vertices: Floats
    normals: Floats


@geometry_kernel
def _follow_poses(numbers: tuple[Any, ...], centres: Floats, corners: Floats, present: Booleans) -> None:
    """Write the fields of `Poses` that follow from poses, for centres (m, 3) and corners (m, 24) of the walls."""
    poses = Poses(*numbers)
    for n in range(len(poses.step)):
        for m in range(len(poses.wall)):
            now, then, state = poses.pose[n + 1, m], poses.pose[n, m], poses.state[n]
            write_state(now, poses.frame[n, m], centres[m], corners[m], m, state)
            write_mean_velocity(now, then, centres[m], poses.step[n], m, state, poses.gradient[n], poses.mean[n])
            counts = poses.moved[n, m] and present[poses.wall[m]]
            poses.displacement[n, m] = largest_displacement(then, corners[m], m, state) if counts else 0.0


@geometry_kernel
def _steps_within(first: int, numbers: tuple[Any, ...], listed: Floats, margin: float, largest: float) -> int:
    """Return the number of steps from row `first` on in which no wall moves beyond the limits.

    The limits are the displacement in a step, and the distance from the positions at the facet search.
    """
    poses = Poses(*numbers)
    for n in range(first, len(poses.step)):
        for m in range(len(poses.wall)):
            if not poses.displacement[n, m] <= largest:
                return n - first
        if not largest_distance(poses.state[n], listed) <= margin:
            return n - first
    return len(poses.step) - first


@inlined_geometry
def _write_wall(n: int, m: int, poses: Poses, places: WallPlaces) -> None:
    """Write state and velocities of a wall."""
    wall = poses.wall[m]
    for axis in range(3):
        for row in range(ROWS):
            places.state[row, wall, axis] = poses.state[n, row, m, axis]
        for other in range(3):
            places.gradient[wall, axis, other] = poses.gradient[n, m, axis, other]
        places.mean[wall, axis] = poses.mean[n, m, axis]


@geometry_kernel
def place_walls(row: int, poses: tuple[Any, ...], places: tuple[Any, ...]) -> None:
    """Place all walls at a row of `Poses`; `poses` and `places` are plain tuples of the fields."""
    of_step, to = Poses(*poses), WallPlaces(*places)
    for m in range(len(of_step.wall)):
        _write_wall(row, m, of_step, to)
        if of_step.moved[row, m]:
            nodes = to.nodes[to.node_start[m] : to.node_start[m + 1]]
            facets = to.facets[to.facet_start[m] : to.facet_start[m + 1]]
            place_rows(nodes, of_step.pose[row + 1, m], True, to.first_vertices, to.vertices)
            place_rows(facets, of_step.pose[row + 1, m], False, to.first_normals, to.normals)


@inlined_geometry
def largest_step(row: int, poses: Poses) -> float:
    """Return the largest displacement of any wall in the step of a row [m]."""
    largest = 0.0
    for m in range(len(poses.wall)):
        largest = max(largest, poses.displacement[row, m])
    return largest


_NO_ROWS = np.zeros(0, np.int64), np.zeros(0, np.int64)
NO_PLAN = 0, tuple(Poses.room((), 0)), tuple(
    WallPlaces(
        np.zeros((ROWS, 0, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3)), *_NO_ROWS, *_NO_ROWS,
        *(np.zeros((0, 3)) for _ in range(4)),
    )
)  # fmt: skip
"""Arguments of `place_walls` with the same types, for runs in which no wall follows a plan."""


def compile_plan_kernels() -> None:
    """Compile the kernels of this module, unless they are compiled already."""
    call_of(place_walls, NO_PLAN)
    _follow_poses(NO_PLAN[1], np.zeros((0, 3)), np.zeros((0, 24)), np.zeros(0, np.bool_))
    _steps_within(0, NO_PLAN[1], np.zeros((ROWS - CORNERS, 0, 3)), 0.0, 0.0)


class PlannedWalls:
    """The poses of walls in the next steps.

    Parameters
    ----------
    walls : list of int
        Indices of the walls that move, all with prescribed motions.
    motions : sequence of RigidMotion
        Motions of these walls.
    centres, corners : (m, 3) and (m, 24) arrays
        Centres and corners of these walls at time 0, see `pdem.motion.placing.write_state`.
    placed : WatchedMesh
        Mesh that moves with the walls.
    state, gradient, mean : arrays
        See `WallPlaces`.
    """

    def __init__(
        self,
        walls: Sequence[int],
        motions: Sequence[RigidMotion],
        centres: Floats,
        corners: Floats,
        placed: WatchedMesh,
        state: Floats,
        gradient: Floats,
        mean: Floats,
    ) -> None:
        self.walls = tuple(walls)
        self._motions, self._centres, self._corners, self._placed = motions, centres, corners, placed
        self._targets = state, gradient, mean
        self._first = self._last = 0  # the plan covers the steps after `_first`, up to `_last`
        self._poses = Poses.room(walls, 0)
        self._objects: list[tuple[Pose, ...]] = []

    def drop(self) -> None:
        """Discard the plan: motions may be different from now on."""
        self._first = self._last = 0

    def steps(
        self, step: int, last: int, time_of: Callable[[int], float], present: Booleans,
        limits: tuple[Floats, float, float],
    ) -> int:  # fmt: skip
        """Return the number of steps after `step` that a kernel can run; make a plan, up to `last`, if there is none.

        Parameters
        ----------
        step, last : int
            The present step, and the last step before any event that could change motions.
        time_of : callable
            Time of a step [s].
        present : (W,) bool array
            Which walls are present.
        limits : tuple
            Corners (8, W, 3) of walls at the facet search, the largest distance of a wall from there, and the largest
            displacement of a wall in a step [m].
        """
        if not self._first <= step < self._last:
            self._plan(step, min(last, step + max(1, min(MOST_STEPS, MOST_POSES // len(self.walls)))), time_of)
            _follow_poses(tuple(self._poses), self._centres, self._corners, present)
        listed, margin, largest = limits
        listed = np.ascontiguousarray(listed[:, self.walls])
        within = _steps_within(step - self._first, tuple(self._poses), listed, margin, largest)
        return min(within, last - step)

    def _plan(self, step: int, last: int, time_of: Callable[[int], float]) -> None:
        """Compute the poses of the steps after `step`."""
        self._first, self._last = step, max(step, last)
        self._poses = poses = Poses.room(self.walls, self._last - step)
        before = time_of(step)
        then = tuple(motion.pose(before) for motion in self._motions)
        poses.pose[0] = [one.numbers for one in then]
        self._objects = [then]
        for n in range(len(poses.step)):
            time = time_of(step + 1 + n)
            now = tuple(motion.pose(time) for motion in self._motions)
            poses.step[n] = time - before
            for m, motion in enumerate(self._motions):
                poses.pose[n + 1, m] = now[m].numbers
                poses.frame[n, m], poses.moved[n, m] = motion.frame(time).numbers, now[m] is not then[m]
            self._objects.append(now)
            before, then = time, now

    def arguments(self, step: int) -> tuple[int, tuple[Any, ...], tuple[Any, ...]]:
        """Return arguments of `place_walls` for the step after a planned one."""
        nodes, facets = self._placed.moving_rows
        places = WallPlaces(*self._targets, *nodes, *facets, *self._placed.arrays)
        return step - self._first, tuple(self._poses), tuple(places)

    def at(self, step: int) -> tuple[tuple[Pose, ...], tuple[Pose, ...], Floats]:
        """Return poses at a planned step and at the step before, and displacements between them (m,) [m]."""
        row = step - self._first
        return self._objects[row], self._objects[row - 1], self._poses.displacement[row - 1]
