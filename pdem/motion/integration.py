"""Central differences in their kick-drift-kick form: velocities and positions at the same times.

Half a kick and the drift begin a step, contact forces follow at the new positions, and half a kick ends the step, where
forces are added up (`pdem.contact.pairs.force_sums`). During a step velocities are those of the middle of the step, as
`pdem.contact.law.kinds.viscoelastic` expects.

During the steps, particles are stored in *packed* rows (`pdem.foundation.packed_row`): all data that contacts need of a
particle are at one address. Columns are written only where something reads them. Where nothing reads the state between
two steps, the end of one step and the start of the next run together, with the same functions. These are compiled
without contraction, so that they give the same bits in any kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.packed_row import INVERSE_MASS, MATERIAL, PACKED, PLACE, SIZE, SPEED, SPIN
from pdem.motion.displacement import box_work_of, drifted, went_too_far
from pdem.numerics.box_images import images_in
from pdem.numerics.geometry_kernels import inlined_geometry, sphere_inverse_inertia, sphere_mass
from pdem.numerics.kernels import inlined, prange, threaded_kernel
from pdem.numerics.simd.prefetch import LINE, fetch
from pdem.numerics.simd.unsigned_index import ROW

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s

FINE, STALE, LOST = range(3)
"""Codes that `drift` returns: lists are still valid; a particle has used up its skin; and, from `LOST` on, `LOST` +
the row of a particle whose displacement in one step exceeds its radius or whose position is not finite."""

REST_SPEED = 1e-120
"""A speed below this limit is set to zero [m/s, rad/s]. A particle that friction alone brings to rest slows down by
the same factor in each step, down to subnormal numbers, with which many processors are slow."""


class Motion(NamedTuple):
    """Gravity, degrees of freedom and box, common to all particles.

    Attributes
    ----------
    gravity : (3,) array
        Acceleration [m/s^2].
    free : (6,) array
        1 or 0 for each degree of freedom, three of translation, three of rotation.
    sides : (3, 3) array
        Sides of the box, see `pdem.motion.displacement.LOWER`; of a deforming box at the end of the drift.
    box : (ROWS, 3) array or None
        Rows of a deforming box, see `pdem.numerics.box_images`; then the periods are taken from these rows.
    """

    gravity: Floats
    free: Floats
    sides: Floats
    box: Floats | None = None


class Travel(NamedTuple):
    """Columns that the drift writes: images, and the work of a deforming box.

    Attributes
    ----------
    image : (n, 3) int32 array
        Number of periods of the box that each particle has crossed.
    box_work : (n,) array
        Work of the deformation on the motion of each particle [J]; unchanged in boxes that do not deform.
    """

    image: Int32s
    box_work: Floats


class FixedColumns(NamedTuple):
    """Columns of owned particles that are written when lists are made, and stay constant until the next list build.

    Attributes
    ----------
    reference : (n, 3) array
        Positions when lists were made [m].
    skin : (n,) array
        Allowed distance of each particle from its reference [m].
    inverse_inertia : (n,) array
        Inverse moment of inertia, about any axis through the centre [1/(kg m^2)].
    """

    reference: Floats
    skin: Floats
    inverse_inertia: Floats


class StepColumns(NamedTuple):
    """Columns of particles that the start of a step reads; some of them are also written.

    Attributes
    ----------
    material, radius : (n,) int32 and float64 arrays
        Index of the material, radius [m].
    position, image, velocity, angular_velocity : (n, 3) arrays
        Written.
    force, torque : (n, 3) arrays
        Sums of the last step [N, N m].
    box_work : (n,) array
        Written, see `Travel`.
    """

    material: Int32s
    radius: Floats
    position: Floats
    image: Int32s
    velocity: Floats
    angular_velocity: Floats
    force: Floats
    torque: Floats
    box_work: Floats


@inlined
def prefetch_row(p: int, packed: Floats) -> None:
    """Prefetch the packed row of a particle, which may extend over two cache lines."""
    at = np.uint64(PACKED * (p & ROW))
    fetch(packed, at)
    fetch(packed, at + np.uint64(LINE))


@inlined_geometry
def flush_to_zero(speed: float) -> float:
    """Return a speed, or 0 where it is below `REST_SPEED`; NaN is returned unchanged."""
    return 0.0 if abs(speed) < REST_SPEED else speed


@inlined_geometry
def half_kick(
    half: float,
    inverse_mass: float,
    inverse_inertia: float,
    motion: Motion,
    v: tuple[float, float, float],
    w: tuple[float, float, float],
    force: tuple[float, float, float],
    torque: tuple[float, float, float],
) -> tuple[float, float, float, float, float, float]:
    """Return velocity and angular velocity after force, torque and gravity have acted for a time `half` [s]."""
    gravity, free = motion.gravity, motion.free
    return (
        flush_to_zero(v[0] + free[0] * half * (force[0] * inverse_mass + gravity[0])),
        flush_to_zero(v[1] + free[1] * half * (force[1] * inverse_mass + gravity[1])),
        flush_to_zero(v[2] + free[2] * half * (force[2] * inverse_mass + gravity[2])),
        flush_to_zero(w[0] + free[3] * half * (torque[0] * inverse_inertia)),
        flush_to_zero(w[1] + free[4] * half * (torque[1] * inverse_inertia)),
        flush_to_zero(w[2] + free[5] * half * (torque[2] * inverse_inertia)),
    )


@inlined_geometry
def move(
    p: int,
    dt: float,
    motion: Motion,
    fixed: FixedColumns,
    travel: Travel,
    packed: Floats,
    force: tuple[float, float, float],
    torque: tuple[float, float, float],
    kicks: int,
    drifts: bool,
) -> int:
    """Kick a sphere `kicks` times for half a step, and let it drift for a step; return a code like `FINE`.

    On periodic axes the position is wrapped. The packed row is written last: the compiler must read again any array
    that could overlap with it in memory.
    """
    at = PACKED * (p & ROW)
    inverse_mass, radius = packed[at + INVERSE_MASS], packed[at + SIZE]
    inverse_inertia = fixed.inverse_inertia[p]
    u0, u1, u2 = packed[at + SPEED], packed[at + SPEED + 1], packed[at + SPEED + 2]
    s0, s1, s2 = packed[at + SPIN], packed[at + SPIN + 1], packed[at + SPIN + 2]
    for _ in range(kicks):
        u0, u1, u2, s0, s1, s2 = half_kick(
            0.5 * dt, inverse_mass, inverse_inertia, motion, (u0, u1, u2), (s0, s1, s2), force, torque
        )
    code = FINE
    if drifts:
        reference, image, box = fixed.reference, travel.image, images_in(motion.box)
        a, b, c = dt * u0, dt * u1, dt * u2
        (x, y, z), (u0, u1, u2), (tx, ty, tz), away = drifted(
            (a, b, c), (packed[at + PLACE], packed[at + PLACE + 1], packed[at + PLACE + 2]), (u0, u1, u2),
            (reference[p, 0], reference[p, 1], reference[p, 2]), motion.sides, box,
        )  # fmt: skip
        if (tx != 0.0) | (ty != 0.0) | (tz != 0.0):
            image[p, 0] += np.int32(tx)
            image[p, 1] += np.int32(ty)
            image[p, 2] += np.int32(tz)
        if box is not None:
            travel.box_work[p] += box_work_of((x, y, z), (u0, u1, u2), inverse_mass, dt, box)
        stale = away > fixed.skin[p] * fixed.skin[p]
        packed[at + PLACE], packed[at + PLACE + 1], packed[at + PLACE + 2] = x, y, z
        code = STALE if stale else FINE
        code = LOST + p if went_too_far(a, b, c, away, radius) else code
    packed[at + SPEED], packed[at + SPEED + 1], packed[at + SPEED + 2] = u0, u1, u2
    packed[at + SPIN], packed[at + SPIN + 1], packed[at + SPIN + 2] = s0, s1, s2
    return code


@inlined_geometry
def pack_particle(
    p: int,
    position: Floats,
    velocity: Floats,
    angular_velocity: Floats,
    radius: Floats,
    material: Int32s,
    density: Floats,
    packed: Floats,
) -> None:
    """Write the packed row of one particle from its columns."""
    at = PACKED * (p & ROW)
    for axis in range(3):
        packed[at + PLACE + axis] = position[p, axis]
        packed[at + SPEED + axis] = velocity[p, axis]
        packed[at + SPIN + axis] = angular_velocity[p, axis]
    packed[at + SIZE] = radius[p]
    packed[at + INVERSE_MASS] = 1.0 / sphere_mass(density[material[p]], radius[p])
    packed[at + MATERIAL] = material[p]


@inlined_geometry
def unpack_particle(p: int, packed: Floats, position: Floats, velocity: Floats, angular_velocity: Floats) -> None:
    """Write the moving part of one particle's packed row into columns."""
    at = PACKED * (p & ROW)
    for axis in range(3):
        position[p, axis] = packed[at + PLACE + axis]
        velocity[p, axis] = packed[at + SPEED + axis]
        angular_velocity[p, axis] = packed[at + SPIN + axis]


@threaded_kernel
def pack(
    count: int,
    position: Floats,
    velocity: Floats,
    angular_velocity: Floats,
    radius: Floats,
    material: Int32s,
    density: Floats,
    packed: Floats,
) -> None:
    """Write the packed rows of the first `count` particles, `PACKED` numbers each, as `drift` does."""
    for p in prange(count):
        pack_particle(p, position, velocity, angular_velocity, radius, material, density, packed)


@threaded_kernel
def write_inverse_inertia(
    owned: int, radius: Floats, material: Int32s, density: Floats, inverse_inertia: Floats
) -> None:
    """Write the inverse moments of inertia of the first `owned` particles [1/(kg m^2)], from densities by material."""
    for p in prange(owned):
        inverse_mass = 1.0 / sphere_mass(density[material[p]], radius[p])
        inverse_inertia[p] = sphere_inverse_inertia(inverse_mass, radius[p])


@threaded_kernel
def unpack(owned: int, packed: Floats, position: Floats, velocity: Floats, angular_velocity: Floats) -> None:
    """Write columns of the first `owned` particles from their packed rows."""
    for p in prange(owned):
        unpack_particle(p, packed, position, velocity, angular_velocity)


@inlined_geometry
def drift_particle(
    p: int, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Begin the step of one particle from its columns, as `drift` does; return a code like `FINE`."""
    position, velocity, angular_velocity = columns.position, columns.velocity, columns.angular_velocity
    force, torque = columns.force, columns.torque
    pack_particle(p, position, velocity, angular_velocity, columns.radius, columns.material, density, packed)
    code = move(
        p, dt, motion, fixed, Travel(columns.image, columns.box_work), packed,
        (force[p, 0], force[p, 1], force[p, 2]), (torque[p, 0], torque[p, 1], torque[p, 2]), 1, True,
    )  # fmt: skip
    unpack_particle(p, packed, position, velocity, angular_velocity)
    return code


@threaded_kernel
def drift(
    owned: int, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Begin a step: half a kick, then the drift; positions on periodic axes are wrapped.

    Parameters
    ----------
    owned, dt
        Number of particles, time step [s].
    motion, fixed, columns
        Plain tuples of the fields (`pdem.numerics.kernels.plain`) of `Motion`, `FixedColumns` and `StepColumns`.
    density : (M,) array
        Density by material [kg/m^3].
    packed
        Packed rows, `PACKED` numbers for each particle; written.

    Returns
    -------
    int
        `FINE`, `STALE`, or `LOST` + row.
    """
    # unpacked before the loop: inside, every particle would unpack it and change reference counts of arrays
    how, still, moving = Motion(*motion), FixedColumns(*fixed), StepColumns(*columns)
    worst = 0
    for p in prange(owned):
        code = drift_particle(p, dt, how, density, still, moving, packed)
        worst = max(worst, code)
    return worst


@threaded_kernel
def drift_rows(
    rows: Int32s, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Begin a step of some owned particles, which no carrier moves, as `drift` does for all particles."""
    how, still, moving = Motion(*motion), FixedColumns(*fixed), StepColumns(*columns)
    worst = 0
    for k in prange(len(rows)):
        code = drift_particle(rows[k], dt, how, density, still, moving, packed)
        worst = max(worst, code)
    return worst
