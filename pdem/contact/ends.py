"""Ends of contacts: the bodies separate, their bridge or adhesion ruptures, or one of the bodies is removed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.coefficients import remembering_reader
from pdem.contact.law.elastic import gap_of
from pdem.contact.pairs.runs import ENDED
from pdem.foundation.packed_row import MATERIAL, PACKED, SIZE
from pdem.numerics.kernel_factory import versioned_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.walls.storage import Evaluated
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

REASONS = ("separated", "ruptured", "particle removed", "wall removed", "joined")
"""Reasons for the end of a contact: its bodies have separated; its bodies were apart, and an attraction such as a
liquid bridge has ruptured; a particle has been removed; the wall has been removed; two particles have been joined, for
example by a bond."""

SEPARATED, RUPTURED, PARTICLE_REMOVED, WALL_REMOVED, JOINED = range(len(REASONS))

EVENT = ("first", "second", "wall", "reason")
"""Columns of events: ids of both particles (-1 for a wall), number of the wall (-1 for two particles), reason."""


class ContactEnds:
    """Contacts that have ended on this rank: their numbers by reason, and a list of them on request.

    Parameters
    ----------
    law : ContactLaw
        The law of the case. Its kernels distinguish ruptures from separations, see `ContactLaw.tells_ends`.
    ids : callable
        Returns the ids of owned particles and ghosts in their present rows.

    Attributes
    ----------
    counts : (2, reasons) int64 array
        Numbers of ended contacts of all steps so far: between particles (row 0) and with walls (row 1), by reason.
    """

    def __init__(self, law: ContactLaw, ids: Callable[[], Integers]) -> None:
        self._law, self._ids = law, ids
        self.counts = np.zeros((2, len(REASONS)), np.int64)
        self._events: list[Integers] | None = None

    def count_pairs(self, runs: Integers, ended: Floats, candidates: tuple[Int32s, Int32s], packed: Floats) -> None:
        """Count the contacts between particles that workers have ended in this step, see `EndWatcher.count_pairs`."""
        numbers = runs[:, ENDED]
        if not numbers.any():
            return
        room = ended.shape[1] // len(runs)
        codes = np.concatenate([ended[-1, room * one : room * one + many] for one, many in enumerate(numbers.tolist())])
        rows = np.where(codes < 0.0, -1.0 - codes, codes).astype(np.int64)
        ids = self._ids()
        self.add(ids[candidates[0][rows]], ids[candidates[1][rows]], np.full(len(rows), -1), codes < 0.0)

    def count_walls(self, contacts: Evaluated, table: Floats, wall_material: Int32s, present: Booleans) -> None:
        """Count the contacts with walls that have ended in the last evaluation."""
        room = int(contacts.before.counts[: len(contacts.near.near)].sum())
        found = np.empty((3, room), np.int64)
        many = ended_at_walls(self._law)(contacts, table.reshape(-1), wall_material, present, found)
        row, wall, reason = found[:, :many]
        self.add(self._ids()[row], np.full(many, -1), wall, reason)

    def add(self, first: Integers, second: Integers, wall: Integers, reason: Any) -> None:
        """Count contacts that have ended, given the columns `EVENT`, and append them to the list on request."""
        reasons = np.broadcast_to(np.asarray(reason, np.int64), first.shape)
        for place, chosen in enumerate((wall < 0, wall >= 0)):
            self.counts[place] += np.bincount(reasons[chosen], minlength=len(REASONS))
        if self._events is not None:
            self._events.append(np.stack((first, second, wall, reasons)))

    def take_events(self) -> Integers:
        """Return the events since the last call (rows `EVENT`, n columns); the first call starts the list."""
        events, self._events = self._events, []
        return np.concatenate([np.zeros((len(EVENT), 0), np.int64), *(events or [])], axis=1)


@cache
def ended_at_walls(law: ContactLaw) -> Any:
    """Make the kernel that lists the contacts with walls that have ended in the last evaluation.

    Its arguments are `Evaluated`, the flat pair table, the materials of walls, whether each wall is present, and the
    array (3, n) to which it writes the row of the particle, the wall and the reason. It returns the number of contacts.
    """
    may_stretch, gap, width = law.may_stretch, gap_of(law), law.width
    read = remembering_reader(law, range(law.width), {name: law.place(name) for name in law.remembered})

    @versioned_kernel(law.version)
    def list_ended(
        contacts: Evaluated, table: Floats, wall_material: Int32s, present: Booleans, found: Integers
    ) -> int:
        near, before, number = contacts.near, contacts.before, 0
        for q in range(len(near.near)):
            particle = near.near[q]
            radius, material = near.packed[PACKED * particle + SIZE], int(near.packed[PACKED * particle + MATERIAL])
            for row in range(near.start[q], near.start[q] + before.counts[q]):
                if before.kind[row] < 0:
                    continue
                wall, reason = contacts.facet_wall[before.facet[row]], SEPARATED
                if may_stretch:
                    pair = material * contacts.materials + wall_material[wall]
                    k = read(table, width * pair, before.history, before.width * (row + 1))
                    reason = RUPTURED if gap(0.0, radius, k, ()) > 0.0 else SEPARATED
                found[0, number], found[1, number] = particle, wall
                found[2, number] = reason if present[wall] else WALL_REMOVED
                number += 1
        return number

    return list_ended
