"""Kicks of own forces, and their work, which goes to the energy ledger."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pdem.features.external_forces.kernels import ForceConstants, ForcedColumns
from pdem.motion.box_kicks import kick_with_box
from pdem.numerics.kernels import plain
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.engine.system import System
    from pdem.features.external_forces.forces import ForcesOfRun
    from pdem.foundation.array_types import Int32s

TERM = "own_forces"
"""Term of the ledger: work of these forces [J]."""

ALL = np.empty(0, np.int32)
"""In place of rows, where a kernel acts on the first ones."""


def kick_by_forces(system: System, forces: ForcesOfRun, time: float, half: float) -> None:
    """Let own forces act on clusters, and on all particles that are kicked by themselves, for a time `half` [s].

    `time` [s] and positions are those between two steps.
    """
    assert forces.all is not None
    kick = forces.all.kick
    number, rows = kicked_rows(system)
    columns = forced_columns(system)
    step = round(time / system.constants.step)
    with relative_to_box(system, step, columns, system.particles.count):
        _call(system, forces, kick, (time, half), number, rows, columns)
    if system.clusters is not None:
        bodies = _as_spheres(system.clusters.table)
        with relative_to_box(system, step, bodies, len(bodies.id)):
            _call(system, forces, kick, (time, half), len(bodies.id), ALL, bodies)
        system.clusters.set_velocities(system.particles, bodies.velocity)


def kicked_rows(system: System) -> tuple[int, Int32s]:
    """Return how many particles are kicked by themselves, and their rows: none for the first ones, which are all."""
    if not system.contacts.pairs.held.any_owned:
        return system.particles.count, ALL
    rows = system.contacts.pairs.free_rows
    return len(rows), rows


def forced_columns(system: System) -> ForcedColumns:
    """Return the columns of particles that functions of forces take."""
    return ForcedColumns(*(system.particles.column(name) for name in ForcedColumns._fields))


@contextmanager
def relative_to_box(system: System, step: int, columns: ForcedColumns, count: int) -> Iterator[None]:
    """Have velocities of the first `count` particles relative to a box that deforms in this context.

    Positions are those of a step.

    So forces are the same on all images, and what they do is the work on the motion that the ledger has.
    """
    box = system.box.moving
    if box is not None:
        flow = box.gradient_at(step)
        kick_with_box(count, columns.position, columns.velocity, box.centre, -flow)
    yield
    if box is not None:
        kick_with_box(count, columns.position, columns.velocity, box.centre, flow)


def _as_spheres(table: Clusters) -> ForcedColumns:
    """Return clusters as own forces see them: spheres of their volume and mass; copies."""
    columns: dict[str, NDArray[Any]] = {
        "id": table.number[: table.count] - 1, "material": table.material.astype(np.int32),
        "radius": table.radius,
        "position": np.ascontiguousarray(table.position), "velocity": table.velocity.copy(),
        "force": np.zeros((table.count, 3)),
    }  # fmt: skip
    return ForcedColumns(*(columns[name] for name in ForcedColumns._fields))


def add_to_carried(system: System, forces: ForcesOfRun, half: float) -> None:
    """Add own forces at the end of a step to the sums of the forces on particles that carriers move.

    Clusters are kicked by themselves: to a force one is a sphere of its volume and mass at its centre.
    """
    if forces.all is not None and system.clusters is None:
        rows, columns = system.contacts.pairs.held.carried, forced_columns(system)
        _call(system, forces, forces.all.add, (system.progress.time, half), len(rows), rows, columns)


def _call(
    system: System, forces: ForcesOfRun, kernel: Any, times: tuple[float, float], count: int, rows: Int32s,
    own: ForcedColumns,
) -> None:  # fmt: skip
    constants = system.constants
    assert forces.all is not None
    limbs, bad = forces.scratch(threads())
    shared = ForceConstants(constants.density, constants.free, forces.all.table)
    kernel(*plain(*times, count, rows, own, shared, limbs, bad))
    system.contacts.ended_energies.add_limbs(TERM, limbs)
    forces.worst = min(forces.worst, int(bad.min()))
