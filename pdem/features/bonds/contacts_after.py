"""Contacts that begin where bonds have broken: with a reference overlap, so that no force jumps without energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.law.contact_law import OVERLAP, UNKNOWN
from pdem.contact.law.elastic import ElasticState, elastic_energies
from pdem.contact.law.parts import REFERENCE_OVERLAP
from pdem.containers.records import PairRecords
from pdem.foundation.exact_math import norm
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Int32s

_HALVINGS = 60
"""Bisections of a reference overlap: after these the interval has no further numbers."""


class BegunContacts(NamedTuple):
    """Contacts of n pairs of spheres whose bonds break.

    Attributes
    ----------
    reference : (n,) array
        Overlap without force [m], see `pdem.contact.law.parts.REFERENCE_OVERLAP`; 0 for spheres that are apart.
    energy : (n,) array
        Elastic energy with which the contact begins [J].
    """

    reference: Floats
    energy: Floats


def contacts_of_broken(system: System, bonds: PairTable, broken: Booleans) -> BegunContacts:
    """Return the contacts that begin where the marked bonds break.

    The reference is the overlap at which the spheres were bonded. A contact of compressed spheres supports them from
    the break on: its elastic energy comes out of the energy of elongation of the bond. If this does not suffice, the
    reference is as much larger as necessary. Spheres that are farther apart than at rest begin without force, so that
    the reference is their present overlap.

    Parameters
    ----------
    system : System
        The state of this rank.
    bonds : PairTable
        The table of bonds, with results of the last evaluation.
    broken : (b,) array of bool
        The bonds that break.
    """
    own = system.particles
    rows, shift = bonds.rows[broken], bonds.shift[broken]
    place = system.contacts.pairs.rows_to_share(own)[:, PLACE : PLACE + 3]
    apart = norm(place[rows[:, 1]] - place[rows[:, 0]] + shift)
    radius, material = own.column("radius")[rows], own.column("material")[rows]
    reach = radius[:, 0] + radius[:, 1]
    overlap = np.maximum(reach - apart, 0.0)
    low, high = np.minimum(np.maximum(reach - bonds.columns["length"][broken], 0.0), overlap), overlap
    available = bonds.columns["energy"][broken, 0]
    effective = radius[:, 0] * radius[:, 1] / reach
    pair = material[:, 0] * len(system.constants.density) + material[:, 1]
    energy = _energies(system, overlap - low, effective, pair)
    stiff = energy > available
    if not stiff.any():
        return BegunContacts(low, energy)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        too_much = stiff & (_energies(system, overlap - middle, effective, pair) > available)
        low, high = np.where(too_much, middle, low), np.where(stiff & ~too_much, middle, high)
    reference = np.where(stiff, high, low)
    return BegunContacts(reference, np.where(stiff, _energies(system, overlap - reference, effective, pair), energy))


def _energies(system: System, overlap: Floats, effective: Floats, pair: Int32s) -> Floats:
    """Return the elastic energies of contacts without a history (n,) [J]; 0 without overlap."""
    law = system.constants.law
    remembered, history = (np.zeros((len(names), len(pair))) for names in (law.remembered, law.normal_history))
    state = ElasticState(np.ascontiguousarray(overlap), remembered, history)
    energies: Floats = elastic_energies(law, system.constants.table, state, effective, pair)
    return np.where(overlap > 0.0, energies, 0.0)


def records_of(law: ContactLaw, begun: PairTable) -> PairRecords:
    """Return the pairs of a table with ``reference`` as contacts in their first step."""
    history = np.zeros((law.columns, len(begun)))
    history[OVERLAP] = UNKNOWN
    history[law.place(REFERENCE_OVERLAP.name)] = begun.columns["reference"]
    return PairRecords(begun.lower, begun.higher, history)
