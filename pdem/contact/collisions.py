"""Numbers and lost energies of collisions, by the kinds of the particles and walls that collide.

A collision is a contact from its begin to its end. Its dissipated energies are read from its accounts when it ends, as
the energy balance reads them. Numbers are integers and energies are exact sums: the same for any ranks and threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.pairs.runs import ENDED
from pdem.foundation.packed_row import MATERIAL, PACKED, SIZE
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.sums import NARROW_BELOW, NARROW_LIMBS, add_in_window, normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.walls.storage import Evaluated
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

LOSSES = ("normal", "tangential", "total")
"""Losses that are counted separately: by normal motion, by sliding, rolling and twisting, and the sum of both."""

NORMAL_TERMS = ("normal_damping", "adhesion", "plastic")
"""Terms of the energy balance that are losses of the normal motion."""


class Kinds(NamedTuple):
    """Groups of collisions by the kinds of the two bodies.

    Attributes
    ----------
    sizes : array
        Radii between classes of size, rising [m].
    group : (K, K) int64 array
        Group of two kinds. The kind of a particle is its material times the number of size classes, plus its size
        class; the kinds of walls, one for each material, follow.
    normal : (accounts,) bool array
        Which accounts of a law are losses of the normal motion.
    edges : array
        Energies between bins, rising [J]; the first bin is below the first edge, the last bin above the last edge.
    """

    sizes: Floats
    group: Integers
    normal: Booleans
    edges: Floats


@inlined
def kind_at(row: int, packed: Floats, kinds: Kinds) -> int:
    """Return the kind of a particle."""
    radius, size = packed[PACKED * row + SIZE], 0
    while size < len(kinds.sizes) and radius >= kinds.sizes[size]:
        size += 1
    return int(packed[PACKED * row + MATERIAL]) * (len(kinds.sizes) + 1) + size


@inlined
def add_collision(
    group: int, normal: float, tangential: float, edges: Floats, counts: Integers, limbs: Integers
) -> None:
    """Count a collision of a group, with the energies [J] that it has lost."""
    for what in range(3):
        energy = normal if what == 0 else (tangential if what == 1 else normal + tangential)
        column = np.searchsorted(edges, energy, "right")
        counts[group, what, column] += 1
        add_in_window(limbs[group, what, column], energy, NARROW_BELOW)


@kernel
def add_pairs(
    runs: Integers, ended: Floats, lower: Int32s, higher: Int32s, packed: Floats, kinds: Kinds,
    counts: Integers, limbs: Integers,
) -> int:  # fmt: skip
    """Count the contacts between particles that have ended in the runs of workers; return their number.

    `runs` and `ended` are arguments of `pdem.contact.pairs.runs.add_ended` as well.
    """
    number, room, accounts = 0, ended.shape[1] // len(runs), len(kinds.normal)
    for worker in range(len(runs)):
        for place in range(worker * room, worker * room + runs[worker, ENDED]):
            normal = tangential = 0.0
            for account in range(accounts):
                normal += ended[account, place] if kinds.normal[account] else 0.0
                tangential += 0.0 if kinds.normal[account] else ended[account, place]
            k = int(ended[accounts, place])
            k = k if k >= 0 else -1 - k  # a contact that has ruptured
            group = kinds.group[kind_at(lower[k], packed, kinds), kind_at(higher[k], packed, kinds)]
            add_collision(group, normal, tangential, kinds.edges, counts, limbs)
        number += runs[worker, ENDED]
    return number


@kernel
def add_walls(
    contacts: Evaluated, columns: Integers, material: Int32s, kinds: Kinds, counts: Integers, limbs: Integers
) -> int:
    """Count the contacts with walls that have ended; return their number.

    `columns` of a history are the accounts, and `material` is the material of each facet.
    """
    near, before, number = contacts.near, contacts.before, 0
    walls = len(kinds.group) - contacts.materials
    for q in range(len(near.near)):
        for row in range(near.start[q], near.start[q] + before.counts[q]):
            if before.kind[row] < 0:
                continue
            normal = tangential = 0.0
            for account in range(len(columns)):
                lost = before.history[before.width * (row + 1) + columns[account]]
                normal += lost if kinds.normal[account] else 0.0
                tangential += 0.0 if kinds.normal[account] else lost
            wall = walls + material[contacts.facet_wall[before.facet[row]]]
            group = kinds.group[kind_at(near.near[q], near.packed, kinds), wall]
            add_collision(group, normal, tangential, kinds.edges, counts, limbs)
            number += 1
    return number


def kinds_of(law: ContactLaw, groups: Integers, sizes: Sequence[float], edges: Floats) -> Kinds:
    """Return the kinds for a law from groups of two kinds (K, K), limits of size [m], and edges of energy [J]."""
    normal = np.array([one.ended in NORMAL_TERMS for one in law.energies], np.bool_)
    return Kinds(np.array(sizes, np.float64), groups, normal, edges)


class CollisionCounts:
    """Numbers and energies of the collisions that this rank counts.

    Parameters
    ----------
    law : ContactLaw
        With accounts of energies.
    kinds : Kinds
        Groups of collisions.
    wall_materials : sequence of int
        Material of each wall.

    Attributes
    ----------
    counts : (groups, 3, bins) int64 array
        Numbers of collisions by group, loss (`LOSSES`) and bin of energy.
    limbs : (groups, 3, bins, NARROW_LIMBS) int64 array
        Exact sums of their energies [J].
    """

    def __init__(self, law: ContactLaw, kinds: Kinds, wall_materials: Sequence[int]) -> None:
        self._kinds, self._materials = kinds, np.array(wall_materials, np.int32)
        self._columns = np.arange(law.first_energy, law.columns)
        groups = int(kinds.group.max()) + 1
        self.counts = np.zeros((groups, len(LOSSES), len(kinds.edges) + 1), np.int64)
        self.limbs = np.zeros((*self.counts.shape, NARROW_LIMBS), np.int64)
        self._added = 0

    def count_pairs(self, runs: Integers, ended: Floats, candidates: tuple[Int32s, Int32s], packed: Floats) -> None:
        """Count the contacts between particles that ended in the last runs, see `add_pairs`."""
        self._note(add_pairs(runs, ended, *candidates, packed, self._kinds, self.counts, self.limbs))

    def count_walls(self, contacts: Evaluated) -> None:
        """Count the contacts with walls that ended in the last evaluation."""
        self._note(add_walls(contacts, self._columns, self._materials, self._kinds, self.counts, self.limbs))

    def _note(self, number: int) -> None:
        self._added += number
        if self._added > _MOST:
            self.normalise()

    def normalise(self) -> None:
        """Bring the exact sums into their unique normal form."""
        normalise(self.limbs.reshape(-1, NARROW_LIMBS))
        self._added = 0


_MOST = 2**28
