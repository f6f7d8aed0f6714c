"""Continuum fields of the present state: what a rank has of particles and contacts, shared among the cells of grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.continuum.sums import Matter, actions_of_contacts, field_sums
from pdem.simulation.acting_contacts import acting_parts
from pdem.simulation.bodies import bodies_of, sizes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.continuum.grid import Grid
    from pdem.continuum.sums import Actions
    from pdem.simulation.acting_contacts import ActingContacts
    from pdem.simulation.system import System

    Floats = NDArray[np.float64]
    Present = tuple[Matter, list[ActingContacts]]


def sample_fields(system: System) -> None:
    """Take the samples that are due at the present step. Collective, with columns that are up to date."""
    averages = system.field_averages
    due, present = [one for one in averages.averages if one.next_step <= system.step], _present(system)
    for one in due:
        one.add(present_sums(system, one.grid, len(one.materials), present), system.step)
    averages.plan()


def present_sums(system: System, grid: Grid, materials: int, present: Present | None = None) -> Floats:
    """Return the sums (classes, cells, SUMS) of the present state over the cells of a grid. Collective.

    Parameters
    ----------
    system : System
        State of this rank.
    grid : Grid
        The cells.
    materials : int
        Number of materials of which there are parts; 0 for the whole alone.
    present : (Matter, list of ActingContacts), optional
        What this rank has, if that is known already.
    """
    matter, contacts = present or _present(system)
    actions = [action for part in contacts for action in _actions_of(system, part, split=materials > 0)]
    classes, rooms = max(materials, 1), system.field_averages.rooms
    return field_sums(grid, system.constants.period, classes, matter, actions, system.exchange, rooms)


def _present(system: System) -> Present:
    """Return particles, and the contacts that this rank counts. Collective."""
    return _matter_of(system), [part.of_this_rank for part in acting_parts(system)]


def _matter_of(system: System) -> Matter:
    bodies = bodies_of(system)
    size = sizes_of(bodies.radius, system.dimension)
    return Matter(bodies.position, bodies.velocity, bodies.mass, size, bodies.material.astype(np.int64))


def _actions_of(system: System, contacts: ActingContacts, *, split: bool) -> list[Actions]:
    kinds, point = np.zeros((2, len(contacts.first)), np.int64), None
    if split:
        material, point = system.particles.column("material"), contacts.point
        kinds[0], kinds[1] = material[contacts.first], material[contacts.second]  # of walls nothing is taken
    return actions_of_contacts(
        contacts.centre, contacts.branch, contacts.force, contacts.is_pair, kinds, point
    )  # fmt: skip
