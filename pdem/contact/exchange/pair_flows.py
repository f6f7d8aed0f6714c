"""Exchange of amounts by contacts between particles, see `pdem.contact.exchange`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.exchange.flows import amount_of, is_possible, note_bad, version_of
from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.pairs.history import history_of
from pdem.contact.pairs.layout import BLOCK
from pdem.numerics.kernel_factory import versioned_kernel
from pdem.numerics.user_functions import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.contact.pairs.contacts import PairContacts
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s, Integers


class FlowingPairs(NamedTuple):
    """Contacts between particles, as arguments of the kernels of an exchange.

    Attributes
    ----------
    indices : (n,) int32 array
        History indices of the contacts that take part.
    candidate : int32 array
        Candidate by history index.
    lower, higher : int32 arrays
        Rows of the particles of each candidate, the lower id first.
    owned : int
        Particles of this rank; the rows of ghosts follow.
    id, radius, material : arrays
        Ids, radii [m] and materials of all rows of particles.
    materials : int
        Number of materials of the case.
    history : array
        Histories, flat.
    width, memory : int
        Columns of a history, and the column that flows read and write; the overlap for flows without memory.
    """

    indices: Int32s
    candidate: Int32s
    lower: Int32s
    higher: Int32s
    owned: int
    id: Integers
    radius: Floats
    material: Int32s
    materials: int
    history: Floats
    width: int
    memory: int


def flowing_pairs(contacts: PairContacts, particles: Particles, materials: int, memory: int = OVERLAP) -> FlowingPairs:
    """Return the contacts between particles of this rank; views."""
    storage, column = contacts.storage, particles.column
    return FlowingPairs(
        storage.indices, storage.candidate, contacts.lower, contacts.higher, particles.count, column("id"),
        column("radius"), column("material"), materials, storage.history.reshape(-1), storage.width, memory,
    )  # fmt: skip


@cache
def pair_flow_kernel(flow: Callable[..., Any], *, remembers: bool) -> Any:
    """Make the kernel of an exchange by contacts between particles.

    ``flow(value_i, value_j, radius_i, radius_j, overlap, pair, dt, parameters)`` returns the amount from i to j; a flow
    that `remembers` has the number in the column `memory` as a further argument, and returns its new value as well. The
    kernel's arguments are `FlowingPairs` as a plain tuple; values in the first column of an array with a row for each
    particle; the quantum; dt [s]; parameters; `change` (owned,), to which it adds; and `bad` (2,), see `note_bad`.
    """
    amount = amount_of(flow, remembers=remembers)

    @versioned_kernel(version_of(flow, remembers=remembers))
    def pair_flows(
        contacts: tuple[Any, ...], values: Floats, quantum: float, dt: float, parameters: Any,
        change: Integers, bad: Integers,
    ) -> None:  # fmt: skip
        c = FlowingPairs(*contacts)
        for index in c.indices:
            k, at = c.candidate[index], history_of(index, c.width)
            i, j, held = c.lower[k], c.higher[k], at + BLOCK * c.memory
            flowing, memory = amount(
                values[i, 0], values[j, 0], c.radius[i], c.radius[j], c.history[at + BLOCK * OVERLAP],
                c.material[i] * c.materials + c.material[j], dt, parameters, c.history[held],
            )  # fmt: skip
            if remembers:
                c.history[held] = memory
            quanta = np.rint(flowing / quantum)
            if not is_possible(quanta):
                note_bad(bad, c.id[i], c.id[j])
                continue
            if i < c.owned:
                change[i] -= np.int64(quanta)
            if j < c.owned:
                change[j] += np.int64(quanta)

    return pair_flows


@cache
def pair_parts_kernel(part: Callable[..., Any]) -> Any:
    """Make the kernel that adds up integers over the contacts of each particle.

    ``part(radius, other_radius, overlap, pair, parameters, memory)`` returns the integer of a particle. The kernel's
    arguments are `FlowingPairs` as a plain tuple, parameters, and an int64 array (owned,), to which it adds.
    """
    part_of = compiled(part)

    @versioned_kernel(version_of(part))
    def pair_parts(contacts: tuple[Any, ...], parameters: Any, total: Integers) -> None:
        c = FlowingPairs(*contacts)
        for index in c.indices:
            k, at = c.candidate[index], history_of(index, c.width)
            i, j = c.lower[k], c.higher[k]
            overlap, memory = c.history[at + BLOCK * OVERLAP], c.history[at + BLOCK * c.memory]
            pair = c.material[i] * c.materials + c.material[j]
            if i < c.owned:
                total[i] += part_of(c.radius[i], c.radius[j], overlap, pair, parameters, memory)
            if j < c.owned:
                total[j] += part_of(c.radius[j], c.radius[i], overlap, pair, parameters, memory)

    return pair_parts


@cache
def pair_choice_kernel(choice: Callable[..., Any]) -> Any:
    """Make the kernel that lists contacts.

    ``choice(pair, parameters, memory)`` returns whether a contact is listed. Arguments of the kernel are `FlowingPairs`
    as a plain tuple, parameters, and an int32 array with room for all history indices; it returns the list's length.
    """
    is_chosen = compiled(choice)

    @versioned_kernel(version_of(choice))
    def pair_choice(contacts: tuple[Any, ...], parameters: Any, listed: Int32s) -> int:
        c, number = FlowingPairs(*contacts), 0
        for index in c.indices:
            k = c.candidate[index]
            pair = c.material[c.lower[k]] * c.materials + c.material[c.higher[k]]
            if is_chosen(pair, parameters, c.history[history_of(index, c.width) + BLOCK * c.memory]):
                listed[number] = index
                number += 1
        return number

    return pair_choice
