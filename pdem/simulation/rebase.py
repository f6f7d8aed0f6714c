"""The energy ledger of a run that goes on with another case: its residual goes on from where it was."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pdem.case.drives import drives_of
from pdem.simulation.setup import constants_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.simulation.simulation import Simulation


def rebase(simulation: Simulation, then: Case) -> float:
    """Count the residual of the ledger as if the energy had always been that of the present case. Collective.

    With another gravity or stiffness the same state has another energy, which nothing has delivered.

    Parameters
    ----------
    simulation : Simulation
        Continued, before its first step.
    then : Case
        That of the checkpoint.

    Returns
    -------
    float
        By how much the energy of the state is another one [J]; the same bits on any number of ranks.
    """
    now = simulation.measures().balance
    with _case_of_old(simulation, then):
        before = simulation.measures().balance
    jump = now - before
    simulation.first_balance += jump
    return jump


@contextmanager
def _case_of_old(simulation: Simulation, then: Case) -> Iterator[None]:
    """Let energies be those of another case."""
    system = simulation.system
    constants, walls = system.constants, None if system.walls is None else system.walls.walls
    driven = [] if walls is None else walls.driven
    try:
        system.constants = constants_of(then)
        if walls is not None and driven:
            old = drives_of(then, simulation.meshes)
            walls.driven = [old[wall] for wall in walls.drives]
            for drive, row in zip(walls.driven, (one.state() for one in driven), strict=True):
                drive.adopt(row)
        yield
    finally:
        system.constants = constants
        if walls is not None:
            walls.driven = driven
