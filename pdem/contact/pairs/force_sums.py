"""The force on each particle: the sum over its contacts in the order of partners' ids, and the kick by this sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.arguments import Candidates, Kick, ParticleArrays, Rows
from pdem.contact.pairs.history_kernels import UNORDERED
from pdem.contact.pairs.layout import WORK
from pdem.detection.neighbours import sort_row
from pdem.motion.integration import FINE, FixedColumns, Motion, Travel, move, unpack_particle
from pdem.motion.moving_blocks import BLOCK, FX, INVERSE_INERTIA, SKIN, TX, X0, move_block
from pdem.numerics.kernels import inlined, prange, uncounted_kernel
from pdem.numerics.simd.row_sums import sum_loads
from pdem.numerics.simd.stable_partition import MOST, stable_partition
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.vectors import put3
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.numerics.vectors import Vector

_STRIDE = np.uint64(BLOCK)


@inlined
def touching_first(begin: int, end: int, entry: Int32s, candidates: Candidates) -> int:
    """Partition the entries of a particle: touching candidates first; return the end of the touching ones."""
    behind = begin
    for place in range(begin, end):
        which = entry[place]
        if candidates.force_index[which >> 1] > 0:
            entry[place], entry[behind] = entry[behind], which
            behind += 1
    return behind


@inlined
def order_row(begin: int, end: int, entry: Int32s, candidates: Candidates) -> int:
    """Move the touching candidates of a particle to the front, sorted by the partners' ids; return their number."""
    if end - begin <= MOST:
        behind = begin + stable_partition(entry, begin, end - begin, candidates.force_index)
    else:
        behind = touching_first(begin, end, entry, candidates)
    sort_row(begin, behind, candidates.lower, candidates.higher, candidates.ids, entry)
    return behind - begin


@inlined
def order_loads(p: int, rows: Rows, candidates: Candidates) -> None:
    """Sort the candidates of a particle, and list the loads that act on it."""
    begin = rows.start[p]
    rows.touching[p] = order_row(begin, rows.start[p + 1], rows.entry, candidates)
    for place in range(begin, begin + rows.touching[p]):
        which = rows.entry[place]
        rows.load[place] = 2 * candidates.force_index[which >> 1] + (which & 1)


@inlined
def total_force(p: int, rows: Rows, candidates: Candidates, forces: Floats, kick: Kick) -> tuple[Vector, Vector]:
    """Return force and torque on an owned particle: contacts in the order of partners' ids, then the walls."""
    begin = rows.start[p]
    if rows.touching[p] == UNORDERED:
        order_loads(p, rows, candidates)
    fx, fy, fz, tx, ty, tz = sum_loads(rows.load, forces, begin, begin + rows.touching[p])
    if len(kick.wall) > 0:
        w = kick.wall_row[p] & ROW  # the row of zeros is added as well, since the sign of a zero sum depends on it
        fx, fy, fz = fx + kick.wall[w, 0], fy + kick.wall[w, 1], fz + kick.wall[w, 2]
        tx, ty, tz = tx + kick.wall[w, 3], ty + kick.wall[w, 4], tz + kick.wall[w, 5]
    return (fx, fy, fz), (tx, ty, tz)


@inlined
def write_force(p: int, force: Vector, torque: Vector, particles: ParticleArrays) -> None:
    """Write the sums of a particle to its columns."""
    for axis in range(3):
        particles.force[p, axis] = force[axis]
        particles.torque[p, axis] = torque[axis]


@inlined
def kick_particle(p: int, force: Vector, torque: Vector, kick: Kick, particles: ParticleArrays) -> None:
    """Finish the step of a particle by its kick, and write its columns."""
    write_force(p, force, torque, particles)
    move(
        p, kick.dt, Motion(kick.gravity, kick.free, kick.sides, kick.box),
        FixedColumns(kick.reference, kick.skin, kick.inverse_inertia), Travel(particles.image, particles.box_work),
        particles.packed, force, torque, 0 if kick.dt == 0.0 else 1, False,
    )  # fmt: skip
    unpack_particle(p, particles.packed, particles.position, particles.velocity, particles.angular_velocity)


@inlined
def sum_and_advance(
    at: int,
    first: int,
    last: int,
    order: Int32s,
    rows: Rows,
    candidates: Candidates,
    forces: Floats,
    kick: Kick,
    particles: ParticleArrays,
    work: Floats,
) -> int:
    """Sum the forces on the owned particles ``order[first:last]``, and integrate their motion.

    If the next step begins immediately, particles are integrated a block at a time and their columns are not written;
    `work` has room for a block from `at` on. Returns the largest code, see `pdem.motion.integration.FINE`.
    """
    code = FINE
    for block in range(first, last, BLOCK):
        count = min(BLOCK, last - block)
        for c in range(count):
            p, w = order[np.uint64(block + c)] & ROW, offset(at, c)
            force, torque = total_force(p, rows, candidates, forces, kick)
            if kick.ahead:
                put3(work, w + FX, _STRIDE, force)
                put3(work, w + TX, _STRIDE, torque)
                reference = kick.reference[p, 0], kick.reference[p, 1], kick.reference[p, 2]
                put3(work, w + X0, _STRIDE, reference)
                work[w + SKIN], work[w + INVERSE_INERTIA] = kick.skin[p], kick.inverse_inertia[p]
            else:
                kick_particle(p, force, torque, kick, particles)
        if kick.ahead:
            moved = move_block(
                at, block, count, order, kick.dt, Motion(kick.gravity, kick.free, kick.sides, kick.box),
                Travel(particles.image, particles.box_work), particles.packed, work,
            )  # fmt: skip
            code = max(code, moved)
    return code


@uncounted_kernel
def sum_forces(
    worst: Integers,
    order: Int32s,
    rows: Rows,
    candidates: Candidates,
    forces: Floats,
    kick: Kick,
    particles: ParticleArrays,
    work: Floats,
) -> None:
    """Sum the forces on some owned particles, and integrate their motion, as `evaluate_pairs` does.

    Every worker writes the largest code of its particles to `worst`.
    """
    workers = len(worst)
    for worker in prange(workers):
        first, last = share_of(worker, workers, len(order))
        worst[worker] = sum_and_advance(
            worker * WORK, first, last, order, Rows(*rows),
            Candidates(*candidates), forces, Kick(*kick), ParticleArrays(*particles), work,
        )  # fmt: skip


@inlined
def sum_particle(
    p: int, rows: Rows, candidates: Candidates, forces: Floats, kick: Kick, particles: ParticleArrays
) -> None:
    """Write the sum of the forces on an owned particle to its columns."""
    force, torque = total_force(p, rows, candidates, forces, kick)
    write_force(p, force, torque, particles)


@uncounted_kernel
def sum_carried(
    order: Int32s, rows: Rows, candidates: Candidates, forces: Floats, kick: Kick, particles: ParticleArrays
) -> None:
    """Write the sums of the forces on the owned particles `order` to their columns; no particle is kicked.

    The sums have the order of `sum_forces`. A carrier moves these particles (see `pdem.motion.clusters.carriers`).
    """
    for k in prange(len(order)):
        sum_particle(order[k], Rows(*rows), Candidates(*candidates), forces, Kick(*kick), ParticleArrays(*particles))
