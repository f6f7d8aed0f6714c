"""Carriers: what moves particles in place of the forces on each of them, such as a rigid cluster or a prescribed path.

The forces on carried particles are summed like those on all others, in the same order; the step neither kicks nor
drifts these particles. A step of a carrier is that of a particle
(`pdem.motion.integration`): `Carriers.begin` with the forces of the last step, then contacts at the new positions, then
`Carriers.finish` with the new forces.
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
    """Where carried particles are written when their carriers have moved them.

    Attributes
    ----------
    motion : Motion
        Of all particles.
    density : (M,) array
        By material [kg/m^3].
    fixed : FixedColumns
        What has stayed the same since lists were made.
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
            `pdem.motion.integration.FINE`, `STALE`, or `LOST` + the row of a particle that moves more than its radius
            in the step, or is at no finite place.
        """
        columns = StepColumns(*(particles.column(name) for name in StepColumns._fields))
        return int(place_carried(*plain(rows, dt, self.motion, self.density, self.fixed, columns, self.packed)))


class Loads(NamedTuple):
    """The forces on carried particles, whose contacts have been evaluated, but not summed.

    Attributes
    ----------
    write : callable
        Writes their sums to the columns ``force`` and ``torque`` of the carried particles.
    arguments : tuple
        What `pdem.contact.pairs.force_sums.total_force` takes, for kernels that sum by themselves.
    """

    write: Callable[[], None]
    arguments: tuple[Any, ...]


class Carriers(Protocol):
    """All carriers of a rank; the attribute `carriers` of `pdem.engine.system.System`."""

    def rows(self, particles: Particles) -> Int32s:
        """Return the rows of the owned particles that are carried, each once; asked whenever lists are made.

        They stay the same until the next lists.
        """
        ...

    def begin(self, particles: Particles, rows: Int32s, dt: float, placing: Placing) -> int:
        """Begin a step of length `dt` [s]: half a kick by the forces of the last step in the columns, and the drift.

        Written to the packed rows: position, wrapped, velocity and angular velocity, those of the middle of the step;
        and ``image`` of the columns. `Placing.place` does so from positions, which need not be wrapped, and velocities
        in the columns. No particle may be displaced by more than its radius.

        Returns
        -------
        int
            What `Placing.place` returns.
        """
        ...

    def advance(self, particles: Particles, rows: Int32s, half: float, placing: Placing, loads: Loads) -> int:
        """Do what `finish` and then `begin` with a step of twice `half` [s] do; nobody looks in between.

        The columns ``force`` and ``torque`` are those of the step once ``loads.write()`` has been called.
        """
        ...

    def finish(self, particles: Particles, rows: Int32s, half: float) -> None:
        """Kick by the forces in the columns ``force`` and ``torque`` for the other half of the step [s].

        Written to `rows` of the columns: ``velocity`` and ``angular_velocity``. `half` is 0 where forces are only
        measured.
        """
        ...


@inlined_geometry
def place_particle(
    p: int, dt: float, motion: Motion, density: Floats, fixed: FixedColumns, columns: StepColumns, packed: Floats
) -> int:
    """Wrap the position of a carried particle and pack it; return see `pdem.motion.integration.FINE`."""
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
        Of the carried particles.
    dt : float
        Length of the step [s].
    motion, density, fixed, columns, packed
        As `pdem.motion.integration.drift` takes them.

    Returns
    -------
    int
        `FINE`, `STALE`, or `LOST` + the row of a particle that moves more than its radius, or is at no finite place.
    """
    how, still, moving = Motion(*motion), FixedColumns(*fixed), StepColumns(*columns)
    worst = 0
    for k in prange(len(rows)):
        code = place_particle(rows[k], dt, how, density, still, moving, packed)
        worst = max(worst, code)
    return worst
