"""The members of a block of rigid clusters, as columns: one member of each of the clusters at a time.

Clusters stand in columns (`pdem.motion.cluster_blocks`), and so do their first members, then their second ones, and so
on: vector code in which what all members of a cluster share is read where it stands. Clusters with fewer members than
others of their block have their last one again in place of those they lack, which writes the same once more.

`s` is the number of a member among those of its cluster that are here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.box_images import images_in
from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.vectors import exact_cross3, exact_plus3, get3, put3
from pdem.motion.cluster_blocks import (
    BLOCK,
    CX,
    FX,
    INVERSE_MASS,
    MEMBER,
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
from pdem.motion.displacement import drifted, went_too_far
from pdem.motion.integration import FINE, LOST, PACKED, PLACE, SPEED, STALE, FixedColumns, Motion, StepColumns
from pdem.motion.integration import SPIN as ROW_SPIN
from pdem.motion.inverse_masses import TENSOR, tensor_of
from pdem.motion.rigid_rotation import to_space_by
from pdem.simd.columns import column_writer
from pdem.simd.places import ROW, offset
from pdem.simd.transposition import ROWS, columns_to_rows, whole_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.clusters import ShapeArrays
    from pdem.motion.cluster_blocks import Block, ClusterArrays
    from pdem.motion.cluster_members import Members

    Floats = NDArray[np.float64]

AWAY, RADIUS, FORCE, TORQUE, REFERENCE, SKIN, THERE, RATE, TURNS, INVERSE, FAR = (
    np.uint64(MEMBER + BLOCK * k) for k in (0, 3, 4, 7, 4, 7, 8, 11, 14, 17, 23)
)
"""Where columns of members begin: place along principal axes for the scale 1 (3), and radius [m]; force and torque on
each (3 each), and later, at the same place, where it was when lists were made (3) and its skin [m]; place and velocity
(3 each); periods that were taken off the place (3); inverse mass tensor (6); 1 if it went too far, else 0."""

_write_inverse = column_writer([int(INVERSE) + BLOCK * k for k in range(TENSOR)])
_scatter_vector, _scatter_tensor = columns_to_rows(3, BLOCK), columns_to_rows(TENSOR, BLOCK)


@inlined_geometry
def _most_members(block: Block, members: Members) -> int:
    """Return the largest number of members of a cluster of a block."""
    most = 0
    for c in range(block.size):
        k = np.uint64(block.first + c)
        most = max(most, members.first[k + np.uint64(1)] - members.first[k])
    return most


@inlined_geometry
def _place_of(k: int, s: int, members: Members) -> int:
    """Return where member s of cluster k stands in a list of members; of a cluster with fewer the last one."""
    begin, end = members.first[np.uint64(k)], members.first[np.uint64(k) + np.uint64(1)]
    return min(begin + s, end - 1)


@inlined_geometry
def _row_of(k: int, s: int, members: Members) -> int:
    """Return the row of that member among the particles."""
    return members.row[np.uint64(_place_of(k, s, members))] & ROW


@inlined_geometry
def _gather_spheres(block: Block, s: int, shapes: ShapeArrays, members: Members, work: Floats) -> None:
    """Write what the shapes say of members into columns."""
    for c in range(block.size):
        w, place = offset(block.at, c), np.uint64(_place_of(block.first + c, s, members))
        sphere = (shapes.begin[int(work[w + SHAPE]) & ROW] + members.sphere[place]) & ROW
        away = shapes.offset[sphere, 0], shapes.offset[sphere, 1], shapes.offset[sphere, 2]
        put3(work, w + AWAY, STRIDE, away)
        work[w + RADIUS] = shapes.radius[sphere]


@inlined_geometry
def _gather_loads(block: Block, s: int, members: Members, columns: StepColumns, work: Floats) -> None:
    """Write forces and torques of members into columns, 0 for those that are not there."""
    force, torque = columns.force, columns.torque
    for c in range(block.size):
        w, k = offset(block.at, c), np.uint64(block.first + c)
        place = members.first[k] + s
        if place < members.first[k + np.uint64(1)]:
            p = members.row[np.uint64(place)] & ROW
            put3(work, w + FORCE, STRIDE, (force[p, 0], force[p, 1], force[p, 2]))
            put3(work, w + TORQUE, STRIDE, (torque[p, 0], torque[p, 1], torque[p, 2]))
        else:  # sums are never -0, so that this adds nothing to them
            put3(work, w + FORCE, STRIDE, (0.0, 0.0, 0.0))
            put3(work, w + TORQUE, STRIDE, (0.0, 0.0, 0.0))


@inlined_geometry
def sum_loads(
    block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write into columns the sums of the forces on the members [N], and of their torques about the centres [N m].

    Each sum is that of the members in their order.
    """
    (at, _, count), work = block, clusters.work
    for c in range(whole_lanes(count)):
        put3(work, offset(at, c) + FX, STRIDE, (0.0, 0.0, 0.0))
        put3(work, offset(at, c) + TX, STRIDE, (0.0, 0.0, 0.0))
    for s in range(_most_members(block, members)):
        _gather_spheres(block, s, shapes, members, work)
        _gather_loads(block, s, members, columns, work)
        for c in range(whole_lanes(count)):
            w = offset(at, c)
            f, (a, b, d), scale = get3(work, w + FORCE, STRIDE), get3(work, w + AWAY, STRIDE), work[w + SCALE]
            turn = exact_cross3(to_space_by(read_now(work, w), (scale * a, scale * b, scale * d)), f)
            own = exact_plus3(get3(work, w + TORQUE, STRIDE), turn)
            put3(work, w + FX, STRIDE, exact_plus3(get3(work, w + FX, STRIDE), f))
            put3(work, w + TX, STRIDE, exact_plus3(get3(work, w + TX, STRIDE), own))


@inlined_geometry
def _gather_fixed(block: Block, s: int, members: Members, fixed: FixedColumns, work: Floats) -> None:
    """Write into columns what has stayed the same of members since lists were made."""
    reference = fixed.reference
    for c in range(block.size):
        w, p = offset(block.at, c), _row_of(block.first + c, s, members)
        put3(work, w + REFERENCE, STRIDE, (reference[p, 0], reference[p, 1], reference[p, 2]))
        work[w + SKIN] = fixed.skin[p]


@inlined_geometry
def _place(at: int, count: int, dt: float, motion: Motion, work: Floats) -> tuple[int, int]:
    """Write where members are, how fast, and their inverse mass tensors, `dt` [s] after the last time.

    Returns the largest code but `LOST`, and how many went too far.
    """
    stale = lost = 0
    box = images_in(motion.box)
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        (a, b, d), scale, spin = get3(work, w + AWAY, STRIDE), work[w + SCALE], get3(work, w + SPIN, STRIDE)
        away = scale * a, scale * b, scale * d
        arm = to_space_by(read_now(work, w), away)
        velocity = get3(work, w + VX, STRIDE)
        speed = exact_plus3(velocity, exact_cross3(spin, to_space_by(read_then(work, w), away)))
        x, v, turns, squared, _ = drifted(
            (0.0, 0.0, 0.0), exact_plus3(get3(work, w + CX, STRIDE), arm), speed, get3(work, w + REFERENCE, STRIDE),
            motion.sides, box,
        )  # fmt: skip
        skin, counts = work[w + SKIN], c < count
        far = went_too_far(dt * speed[0], dt * speed[1], dt * speed[2], squared, scale * work[w + RADIUS])
        stale += 1 if counts & (squared > skin * skin) else 0
        lost += 1 if counts & far else 0
        put3(work, w + THERE, STRIDE, x)
        put3(work, w + RATE, STRIDE, v)
        put3(work, w + TURNS, STRIDE, turns)
        work[w + FAR] = 1.0 if far else 0.0
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        (a, b, d), scale = get3(work, w + AWAY, STRIDE), work[w + SCALE]
        arm = to_space_by(read_now(work, w), (scale * a, scale * b, scale * d))
        _write_inverse(work, w, tensor_of(arm, work[w + INVERSE_MASS], read_inertia(work, w)))
    return STALE if stale > 0 else FINE, lost


@inlined_geometry
def _scatter(block: Block, s: int, members: Members, clusters: ClusterArrays) -> None:
    """Write what moves of packed rows of members, and their inverse mass tensors.

    Radius, mass and material stand in the rows since lists were made.
    """
    (at, first, count), work, packed, tensor = block, clusters.work, clusters.packed, clusters.tensor
    whole = count & -ROWS
    for c in range(0, whole, ROWS):
        w, k = offset(at, c), first + c
        i, j = _row_of(k, s, members), _row_of(k + 1, s, members)
        m, n = _row_of(k + 2, s, members), _row_of(k + 3, s, members)
        ri, rj, rm, rn = PACKED * i, PACKED * j, PACKED * m, PACKED * n
        _scatter_vector(
            work, w + THERE, packed, ri + PLACE, rj + PLACE, rm + PLACE, rn + PLACE,
        )  # fmt: skip
        _scatter_vector(work, w + RATE, packed, ri + SPEED, rj + SPEED, rm + SPEED, rn + SPEED)
        _scatter_vector(work, w + SPIN, packed, ri + ROW_SPIN, rj + ROW_SPIN, rm + ROW_SPIN, rn + ROW_SPIN)
        _scatter_tensor(work, w + INVERSE, tensor, TENSOR * i, TENSOR * j, TENSOR * m, TENSOR * n)
    for c in range(whole, count):
        w, p = offset(at, c), _row_of(first + c, s, members)
        row = np.uint64(PACKED * p)
        put3(packed, row + np.uint64(PLACE), np.uint64(1), get3(work, w + THERE, STRIDE))
        put3(packed, row + np.uint64(SPEED), np.uint64(1), get3(work, w + RATE, STRIDE))
        put3(packed, row + np.uint64(ROW_SPIN), np.uint64(1), get3(work, w + SPIN, STRIDE))
        for part in range(TENSOR):
            tensor[np.uint64(TENSOR * p + part)] = work[w + INVERSE + np.uint64(BLOCK * part)]


@inlined_geometry
def _write_images(
    block: Block, s: int, members: Members, clusters: ClusterArrays, image: NDArray[np.int32]
) -> None:
    """Write the images of members: those of their clusters, and the periods that were taken off the members."""
    for c in range(block.size):
        w, k = offset(block.at, c), block.first + c
        p, cluster = _row_of(k, s, members), members.order[np.uint64(k)] & ROW
        turns = get3(clusters.work, w + TURNS, STRIDE)
        image[p, 0] = clusters.image[cluster, 0] + np.int32(turns[0])
        image[p, 1] = clusters.image[cluster, 1] + np.int32(turns[1])
        image[p, 2] = clusters.image[cluster, 2] + np.int32(turns[2])


@inlined_geometry
def _last_lost(block: Block, s: int, members: Members, work: Floats) -> int:
    """Return `LOST` + the largest row of a member that went too far."""
    code = FINE
    for c in range(block.size):
        if work[offset(block.at, c) + FAR] > 0.0:
            code = max(code, LOST + _row_of(block.first + c, s, members))
    return code


@inlined_geometry
def place_members(
    block: Block, dt: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns, fixed: FixedColumns,
) -> int:  # fmt: skip
    """Write packed rows, images and inverse mass tensors of owned members, `dt` [s] after the last time.

    Returns the largest code of `pdem.motion.integration.FINE`.
    """
    worst = FINE
    for s in range(_most_members(block, members)):
        _gather_spheres(block, s, shapes, members, clusters.work)
        _gather_fixed(block, s, members, fixed, clusters.work)
        code, lost = _place(block.at, block.size, dt, motion, clusters.work)
        _scatter(block, s, members, clusters)
        _write_images(block, s, members, clusters, columns.image)
        worst = max(worst, code)
        if lost > 0:
            worst = max(worst, _last_lost(block, s, members, clusters.work))
    return worst


@inlined_geometry
def place_copies(
    block: Block, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members
) -> None:
    """Write packed rows and inverse mass tensors of copies of members."""
    for s in range(_most_members(block, members)):
        _gather_spheres(block, s, shapes, members, clusters.work)
        _place(block.at, block.size, 0.0, motion, clusters.work)
        _scatter(block, s, members, clusters)
