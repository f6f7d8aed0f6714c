"""Dissipated energies of ended contacts, added up since their histories are gone."""

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
"""Terms of the energy balance that are added up over time [J]: energies of ended contacts, of removed particles, of
changes of the system, and the work of own forces. Checkpoints have them in this order; append new ones."""


def terms_of_accounts(law: ContactLaw) -> Integers:
    """Return for each account of a law the index in `ENDED` of its term when a contact ends."""
    return np.array([ENDED.index(one.ended) for one in law.energies], np.int64)


def add_dissipated(sums: ExactSums, law: ContactLaw, accounts: Floats) -> None:
    """Add the accounts of ended contacts to their terms of the energy balance.

    Stored energy is lost when a contact ends.

    Parameters
    ----------
    sums : ExactSums
        With sums of these terms [J].
    law : ContactLaw
        Law with these accounts.
    accounts : (accounts, n) array
        The last columns of the histories of ended contacts.
    """
    if accounts.size:
        sums.add_rows([one.ended for one in law.energies], np.ascontiguousarray(accounts))
