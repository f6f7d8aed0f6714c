"""Motion of rigid clusters in blocks of columns, as vector code.

Each rotation of a cluster is a long chain of dependent operations. In a block of clusters whose numbers are stored as
columns (`numerics.simd`), several chains run at the same time. All functions are compiled without contraction: the
results for a cluster are the same in any block on any rank.

`at` is the first index of a worker's columns (see `Block`), `c` the index of a cluster in its block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.clusters import STATE, ShapeArrays
from pdem.motion.displacement import drifted
from pdem.motion.integration import Motion, half_kick
from pdem.motion.rigid_rotation import angular_velocity_by, matrix_of, turned
from pdem.numerics.box_images import images_in
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.simd.columns import column_reader, column_writer
from pdem.numerics.simd.prefetch import LINE, fetch
from pdem.numerics.simd.transposition import ROWS, columns_to_rows, rows_to_columns, whole_lanes
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import get3, put3

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers

BLOCK = 8
"""Clusters in a block: all of their members fit into the nearest cache."""


class Block(NamedTuple):
    """Clusters that are handled together; all have the same number of members here.

    Attributes
    ----------
    at : int
        First index of the worker's columns.
    first, size : int
        Index of the first cluster, in the order of their `Members`, and the number of clusters, at most `BLOCK`.
    lane, members : int
        First lane of their members in the lists of `Members`, and the number of members of each cluster.
    """

    at: int
    first: int
    size: int
    lane: int
    members: int


class Members(NamedTuple):
    """Clusters of a rank in blocks, and their members.

    All clusters of a block have the same number of members. Their members are stored in *lanes*: the first members of
    all clusters of a block, then the second members, and so on, `BLOCK` lanes each. In a block with fewer clusters the
    last cluster fills the remaining lanes.

    Attributes
    ----------
    order : (n,) int32 array
        Rows of the clusters.
    first, lane : (blocks + 1,) int64 arrays
        Block b has the clusters ``order[first[b]:first[b + 1]]``, and the lanes from ``lane[b]`` to ``lane[b + 1]``.
    row, sphere : int32 arrays
        By lane: the row of a particle, and the index of its sphere among the spheres of all shapes.
    """

    order: Int32s
    first: Integers
    lane: Integers
    row: Int32s
    sphere: Int32s


class ClusterArrays(NamedTuple):
    """Arrays of the clusters of a rank, for kernels.

    Attributes
    ----------
    states : flat array
        States of owned clusters and copies, `pdem.containers.clusters.STATE` numbers each.
    image : (count, 3) int32 array
        Number of periods of the box that each owned cluster has crossed.
    density : (M,) array
        By material [kg/m^3].
    spheres : flat array
        Spheres of all shapes, 4 numbers each: position along the principal axes about the centre of mass for the scale
        1, and radius [m].
    turned : array
        By lane of owned members: the periods that were subtracted in the last step, encoded in one number; not finite
        if unknown; written.
    tensor : flat array
        Inverse mass tensors of all particles by row, `pdem.motion.inverse_masses.TENSOR` numbers each; written.
    packed : flat array
        Packed rows of all particles; written.
    work : flat array
        Columns of all workers, `COLUMNS` each.
    """

    states: Floats
    image: Int32s
    density: Floats
    spheres: Floats
    turned: Floats
    tensor: Floats
    packed: Floats
    work: Floats


MEMBER = BLOCK * (STATE + 43)
"""First columns of the members, see `pdem.motion.clusters.member_blocks`."""

COLUMNS = MEMBER + BLOCK * 24
"""Numbers in all columns of a worker."""

CX, VX, QW, LX, SHAPE, SCALE, MATERIAL = (np.uint64(BLOCK * k) for k in (0, 3, 6, 10, 13, 14, 15))
"""Columns of the state, see `pdem.containers.clusters`."""

INVERSE_MASS, INVERSE_INERTIA, DENSITY, FX, TX, PERIODS, SPIN, INERTIA = (
    np.uint64(BLOCK * (STATE + k)) for k in (0, 1, 4, 5, 8, 11, 14, 17)
)
"""Further columns: inverse mass; inverse principal moments (3); density of the material; force and torque (3 each);
periods that were subtracted from the centre (3); angular velocity in space (3); inverse inertia in space (6)."""

NOW, THEN = (BLOCK * (STATE + k) for k in (25, 34))
"""Rotation matrices (9) of the orientation, and of the orientation at the time of the velocities."""

STRIDE = np.uint64(BLOCK)

_gather = rows_to_columns(STATE, BLOCK)
_scatter = columns_to_rows(STATE, BLOCK)
_quaternion = [int(QW) + BLOCK * k for k in range(4)]
_read_quaternion, _write_quaternion = column_reader(_quaternion), column_writer(_quaternion)
_now, _then = [NOW + BLOCK * k for k in range(9)], [THEN + BLOCK * k for k in range(9)]
read_now, read_then = column_reader(_now), column_reader(_then)
"""Parts of the columns that belong to one cluster: its matrices and the position of its centre."""
_write_now, _write_then = column_writer(_now), column_writer(_then)
_inertia = [int(INERTIA) + BLOCK * k for k in range(6)]
read_inertia = column_reader(_inertia)
"""Part of the columns that belongs to one cluster: its inverse inertia in space."""
_write_inertia = column_writer(_inertia)


@inlined_geometry
def _row_begin(place: int, last: int, order: Int32s) -> int:
    """Return the first index of a state; past the last cluster, that of the last cluster."""
    return STATE * (order[np.uint64(min(place, last))] & ROW)


@inlined_geometry
def gather_clusters(block: Block, order: Int32s, shapes: ShapeArrays, clusters: ClusterArrays) -> None:
    """Write the states of the clusters of a block, their masses and moments into columns.

    The last cluster is repeated up to a multiple of `ROWS`.
    """
    (at, first, count, _, _), states, work, density = block, clusters.states, clusters.work, clusters.density
    last = first + count - 1
    for c in range(count):  # prefetch the next block: the hardware cannot predict its addresses
        ahead = np.uint64(_row_begin(first + BLOCK + c, len(order) - 1, order))
        fetch(states, ahead)
        fetch(states, ahead + np.uint64(LINE))
    for c in range(0, count, ROWS):
        k = first + c
        _gather(
            states, _row_begin(k, last, order), _row_begin(k + 1, last, order), _row_begin(k + 2, last, order),
            _row_begin(k + 3, last, order), work, offset(at, c),
        )  # fmt: skip
    for c in range(whole_lanes(count)):
        w, from_ = offset(at, c), offset(at, min(c, count - 1))
        shape, material = int(work[from_ + SHAPE]) & ROW, int(work[from_ + MATERIAL]) & ROW
        moments = shapes.moments
        put3(work, w + INVERSE_INERTIA, STRIDE, (moments[shape, 0], moments[shape, 1], moments[shape, 2]))
        work[w + INVERSE_MASS], work[w + DENSITY] = shapes.volume[shape], density[material]
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        scale = work[w + SCALE]
        cube = work[w + DENSITY] * (scale * scale * scale)
        fifth = cube * (scale * scale)
        a, b, d = get3(work, w + INVERSE_INERTIA, STRIDE)
        put3(work, w + INVERSE_INERTIA, STRIDE, (1.0 / (fifth * a), 1.0 / (fifth * b), 1.0 / (fifth * d)))
        work[w + INVERSE_MASS] = 1.0 / (cube * work[w + INVERSE_MASS])


@inlined_geometry
def scatter_clusters(block: Block, order: Int32s, clusters: ClusterArrays) -> None:
    """Write columns back to the states of clusters."""
    (at, first, count, _, _), states, work = block, clusters.states, clusters.work
    last = first + count - 1
    for c in range(0, count, ROWS):  # past the end of a block there are only repetitions of its last cluster
        k = first + c
        _scatter(
            work, offset(at, c), states, _row_begin(k, last, order), _row_begin(k + 1, last, order),
            _row_begin(k + 2, last, order), _row_begin(k + 3, last, order),
        )  # fmt: skip


@inlined_geometry
def kick_block(at: int, count: int, half: float, motion: Motion, work: Floats) -> None:
    """Apply the forces and torques in their columns, and gravity, for a time `half` [s]."""
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        v0, v1, v2, l0, l1, l2 = half_kick(
            half, work[w + INVERSE_MASS], 1.0, motion, get3(work, w + VX, STRIDE), get3(work, w + LX, STRIDE),
            get3(work, w + FX, STRIDE), get3(work, w + TX, STRIDE),
        )  # fmt: skip
        put3(work, w + VX, STRIDE, (v0, v1, v2))
        put3(work, w + LX, STRIDE, (l0, l1, l2))


@inlined_geometry
def drift_block(at: int, count: int, dt: float, motion: Motion, work: Floats) -> None:
    """Move the centres of clusters, and rotate them, for a time `dt` [s]."""
    box = images_in(motion.box)
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        x, v = get3(work, w + CX, STRIDE), get3(work, w + VX, STRIDE)
        way = dt * v[0], dt * v[1], dt * v[2]
        x, v, turns, _ = drifted(way, x, v, x, motion.sides, box)
        put3(work, w + CX, STRIDE, x)
        put3(work, w + VX, STRIDE, v)
        put3(work, w + PERIODS, STRIDE, turns)
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        q, momentum = _read_quaternion(work, w), get3(work, w + LX, STRIDE)
        _write_quaternion(work, w, turned(q, momentum, get3(work, w + INVERSE_INERTIA, STRIDE), dt))


@inlined_geometry
def orient_block(at: int, count: int, work: Floats) -> None:
    """Write the rotation matrices of the orientations."""
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        _write_now(work, w, matrix_of(_read_quaternion(work, w)))


@inlined_geometry
def spin_block(at: int, count: int, back: float, work: Floats) -> None:
    """Write orientations and angular velocities at the time `back` [s] before the present."""
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        q, momentum = _read_quaternion(work, w), get3(work, w + LX, STRIDE)
        then = turned(q, momentum, get3(work, w + INVERSE_INERTIA, STRIDE), -back)
        _write_then(work, w, matrix_of(then))
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        then, inverse = read_then(work, w), get3(work, w + INVERSE_INERTIA, STRIDE)
        put3(work, w + SPIN, STRIDE, angular_velocity_by(then, get3(work, w + LX, STRIDE), inverse))


@inlined_geometry
def present_spin_block(at: int, count: int, work: Floats) -> None:
    """Write the angular velocities for the present orientations; their matrices must have been written before."""
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        momentum, inverse = get3(work, w + LX, STRIDE), get3(work, w + INVERSE_INERTIA, STRIDE)
        put3(work, w + SPIN, STRIDE, angular_velocity_by(read_now(work, w), momentum, inverse))


@inlined_geometry
def inertia_block(at: int, count: int, work: Floats) -> None:
    """Write R I^-1 R^T of the present orientations [1/(kg m^2)]: xx, yy, zz, xy, xz, yz."""
    for c in range(whole_lanes(count)):
        w = offset(at, c)
        (xa, xb, xc, ya, yb, yc, za, zb, zc) = read_now(work, w)
        i, j, k = get3(work, w + INVERSE_INERTIA, STRIDE)
        found = (
            i * (xa * xa) + j * (xb * xb) + k * (xc * xc),
            i * (ya * ya) + j * (yb * yb) + k * (yc * yc),
            i * (za * za) + j * (zb * zb) + k * (zc * zc),
            i * (xa * ya) + j * (xb * yb) + k * (xc * yc),
            i * (xa * za) + j * (xb * zb) + k * (xc * zc),
            i * (ya * za) + j * (yb * zb) + k * (yc * zc),
        )
        _write_inertia(work, w, found)
