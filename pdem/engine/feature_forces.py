"""Forces and torques of features on particles, in each step beside contact forces: see `Feature.has_forces`.

They are evaluated at the same positions and velocities as contact forces, and act together with contact forces: half a
kick ends the step, and the columns ``force`` and ``torque``, by which the next step begins, hold the sum of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.engine.clusters.steps import place_ghost_members
from pdem.motion.integration import Motion, half_kick
from pdem.numerics.geometry_kernels import inlined_geometry, sphere_mass
from pdem.numerics.kernels import plain, prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.containers.particles import Particles
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Int32s

ALL = np.empty(0, np.int32)
"""Argument instead of rows if a kernel acts on the first rows."""

_NO_GRAVITY = np.zeros(3)
"""Gravity [m/s^2] in the kick by features: it acts in the kick by contacts."""


class FeatureLoads(NamedTuple):
    """Forces and torques of features on the owned particles of a rank.

    Attributes
    ----------
    force, torque : (n, 3) arrays
        Forces [N] and torques [N m].
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
        Velocities [m/s] and angular velocities [rad/s], which are written.
    """

    material: Int32s
    radius: Floats
    velocity: Floats
    angular_velocity: Floats


def evaluate_forces(system: System, dt: float, phases: Phases, *, waits: bool) -> None:
    """Let features compute their forces; first wait for ghosts if their update is still in transit (`waits`)."""
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
    """Apply the half kick of features that ends a step, and add their forces to the columns for the next step."""
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
    """Return the sums of the forces and torques of all features, in the order of the features."""
    count = system.particles.count
    force, torque = system.contacts.feature_loads(count)
    force[:], torque[:] = 0.0, 0.0
    for feature in system.features.forcing:
        feature.add_forces(system, force, torque)
    return FeatureLoads(force, torque)


def _kick(system: System, half: float, loads: FeatureLoads) -> None:
    """Apply loads for a time `half` [s] to the particles that move by themselves."""
    constants, own = system.constants, system.particles
    count, rows = kicked_rows(system.contacts, own)
    columns = KickedColumns(*(own.column(name) for name in KickedColumns._fields))
    kick_by_loads(
        *plain(
            half, count, rows, loads, columns, constants.density, system.lists.fixed_columns.inverse_inertia,
            _NO_GRAVITY, constants.free,
        )
    )  # fmt: skip


def kicked_rows(contacts: RankContacts, particles: Particles) -> tuple[int, Int32s]:
    """Return the number of particles that no carrier moves, and their rows; empty for all rows."""
    if not contacts.pairs.held.any_owned:
        return particles.count, ALL
    rows = contacts.pairs.free_rows
    return len(rows), rows


@inlined_geometry
def kick_row(
    p: int, half: float, loads: FeatureLoads, columns: KickedColumns, density: Floats, inverse_inertia: Floats,
    motion: Motion,
) -> None:  # fmt: skip
    """Apply a half kick to one particle, as for contact forces."""
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
    """Apply forces and torques to particles for a time `half` [s].

    Parameters
    ----------
    half : float
        Length of the kick [s].
    count : int
        Number of particles.
    rows : (count,) int32 array
        Rows of the particles; an empty array means the first `count` particles.
    loads, columns
        See `FeatureLoads` and `KickedColumns`; plain tuples of their fields.
    density : (M,) array
        Density by material [kg/m^3].
    inverse_inertia : (n,) array
        One over the moment of inertia of owned particles [1/(kg m^2)].
    still : (3,) array
        Zeros for gravity, which acts in the kick by contacts.
    free : (6,) array
        1 for free degrees of freedom, else 0.
    """
    acting, moving, motion = FeatureLoads(*loads), KickedColumns(*columns), Motion(still, free, still, None)
    for place in prange(count):
        row = np.int64(rows[place]) if len(rows) > 0 else np.int64(place)
        kick_row(row, half, acting, moving, density, inverse_inertia, motion)
