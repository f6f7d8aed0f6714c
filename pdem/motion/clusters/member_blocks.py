"""The members of a block of rigid clusters, as columns: one member of each cluster at a time.

Clusters are stored in columns (`pdem.motion.clusters.cluster_blocks`), and so are their first members, then their
second members, and so on. Vector code reads the values that all members of a cluster share directly from the columns of
the clusters.

`s` is the index of a member among the members of its cluster on this rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.packed_row import PACKED, PLACE, SPEED
from pdem.foundation.packed_row import SPIN as ROW_SPIN
from pdem.motion.clusters.cluster_blocks import (
    BLOCK,
    CX,
    FX,
    INVERSE_MASS,
    MEMBER,
    PERIODS,
    SCALE,
    SPIN,
    STRIDE,
    TX,
    VX,
    read_inertia,
    read_now,
    read_then,
)
from pdem.motion.displacement import drifted, went_too_far
from pdem.motion.integration import FINE, LOST, STALE, FixedColumns, Motion, StepColumns, prefetch_row
from pdem.motion.inverse_masses import TENSOR, tensor_of
from pdem.motion.rigid_rotation import to_space_by
from pdem.numerics.box_images import images_in
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.simd.columns import column_writer
from pdem.numerics.simd.prefetch import fetch
from pdem.numerics.simd.transposition import ROWS, columns_to_rows, rows_to_columns, whole_lanes, whole_rows
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import exact_cross3, exact_plus3, get3, put3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.motion.clusters.cluster_blocks import Block, ClusterArrays, Members
    from pdem.numerics.vectors import Vector

AWAY, RADIUS, FORCE, TORQUE, REFERENCE, SKIN, THERE, RATE, TURNS, INVERSE, FAR = (
    np.uint64(MEMBER + BLOCK * k) for k in (0, 3, 4, 7, 4, 7, 8, 11, 14, 17, 23)
)
"""First indices of the columns of members: position along principal axes for the scale 1 (3), and radius [m]; force
and torque on each (3 each), later in the same columns the reference position of the lists (3) and the skin [m];
position and velocity (3 each); periods that were subtracted from the position (3); inverse mass tensor (6); 1 if the
member moved too far, else 0."""

SPHERE = 4
"""Indices of a sphere's numbers in the array `spheres` of `pdem.motion.clusters.cluster_blocks.ClusterArrays`."""

_write_inverse = column_writer([int(INVERSE) + BLOCK * k for k in range(TENSOR)])
_gather_four = rows_to_columns(SPHERE, BLOCK)
_scatter_vector, _scatter_tensor = columns_to_rows(3, BLOCK), columns_to_rows(TENSOR, BLOCK)


@inlined_geometry
def lane_of(block: Block, s: int, c: int) -> np.uint64:
    """Return the lane of member s of cluster c of a block."""
    return np.uint64(block.lane + BLOCK * s + c)


@inlined_geometry
def row_of(block: Block, s: int, c: int, members: Members) -> int:
    """Return the row of member s of cluster c among the particles."""
    return members.row[lane_of(block, s, c)] & ROW


@inlined_geometry
def _sphere_begin(block: Block, s: int, c: int, members: Members) -> int:
    return SPHERE * (members.sphere[lane_of(block, s, c)] & ROW)


@inlined_geometry
def _gather_spheres(block: Block, s: int, clusters: ClusterArrays, members: Members) -> None:
    """Write the shape's data of members into columns."""
    for c in range(0, block.size, ROWS):
        _gather_four(
            clusters.spheres, _sphere_begin(block, s, c, members), _sphere_begin(block, s, c + 1, members),
            _sphere_begin(block, s, c + 2, members), _sphere_begin(block, s, c + 3, members),
            clusters.work, offset(block.at, c) + AWAY,
        )  # fmt: skip


@inlined_geometry
def clear_loads(block: Block, work: Floats) -> None:
    """Set forces and torques on clusters to zero in their columns."""
    for c in range(whole_lanes(block.size)):
        put3(work, offset(block.at, c) + FX, STRIDE, (0.0, 0.0, 0.0))
        put3(work, offset(block.at, c) + TX, STRIDE, (0.0, 0.0, 0.0))


@inlined_geometry
def put_load(block: Block, c: int, force: Vector, torque: Vector, work: Floats) -> None:
    """Write force [N] and torque [N m] on the member of cluster c of a block into columns, before `add_loads`."""
    put3(work, offset(block.at, c) + FORCE, STRIDE, force)
    put3(work, offset(block.at, c) + TORQUE, STRIDE, torque)


@inlined_geometry
def add_loads(block: Block, s: int, clusters: ClusterArrays, members: Members) -> None:
    """Add forces on members, and their torques about the centres, to the sums of their clusters in columns.

    `clear_loads` starts the sums; members follow one after the other, which fixes the order of the sum.
    """
    at, work = block.at, clusters.work
    _gather_spheres(block, s, clusters, members)
    for c in range(whole_lanes(block.size)):
        w = offset(at, c)
        f, (a, b, d), scale = get3(work, w + FORCE, STRIDE), get3(work, w + AWAY, STRIDE), work[w + SCALE]
        turn = exact_cross3(to_space_by(read_now(work, w), (scale * a, scale * b, scale * d)), f)
        own = exact_plus3(get3(work, w + TORQUE, STRIDE), turn)
        put3(work, w + FX, STRIDE, exact_plus3(get3(work, w + FX, STRIDE), f))
        put3(work, w + TX, STRIDE, exact_plus3(get3(work, w + TX, STRIDE), own))


@inlined_geometry
def sum_loads(block: Block, clusters: ClusterArrays, members: Members, columns: StepColumns) -> None:
    """Sum the forces in the columns of members into the columns of clusters, as `add_loads` does."""
    force, torque = columns.force, columns.torque
    clear_loads(block, clusters.work)
    for s in range(block.members):
        for c in range(whole_rows(block.size)):
            p = row_of(block, s, c, members)
            push, turn = (force[p, 0], force[p, 1], force[p, 2]), (torque[p, 0], torque[p, 1], torque[p, 2])
            put_load(block, c, push, turn, clusters.work)
        add_loads(block, s, clusters, members)


@inlined_geometry
def _row_ahead(block: Block, s: int, c: int, members: Members) -> int:
    """Return the row of the member at the same position in a later block, or the last row."""
    return row_of(block, min(block.members + s, (len(members.row) - 1 - block.lane - c) // BLOCK), c, members)


@inlined_geometry
def _fetch_ahead(p: int, fixed: FixedColumns, clusters: ClusterArrays) -> None:
    """Prefetch the data of a member that the start of a step reads and writes."""
    prefetch_row(p, clusters.packed)
    fetch(clusters.tensor, np.uint64(TENSOR * p))
    fetch(fixed.reference, np.uint64(3 * p))
    fetch(fixed.skin, np.uint64(p))


@inlined_geometry
def _gather_fixed(block: Block, s: int, members: Members, fixed: FixedColumns, clusters: ClusterArrays) -> None:
    """Write the data of members that stay constant between two list builds into columns.

    Meanwhile the data of the next block are prefetched: they are spread over too many arrays for the hardware to
    predict.
    """
    reference, work = fixed.reference, clusters.work
    for c in range(whole_rows(block.size)):
        _fetch_ahead(_row_ahead(block, s, c, members), fixed, clusters)
        w, p = offset(block.at, c), row_of(block, s, c, members)
        put3(work, w + REFERENCE, STRIDE, (reference[p, 0], reference[p, 1], reference[p, 2]))
        work[w + SKIN] = fixed.skin[p]


@inlined_geometry
def _place(at: int, count: int, dt: float, motion: Motion, work: Floats) -> tuple[int, int]:
    """Write positions, velocities and inverse mass tensors of members, `dt` [s] after the last time.

    Returns the largest code below `LOST`, and the number of members that moved too far.
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
        x, v, turns, squared = drifted(
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
    """Write the moving part of the packed rows of members, and their inverse mass tensors.

    Radius, mass and material were written to the rows when lists were made.
    """
    at, work, packed, tensor = block.at, clusters.work, clusters.packed, clusters.tensor
    for c in range(0, block.size, ROWS):
        w = offset(at, c)
        i, j = row_of(block, s, c, members), row_of(block, s, c + 1, members)
        m, n = row_of(block, s, c + 2, members), row_of(block, s, c + 3, members)
        ri, rj, rm, rn = PACKED * i, PACKED * j, PACKED * m, PACKED * n
        _scatter_vector(
            work, w + THERE, packed, ri + PLACE, rj + PLACE, rm + PLACE, rn + PLACE,
        )  # fmt: skip
        _scatter_vector(work, w + RATE, packed, ri + SPEED, rj + SPEED, rm + SPEED, rn + SPEED)
        _scatter_vector(work, w + SPIN, packed, ri + ROW_SPIN, rj + ROW_SPIN, rm + ROW_SPIN, rn + ROW_SPIN)
        _scatter_tensor(work, w + INVERSE, tensor, TENSOR * i, TENSOR * j, TENSOR * m, TENSOR * n)


@inlined_geometry
def _turned_anew(block: Block, s: int, clusters: ClusterArrays) -> bool:
    """Return whether the periods subtracted from any member, or from its cluster, differ from the last step."""
    work, turned, new = clusters.work, clusters.turned, 0
    for c in range(whole_lanes(block.size)):
        w, lane = offset(block.at, c), lane_of(block, s, c)
        (a, b, d), (i, j, k) = get3(work, w + TURNS, STRIDE), get3(work, w + PERIODS, STRIDE)
        turns = a + 64.0 * (b + 64.0 * d)
        crossed = (i != 0.0) | (j != 0.0) | (k != 0.0)
        new += 1 if (c < block.size) & (crossed | (turns != turned[lane])) else 0
        turned[lane] = turns
    return new > 0


@inlined_geometry
def _write_images(block: Block, s: int, members: Members, clusters: ClusterArrays, image: Int32s) -> None:
    """Write the images of members: the images of their clusters plus the periods subtracted from the members."""
    for c in range(block.size):
        w, p = offset(block.at, c), row_of(block, s, c, members)
        cluster = members.order[np.uint64(block.first + c)] & ROW
        turns = get3(clusters.work, w + TURNS, STRIDE)
        image[p, 0] = clusters.image[cluster, 0] + np.int32(turns[0])
        image[p, 1] = clusters.image[cluster, 1] + np.int32(turns[1])
        image[p, 2] = clusters.image[cluster, 2] + np.int32(turns[2])


@inlined_geometry
def _last_lost(block: Block, s: int, members: Members, work: Floats) -> int:
    """Return `LOST` + the largest row of a member that moved too far."""
    code = FINE
    for c in range(block.size):
        if work[offset(block.at, c) + FAR] > 0.0:
            code = max(code, LOST + row_of(block, s, c, members))
    return code


@inlined_geometry
def place_members(
    block: Block, dt: float, motion: Motion, clusters: ClusterArrays, members: Members,
    image: Int32s, fixed: FixedColumns,
) -> int:  # fmt: skip
    """Write packed rows, images and inverse mass tensors of owned members, `dt` [s] after the last time.

    Returns the largest code of `pdem.motion.integration.FINE`.
    """
    worst = FINE
    for s in range(block.members):
        _gather_spheres(block, s, clusters, members)
        _gather_fixed(block, s, members, fixed, clusters)
        code, lost = _place(block.at, block.size, dt, motion, clusters.work)
        _scatter(block, s, members, clusters)
        if _turned_anew(block, s, clusters):
            _write_images(block, s, members, clusters, image)
        worst = max(worst, code)
        if lost > 0:
            worst = max(worst, _last_lost(block, s, members, clusters.work))
    return worst


@inlined_geometry
def place_copies(block: Block, motion: Motion, clusters: ClusterArrays, members: Members) -> None:
    """Write packed rows and inverse mass tensors of copies of members."""
    for s in range(block.members):
        _gather_spheres(block, s, clusters, members)
        _place(block.at, block.size, 0.0, motion, clusters.work)
        _scatter(block, s, members, clusters)
