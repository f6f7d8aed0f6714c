"""The members of rigid clusters, one after the other: where they are and how fast, as output needs it.

Their clusters stand in columns (`pdem.motion.cluster_blocks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.box_images import images_in, in_frame, power
from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.vectors import exact_cross3, exact_plus3, get3
from pdem.motion.cluster_blocks import (
    CX,
    INVERSE_MASS,
    PERIODS,
    SCALE,
    SHAPE,
    SPIN,
    STRIDE,
    VX,
    read_inertia,
    read_now,
)
from pdem.motion.displacement import box_work_of, drifted
from pdem.motion.integration import (
    StepColumns,
)
from pdem.motion.inverse_masses import write_tensor
from pdem.motion.rigid_rotation import to_space_by
from pdem.simd.places import ROW, offset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.clusters import ShapeArrays
    from pdem.foundation.vectors import Vector
    from pdem.motion.cluster_blocks import Block, ClusterArrays

    Floats = NDArray[np.float64]


class Members(NamedTuple):
    """Some clusters of a rank, and the rows of their members.

    Attributes
    ----------
    order : (n,) int32 array
        Rows of the clusters.
    first : (n + 1,) int64 array
        The members of the cluster ``order[k]`` stand in `row` from ``first[k]`` to ``first[k + 1]``.
    row : (N,) int32 array
        Rows of particles.
    sphere : (N,) int32 array
        Which sphere of its shape each is.
    """

    order: NDArray[np.int32]
    first: NDArray[np.int64]
    row: NDArray[np.int32]
    sphere: NDArray[np.int32]


@inlined_geometry
def _offset(k: int, scale: float, shapes: ShapeArrays) -> Vector:
    """Return where sphere k of all shapes is from the centre of mass, along principal axes [m]."""
    return scale * shapes.offset[k, 0], scale * shapes.offset[k, 1], scale * shapes.offset[k, 2]


@inlined_geometry
def count_periods(block: Block, order: NDArray[np.int32], clusters: ClusterArrays) -> None:
    """Add the periods that centres have crossed to the images of their clusters."""
    (at, first, count), image, work = block, clusters.image, clusters.work
    for c in range(count):
        row, (a, b, d) = order[np.uint64(first + c)] & ROW, get3(work, offset(at, c) + PERIODS, STRIDE)
        if (a != 0.0) | (b != 0.0) | (d != 0.0):
            image[row, 0] += np.int32(a)
            image[row, 1] += np.int32(b)
            image[row, 2] += np.int32(d)


@inlined_geometry
def write_tensors_of(block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Write the inverse mass tensors of members alone."""
    (at, first, count), work = block, clusters.work
    for c in range(count):
        w, k = offset(at, c), np.uint64(first + c)
        begin, scale = shapes.begin[int(work[w + SHAPE]) & ROW], work[w + SCALE]
        now, inertia = read_now(work, w), read_inertia(work, w)
        for m in range(members.first[k], members.first[k + np.uint64(1)]):
            sphere = (begin + members.sphere[np.uint64(m)]) & ROW
            arm = to_space_by(now, _offset(sphere, scale, shapes))
            write_tensor(members.row[np.uint64(m)], arm, work[w + INVERSE_MASS], inertia, clusters.tensor)


@inlined_geometry
def show_members(
    block: Block, sides: Floats, box: Any, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns,
) -> None:  # fmt: skip
    """Write velocities into the columns of members: where the box deforms, those of the images that are in it."""
    (at, first, count), work = block, clusters.work
    for c in range(count):
        w, k = offset(at, c), np.uint64(first + c)
        begin, scale = shapes.begin[int(work[w + SHAPE]) & ROW], work[w + SCALE]
        now, centre, velocity = (
            read_now(work, w),
            get3(work, w + CX, STRIDE),
            get3(work, w + VX, STRIDE),
        )
        spin = get3(work, w + SPIN, STRIDE)
        for m in range(members.first[k], members.first[k + np.uint64(1)]):
            p, sphere = members.row[np.uint64(m)] & ROW, (begin + members.sphere[np.uint64(m)]) & ROW
            arm = to_space_by(now, _offset(sphere, scale, shapes))
            speed = exact_plus3(velocity, exact_cross3(spin, arm))
            if box is not None:
                there = exact_plus3(centre, arm)
                _, speed, _, _, _ = drifted((0.0, 0.0, 0.0), there, speed, there, sides, images_in(box))
            for axis in range(3):
                columns.velocity[p, axis], columns.angular_velocity[p, axis] = speed[axis], spin[axis]


@inlined_geometry
def write_places(
    block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:  # fmt: skip
    """Write positions, which are not wrapped, images and velocities into the columns of members."""
    (at, first, count), image, work = block, clusters.image, clusters.work
    for c in range(count):
        w, k = offset(at, c), np.uint64(first + c)
        begin, scale = shapes.begin[int(work[w + SHAPE]) & ROW], work[w + SCALE]
        now, centre, velocity = (
            read_now(work, w),
            get3(work, w + CX, STRIDE),
            get3(work, w + VX, STRIDE),
        )
        spin, cluster = get3(work, w + SPIN, STRIDE), members.order[k] & ROW
        for m in range(members.first[k], members.first[k + np.uint64(1)]):
            p, sphere = members.row[np.uint64(m)] & ROW, (begin + members.sphere[np.uint64(m)]) & ROW
            arm = to_space_by(now, _offset(sphere, scale, shapes))
            speed = exact_plus3(velocity, exact_cross3(spin, arm))
            for axis in range(3):
                columns.velocity[p, axis], columns.angular_velocity[p, axis] = speed[axis], spin[axis]
                columns.position[p, axis] = centre[axis] + arm[axis]
                columns.image[p, axis] = image[cluster, axis]


@inlined_geometry
def add_work_on_centres(
    block: Block, dt: float, clusters: ClusterArrays, members: Members, columns: StepColumns, box: Any
) -> None:
    """Add what the deformation of the box does in a step on the motion of clusters relative to it.

    The account of a cluster is that of its first member.
    """
    if box is not None:
        (at, first, count), work = block, clusters.work
        for c in range(count):
            w = offset(at, c)
            centre, velocity = get3(work, w + CX, STRIDE), get3(work, w + VX, STRIDE)
            done = box_work_of(centre, velocity, work[w + INVERSE_MASS], dt, images_in(box))
            columns.box_work[members.row[members.first[np.uint64(first + c)]] & ROW] += done


@inlined_geometry
def add_work_by_arms(
    block: Block, dt: float, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns,
    box: Any,
) -> None:  # fmt: skip
    """Add what the deformation of the box does by the forces on members, whose branches lead to the centres.

    The box moves the centre of a cluster, contacts count its work at their members.
    """
    if box is not None:
        (at, first, count), work, force = block, clusters.work, columns.force
        for c in range(count):
            w, k, done = offset(at, c), np.uint64(first + c), 0.0
            begin, scale, now = (
                shapes.begin[int(work[w + SHAPE]) & ROW],
                work[w + SCALE],
                read_now(work, w),
            )
            for m in range(members.first[k], members.first[k + np.uint64(1)]):
                p, sphere = members.row[np.uint64(m)] & ROW, (begin + members.sphere[np.uint64(m)]) & ROW
                arm = to_space_by(now, _offset(sphere, scale, shapes))
                frame = images_in(box).frame
                pull = in_frame((force[p, 0], force[p, 1], force[p, 2]), frame)
                done -= power(pull, in_frame(arm, frame), frame)
            columns.box_work[members.row[members.first[k]] & ROW] += dt * done
