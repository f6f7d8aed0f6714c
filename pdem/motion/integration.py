"""Central differences in their kick-drift-kick form: velocities and positions at the same times.

Half a kick and the drift begin a step, contact forces follow at the new positions, half a kick ends it, where forces
are added up (`pdem.contact.pair_sums`). In between velocities are those of the middle of the step, as
`pdem.contact.law` takes them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.geometry_kernels import nearest_image, sphere_mass
from pdem.foundation.kernels import inlined, prange, threaded_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

FINE, STALE, GONE, LOST = 0, 1, 2, 3
"""What `drift` returns: lists still hold; a particle has used up its skin; one has left the box; from `LOST` on,
`LOST` + the row of a particle that moved more than its radius in one step or is not at a finite place."""


@inlined
def half_kick(
    p: int,
    half: float,
    lightness: float,
    radius: float,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: tuple[float, float, float],
    torque: tuple[float, float, float],
) -> None:
    """Let force, torque and gravity act on a sphere for a time `half` [s]; `lightness` is one over its mass."""
    turning = 2.5 * lightness / (radius * radius)
    velocity[p, 0] += free[0] * half * (force[0] * lightness + gravity[0])
    velocity[p, 1] += free[1] * half * (force[1] * lightness + gravity[1])
    velocity[p, 2] += free[2] * half * (force[2] * lightness + gravity[2])
    angular_velocity[p, 0] += free[3] * half * (torque[0] * turning)
    angular_velocity[p, 1] += free[4] * half * (torque[1] * turning)
    angular_velocity[p, 2] += free[5] * half * (torque[2] * turning)


PACKED = 12
"""Numbers that contacts need of a particle: position (3) [m], radius [m], velocity (3) [m/s], one over the mass [1/kg],
angular velocity (3) [rad/s], material."""

SIZE, LIGHTNESS = 3, 7
"""Which of them are the radius and one over the mass."""


@inlined
def pack_particle(
    p: int,
    lightness: float,
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    radius: NDArray[np.float64],
    material: NDArray[np.int32],
    packed: NDArray[np.float64],
) -> None:
    """Write what contacts need of one particle, of which `lightness` is one over the mass."""
    at = PACKED * p
    packed[at], packed[at + 1], packed[at + 2] = position[p, 0], position[p, 1], position[p, 2]
    packed[at + SIZE] = radius[p]
    packed[at + 4], packed[at + 5], packed[at + 6] = velocity[p, 0], velocity[p, 1], velocity[p, 2]
    packed[at + LIGHTNESS] = lightness
    packed[at + 8], packed[at + 9] = angular_velocity[p, 0], angular_velocity[p, 1]
    packed[at + 10] = angular_velocity[p, 2]
    packed[at + 11] = material[p]


@threaded_kernel
def pack(
    first: int,
    last: int,
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    radius: NDArray[np.float64],
    material: NDArray[np.int32],
    density: NDArray[np.float64],
    packed: NDArray[np.float64],
) -> None:
    """Write what contacts need of the particles `first` to `last` - 1, `PACKED` numbers each, as `drift` does."""
    for p in prange(first, last):
        lightness = 1.0 / sphere_mass(density[material[p]], radius[p])
        pack_particle(p, lightness, position, velocity, angular_velocity, radius, material, packed)


@threaded_kernel
def drift(
    owned: int,
    dt: float,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    density: NDArray[np.float64],
    lower: NDArray[np.float64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    lowest: NDArray[np.float64],
    highest: NDArray[np.float64],
    material: NDArray[np.int32],
    radius: NDArray[np.float64],
    position: NDArray[np.float64],
    image: NDArray[np.int32],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
    reference: NDArray[np.float64],
    skin: NDArray[np.float64],
    packed: NDArray[np.float64],
) -> int:
    """Begin a step: half a kick, then the drift; positions on periodic axes are wrapped.

    Parameters
    ----------
    owned, dt
        Number of particles, time step [s].
    lowest, highest
        Limits (3,) of the box beyond which a particle is gone [m].
    gravity, free
        Acceleration (3,) [m/s^2]; 1 or 0 for each degree of freedom, three of translation, three of rotation.
    reference, skin
        Places (n, 3) [m] when lists were made, and how far each particle may be from there (n,) [m].
    packed
        Written, `PACKED` numbers for each particle.

    Returns
    -------
    int
        `FINE`, `STALE`, `GONE`, or `LOST` + row.
    """
    worst = 0
    for p in prange(owned):
        lightness = 1.0 / sphere_mass(density[material[p]], radius[p])
        half_kick(
            p, 0.5 * dt, lightness, radius[p], gravity, free, velocity, angular_velocity,
            (force[p, 0], force[p, 1], force[p, 2]), (torque[p, 0], torque[p, 1], torque[p, 2]),
        )  # fmt: skip
        moved = 0.0
        away = 0.0
        outside = False
        for axis in range(3):
            way = dt * velocity[p, axis]
            x = position[p, axis] + way
            wraps = math.floor((x - lower[axis]) * frequency[axis])
            x -= period[axis] * wraps
            position[p, axis] = x
            image[p, axis] += np.int32(wraps)
            outside |= (x < lowest[axis]) | (x > highest[axis])
            moved += way * way
            x = nearest_image(x - reference[p, axis], period[axis], frequency[axis])
            away += x * x
        pack_particle(p, lightness, position, velocity, angular_velocity, radius, material, packed)
        code = GONE if outside else (FINE if away <= skin[p] * skin[p] else STALE)
        worst = max(worst, code if moved <= radius[p] * radius[p] else LOST + p)
    return worst
