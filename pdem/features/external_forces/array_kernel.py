"""The kick by a force and a drag that a script sets for each particle.

A fluid that drags particles may be stiff: the drag coefficient times the step, over the mass, far above 1. Therefore a
half kick of h is implicit in the velocity v,

    v' = (v + h (f + F + c u) / m) / (1 + h c / m),

with the sum f of contact forces and weight, the external force F, the drag coefficient c and the velocity u of the
fluid. This is stable for any step, and of first order if the step resolves the drag; if f, F and u are constant, the
velocity at which all forces balance is exact. f acts in the kick by contacts, before this kick at the end of a step and
after it at the begin of the next: in the second case its share is subtracted in advance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.numerics.geometry_kernels import sphere_mass
from pdem.numerics.kernel_factory import inlined_exactly
from pdem.numerics.kernels import prange, threaded_kernel
from pdem.numerics.sums import add_exactly
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers


class DraggedColumns(NamedTuple):
    """Columns of particles that the kick reads, and ``velocity``, which it writes.

    Attributes
    ----------
    id, material, radius : (n,) arrays
        Radius in m.
    velocity, force : (n, 3) arrays
        Velocity in m/s, and the sum of the contact forces in N.
    external_force, external_drag, fluid_velocity : (n, 3), (n,), (n, 3) arrays
        Values of the script: in N, kg/s, m/s.
    """

    id: Integers
    material: Int32s
    radius: Floats
    velocity: Floats
    force: Floats
    external_force: Floats
    external_drag: Floats
    fluid_velocity: Floats


class KickConstants(NamedTuple):
    """Constants that all particles share.

    Attributes
    ----------
    density : (M,) array
        Density by material [kg/m^3].
    gravity : (3,) array
        Gravity in m/s^2.
    free : (6,) array
        1 or 0 for each degree of freedom, those of translation first.
    """

    density: Floats
    gravity: Floats
    free: Floats


@inlined_exactly
def kicked_along(
    p: int, axis: int, half: float, mass: float, own: DraggedColumns, constants: KickConstants, begins: bool
) -> float:
    """Return the velocity [m/s] of a particle along an axis after half a kick of `half` [s]."""
    v, drag = own.velocity[p, axis], own.external_drag[p]
    if constants.free[axis] == 0.0:
        return v
    change = half * (own.external_force[p, axis] + drag * own.fluid_velocity[p, axis]) / mass
    if not begins or drag == 0.0:
        return (v + change) / (1.0 + half * drag / mass)
    others = half * (own.force[p, axis] / mass + constants.gravity[axis])
    return (v + others + change) / (1.0 + half * drag / mass) - others


@inlined_exactly
def kick_particle(
    p: int, half: float, own: DraggedColumns, constants: KickConstants, begins: bool, limbs: Integers,
    bad: int,
) -> int:  # fmt: skip
    """Kick one particle if the result is finite; return the lowest id of particles without a finite result."""
    mass = sphere_mass(constants.density[own.material[p]], own.radius[p])
    vx, vy, vz = own.velocity[p, 0], own.velocity[p, 1], own.velocity[p, 2]
    ux = kicked_along(p, 0, half, mass, own, constants, begins)
    uy = kicked_along(p, 1, half, mass, own, constants, begins)
    uz = kicked_along(p, 2, half, mass, own, constants, begins)
    if not math.isfinite(ux + uy + uz) or not own.external_drag[p] >= 0.0:
        return min(bad, own.id[p])
    own.velocity[p, 0], own.velocity[p, 1], own.velocity[p, 2] = ux, uy, uz
    add_exactly(limbs, 0.5 * mass * ((ux - vx) * (ux + vx) + (uy - vy) * (uy + vy) + (uz - vz) * (uz + vz)))
    return bad


@threaded_kernel
def kick_dragged(
    half: float, begins: bool, count: int, rows: Int32s, own: DraggedColumns, constants: KickConstants,
    limbs: Integers, bad: Integers,
) -> None:  # fmt: skip
    """Apply the forces and drags of a script to particles for half a kick.

    Parameters
    ----------
    half : float
        Length of half a kick [s].
    begins : bool
        Whether the kick by contacts and gravity follows, at the begin of a step.
    count : int
        Number of particles.
    rows : (count,) int32 array
        Rows of the particles; empty for the first `count` rows.
    own, constants
        See `DraggedColumns` and `KickConstants`; plain tuples of their fields.
    limbs : (workers, LIMBS) int64 array
        Exact sums to which the work [J] of each worker is added.
    bad : (workers,) int64 array
        Written: the lowest id of a particle with a velocity that would not be finite, or with a negative drag. Such a
        particle does not change.
    """
    workers = len(bad)
    for worker in prange(workers):
        lowest, (first, last) = bad[worker], share_of(worker, workers, count)
        columns, shared = DraggedColumns(*own), KickConstants(*constants)
        for place in range(first, last):
            row = rows[place] if len(rows) > 0 else place
            lowest = kick_particle(row, half, columns, shared, begins, limbs[worker], lowest)
        bad[worker] = lowest
