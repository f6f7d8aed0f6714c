"""The end of a step and the begin of the next for rigid clusters: sums of the contacts of members, and the motion.

Sums are used immediately, while they and their cluster are in the nearest caches: forces on members are not written to
columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.pairs.arguments import Candidates, Kick, Rows
from pdem.contact.pairs.force_sums import total_force
from pdem.containers.clusters import ShapeArrays
from pdem.motion.clusters.cluster_blocks import ClusterArrays, Members
from pdem.motion.clusters.member_blocks import add_loads, clear_loads, put_load, row_of
from pdem.motion.clusters.rigid_clusters import block_of, first_block, move_block, present_block
from pdem.motion.integration import FINE, FixedColumns, Motion
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import inlined, prange, uncounted_kernel
from pdem.numerics.simd.transposition import whole_rows

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.motion.clusters.cluster_blocks import Block


@inlined
def sum_contacts(
    block: Block, clusters: ClusterArrays, members: Members, rows: Rows, candidates: Candidates,
    forces: Floats, kick: Kick,
) -> None:  # fmt: skip
    """Write the forces and torques on clusters into their columns, as `member_blocks.sum_loads` does.

    Force and torque of a member have the bits of `pdem.contact.pairs.force_sums.sum_carried`.
    """
    clear_loads(block, clusters.work)
    for s in range(block.members):
        for c in range(whole_rows(block.size)):
            force, torque = total_force(row_of(block, s, c, members), rows, candidates, forces, kick)
            put_load(block, c, force, torque, clusters.work)
        add_loads(block, s, clusters, members)


@inlined_geometry
def _advance_block(
    block: Block, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, image: Int32s,
    rows: Rows, candidates: Candidates, forces: Floats, kick: Kick,
) -> int:  # fmt: skip
    """Finish a step and begin the next one for a block, as `advance_clusters` does; return its code."""
    present_block(block, shapes, clusters, members)
    sum_contacts(block, clusters, members, rows, candidates, forces, kick)
    motion = Motion(kick.gravity, kick.free, kick.sides, kick.box)
    fixed = FixedColumns(kick.reference, kick.skin, kick.inverse_inertia)
    return move_block(block, kick.dt, 2, motion, clusters, members, image, fixed)


@uncounted_kernel
def advance_clusters(
    worst: Integers, shapes: ShapeArrays, clusters: ClusterArrays, members: Members, image: Int32s,
    rows: Rows, candidates: Candidates, forces: Floats, kick: Kick,
) -> None:  # fmt: skip
    """End a step and begin the next, as `pdem.motion.clusters.rigid_clusters.begin_clusters` does with two kicks.

    For boxes that do not deform. Columns of forces are not written. Each worker writes the largest code of its clusters
    and members (`pdem.motion.integration.FINE`) to `worst`.
    """
    workers = len(worst)
    for worker in prange(workers):
        code, listed = FINE, Members(*members)
        for b in range(first_block(worker, workers, listed), first_block(worker + 1, workers, listed)):
            found = _advance_block(
                block_of(b, worker, listed), ShapeArrays(*shapes), ClusterArrays(*clusters), listed, image, Rows(*rows),
                Candidates(*candidates), forces, Kick(*kick),
            )  # fmt: skip
            code = max(code, found)
        worst[worker] = code
