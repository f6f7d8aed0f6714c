"""Forces and torques of features on particles, step by step, beside those of contacts: see `Feature.has_forces`.

They are evaluated where those of contacts are, at the same positions and velocities, and act with these: half a kick
ends the step, and the columns ``force`` and ``torque``, by which the next one begins, have the sum of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.engine.clusters.steps import place_ghost_members
from pdem.motion.integration import Motion, half_kick
from pdem.numerics.geometry_kernels import inlined_geometry, sphere_mass
from pdem.numerics.kernels import plain, prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Int32s


class FeatureLoads(NamedTuple):
    """Forces and torques of features on the owned particles of a rank.

    Attributes
    ----------
    force, torque : (n, 3) arrays
        In N and N m.
    """

    force: Floats
    torque: Floats


class KickedColumns(NamedTuple):
    """Columns of particles that the kick by features reads and writes.

    Attributes
    ----------
    material, radius : (n,) arrays
        Index of the material, radius [m].
    velocity, angular_velocity : (n, 3) arrays
        Written [m/s, rad/s].
    """

    material: Int32s
    radius: Floats
    velocity: Floats
    angular_velocity: Floats


def evaluate_forces(system: System, dt: float, phases: Phases, *, waits: bool) -> None:
    """Let features compute their forces; before that wait for ghosts if they are on their way (`waits`)."""
    if not system.features.forcing:
        return
    if waits and system.exchange.size > 1:
        system.exchange.finish_update()
        place_ghost_members(system)
        phases.lap("exchange")
    for feature in system.features.forcing:
        feature.evaluate_forces(system, dt)
    phases.lap("own forces")


def act_forces(system: System, dt: float, phases: Phases) -> None:
    """Let the forces of features end a step, and add those that begin the next one to the columns of forces."""
    features = system.features.forcing
    if not features:
        return
    loads = _sums(system)
    if dt > 0.0:
        _kick(system, 0.5 * dt, loads)
        changes = [feature.forces_change(system, dt) for feature in features]
        if any(changes):
            loads = _sums(system)
    own = system.particles
    own.force[:] += loads.force
    own.torque[:] += loads.torque
    phases.lap("own forces")


def _sums(system: System) -> FeatureLoads:
    """Return the sums of the forces of all features, feature by feature."""
    count = system.particles.count
    force, torque = system.contacts.feature_loads(count)
    force[:], torque[:] = 0.0, 0.0
    for feature in system.features.forcing:
        feature.add_forces(system, force, torque)
    return FeatureLoads(force, torque)


def _kick(system: System, half: float, loads: FeatureLoads) -> None:
    """Let loads act on the particles that move by themselves for a time `half` [s]."""
    constants, own, held = system.constants, system.particles, system.contacts.pairs.held
    rows = system.contacts.pairs.free_rows if held.any_owned else np.empty(0, np.int32)
    count = len(rows) if held.any_owned else own.count
    columns = KickedColumns(*(own.column(name) for name in KickedColumns._fields))
    still = np.zeros(3)
    kick_by_loads(
        *plain(
            half, count, rows, loads, columns, constants.density, system.lists.fixed_columns.inverse_inertia, still,
            constants.free,
        )
    )  # fmt: skip


@inlined_geometry
def kick_row(
    p: int, half: float, loads: FeatureLoads, columns: KickedColumns, density: Floats, inverse_inertia: Floats,
    motion: Motion,
) -> None:  # fmt: skip
    """Kick one particle, as contacts do."""
    inverse_mass = 1.0 / sphere_mass(density[columns.material[p]], columns.radius[p])
    v, w, force, torque = columns.velocity, columns.angular_velocity, loads.force, loads.torque
    u0, u1, u2, s0, s1, s2 = half_kick(
        half, inverse_mass, inverse_inertia[p], motion, (v[p, 0], v[p, 1], v[p, 2]), (w[p, 0], w[p, 1], w[p, 2]),
        (force[p, 0], force[p, 1], force[p, 2]), (torque[p, 0], torque[p, 1], torque[p, 2]),
    )  # fmt: skip
    v[p, 0], v[p, 1], v[p, 2] = u0, u1, u2
    w[p, 0], w[p, 1], w[p, 2] = s0, s1, s2


@uncounted_kernel
def kick_by_loads(
    half: float, count: int, rows: Int32s, loads: FeatureLoads, columns: KickedColumns, density: Floats,
    inverse_inertia: Floats, still: Floats, free: Floats,
) -> None:  # fmt: skip
    """Let forces and torques act on particles for a time `half` [s].

    Parameters
    ----------
    half : float
        Length of the kick [s].
    count : int
        Number of particles.
    rows : (count,) int32 array
        Their rows; empty for the first ones.
    loads, columns
        See `FeatureLoads` and `KickedColumns`; plain tuples of their fields.
    density : (M,) array
        By material [kg/m^3].
    inverse_inertia : (n,) array
        Of owned particles [1/(kg m^2)].
    still : (3,) array
        Zeros: gravity acts with contacts.
    free : (6,) array
        1 for free degrees of freedom, else 0.
    """
    acting, moving, motion = FeatureLoads(*loads), KickedColumns(*columns), Motion(still, free, still, None)
    for place in prange(count):
        row = np.int64(rows[place]) if len(rows) > 0 else np.int64(place)
        kick_row(row, half, acting, moving, density, inverse_inertia, motion)
