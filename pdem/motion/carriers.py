"""Carriers: what moves particles in place of the forces on each of them, such as a rigid cluster or a prescribed path.

The forces on carried particles are summed like those on all others, in the same order, and written to the columns
``force`` and ``torque``; the step neither kicks nor drifts these particles. A step of a carrier is that of a particle
(`pdem.motion.integration`): `Carriers.begin` with the forces of the last step, then contacts at the new positions, then
`Carriers.finish` with the new forces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pdem.foundation.geometry_kernels import inlined_geometry
from pdem.foundation.kernels import prange, threaded_kernel
from pdem.motion.integration import (
    FINE,
    GONE,
    LOST,
    STALE,
    FixedColumns,
    Motion,
    StepColumns,
    move_along,
    pack_particle,
    went_too_far,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.containers.particles import Particles


class Carriers(Protocol):
    """All carriers of a rank; the attribute `carriers` of `pdem.simulation.system.System`."""

    def rows(self, particles: Particles) -> NDArray[np.int32]:
        """Return the rows of the owned particles that are carried, each once; asked whenever lists are made.

        They stay the same until the next lists.
        """
        ...

    def begin(self, particles: Particles, rows: NDArray[np.int32], dt: float) -> None:
        """Begin a step of length `dt` [s]: half a kick by the forces of the last step, and the drift.

        Written to `rows` of the columns: ``position``, which need not be wrapped, ``velocity`` and
        ``angular_velocity``, those of the middle of the step. No particle may be displaced by more than its radius.
        """
        ...

    def finish(self, particles: Particles, rows: NDArray[np.int32], half: float) -> None:
        """Kick by the forces in the columns ``force`` and ``torque`` for the other half of the step [s].

        Written to `rows` of the columns: ``velocity`` and ``angular_velocity``. `half` is 0 where forces are only
        measured.
        """
        ...


@inlined_geometry
def place_particle(
    p: int,
    motion: Motion,
    density: NDArray[np.float64],
    fixed: FixedColumns,
    columns: StepColumns,
    packed: NDArray[np.float64],
) -> int:
    """Wrap the position of a carried particle and pack it; return see `pdem.motion.integration.FINE`."""
    position, image, sides = columns.position, columns.image, motion.sides
    squared = 0.0
    outside = False
    for axis in range(3):
        x, periods, away, left = move_along(axis, 0.0, position[p, axis], fixed.reference[p, axis], sides)
        position[p, axis] = x
        if periods != 0.0:
            image[p, axis] += int(periods)
        squared += away * away
        outside = outside | left
    pack_particle(
        p, position, columns.velocity, columns.angular_velocity, columns.radius, columns.material, density, packed
    )  # fmt: skip
    stale = squared > fixed.skin[p] * fixed.skin[p]
    code = GONE if outside else (STALE if stale else FINE)
    return LOST + p if went_too_far(0.0, 0.0, 0.0, squared, columns.radius[p]) else code


@threaded_kernel
def place_carried(
    rows: NDArray[np.int32],
    motion: Motion,
    density: NDArray[np.float64],
    fixed: FixedColumns,
    columns: StepColumns,
    packed: NDArray[np.float64],
) -> int:
    """Wrap the positions that carriers have written, and pack these particles.

    Parameters
    ----------
    rows : int32 array
        Of the carried particles.
    motion, density, fixed, columns, packed
        As `pdem.motion.integration.drift` takes them.

    Returns
    -------
    int
        `FINE`, `STALE`, `GONE`, or `LOST` + the row of a particle whose position is not finite.
    """
    how, still, moving = Motion(*motion), FixedColumns(*fixed), StepColumns(*columns)
    worst = 0
    for k in prange(len(rows)):
        code = place_particle(rows[k], how, density, still, moving, packed)
        worst = max(worst, code)
    return worst
