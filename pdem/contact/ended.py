"""What contacts that have ended have dissipated, which nothing else remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.law import DAMPED, ROLLED, SLID, STORED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.sums import ExactSums


def add_ended(sums: ExactSums, history: NDArray[np.float64], slots: NDArray[np.int32]) -> None:
    """Add the energies of some contacts to the sums ``normal_damping``, ``sliding`` and ``rolling``.

    What was stored tangentially when a contact ends is counted as sliding.

    Parameters
    ----------
    sums : ExactSums
        With sums of these names [J].
    history : (>= HISTORY, n) array
        Histories of the contact law.
    slots : (m,) array
        The columns of those that have ended.
    """
    if len(slots) == 0:
        return
    sums.add("normal_damping", history[DAMPED, slots])
    sums.add("sliding", history[SLID, slots])
    sums.add("sliding", history[STORED, slots])
    sums.add("rolling", history[ROLLED, slots])
