"""The motion of rigid clusters of spheres, and where their members are.

Forces and torques of the members, in their order, are those of the cluster; they and gravity, which acts at the centre
of mass, kick velocity and angular momentum. In the drift the centre moves on and the orientation turns as without
torque (`pdem.motion.rigid_rotation`). Members follow from the state: their velocities in a step are those of the
middle of it, for which the orientation is turned back by half a step, so that each rank finds the same from the state
alone.

Clusters are handled in blocks, as columns (`pdem.motion.cluster_blocks`), and so are their members in a step
(`pdem.motion.member_blocks`); what only output needs goes one by one (`pdem.motion.cluster_members`). Tuples that
kernels take are plain ones of their fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.clusters import ShapeArrays
from pdem.foundation.arrays import line_zeros
from pdem.foundation.geometry_kernels import inlined_geometry, sphere_mass
from pdem.foundation.kernels import plain, prange, uncounted_kernel
from pdem.motion.cluster_blocks import (
    BLOCK,
    COLUMNS,
    Block,
    ClusterArrays,
    drift_block,
    gather_clusters,
    inertia_block,
    kick_block,
    orient_block,
    present_spin_block,
    scatter_clusters,
    spin_block,
)
from pdem.motion.cluster_members import (
    Members,
    add_work_by_arms,
    add_work_on_centres,
    count_periods,
    show_members,
    write_places,
    write_tensors_of,
)
from pdem.motion.integration import FINE, FixedColumns, Motion, StepColumns
from pdem.motion.inverse_masses import write_sphere_tensor
from pdem.motion.member_blocks import place_copies, place_members, sum_loads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles

    Floats = NDArray[np.float64]


@inlined_geometry
def _begin_block(
    block: Block, dt: float, kicks: int, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays,
    members: Members, columns: StepColumns, fixed: FixedColumns,
) -> int:  # fmt: skip
    """Begin the step of a block, as `begin_clusters` does; return its code."""
    (at, _, count), work = block, clusters.work
    gather_clusters(block, members.order, shapes, clusters)
    orient_block(at, count, work)
    sum_loads(block, shapes, clusters, members, columns)
    if kicks > 1:
        add_work_by_arms(block, dt, shapes, clusters, members, columns, motion.box)
    for _ in range(kicks):
        kick_block(at, count, 0.5 * dt, motion, work)
    code = drift_block(at, count, dt, motion, work)
    count_periods(block, members.order, clusters)
    scatter_clusters(block, members.order, clusters)
    add_work_on_centres(block, dt, clusters, members, columns, motion.box)
    spin_block(at, count, 0.5 * dt, work)
    orient_block(at, count, work)
    inertia_block(at, count, work)
    return max(code, place_members(block, dt, motion, shapes, clusters, members, columns, fixed))


@uncounted_kernel
def begin_clusters(
    worst: NDArray[np.int64], dt: float, kicks: int, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays,
    members: Members, columns: StepColumns, fixed: FixedColumns,
) -> None:  # fmt: skip
    """Begin a step of `dt` [s]: half a kick by the forces of the last one, the drift, and the packed rows of members.

    With two `kicks` the last step is ended as well: both halves of the kick are by the same forces. Each worker writes
    the largest code of its clusters and members (`pdem.motion.integration.FINE`) to `worst`.
    """
    workers = len(worst)
    for worker in prange(workers):
        code, end = FINE, (worker + 1) * len(members[0]) // workers
        for first in range(worker * len(members[0]) // workers, end, BLOCK):
            found = _begin_block(
                Block(worker * COLUMNS, first, min(BLOCK, end - first)), dt, kicks, Motion(*motion),
                ShapeArrays(*shapes), ClusterArrays(*clusters), Members(*members), StepColumns(*columns),
                FixedColumns(*fixed),
            )  # fmt: skip
            code = max(code, found)
        worst[worker] = code


@inlined_geometry
def _finish_block(
    block: Block, half: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns,
) -> None:  # fmt: skip
    """End the step of a block, as `finish_clusters` does."""
    (at, _, count), work = block, clusters.work
    gather_clusters(block, members.order, shapes, clusters)
    orient_block(at, count, work)
    sum_loads(block, shapes, clusters, members, columns)
    add_work_by_arms(block, 2.0 * half, shapes, clusters, members, columns, motion.box)
    kick_block(at, count, half, motion, work)
    scatter_clusters(block, members.order, clusters)
    present_spin_block(at, count, work)
    show_members(block, motion.sides, motion.box, shapes, clusters, members, columns)


@uncounted_kernel
def finish_clusters(
    workers: int, half: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members,
    columns: StepColumns,
) -> None:  # fmt: skip
    """Let the forces on the members act for half a step [s], and write the velocities of the members then."""
    for worker in prange(workers):
        end = (worker + 1) * len(members[0]) // workers
        for first in range(worker * len(members[0]) // workers, end, BLOCK):
            _finish_block(
                Block(worker * COLUMNS, first, min(BLOCK, end - first)), half, Motion(*motion), ShapeArrays(*shapes),
                ClusterArrays(*clusters), Members(*members), StepColumns(*columns),
            )  # fmt: skip


@inlined_geometry
def _present_block(block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Bring states, matrices and angular velocities of a block into columns."""
    gather_clusters(block, members.order, shapes, clusters)
    orient_block(block.at, block.size, clusters.work)
    present_spin_block(block.at, block.size, clusters.work)


@inlined_geometry
def _show_block(
    block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write the columns of the members of a block."""
    _present_block(block, shapes, clusters, members)
    write_places(block, shapes, clusters, members, columns)


@uncounted_kernel
def write_members(
    workers: int, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, columns: StepColumns
) -> None:
    """Write positions, not wrapped, and velocities of the members of clusters between two steps, from their states."""
    for worker in prange(workers):
        end = (worker + 1) * len(members[0]) // workers
        for first in range(worker * len(members[0]) // workers, end, BLOCK):
            _show_block(
                Block(worker * COLUMNS, first, min(BLOCK, end - first)), ShapeArrays(*shapes),
                ClusterArrays(*clusters), Members(*members), StepColumns(*columns),
            )  # fmt: skip


@inlined_geometry
def _copied_block(
    block: Block, back: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members
) -> None:
    """Place the copies of members of a block, as `place_ghosts` does."""
    (at, _, count), work = block, clusters.work
    gather_clusters(block, members.order, shapes, clusters)
    spin_block(at, count, back, work)
    orient_block(at, count, work)
    inertia_block(at, count, work)
    place_copies(block, motion, shapes, clusters, members)


@uncounted_kernel
def place_ghosts(
    workers: int, back: float, motion: Motion, shapes: ShapeArrays, clusters: ClusterArrays, members: Members
) -> None:
    """Write the packed rows of copies of members, and their tensors, from states.

    Numbers are those that `begin_clusters` has found with ``dt = 2 back``.
    """
    for worker in prange(workers):
        end = (worker + 1) * len(members[0]) // workers
        for first in range(worker * len(members[0]) // workers, end, BLOCK):
            _copied_block(
                Block(worker * COLUMNS, first, min(BLOCK, end - first)), back, Motion(*motion), ShapeArrays(*shapes),
                ClusterArrays(*clusters), Members(*members),
            )  # fmt: skip


@inlined_geometry
def _tensor_block(block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Write the inverse mass tensors of the members of a block."""
    _present_block(block, shapes, clusters, members)
    inertia_block(block.at, block.size, clusters.work)
    write_tensors_of(block, shapes, clusters, members)


@uncounted_kernel
def write_tensors(workers: int, shapes: ShapeArrays, clusters: ClusterArrays, members: Members) -> None:
    """Write the inverse mass tensors of members."""
    for worker in prange(workers):
        end = (worker + 1) * len(members[0]) // workers
        for first in range(worker * len(members[0]) // workers, end, BLOCK):
            _tensor_block(
                Block(worker * COLUMNS, first, min(BLOCK, end - first)), ShapeArrays(*shapes),
                ClusterArrays(*clusters), Members(*members),
            )  # fmt: skip


@uncounted_kernel
def write_sphere_tensors(
    count: int, cluster: NDArray[np.int64], radius: Floats, material: NDArray[np.int32], density: Floats,
    tensor: Floats,
) -> None:  # fmt: skip
    """Write the inverse mass tensors of all particles that are no members."""
    for p in prange(count):
        if cluster[p] == 0:
            write_sphere_tensor(p, 1.0 / sphere_mass(density[material[p]], radius[p]), tensor)


def owned_members(clusters: Clusters, particles: Particles) -> Members:
    """Return the members of all owned clusters: those that have as many, and then what is near in memory.

    Clusters come by the number of their members, and then by the rows of their first ones; members in the order of the
    shape.
    """
    rows = np.flatnonzero(particles.cluster)
    rows = rows[np.argsort(particles.id[rows])]
    sizes = clusters.shapes.sizes[clusters.shape.astype(np.int64)]
    begin = np.cumsum(sizes) - sizes
    order = np.lexsort((rows[begin], sizes))
    first = np.concatenate(([0], np.cumsum(sizes[order]))).astype(np.int64)
    sphere = np.arange(len(rows)) - np.repeat(first[:-1], sizes[order])
    rows = rows[np.repeat(begin[order], sizes[order]) + sphere]
    return Members(order.astype(np.int32), first, rows.astype(np.int32), sphere.astype(np.int32))


def copied_members(clusters: Clusters, particles: Particles) -> Members:
    """Return those members that are copies from other ranks, by cluster, those first of which few are here."""
    ghosts = slice(particles.count, particles.count + particles.ghosts)
    cluster, ids = particles.column("cluster")[ghosts], particles.column("id")[ghosts]
    copies = np.flatnonzero(cluster)
    numbers, of_cluster, sizes = np.unique(cluster[copies], return_inverse=True, return_counts=True)
    copies = copies[np.lexsort((of_cluster, sizes[of_cluster]))]
    order = np.argsort(sizes, kind="stable")
    return Members(
        clusters.rows_of(numbers[order]).astype(np.int32),
        np.concatenate(([0], np.cumsum(sizes[order]))).astype(np.int64),
        (particles.count + copies).astype(np.int32), (ids[copies] + 1 - cluster[copies]).astype(np.int32),
    )  # fmt: skip


def place_all_members(clusters: Clusters, particles: Particles, density: Floats) -> None:
    """Write positions, which are not wrapped, images and velocities of all members between two steps."""
    columns = StepColumns(*(particles.column(name) for name in StepColumns._fields))
    nothing = np.zeros(0)
    arrays = ClusterArrays(
        clusters.states.reshape(-1), clusters.image, density, nothing, nothing, line_zeros(COLUMNS)
    )
    write_members(*plain(1, clusters.shapes, arrays, owned_members(clusters, particles), columns))
