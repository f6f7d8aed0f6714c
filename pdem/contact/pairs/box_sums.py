"""Sums over all contacts for the servo of a box that deforms by its stress.

The sums are exact, because they determine the motion: the box has the same bits on any number of ranks. They are added
up while the forces of a block of contacts are in columns, in the steps in which the servo acts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.resistance import against, resistance_of
from pdem.contact.pairs.layout import (
    ARM_I,
    ARM_J,
    BLOCK,
    CONTACT_X,
    FORCE_J_X,
    MASS,
    NORMAL_X,
    PAIR,
    RADIUS,
    STRIDE,
    history_column,
)
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.simd.unsigned_index import ROW, offset
from pdem.numerics.sums import LIMBS, add_part
from pdem.numerics.vectors import exact_dot3, get3

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.pairs.arguments import Candidates, Contacts, StepParameters
    from pdem.foundation.array_types import Floats, Integers

BOX_SUMS = 6
"""Number of sums: force times branch of three axes and of the shear [J]; stiffness [J] and damping [J s]."""


NO_LIMBS = np.zeros((0, BOX_SUMS, LIMBS), np.int64)
"""Argument of kernels if no sums are needed."""


class BoxSums(NamedTuple):
    """Directions of the sums, and the exact sums.

    Attributes
    ----------
    ways : (4, 7) array
        One row for each mode of deformation, along the three axes and by shear: unit vectors of the velocity and of its
        gradient; and 1 if the servo drives this mode, else 0.
    limbs : (workers, `BOX_SUMS`, LIMBS) array
        Exact sums of each worker, written; empty if no sums are needed.
    """

    ways: Floats
    limbs: Integers

    @classmethod
    def none(cls) -> BoxSums:
        """Return the value for cases that need no sums."""
        return cls(np.zeros((4, 7)), NO_LIMBS)


def box_sums_of(law: ContactLaw) -> Any:
    """Make the function that adds the contacts of a block to the sums of a worker.

    Its arguments are local variables of `pdem.contact.pairs.evaluate`: `at`, the history index of the first contact and
    the number of contacts, candidates, contacts, `StepParameters`, the columns, and the number of the worker.
    """
    resistance, width, may_pull = resistance_of(law), law.columns, law.may_pull

    @inlined_closure
    def add_box_sums(
        at: int, first: int, count: int, candidates: Candidates, contacts: Contacts, parameters: StepParameters,
        work: Floats, worker: int,
    ) -> None:  # fmt: skip
        ways, limbs, history = parameters.ways, parameters.limbs, contacts.history
        for c in range(count):
            w, h = offset(at, c), history_column(first, c, width)
            k = contacts.candidate[offset(first, c)] & ROW
            counts = 1.0 if candidates.lower[k] < candidates.owned else 0.0
            n, f = get3(work, w + NORMAL_X, STRIDE), get3(work, w + FORCE_J_X, STRIDE)
            length = counts * (work[w + ARM_I] + work[w + ARM_J])
            r = length * n[0], length * n[1], length * n[2]
            straight = squared = 0.0
            for way in range(4):
                u = ways[way, 0], ways[way, 1], ways[way, 2]
                grows = exact_dot3(r, (ways[way, 3], ways[way, 4], ways[way, 5]))
                work[w + CONTACT_X + np.uint64(BLOCK * way)] = exact_dot3(f, u) * grows
                squared += ways[way, 6] * (grows * grows)
                aligned = grows * exact_dot3(n, u)
                straight += ways[way, 6] * (aligned * aligned)
            overlap = history[h] if may_pull else max(history[h], 0.0)
            found = resistance(overlap, work[w + RADIUS], work[w + MASS], int(work[w + PAIR]), parameters.coefficients)
            stiffness, damping = against(found, straight, max(squared - straight, 0.0))
            work[w + CONTACT_X + np.uint64(4 * BLOCK)], work[w + CONTACT_X + np.uint64(5 * BLOCK)] = (
                stiffness,
                damping,
            )
        for term in range(BOX_SUMS):
            place = np.int64(at + CONTACT_X) + BLOCK * term
            add_part(limbs[worker], term, work, place, count)

    return add_box_sums
