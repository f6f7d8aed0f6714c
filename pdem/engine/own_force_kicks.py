"""Kicks of own forces, and their work, which goes to the energy ledger."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.forces import forces_of
from pdem.containers.particles import Particles
from pdem.engine.blow_up import OWN_FORCE
from pdem.motion.box_kicks import kick_with_box
from pdem.motion.own_forces import NONE_BAD, ForceConstants, ForcedColumns, OwnForces, new_limbs
from pdem.numerics.kernels import plain
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.engine.system import System

TERM = "own_forces"
"""Term of the ledger: work of these forces [J]."""

_ALL = np.empty(0, np.int32)


def kick_own(system: System, time: float, half: float) -> None:
    """Let the own forces act on clusters, and on all particles that are kicked by themselves, for a time `half` [s].

    `time` [s] and positions are those between two steps.
    """
    own = system.own_forces.all
    if own is None:
        return
    is_all = not system.pair_contacts.held.any_owned
    rows = _ALL if is_all else system.pair_contacts.free_rows
    column = system.particles.column
    columns = ForcedColumns(*(column(name) for name in ForcedColumns._fields))
    number = system.particles.count if is_all else len(rows)
    step = round(time / system.constants.step)
    with _relative_to_box(system, step, columns, system.particles.count):
        _call(system, own.kick, (time, half), number, rows, columns)
    if system.clusters is not None:
        bodies = system.clusters.as_spheres()
        with _relative_to_box(system, step, bodies, len(bodies.id)):
            _call(system, own.kick, (time, half), len(bodies.id), _ALL, bodies)
        system.clusters.set_velocities(system.particles, bodies.velocity)


@contextmanager
def _relative_to_box(system: System, step: int, columns: ForcedColumns, count: int) -> Iterator[None]:
    """Have velocities of the first `count` particles relative to a box that deforms in this context.

    Positions are those of a step.

    So forces are the same on all images, and what they do is the work on the motion that the ledger has.
    """
    box = system.moving_box
    if box is not None:
        flow = box.gradient_at(step)
        kick_with_box(count, columns.position, columns.velocity, box.centre, -flow)
    yield
    if box is not None:
        kick_with_box(count, columns.position, columns.velocity, box.centre, flow)


def add_to_carried(system: System, half: float) -> None:
    """Add the own forces at the end of a step to the sums of the forces on particles that carriers move.

    Clusters are kicked by themselves: to a force one is a sphere of its volume and mass at its centre.
    """
    own = system.own_forces.all
    if own is not None and system.clusters is None:
        rows, column = system.pair_contacts.held.carried, system.particles.column
        columns = ForcedColumns(*(column(name) for name in ForcedColumns._fields))
        _call(system, own.add, (system.time, half), len(rows), rows, columns)


def compile_forces(case: Case) -> None:
    """Compile the kernel of the own forces of a case, if it has any and the cache lacks it.

    Raises
    ------
    CaseError
        See `pdem.case.forces.forces_of`.
    """
    forces = forces_of(case)
    if not forces:
        return
    made, particles = OwnForces(forces), Particles()
    own = ForcedColumns(*(particles.column(name) for name in ForcedColumns._fields))
    shared = ForceConstants(np.ones(1), np.ones(6), made.table)
    made.kick(*plain(0.0, 0.0, 0, _ALL, own, shared, new_limbs(1), np.full(1, NONE_BAD)))


def _call(
    system: System, kernel: Any, times: tuple[float, float], count: int, rows: NDArray[np.int32], own: ForcedColumns
) -> None:  # fmt: skip
    constants, forces = system.constants, system.own_forces
    assert forces.all is not None
    limbs, bad = forces.scratch(threads())
    shared = ForceConstants(constants.density, constants.free, forces.all.table)
    kernel(*plain(*times, count, rows, own, shared, limbs, bad))
    system.ended_energies.add_limbs(TERM, limbs)
    worst = int(bad.min())
    if worst != NONE_BAD:
        system.errors.append((OWN_FORCE, worst, 0))
