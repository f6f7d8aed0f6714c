"""Kicks by force functions, and their work, which is added to the energy balance."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.feature_forces import ALL, kicked_rows
from pdem.features.external_forces.kernels import ForceConstants, ForcedColumns
from pdem.motion.box_kicks import kick_with_box
from pdem.numerics.kernels import plain
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.parts.system_box import SystemBox
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.features.external_forces.forces import ForcesOfRun
    from pdem.foundation.array_types import Int32s

TERM = "own_forces"
"""Term of the energy balance: work of these forces [J]."""


def kick_by_forces(system: System, forces: ForcesOfRun, time: float, half: float) -> None:
    """Apply force functions to clusters, and to all particles that no carrier moves, for a time `half` [s].

    `time` [s] and positions belong to the end of a step, which is the begin of the next one.
    """
    assert forces.all is not None
    kick = forces.all.kick
    number, rows = kicked_rows(system.contacts, system.particles)
    columns = forced_columns(system.particles)
    step = round(time / system.constants.time_step.dt)
    with relative_to_box(system.box, step, columns, system.particles.count):
        _call(system.constants, system.contacts, forces, kick, (time, half), number, rows, columns)
    if system.clusters is not None:
        bodies = _as_spheres(system.clusters.table)
        with relative_to_box(system.box, step, bodies, len(bodies.id)):
            _call(system.constants, system.contacts, forces, kick, (time, half), len(bodies.id), ALL, bodies)
        system.clusters.set_velocities(system.particles, bodies.velocity)


def forced_columns(particles: Particles) -> ForcedColumns:
    """Return the columns of particles that force functions read."""
    return ForcedColumns(*(particles.column(name) for name in ForcedColumns._fields))


@contextmanager
def relative_to_box(box: SystemBox, step: int, columns: ForcedColumns, count: int) -> Iterator[None]:
    """Within this context, velocities of the first `count` particles are relative to the deforming box.

    Positions belong to `step`. Forces are therefore the same on all images, and their work is the work on the motion in
    the energy balance.
    """
    moving = box.moving
    if moving is not None:
        flow = moving.gradient_at(step)
        kick_with_box(count, columns.position, columns.velocity, moving.centre, -flow)
    yield
    if moving is not None:
        kick_with_box(count, columns.position, columns.velocity, moving.centre, flow)


def _as_spheres(table: Clusters) -> ForcedColumns:
    """Return clusters as spheres of their volume and mass, for force functions; copies."""
    columns: dict[str, NDArray[Any]] = {
        "id": table.number[: table.count] - 1, "material": table.material.astype(np.int32),
        "radius": table.radius,
        "position": np.ascontiguousarray(table.position), "velocity": table.velocity.copy(),
        "force": np.zeros((table.count, 3)),
    }  # fmt: skip
    return ForcedColumns(*(columns[name] for name in ForcedColumns._fields))


def add_to_carried(system: System, forces: ForcesOfRun, dt: float) -> None:
    """Add force functions at the end of a step to the sums of the forces on particles that carriers move.

    Clusters get kicks of their own: a force acts on a cluster as on a sphere of its volume and mass at its centre.
    """
    if forces.all is not None and system.clusters is None:
        rows, columns = system.contacts.pairs.held.carried, forced_columns(system.particles)
        _call(
            system.constants,
            system.contacts,
            forces,
            forces.all.add,
            (system.progress.time, dt),
            len(rows),
            rows,
            columns,
        )


def _call(
    constants: Constants, contacts: RankContacts, forces: ForcesOfRun, kernel: Any, times: tuple[float, float],
    count: int, rows: Int32s,
    own: ForcedColumns,
) -> None:  # fmt: skip
    assert forces.all is not None
    limbs, bad = forces.scratch(threads())
    shared = ForceConstants(constants.density, constants.free, forces.all.table)
    kernel(*plain(*times, count, rows, own, shared, limbs, bad))
    contacts.ended_energies.add_limbs(TERM, limbs)
    forces.worst = min(forces.worst, int(bad.min()))
