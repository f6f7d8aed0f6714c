"""Kernels that move rigid clusters of spheres and write the positions of their members.

Forces and torques of the members, summed in their order, act on the cluster. They and gravity, which acts at the centre
of mass, change velocity and angular momentum. The drift moves the centre, and rotates the orientation as without torque
(`pdem.motion.rigid_rotation`). Members follow from the state of the cluster. Their velocities in a step belong to the
middle of the step: the orientation is rotated back by half a step, so that each rank computes the same velocities from
the state alone.

Clusters are handled in blocks, as columns (`pdem.motion.clusters.cluster_blocks`), and so are their members in a step
(`pdem.motion.clusters.member_blocks`). Values for output are computed member by member
(`pdem.motion.clusters.cluster_members`). Kernels take plain tuples of the fields of the named tuples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.clusters import SHAPE, ShapeArrays
from pdem.motion.clusters.cluster_blocks import (
    BLOCK,
    COLUMNS,
    Block,
    ClusterArrays,
    Members,
    drift_block,
    gather_clusters,
    inertia_block,
    kick_block,
    orient_block,
    present_spin_block,
    scatter_clusters,
    spin_block,
)
from pdem.motion.clusters.cluster_members import (
    add_work_by_arms,
    add_work_on_centres,
    count_periods,
    show_members,
    write_places,
    write_tensors_of,
)
from pdem.motion.clusters.member_blocks import place_copies, place_members, sum_loads
from pdem.motion.integration import FINE, FixedColumns, Motion, StepColumns
from pdem.motion.inverse_masses import write_sphere_tensor
from pdem.numerics.arrays import line_zeros
from pdem.numerics.geometry_kernels import inlined_geometry, sphere_mass
from pdem.numerics.kernels import plain, prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s, Integers


@inlined_geometry
def first_block(worker: int, workers: int, members: Members) -> int:
    """Return the first block of a worker; all workers have about the same number of lanes."""
    lane, block = members.lane, np.uint64(0)
    share = worker * lane[len(lane) - 1] // workers
    while lane[block] < share:
        block += np.uint64(1)
    return int(block)


@inlined_geometry
def block_of(b: int, worker: int, members: Members) -> Block:
    """Return block b of some members, for a worker."""
    k, after = np.uint64(b), np.uint64(b + 1)
    first, lane = members.first[k], members.lane[k]
    return Block(worker * COLUMNS, first, members.first[after] - first, lane, (members.lane[after] - lane) // BLOCK)


@inlined_geometry
def present_block(block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Write states and matrices of a block into columns."""
    gather_clusters(block, members.order, shapes, clusters)
    orient_block(block.at, block.size, clusters.work)


@inlined_geometry
def move_block(
    block: Block, dt: float, kicks: int, motion: Motion, clusters: ClusterArrays, members: Members,
    image: Int32s, fixed: FixedColumns,
) -> int:  # fmt: skip
    """Apply forces and torques in columns for `kicks` halves of a step of `dt` [s], and begin the next step.

    Returns the largest code of its members.
    """
    at, count, work = block.at, block.size, clusters.work
    for _ in range(kicks):
        kick_block(at, count, 0.5 * dt, motion, work)
    drift_block(at, count, dt, motion, work)
    count_periods(block, members.order, clusters)
    scatter_clusters(block, members.order, clusters)
    spin_block(at, count, 0.5 * dt, work)
    orient_block(at, count, work)
    inertia_block(at, count, work)
    return place_members(block, dt, motion, clusters, members, image, fixed)


@inlined_geometry
def _begin_block(
    block: Block, dt: float, kicks: int, ended: Motion, motion: Motion, shapes: ShapeArrays,
    clusters: ClusterArrays, members: Members, columns: StepColumns, fixed: FixedColumns,
) -> int:  # fmt: skip
    """Begin the step of a block, as `begin_clusters` does; return its code."""
    present_block(block, shapes, clusters, members)
    sum_loads(block, clusters, members, columns)
    if kicks > 1:
        add_work_by_arms(block, dt, clusters, members, columns, ended.box)
    code = move_block(block, dt, kicks, motion, clusters, members, columns.image, fixed)
    add_work_on_centres(block, dt, clusters, members, columns, motion.box)
    return code


@uncounted_kernel
def begin_clusters(
    worst: Integers, dt: float, kicks: int, ended: Motion, motion: Motion, shapes: ShapeArrays,
    clusters: ClusterArrays, members: Members, columns: StepColumns, fixed: FixedColumns,
) -> None:  # fmt: skip
    """Begin a step of `dt` [s]: half a kick by the forces of the last step, the drift, and the packed rows of members.

    With two `kicks` the last step is ended as well, with the box of `ended`: both halves of the kick are by the same
    forces. Each worker writes the largest code of the members of its clusters (`pdem.motion.integration.FINE`) to
    `worst`.
    """
    workers = len(worst)
    for worker in prange(workers):
        code, listed = FINE, Members(*members)
        for b in range(first_block(worker, workers, listed), first_block(worker + 1, workers, listed)):
            found = _begin_block(
                block_of(b, worker, listed), dt, kicks, Motion(*ended), Motion(*motion), ShapeArrays(*shapes),
                ClusterArrays(*clusters), listed, StepColumns(*columns), FixedColumns(*fixed),
            )  # fmt: skip
            code = max(code, found)
        worst[worker] = code


@inlined_geometry
def _finish_block(
    block: Block, dt: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns,
) -> None:  # fmt: skip
    """End the step of a block, as `finish_clusters` does."""
    at, count, work = block.at, block.size, clusters.work
    present_block(block, shapes, clusters, members)
    sum_loads(block, clusters, members, columns)
    add_work_by_arms(block, dt, clusters, members, columns, motion.box)
    kick_block(at, count, 0.5 * dt, motion, work)
    scatter_clusters(block, members.order, clusters)
    present_spin_block(at, count, work)
    show_members(block, motion.sides, motion.box, clusters, members, columns)


@uncounted_kernel
def finish_clusters(
    workers: int, dt: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns,
) -> None:  # fmt: skip
    """Apply the forces on the members for half of a step of `dt` [s], and write the velocities of the members."""
    for worker in prange(workers):
        listed = Members(*members)
        for b in range(first_block(worker, workers, listed), first_block(worker + 1, workers, listed)):
            _finish_block(
                block_of(b, worker, listed), dt, Motion(*motion), ShapeArrays(*shapes), ClusterArrays(*clusters),
                listed, StepColumns(*columns),
            )  # fmt: skip


@inlined_geometry
def _show_block(
    block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write the columns of the members of a block."""
    present_block(block, shapes, clusters, members)
    present_spin_block(block.at, block.size, clusters.work)
    write_places(block, clusters, members, columns)


@uncounted_kernel
def write_members(
    workers: int, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write positions, not wrapped, and velocities of the members of clusters between two steps, from their states."""
    for worker in prange(workers):
        listed = Members(*members)
        for b in range(first_block(worker, workers, listed), first_block(worker + 1, workers, listed)):
            _show_block(
                block_of(b, worker, listed), ShapeArrays(*shapes), ClusterArrays(*clusters), listed,
                StepColumns(*columns),
            )  # fmt: skip


@inlined_geometry
def _copied_block(
    block: Block, back: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members
) -> None:
    """Place the copies of members of a block, as `place_ghosts` does."""
    gather_clusters(block, members.order, shapes, clusters)
    spin_block(block.at, block.size, back, clusters.work)
    orient_block(block.at, block.size, clusters.work)
    inertia_block(block.at, block.size, clusters.work)
    place_copies(block, motion, clusters, members)


@uncounted_kernel
def place_ghosts(
    workers: int, back: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members
) -> None:
    """Write the packed rows of copies of members, and their tensors, from the states of their clusters.

    The numbers are the same as by `begin_clusters` with ``dt = 2 back``.
    """
    for worker in prange(workers):
        listed = Members(*members)
        for b in range(first_block(worker, workers, listed), first_block(worker + 1, workers, listed)):
            _copied_block(
                block_of(b, worker, listed), back, Motion(*motion), ShapeArrays(*shapes), ClusterArrays(*clusters),
                listed,
            )  # fmt: skip


@inlined_geometry
def _tensor_block(block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Write the inverse mass tensors of the members of a block."""
    present_block(block, shapes, clusters, members)
    inertia_block(block.at, block.size, clusters.work)
    write_tensors_of(block, clusters, members)


@uncounted_kernel
def write_tensors(workers: int, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Write the inverse mass tensors of members."""
    for worker in prange(workers):
        listed = Members(*members)
        for b in range(first_block(worker, workers, listed), first_block(worker + 1, workers, listed)):
            _tensor_block(block_of(b, worker, listed), ShapeArrays(*shapes), ClusterArrays(*clusters), listed)


@uncounted_kernel
def write_sphere_tensors(
    count: int, cluster: Integers, radius: Floats, material: Int32s, density: Floats,
    tensor: Floats,
) -> None:  # fmt: skip
    """Write the inverse mass tensors of all particles that are not members."""
    for p in prange(count):
        if cluster[p] == 0:
            write_sphere_tensor(p, 1.0 / sphere_mass(density[material[p]], radius[p]), tensor)


def owned_members(clusters: Clusters, particles: Particles) -> Members:
    """Return the members of all owned clusters, ordered for blocks.

    Clusters are sorted by the number of their members, and then by the rows of their first members, so that neighbours
    in memory stay together. The members of a cluster have the order of its shape.
    """
    rows = np.flatnonzero(particles.cluster)
    rows = rows[np.argsort(particles.id[rows])]
    shape = clusters.shape.astype(np.int64)
    sizes = clusters.shapes.sizes[shape]
    begin = np.cumsum(sizes) - sizes
    order = np.lexsort((rows[begin], sizes))
    sphere = np.arange(len(rows)) + np.repeat(clusters.shapes.begin[shape] - begin, sizes)
    return in_blocks(order, sizes[order], begin[order], rows, sphere)


def copied_members(clusters: Clusters, particles: Particles) -> Members:
    """Return the ghost members, by cluster; clusters with few members on this rank come first."""
    ghosts = slice(particles.count, particles.count + particles.ghosts)
    cluster, ids = particles.column("cluster")[ghosts], particles.column("id")[ghosts]
    copies = np.flatnonzero(cluster)
    copies = copies[np.argsort(cluster[copies], kind="stable")]
    numbers, begin, sizes = np.unique(cluster[copies], return_index=True, return_counts=True)
    rows = clusters.rows_of(numbers)
    order = np.argsort(sizes, kind="stable")
    shape = clusters.states[rows, SHAPE].astype(np.int64)
    sphere = ids[copies] + 1 - cluster[copies] + np.repeat(clusters.shapes.begin[shape], sizes)
    return in_blocks(rows[order], sizes[order], begin[order], particles.count + copies, sphere)


def in_blocks(order: Integers, sizes: Integers, begin: Integers, row: Integers, sphere: Integers) -> Members:
    """Arrange clusters in blocks.

    Parameters
    ----------
    order : (n,) int array
        Rows of the clusters, in the order of the blocks.
    sizes, begin : (n,) int arrays
        Number of members of each cluster, rising, and the first index of its members in `row` and `sphere`.
    row, sphere : int arrays
        Rows and spheres of the members, see `Members`.
    """
    with_as_many = np.arange(len(sizes)) - np.searchsorted(sizes, sizes)
    first = np.flatnonzero(with_as_many % BLOCK == 0)
    last = np.append(first[1:], len(sizes)) - 1
    lane = np.concatenate(([0], np.cumsum(BLOCK * sizes[first]))).astype(np.int64)
    block = np.repeat(np.arange(len(first)), BLOCK * sizes[first])
    inside = np.arange(lane[-1]) - lane[block]
    member = begin[np.minimum(first[block] + inside % BLOCK, last[block])] + inside // BLOCK
    return Members(
        order.astype(np.int32), np.append(first, len(sizes)).astype(np.int64), lane, row[member].astype(np.int32),
        sphere[member].astype(np.int32),
    )  # fmt: skip


def spheres_of(shapes: ShapeArrays) -> Floats:
    """Return the spheres of all shapes in the layout for kernels, see `cluster_blocks.ClusterArrays`."""
    return np.column_stack((shapes.offset, shapes.radius)).reshape(-1)


def place_all_members(clusters: Clusters, particles: Particles, density: Floats) -> None:
    """Write positions, which are not wrapped, images and velocities of all members between two steps."""
    columns = StepColumns(*(particles.column(name) for name in StepColumns._fields))
    nothing = np.zeros(0)
    arrays = ClusterArrays(
        clusters.states.reshape(-1), clusters.image, density, spheres_of(clusters.shapes), nothing, nothing,
        nothing, line_zeros(COLUMNS),
    )  # fmt: skip
    write_members(*plain(1, clusters.shapes, arrays, owned_members(clusters, particles), columns))
