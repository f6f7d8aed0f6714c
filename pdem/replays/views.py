"""All that is compared of two simulations at one step, in the memory of rank 0: what moves, and contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.state import gather_groups, local_groups
from pdem.run.files.contact_columns import gathered_contacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.run.simulation import Simulation

    Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class View:
    """A simulation at one step.

    Attributes
    ----------
    step : int
        Which.
    groups : dict of dict of ndarray
        The compared columns of the state, rows in the order of ids.
    contacts : dict of ndarray
        Contacts with forces and what they remember, in the order of ids.
    materials, walls : tuple of str
        Names, by number.
    coefficients : dict of ndarray
        Columns of the pair table by name, (M * M,).
    wall_motion : dict of ndarray
        Velocity and angular velocity of each wall (walls, 3).
    """

    step: int
    groups: dict[str, Columns]
    contacts: Columns
    materials: tuple[str, ...]
    walls: tuple[str, ...]
    coefficients: Columns
    wall_motion: Columns

    def particle(self, number: int) -> dict[str, Any] | None:
        """Return the columns of a particle by its id, None if there is none."""
        particles = self.groups["particles"]
        rows = np.flatnonzero(particles["id"] == number)
        return {name: column[rows[0]] for name, column in particles.items()} if len(rows) else None

    def keys(self) -> list[tuple[int, int, int, int]]:
        """Return first and second particle, wall, and a number among contacts of these, for each contact."""
        found, seen = [], dict[tuple[int, ...], int]()
        for key in zip(*(self.contacts[name].tolist() for name in ("first", "second", "wall")), strict=True):
            seen[key] = seen.get(key, -1) + 1
            found.append((*key, seen[key]))
        return found

    def coefficients_of(self, first: int, second: int) -> dict[str, float]:
        """Return the coefficients of a pair of materials by number."""
        row = first * len(self.materials) + second
        return {name: float(column[row]) for name, column in self.coefficients.items()}


def view_of(simulation: Simulation, chosen: Mapping[str, Sequence[str]]) -> View | None:
    """Return all that is compared on rank 0, None elsewhere. Collective."""
    system = simulation.system
    groups = gather_groups(system, local_groups(system))
    contacts = gathered_contacts(system, remembered=True)
    if groups is None or contacts is None:
        return None
    constants, walls = system.constants, system.moving_walls
    motion = {} if walls is None else {"velocity": walls.velocity, "angular_velocity": walls.angular_velocity}
    return View(
        system.step, {group: {name: groups[group][name] for name in names} for group, names in chosen.items()},
        contacts, tuple(simulation.case.materials), tuple(wall.name for wall in simulation.case.walls),
        dict(zip(constants.law.coefficients, constants.table.T.copy(), strict=True)),
        {name: np.array(column) for name, column in motion.items()},
    )  # fmt: skip


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two values have the same type, shape and bits."""
    one, other = np.asarray(a), np.asarray(b)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
