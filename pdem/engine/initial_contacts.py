"""Contacts at the start of a new run: each contact has to act in the first step, or the run is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.exchange import Records
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers

_LEAVE_OUT = "leave the contact out, or begin with the particles and walls of the state that it was part of"


class InitialContacts:
    """The contacts of a new run, by ids, before its lists are made.

    Parameters
    ----------
    pairs : (n, 2) int64 array
        Lower and higher id of the contacts between particles with at least one particle owned by this rank.
    walls : (m, 2) int64 array
        Id of the particle and number of the wall of contacts with walls.
    """

    def __init__(self, pairs: Integers, walls: Integers) -> None:
        self._pairs, self._walls = pairs, walls

    @classmethod
    def of(cls, system: System, contacts: Records | None) -> InitialContacts:
        """Return the contacts that a system has loaded; an empty object for a run that is continued (None)."""
        if contacts is None:
            return cls(np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64))
        return cls(*_keys(system, contacts))

    def follow(self, system: System) -> None:
        """Require that all contacts act in the first step, and set their accounts of losses to zero. Collective.

        Raises
        ------
        InputError
            On all ranks, with the particles of the first contact that does not act.
        """
        if not system.exchange.largest(np.array([len(self._pairs) + len(self._walls)]))[0]:
            return
        self._require_acting(system)
        law = system.constants.law
        losses = [law.first_energy + n for n, one in enumerate(law.energies) if one.lasting == one.ended]
        system.contacts.pairs.storage.clear(losses)
        if system.contacts.walls is not None:
            system.contacts.walls.clear([*losses, law.columns + 3])  # the last account is the work of the wall

    def _require_acting(self, system: System) -> None:
        pairs, walls = _keys(system, system.contacts.records())
        text = ""
        if len(missing := _missing(self._walls, walls)):
            particle, wall = missing[0].tolist()
            name = system.case.walls[wall].name
            text = f"wall_contacts: particle {particle} does not touch wall {name} there; {_LEAVE_OUT}"
        if len(missing := _missing(self._pairs, pairs)):
            lower, higher = missing[0].tolist()
            text = f"contacts: particles {lower} and {higher} {_distance(system, lower, higher)}; {_LEAVE_OUT}"
        refusal = system.exchange.first(text or None)
        if refusal is not None:
            raise InputError(refusal)


def _keys(system: System, contacts: Records) -> tuple[Integers, Integers]:
    """Return both ids of contacts between particles (n, 2), and particle and wall of contacts with walls (m, 2)."""
    pairs, walls = contacts
    wall_of = np.zeros(0, np.int64) if system.walls is None else system.walls.facet_wall
    return np.stack((pairs.lower, pairs.higher), axis=1), np.stack((walls.id, wall_of[walls.facet]), axis=1)


def _missing(wanted: Integers, present: Integers) -> NDArray[Any]:
    """Return the sorted rows (k, 2) that occur less often in `present` than in `wanted`."""
    rows, numbers = np.unique(np.concatenate((wanted, present)), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    counts = np.bincount(numbers[: len(wanted)], minlength=len(rows))
    return rows[counts > np.bincount(numbers[len(wanted) :], minlength=len(rows))]


def _distance(system: System, lower: int, higher: int) -> str:
    """Return a text on the distance of two particles, or that they are not near each other."""
    ids = system.particles.column("id")
    rows = [np.flatnonzero(ids == one)[:1] for one in (lower, higher)]
    if not all(map(len, rows)):
        return "are not near each other"
    i, j = (int(row[0]) for row in rows)
    position, radius = system.particles.column("position"), system.particles.column("radius")
    way = system.constants.shape.nearest(position[j] - position[i])
    return f"do not touch: they are {float(exact_math.norm(way) - radius[i] - radius[j]):.3g} m apart"
