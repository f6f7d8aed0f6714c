"""Central differences in their kick-drift-kick form: velocities and positions at the same times.

Half a kick and the drift begin a step, contact forces follow at the new positions, half a kick ends it, where forces
are added up (`pdem.contact.pairs.force_sums`). In between velocities are those of the middle of the step, as
`pdem.contact.law.kinds.viscoelastic` takes them.

While steps are taken, particles live in *packed* rows (`pdem.foundation.packed_row`): all that contacts need of one is
at one address. Columns are
written where somebody looks at them. Where nobody looks between two steps, the end of one and the begin of the next
are done at once, with the same functions: they are compiled without contraction, so that they give the same bits in
whichever kernel they end up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.packed_row import INVERSE_MASS, MATERIAL, PACKED, PLACE, SIZE, SPEED, SPIN
from pdem.motion.displacement import box_work_of, drifted, went_too_far
from pdem.numerics.box_images import images_in
from pdem.numerics.geometry_kernels import inlined_geometry, sphere_inverse_inertia, sphere_mass
from pdem.numerics.kernels import inlined, prange, threaded_kernel
from pdem.numerics.simd.places import ROW
from pdem.numerics.simd.prefetch import LINE, fetch

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s

FINE, STALE, LOST = range(3)
"""What `drift` returns: lists still hold; a particle has used up its skin; from `LOST` on,
`LOST` + the row of a particle that moved more than its radius in one step or is not at a finite place."""

STILL = 1e-120
"""A speed below this is none [m/s, rad/s]. What comes to rest by friction alone is slower by the same factor after each
step, down to where numbers lose their digits, and many processors most of their speed."""


class Motion(NamedTuple):
    """What all particles move by.

    Attributes
    ----------
    gravity : (3,) array
        Acceleration [m/s^2].
    free : (6,) array
        1 or 0 for each degree of freedom, three of translation, three of rotation.
    sides : (3, 3) array
        Of the box, see `pdem.motion.displacement.LOWER`; of one that deforms as it is at the end of the drift.
    box : (ROWS, 3) array or None
        How a box that deforms does so, see `pdem.numerics.box_images`; then periods are those of this.
    """

    gravity: Floats
    free: Floats
    sides: Floats
    box: Floats | None = None


class Travel(NamedTuple):
    """What crossing the box, and its deformation, write of particles.

    Attributes
    ----------
    image : (n, 3) int32 array
        Lengths of the periodic box travelled.
    box_work : (n,) array
        What the deformation has done on their motion [J]; of boxes that do not deform left alone.
    """

    image: Int32s
    box_work: Floats


class FixedColumns(NamedTuple):
    """Columns of owned particles that are written when lists are made, and stay the same until the next are.

    Attributes
    ----------
    reference : (n, 3) array
        Where particles were then [m].
    skin : (n,) array
        How far each particle may be from there [m].
    inverse_inertia : (n,) array
        One over the moment of inertia, about any axis through the centre [1/(kg m^2)].
    """

    reference: Floats
    skin: Floats
    inverse_inertia: Floats


class StepColumns(NamedTuple):
    """Columns of particles that the begin of a step reads; those that change in it are written.

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
    """Prefetch the packed row of a particle, which may lie in two cache lines."""
    at = np.uint64(PACKED * (p & ROW))
    fetch(packed, at)
    fetch(packed, at + np.uint64(LINE))


@inlined_geometry
def without_crawl(speed: float) -> float:
    """Return a speed, or 0 where it is below `STILL`; NaN is returned unchanged."""
    return 0.0 if abs(speed) < STILL else speed


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
        without_crawl(v[0] + free[0] * half * (force[0] * inverse_mass + gravity[0])),
        without_crawl(v[1] + free[1] * half * (force[1] * inverse_mass + gravity[1])),
        without_crawl(v[2] + free[2] * half * (force[2] * inverse_mass + gravity[2])),
        without_crawl(w[0] + free[3] * half * (torque[0] * inverse_inertia)),
        without_crawl(w[1] + free[4] * half * (torque[1] * inverse_inertia)),
        without_crawl(w[2] + free[5] * half * (torque[2] * inverse_inertia)),
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
    """Kick a sphere `kicks` times for half a step, and let it drift for a step; return see `FINE`.

    On periodic axes it is wrapped. What is packed is written last: what might overlap with it in memory would have to
    be read again.
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
    """Write the row of one particle from its columns."""
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
    """Write what moves of one particle from its row into columns."""
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
    """Write the rows of the first `count` particles, `PACKED` numbers each, as `drift` does."""
    for p in prange(count):
        pack_particle(p, position, velocity, angular_velocity, radius, material, density, packed)


@threaded_kernel
def write_inverse_inertia(
    owned: int, radius: Floats, material: Int32s, density: Floats, inverse_inertia: Floats
) -> None:
    """Write one over the moment of inertia of the first `owned` particles [1/(kg m^2)]; `density` is by material."""
    for p in prange(owned):
        inverse_mass = 1.0 / sphere_mass(density[material[p]], radius[p])
        inverse_inertia[p] = sphere_inverse_inertia(inverse_mass, radius[p])


@threaded_kernel
def unpack(owned: int, packed: Floats, position: Floats, velocity: Floats, angular_velocity: Floats) -> None:
    """Write columns of the first `owned` particles from their rows."""
    for p in prange(owned):
        unpack_particle(p, packed, position, velocity, angular_velocity)


@inlined_geometry
def drift_particle(
    p: int, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Begin the step of one particle from its columns, as `drift` does; return see `FINE`."""
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
        See `Motion`, `FixedColumns` and `StepColumns`; plain tuples of their fields (`pdem.numerics.kernels.plain`).
    density : (M,) array
        By material [kg/m^3].
    packed
        Written, `PACKED` numbers for each particle.

    Returns
    -------
    int
        `FINE`, `STALE`, or `LOST` + row.
    """
    # named outside of the loop: there it would be done, and arrays counted, for every particle
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
    """Begin a step of some owned particles only, as `drift` does of all: of those that no carrier moves."""
    how, still, moving = Motion(*motion), FixedColumns(*fixed), StepColumns(*columns)
    worst = 0
    for k in prange(len(rows)):
        code = drift_particle(rows[k], dt, how, density, still, moving, packed)
        worst = max(worst, code)
    return worst
