"""What contacts that have ended have dissipated, which nothing else remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Floats, Integers
    from pdem.numerics.sums import ExactSums

ENDED = (
    "normal_damping", "sliding", "rolling", "wall_work", "outflow", "adhesion", "twisting", "gravity_work", "stages",
    "own_forces", "plastic", "box_work",
)  # fmt: skip
"""Terms of the ledger to which energies of contacts that have ended go, of particles that have gone, of changes of the
system itself, and the work of own forces [J]. Checkpoints hold them in this order; new ones come last."""


def terms_of_accounts(law: ContactLaw) -> Integers:
    """Return for each account of a law the place in `ENDED` of the term that it goes to when a contact ends."""
    return np.array([ENDED.index(one.ended) for one in law.energies], np.int64)


def add_dissipated(sums: ExactSums, law: ContactLaw, accounts: Floats) -> None:
    """Add the accounts of some contacts to the terms of the ledger that they go to when a contact ends.

    What was stored is lost then.

    Parameters
    ----------
    sums : ExactSums
        With sums of these terms [J].
    law : ContactLaw
        Whose accounts they are.
    accounts : (accounts, n) array
        The last columns of the histories of contacts that have ended.
    """
    if accounts.size:
        sums.add_rows([one.ended for one in law.energies], np.ascontiguousarray(accounts))
