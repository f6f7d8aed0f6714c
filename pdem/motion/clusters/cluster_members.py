"""Positions and velocities of the members of rigid clusters, one member after the other, for output.

The clusters themselves are stored in columns (`pdem.motion.clusters.cluster_blocks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.motion.clusters.cluster_blocks import (
    CX,
    INVERSE_MASS,
    PERIODS,
    SCALE,
    SPIN,
    STRIDE,
    VX,
    read_inertia,
    read_now,
)
from pdem.motion.clusters.member_blocks import SPHERE, lane_of, row_of
from pdem.motion.displacement import box_work_of, drifted
from pdem.motion.inverse_masses import write_tensor
from pdem.motion.rigid_rotation import to_space_by
from pdem.numerics.box_images import images_in, in_frame, power
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import exact_cross3, exact_plus3, get3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.motion.clusters.cluster_blocks import Block, ClusterArrays, Members
    from pdem.motion.integration import StepColumns
    from pdem.numerics.vectors import Vector


@inlined_geometry
def _arm(block: Block, s: int, c: int, clusters: ClusterArrays, members: Members) -> Vector:
    """Return the vector from the centre of cluster c of a block to its member s, in space [m]."""
    w, at = offset(block.at, c), SPHERE * (members.sphere[lane_of(block, s, c)] & ROW)
    scale, spheres = clusters.work[w + SCALE], clusters.spheres
    away = scale * spheres[at], scale * spheres[at + 1], scale * spheres[at + 2]
    return to_space_by(read_now(clusters.work, w), away)


@inlined_geometry
def count_periods(block: Block, order: Int32s, clusters: ClusterArrays) -> None:
    """Add the periods that centres have crossed to the images of their clusters."""
    image, work = clusters.image, clusters.work
    for c in range(block.size):
        row = order[np.uint64(block.first + c)] & ROW
        a, b, d = get3(work, offset(block.at, c) + PERIODS, STRIDE)
        if (a != 0.0) | (b != 0.0) | (d != 0.0):
            image[row, 0] += np.int32(a)
            image[row, 1] += np.int32(b)
            image[row, 2] += np.int32(d)


@inlined_geometry
def write_tensors_of(block: Block, clusters: ClusterArrays, members: Members) -> None:
    """Write the inverse mass tensors of members, and nothing else."""
    work = clusters.work
    for c in range(block.size):
        w = offset(block.at, c)
        inertia = read_inertia(work, w)
        for s in range(block.members):
            arm = _arm(block, s, c, clusters, members)
            write_tensor(row_of(block, s, c, members), arm, work[w + INVERSE_MASS], inertia, clusters.tensor)


@inlined_geometry
def show_members(
    block: Block, sides: Floats, box: Any, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write velocities into the columns of members; in a deforming box, the velocities of the wrapped images."""
    work = clusters.work
    for c in range(block.size):
        w = offset(block.at, c)
        centre, velocity, spin = (get3(work, w + CX, STRIDE), get3(work, w + VX, STRIDE), get3(work, w + SPIN, STRIDE))
        for s in range(block.members):
            p, arm = row_of(block, s, c, members), _arm(block, s, c, clusters, members)
            speed = exact_plus3(velocity, exact_cross3(spin, arm))
            if box is not None:
                there = exact_plus3(centre, arm)
                _, speed, _, _ = drifted((0.0, 0.0, 0.0), there, speed, there, sides, images_in(box))
            for axis in range(3):
                columns.velocity[p, axis], columns.angular_velocity[p, axis] = speed[axis], spin[axis]


@inlined_geometry
def write_places(block: Block, clusters: ClusterArrays, members: Members, columns: StepColumns) -> None:
    """Write positions, which are not wrapped, images and velocities into the columns of members."""
    image, work = clusters.image, clusters.work
    for c in range(block.size):
        w, cluster = offset(block.at, c), members.order[np.uint64(block.first + c)] & ROW
        centre, velocity, spin = (get3(work, w + CX, STRIDE), get3(work, w + VX, STRIDE), get3(work, w + SPIN, STRIDE))
        for s in range(block.members):
            p, arm = row_of(block, s, c, members), _arm(block, s, c, clusters, members)
            speed = exact_plus3(velocity, exact_cross3(spin, arm))
            for axis in range(3):
                columns.velocity[p, axis], columns.angular_velocity[p, axis] = speed[axis], spin[axis]
                columns.position[p, axis] = centre[axis] + arm[axis]
                columns.image[p, axis] = image[cluster, axis]


@inlined_geometry
def add_work_on_centres(
    block: Block, dt: float, clusters: ClusterArrays, members: Members, columns: StepColumns, box: Any
) -> None:
    """Add the work that the deformation of the box does in a step on the motion of clusters relative to the box.

    The work on a cluster is added to the account of its first member.
    """
    if box is not None:
        work = clusters.work
        for c in range(block.size):
            w = offset(block.at, c)
            centre, velocity = get3(work, w + CX, STRIDE), get3(work, w + VX, STRIDE)
            done = box_work_of(centre, velocity, work[w + INVERSE_MASS], dt, images_in(box))
            columns.box_work[row_of(block, 0, c, members)] += done


@inlined_geometry
def add_work_by_arms(
    block: Block, dt: float, clusters: ClusterArrays, members: Members, columns: StepColumns, box: Any
) -> None:
    """Add the work that the deformation of the box does along the arms from cluster centres to members.

    The box moves the centre of a cluster, but contacts count its work at the members.
    """
    if box is not None:
        force, frame = columns.force, images_in(box).frame
        for c in range(block.size):
            done = 0.0
            for s in range(block.members):
                p, arm = row_of(block, s, c, members), _arm(block, s, c, clusters, members)
                pull = in_frame((force[p, 0], force[p, 1], force[p, 2]), frame)
                done -= power(pull, in_frame(arm, frame), frame)
            columns.box_work[row_of(block, 0, c, members)] += dt * done
