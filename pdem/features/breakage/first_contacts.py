"""The first contacts of fragments, which begin with their overlap as the reference: without force and energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.contact_law import OVERLAP, UNKNOWN
from pdem.contact.law.parts import REFERENCE_OVERLAP
from pdem.containers.records import PairRecords
from pdem.foundation import exact_math
from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from pdem.detection.neighbours import NearPairs
    from pdem.engine.system import System
    from pdem.foundation.array_types import Int32s, Integers


@kernel
def list_new_pairs(
    first: Int32s, second: Int32s, begin: Integers, found: Integers, ids: Integers, new: Integers, listed: Int32s
) -> int:  # fmt: skip
    """Write the near pairs with a new particle (rows, 2), as many as there is room for; return their number.

    `first` to `found` are the fields of `pdem.detection.neighbours.NearPairs`, `new` the range of new ids.
    """
    number = 0
    for segment in range(len(begin)):
        for place in range(begin[segment], begin[segment] + found[segment]):
            i, j = first[place], second[place]
            if new[0] <= ids[i] < new[1] or new[0] <= ids[j] < new[1]:
                if number < len(listed):
                    listed[number, 0], listed[number, 1] = i, j
                number += 1
    return number


class FirstContacts:
    """Contacts of new fragments with each other, and with particles that their parent overlapped without force."""

    def __init__(self) -> None:
        self._new = np.zeros(2, np.int64)

    def begin(self, first: int, number: int) -> None:
        """Begin the contacts of `number` new particles, whose ids begin with `first`, at the next lists."""
        self._new[:] = first, first + number

    def records(self, system: System, near: NearPairs) -> PairRecords | None:
        """Return the contacts of the new particles among near pairs of rows, once; None without new particles."""
        if self._new[0] == self._new[1]:
            return None
        own, law = system.particles, system.constants.law
        ids, listed = own.column("id"), np.empty((64 * int(self._new[1] - self._new[0]), 2), np.int32)
        while (number := int(list_new_pairs(*near, ids, self._new, listed))) > len(listed):
            listed = np.empty((number, 2), np.int32)
        self.begin(0, 0)
        rows = listed[:number]
        lower = np.where(ids[rows[:, 0]] < ids[rows[:, 1]], rows[:, 0], rows[:, 1])
        higher = rows[:, 0] + rows[:, 1] - lower
        position, radius = own.column("position"), own.column("radius")
        way = system.constants.shape.nearest(position[higher] - position[lower])
        overlap = radius[lower] + radius[higher] - exact_math.norm(way)
        some = overlap > 0.0
        history = np.zeros((law.columns, np.count_nonzero(some)))
        history[OVERLAP], history[law.place(REFERENCE_OVERLAP.name)] = UNKNOWN, overlap[some]
        return PairRecords(ids[lower[some]], ids[higher[some]], history)
