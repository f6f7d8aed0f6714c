"""Exchange of amounts by contacts with walls, see `pdem.contact.exchange`. A wall has one value, and counts inflow."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.exchange.flows import is_possible, note_bad, version_of, wall_amount_of
from pdem.contact.law.contact_law import OVERLAP
from pdem.numerics.arrays import with_spare
from pdem.numerics.geometry_kernels import geometry_kernel
from pdem.numerics.kernel_factory import versioned_kernel
from pdem.numerics.sums import add_exactly
from pdem.numerics.user_functions import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.contact.walls.contacts import WallContacts
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s, Integers


class FlowingWalls(NamedTuple):
    """Contacts with walls, as arguments of the kernels of an exchange.

    Attributes
    ----------
    particle, row, wall : (n,) int32 arrays
        Row of the particle, row of the history, and wall of each contact.
    id, radius, material : arrays
        Ids, radii [m] and materials of all rows of particles.
    wall_material : (W,) int32 array
        Material of each wall.
    materials : int
        Number of materials of the case.
    history : array
        Histories, flat.
    width, memory : int
        Columns of a history, and the column that flows read and write; the overlap for flows without memory.
    """

    particle: Int32s
    row: Int32s
    wall: Int32s
    id: Integers
    radius: Floats
    material: Int32s
    wall_material: Int32s
    materials: int
    history: Floats
    width: int
    memory: int

    def chosen(self, rows: Int32s) -> FlowingWalls:
        """Return some of the contacts."""
        return self._replace(particle=self.particle[rows], row=self.row[rows], wall=self.wall[rows])


class WallList:
    """Memory for the list of all contacts with walls, which is used again in each step."""

    def __init__(self) -> None:
        self._room = np.empty((3, 0), np.int32)

    def fill(self, contacts: WallContacts, particles: Particles, materials: int, memory: int = OVERLAP) -> FlowingWalls:
        """Return the contacts with walls of this rank; views."""
        count, column = contacts.count, particles.column
        if count > self._room.shape[1]:
            self._room = np.empty((3, with_spare(count)), np.int32)
        found = contacts.evaluated(np.empty(0), materials)
        near, now = found.near, found.now
        list_walls(near.near, near.start, now.counts, now.facet, found.facet_wall, self._room)
        particle, row, wall = self._room[:, :count]
        return FlowingWalls(
            particle, row, wall, column("id"), column("radius"), column("material"), contacts.wall_materials,
            materials, now.history, now.width, memory,
        )  # fmt: skip


@geometry_kernel
def list_walls(
    near: Int32s, start: Integers, counts: Int32s, facet: Integers,
    facet_wall: Int32s, listed: Int32s,
) -> None:  # fmt: skip
    """Write particle, row of the history and wall of each contact, (3, n or more)."""
    number = 0
    for q in range(len(near)):
        for c in range(start[q], start[q] + counts[q]):
            listed[0, number], listed[1, number], listed[2, number] = near[q], c + 1, facet_wall[facet[c]]
            number += 1


@cache
def wall_flow_kernel(flow: Callable[..., Any], *, remembers: bool) -> Any:
    """Make the kernel of an exchange between particles and walls.

    ``flow(value, wall_value, radius, overlap, pair, dt, parameters)`` returns the amount from the particle into the
    wall; for a flow that `remembers`, and for the arguments, see `pdem.contact.exchange.pair_flows.pair_flow_kernel`.
    The values of walls (W,) come after the values of particles, and the last argument are exact sums (W, LIMBS) of the
    inflow of each wall.
    """
    amount = wall_amount_of(flow, remembers=remembers)

    @versioned_kernel(version_of(flow, remembers=remembers))
    def wall_flows(
        contacts: tuple[Any, ...], values: Floats, wall_values: Floats, quantum: float,
        dt: float, parameters: Any, change: Integers, bad: Integers, limbs: Integers,
    ) -> None:  # fmt: skip
        c = FlowingWalls(*contacts)
        for n in range(len(c.row)):
            i, w, at = c.particle[n], c.wall[n], c.width * c.row[n]
            flowing, memory = amount(
                values[i, 0], wall_values[w], c.radius[i], c.history[at + OVERLAP],
                c.material[i] * c.materials + c.wall_material[w], dt, parameters, c.history[at + c.memory],
            )  # fmt: skip
            if remembers:
                c.history[at + c.memory] = memory
            quanta = np.rint(flowing / quantum)
            if not is_possible(quanta):
                note_bad(bad, c.id[i], w)
                continue
            change[i] -= np.int64(quanta)
            add_exactly(limbs[w], quanta * quantum)

    return wall_flows


@cache
def wall_parts_kernel(part: Callable[..., Any]) -> Any:
    """Make the kernel that adds up integers over the contacts of each particle with walls.

    ``part(radius, overlap, pair, parameters, memory)``; else as `pdem.contact.exchange.pair_flows.pair_parts_kernel`.
    """
    part_of = compiled(part)

    @versioned_kernel(version_of(part))
    def wall_parts(contacts: tuple[Any, ...], parameters: Any, total: Integers) -> None:
        c = FlowingWalls(*contacts)
        for n in range(len(c.row)):
            i, at = c.particle[n], c.width * c.row[n]
            pair = c.material[i] * c.materials + c.wall_material[c.wall[n]]
            total[i] += part_of(c.radius[i], c.history[at + OVERLAP], pair, parameters, c.history[at + c.memory])

    return wall_parts


@cache
def wall_choice_kernel(choice: Callable[..., Any]) -> Any:
    """Make the kernel that lists contacts by their indices.

    See `pdem.contact.exchange.pair_flows.pair_choice_kernel`.
    """
    is_chosen = compiled(choice)

    @versioned_kernel(version_of(choice))
    def wall_choice(contacts: tuple[Any, ...], parameters: Any, listed: Int32s) -> int:
        c, number = FlowingWalls(*contacts), 0
        for n in range(len(c.row)):
            pair = c.material[c.particle[n]] * c.materials + c.wall_material[c.wall[n]]
            if is_chosen(pair, parameters, c.history[c.width * c.row[n] + c.memory]):
                listed[number] = n
                number += 1
        return number

    return wall_choice
