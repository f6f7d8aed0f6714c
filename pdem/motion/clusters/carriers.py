"""Carriers: objects that move particles, such as a rigid cluster or a prescribed path, instead of their own forces.

The forces on carried particles are summed like the forces on all particles, in the same order; the step neither kicks
nor drifts these particles. A carrier takes the same step as a particle (`pdem.motion.integration`): `Carriers.begin`
with the forces of the last step, then contacts at the new positions, then `Carriers.finish` with the new forces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pdem.motion.displacement import drifted, went_too_far
from pdem.motion.integration import FINE, LOST, STALE, FixedColumns, Motion, StepColumns, pack_particle
from pdem.numerics.box_images import images_in
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import plain, prange, threaded_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s


class Placing(NamedTuple):
    """Output arrays and limits for the positions of carried particles.

    Attributes
    ----------
    motion : Motion
        Motion of all particles.
    density : (M,) array
        By material [kg/m^3].
    fixed : FixedColumns
        Columns that stay constant between two list builds.
    packed : flat array
        Packed rows of all particles.
    """

    motion: Motion
    density: Floats
    fixed: FixedColumns
    packed: Floats

    def place(self, particles: Particles, rows: Int32s, dt: float) -> int:
        """Wrap the positions in some rows of the columns, and pack these particles, in a step of `dt` [s].

        Returns
        -------
        int
            `pdem.motion.integration.FINE`, `STALE`, or `LOST` + the row of a particle whose displacement in the step
            exceeds its radius or whose position is not finite.
        """
        columns = StepColumns(*(particles.column(name) for name in StepColumns._fields))
        return int(place_carried(*plain(rows, dt, self.motion, self.density, self.fixed, columns, self.packed)))


class Loads(NamedTuple):
    """The forces on carried particles, for contacts that have been evaluated but not yet summed.

    Attributes
    ----------
    write : callable
        Writes their sums to the columns ``force`` and ``torque`` of the carried particles.
    arguments : tuple
        Arguments of `pdem.contact.pairs.force_sums.total_force`, for kernels that sum by themselves.
    """

    write: Callable[[], None]
    arguments: tuple[Any, ...]


class Carriers(Protocol):
    """All carriers of a rank; the attribute `carriers` of `pdem.engine.system.System`."""

    def rows(self, particles: Particles) -> Int32s:
        """Return the rows of the owned particles that are carried, each once.

        The step calls this at each list build; the rows stay the same until the next one.
        """
        ...

    def begin(self, particles: Particles, rows: Int32s, dt: float, placing: Placing) -> int:
        """Begin a step of length `dt` [s]: half a kick by the forces of the last step in the columns, and the drift.

        Writes to the packed rows the wrapped position and the velocity and angular velocity in the middle of the step,
        and ``image`` to the columns. `Placing.place` does this from positions, which need not be wrapped, and
        velocities in the columns. No particle may be displaced by more than its radius.

        Returns
        -------
        int
            The code that `Placing.place` returns.
        """
        ...

    def advance(self, particles: Particles, rows: Int32s, dt: float, placing: Placing, loads: Loads) -> int:
        """End a step like `finish` and begin the next, of length `dt` [s], like `begin`.

        Nothing reads the state between the two steps.

        The columns ``force`` and ``torque`` hold the sums of the step after a call of ``loads.write()``.
        """
        ...

    def finish(self, particles: Particles, rows: Int32s, dt: float) -> None:
        """Kick by the forces in the columns ``force`` and ``torque`` for the other half of a step of `dt` [s].

        Writes ``velocity`` and ``angular_velocity`` in `rows` of the columns. `dt` is 0 where forces are only
        measured.
        """
        ...


@inlined_geometry
def place_particle(
    p: int, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Wrap the position of a carried particle and pack it; return a code like `pdem.motion.integration.FINE`."""
    position, image, velocity, reference = columns.position, columns.image, columns.velocity, fixed.reference
    way = dt * velocity[p, 0], dt * velocity[p, 1], dt * velocity[p, 2]
    x, v, turns, squared = drifted(
        (0.0, 0.0, 0.0), (position[p, 0], position[p, 1], position[p, 2]),
        (velocity[p, 0], velocity[p, 1], velocity[p, 2]), (reference[p, 0], reference[p, 1], reference[p, 2]),
        motion.sides, images_in(motion.box),
    )  # fmt: skip
    for axis in range(3):
        position[p, axis], velocity[p, axis] = x[axis], v[axis]
        if turns[axis] != 0.0:
            image[p, axis] += int(turns[axis])
    pack_particle(
        p, position, velocity, columns.angular_velocity, columns.radius, columns.material, density, packed
    )  # fmt: skip
    code = STALE if squared > fixed.skin[p] * fixed.skin[p] else FINE
    return LOST + p if went_too_far(way[0], way[1], way[2], squared, columns.radius[p]) else code


@threaded_kernel
def place_carried(
    rows: Int32s, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Wrap the positions that carriers have written, and pack these particles.

    Parameters
    ----------
    rows : int32 array
        Rows of the carried particles.
    dt : float
        Length of the step [s].
    motion, density, fixed, columns, packed
        As in `pdem.motion.integration.drift`.

    Returns
    -------
    int
        `FINE`, `STALE`, or `LOST` + the row of a particle whose displacement exceeds its radius or whose position is
        not finite.
    """
    how, still, moving = Motion(*motion), FixedColumns(*fixed), StepColumns(*columns)
    worst = 0
    for k in prange(len(rows)):
        code = place_particle(rows[k], dt, how, density, still, moving, packed)
        worst = max(worst, code)
    return worst
