"""Walls that move as given, placed by a kernel in each of many steps.

Poses are functions of the time alone. Those of the next steps are asked for at once, by the same functions as those of
a single step; what follows from them is written for all these steps, and a kernel that takes the steps copies it to
where contacts read it. Results have the bits of `pdem.motion.walls.MovingWalls.place`.
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
"""Steps that are planned at a time."""

MOST_POSES = 2048
"""Poses of all walls that are planned at a time, unless those of a single step are more."""


class Poses(NamedTuple):
    """Poses of walls in steps, and what follows from them; n steps, m walls that move.

    Attributes
    ----------
    wall : (m,) int64 array
        Numbers of the walls.
    pose, frame : (n + 1, m, 18) and (n, m, 18) arrays
        Poses of the walls before the first step and at the end of each, and then of what their centres rest in.
    moved : (n, m) bool array
        Whether the pose differs from that before.
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
        """Return room for so many steps of some walls."""
        m, n = len(wall), steps
        return cls(
            np.array(wall, np.int64), np.empty((n + 1, m, NUMBERS)), np.empty((n, m, NUMBERS)),
            np.zeros((n, m), np.bool_), np.empty(n), np.empty((n, ROWS, m, 3)), np.empty((n, m, 3, 3)),
            np.empty((n, m, 3)), np.zeros((n, m)),
        )  # fmt: skip


class WallPlaces(NamedTuple):
    """Where kernels place walls: arrays of `pdem.motion.walls.MovingWalls` and `pdem.motion.watched_mesh.WatchedMesh`.

    Attributes
    ----------
    state, gradient, mean : (13, W, 3), (W, 3, 3) and (W, 3) arrays
        Of all walls.
    nodes, facets : int64 arrays
        Vertices and facets that are watched of each wall that moves, wall by wall.
    node_start, facet_start : (m + 1,) int64 arrays
        Where those of each begin.
    first_vertices, first_normals, vertices, normals : (V, 3) and (F, 3) arrays
        At time 0 and now.
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
    """Write what follows from the poses of walls, fields of `Poses`, with these centres (m, 3) and corners (m, 24)."""
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
    """Return how many steps from row `first` on move no wall too far, in a step or from where it was `listed`."""
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
    """Place all walls as in a row of `Poses`; those and `WallPlaces` are plain tuples of their fields."""
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
    """Return how far any wall moves at most in a step [m]: that of a row."""
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
"""Arguments of `place_walls` of the same types, where no wall moves as planned."""


def compile_plan_kernels() -> None:
    """Compile the kernels of this module, if they are not yet."""
    call_of(place_walls, NO_PLAN)
    _follow_poses(NO_PLAN[1], np.zeros((0, 3)), np.zeros((0, 24)), np.zeros(0, np.bool_))
    _steps_within(0, NO_PLAN[1], np.zeros((ROWS - CORNERS, 0, 3)), 0.0, 0.0)


class PlannedWalls:
    """The poses of walls in the next steps.

    Parameters
    ----------
    walls : list of int
        Numbers of the walls that move, each as given.
    motions : sequence of RigidMotion
        Of these walls.
    centres, corners : (m, 3) and (m, 24) arrays
        Of them at time 0, see `pdem.motion.placing.write_state`.
    placed : WatchedMesh
        What is moved with them.
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
        self._first = self._last = 0  # steps of the plan: after `_first`, up to `_last`
        self._poses = Poses.room(walls, 0)
        self._objects: list[tuple[Pose, ...]] = []

    def drop(self) -> None:
        """Forget what is planned: motions may be others from now on."""
        self._first = self._last = 0

    def steps(
        self, step: int, last: int, time_of: Callable[[int], float], present: Booleans,
        limits: tuple[Floats, float, float],
    ) -> int:  # fmt: skip
        """Return how many steps after one can be taken by a kernel; plan them, up to `last`, if they are not yet.

        Parameters
        ----------
        step, last : int
            The present step, and the last one that is known to come without anything that could change motions.
        time_of : callable
            Time of a step [s].
        present : (W,) bool array
            Which walls are there.
        limits : tuple
            Corners (8, W, 3) of walls when facets were listed, how far a wall may be from there, and how far it may
            move in a step [m].
        """
        if not self._first <= step < self._last:
            self._plan(step, min(last, step + max(1, min(MOST_STEPS, MOST_POSES // len(self.walls)))), time_of)
            _follow_poses(tuple(self._poses), self._centres, self._corners, present)
        listed, margin, largest = limits
        listed = np.ascontiguousarray(listed[:, self.walls])
        within = _steps_within(step - self._first, tuple(self._poses), listed, margin, largest)
        return min(within, last - step)

    def _plan(self, step: int, last: int, time_of: Callable[[int], float]) -> None:
        """Ask for the poses of the steps after one."""
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
        """Return poses at a planned step and at the one before, and displacements between them (m,) [m]."""
        row = step - self._first
        return self._objects[row], self._objects[row - 1], self._poses.displacement[row - 1]
