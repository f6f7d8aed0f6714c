"""What contacts that have ended have dissipated, which nothing else remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.law.forces import ROLLED, STORED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.sums import ExactSums


ENERGIES = slice(STORED, ROLLED + 1)
"""Columns of a history: what is stored tangentially, and what normal damping, sliding and rolling have dissipated."""


def add_dissipated(sums: ExactSums, energies: NDArray[np.float64]) -> None:
    """Add the energies of some contacts to the sums ``normal_damping``, ``sliding`` and ``rolling``.

    What was stored tangentially when a contact ends is counted as sliding.

    Parameters
    ----------
    sums : ExactSums
        With sums of these names [J].
    energies : (4, n) array
        Columns `ENERGIES` of the histories of contacts that have ended.
    """
    if energies.shape[1] == 0:
        return
    sums.add_rows(("sliding", "normal_damping", "sliding", "rolling"), energies)
