"""The members of rigid clusters, one after the other: what acts on them, and where they are and how fast.

Their clusters stand in columns (`pdem.motion.cluster_blocks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation.box_images import power
from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.vectors import exact_cross3, get3, put3
from pdem.motion.cluster_blocks import (
    CX,
    FX,
    INVERSE_MASS,
    PERIODS,
    SCALE,
    SHAPE,
    SPIN,
    STRIDE,
    TX,
    VX,
    read_inertia,
    read_now,
    read_then,
)
from pdem.motion.displacement import box_work_of, drifted, went_too_far
from pdem.motion.integration import (
    FINE,
    LOST,
    PACKED,
    PLACE,
    SPEED,
    STALE,
    FixedColumns,
    Motion,
    StepColumns,
)
from pdem.motion.integration import SPIN as ROW_SPIN
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
def _plus(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined_geometry
def sum_loads(
    block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write into columns the sums of the forces on the members [N], and of their torques about the centres [N m]."""
    (at, first, count), work = block, clusters.work
    force, torque = columns.force, columns.torque
    for c in range(count):
        w, k = offset(at, c), np.uint64(first + c)
        begin, scale, now = shapes.begin[int(work[w + SHAPE]) & ROW], work[w + SCALE], read_now(work, w)
        total, twist = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for m in range(members.first[k], members.first[k + np.uint64(1)]):
            p, sphere = members.row[np.uint64(m)] & ROW, (begin + members.sphere[np.uint64(m)]) & ROW
            f = force[p, 0], force[p, 1], force[p, 2]
            turn = exact_cross3(to_space_by(now, _offset(sphere, scale, shapes)), f)
            own = torque[p, 0] + turn[0], torque[p, 1] + turn[1], torque[p, 2] + turn[2]
            total, twist = _plus(total, f), _plus(twist, own)
        put3(work, w + FX, STRIDE, total)
        put3(work, w + TX, STRIDE, twist)


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
def _pack(p: int, place: Vector, speed: Vector, spin: Vector, packed: Floats) -> None:
    """Write what moves of a packed row; radius, mass and material stand there since lists were made."""
    at = PACKED * (p & ROW)
    for axis in range(3):
        packed[at + PLACE + axis] = place[axis]
        packed[at + SPEED + axis], packed[at + ROW_SPIN + axis] = speed[axis], spin[axis]


@inlined_geometry
def place_members(
    block: Block, dt: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns, fixed: FixedColumns,
) -> int:  # fmt: skip
    """Write packed rows, images and inverse mass tensors of owned members, `dt` [s] after the last time.

    Returns the largest code of `pdem.motion.integration.FINE`.
    """
    (at, first, count), image, work = block, clusters.image, clusters.work
    reference, code = fixed.reference, FINE
    for c in range(count):
        w, k = offset(at, c), np.uint64(first + c)
        begin, scale = shapes.begin[int(work[w + SHAPE]) & ROW], work[w + SCALE]
        now, then, inertia = read_now(work, w), read_then(work, w), read_inertia(work, w)
        centre, velocity = get3(work, w + CX, STRIDE), get3(work, w + VX, STRIDE)
        spin, inverse_mass, cluster = (
            get3(work, w + SPIN, STRIDE),
            work[w + INVERSE_MASS],
            members.order[k] & ROW,
        )
        for m in range(members.first[k], members.first[k + np.uint64(1)]):
            p, sphere = members.row[np.uint64(m)] & ROW, (begin + members.sphere[np.uint64(m)]) & ROW
            away = _offset(sphere, scale, shapes)
            arm = to_space_by(now, away)
            speed = _plus(velocity, exact_cross3(spin, to_space_by(then, away)))
            since = reference[p, 0], reference[p, 1], reference[p, 2]
            x, v, turns, squared, _ = drifted(
                (0.0, 0.0, 0.0), _plus(centre, arm), speed, since, motion.sides, motion.box
            )
            _pack(p, x, v, spin, clusters.packed)
            columns.image[p, 0] = image[cluster, 0] + np.int32(turns[0])
            columns.image[p, 1] = image[cluster, 1] + np.int32(turns[1])
            columns.image[p, 2] = image[cluster, 2] + np.int32(turns[2])
            write_tensor(p, arm, inverse_mass, inertia, clusters.tensor)
            skin, radius = fixed.skin[p], scale * shapes.radius[sphere]
            code = max(code, STALE if squared > skin * skin else FINE)
            if went_too_far(dt * speed[0], dt * speed[1], dt * speed[2], squared, radius):
                code = max(code, LOST + p)
    return code


@inlined_geometry
def place_copies(
    block: Block, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members
) -> None:  # fmt: skip
    """Write packed rows and inverse mass tensors of copies of members."""
    (at, first, count), work = block, clusters.work
    for c in range(count):
        w, k = offset(at, c), np.uint64(first + c)
        begin, scale = shapes.begin[int(work[w + SHAPE]) & ROW], work[w + SCALE]
        now, then, inertia = read_now(work, w), read_then(work, w), read_inertia(work, w)
        centre, velocity, spin = (
            get3(work, w + CX, STRIDE),
            get3(work, w + VX, STRIDE),
            get3(work, w + SPIN, STRIDE),
        )
        for m in range(members.first[k], members.first[k + np.uint64(1)]):
            p, sphere = members.row[np.uint64(m)] & ROW, (begin + members.sphere[np.uint64(m)]) & ROW
            away = _offset(sphere, scale, shapes)
            arm = to_space_by(now, away)
            there = _plus(centre, arm)
            speed = _plus(velocity, exact_cross3(spin, to_space_by(then, away)))
            place, speed, _, _, _ = drifted((0.0, 0.0, 0.0), there, speed, there, motion.sides, motion.box)
            _pack(p, place, speed, spin, clusters.packed)
            write_tensor(p, arm, work[w + INVERSE_MASS], inertia, clusters.tensor)


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
            speed = _plus(velocity, exact_cross3(spin, arm))
            if box is not None:
                there = _plus(centre, arm)
                _, speed, _, _, _ = drifted((0.0, 0.0, 0.0), there, speed, there, sides, box)
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
            speed = _plus(velocity, exact_cross3(spin, arm))
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
            done = box_work_of(centre, velocity, work[w + INVERSE_MASS], dt, box)
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
                done -= power((force[p, 0], force[p, 1], force[p, 2]), arm, box)
            columns.box_work[members.row[members.first[k]] & ROW] += dt * done
