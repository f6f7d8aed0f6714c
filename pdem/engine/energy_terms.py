"""The terms of the energy balance: terms of the engine itself, and terms of features.

A feature names its terms in `Feature.energy_terms`; `Feature.present_terms` returns the terms of a run. The value of a
term on this rank comes from one of three sources, which all end in exact sums:

* `Feature.add_energies`: energies that follow from the present state of the feature;
* `Feature.particle_energies`: energies of each particle that follow from its columns. When particles leave, stored
  energy goes to ``outflow``; accounts of the remaining roles, which have to be summed as well, stay in their terms;
* a row of `RankContacts.ended_energies`, for a term that is `summed`: the feature adds to it during the run
  (``system.contacts.ended_energies.add(name, values)``), and checkpoints hold it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from pdem.contact.law.dissipation import ENDED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Role(Enum):
    """The role of a term in the balance; the sum over all terms with their signs is constant."""

    STORED = "stored"
    """Present energy."""
    LOST = "lost"
    """Energy that has become heat since time 0."""
    SUPPLIED = "supplied"
    """Work from outside since time 0."""
    REMOVED = "removed"
    """Energy that has been removed since time 0."""

    @property
    def sign(self) -> int:
        """Sign of the term in the balance."""
        return -1 if self is Role.SUPPLIED else 1


class EnergyTerm(NamedTuple):
    """A term of the energy balance, and a column of the series.

    Attributes
    ----------
    name : str
        Name of the term and its column.
    role : Role
        Role of the term in the balance.
    of_state : bool
        Whether it follows from the present state alone: it is available without a balance as well
        (``output.energies = false``).
    summed : bool
        Whether it has a row in `RankContacts.ended_energies`.
    is_heat : bool
        Whether it is an amount of heat, which is exact and much larger than the energies of motion.
    before : str
        Term that its column precedes, of the engine or of a feature that comes earlier in the registry; by default, or
        if no such term exists, its column is the last one of its role.
    """

    name: str
    role: Role
    of_state: bool = False
    summed: bool = False
    is_heat: bool = False
    before: str = ""


def _terms(role: Role, *names: str, of_state: bool = False) -> tuple[EnergyTerm, ...]:
    return tuple(EnergyTerm(name, role, of_state) for name in names)


ENGINE_TERMS = (
    *_terms(Role.STORED, "translation", "rotation", "gravity", "elastic", of_state=True),
    *_terms(Role.STORED, "tangential"),
    *_terms(Role.STORED, "body_motion", "body_gravity", of_state=True),
    *_terms(Role.STORED, "rolling_spring", "twisting_spring"),
    *_terms(Role.LOST, "normal_damping", "sliding", "rolling", "adhesion", "twisting", "plastic"),
    *_terms(Role.SUPPLIED, "wall_work"),
    *_terms(Role.REMOVED, "outflow", "stages"),
)
"""Terms of particles, contacts, moving walls, free bodies, and of inserted or removed particles, in the order of their
columns."""

OPTIONAL = ("rolling_spring", "twisting_spring", "adhesion", "twisting", "plastic", "stages")
"""Terms of the engine that only some cases have."""


class EnergyTerms:
    """The terms of the engine and of some features, in the order of their columns.

    Parameters
    ----------
    features : iterable of Feature or their types
        Features in the order of the registry.

    Attributes
    ----------
    all : tuple of EnergyTerm
        The terms.
    names : tuple of str
        Names of the terms.
    heat : tuple of str
        Names of the terms that are amounts of heat.
    rows : tuple of str
        Names of the rows of `RankContacts.ended_energies`: first the rows of `ENDED`, which contacts address by index,
        then summed terms of features.
    """

    def __init__(self, features: Iterable[Any] = ()) -> None:
        of_features = [term for one in features for term in one.energy_terms]
        self.all = tuple(term for role in Role for term in _in_order(role, of_features))
        self.names = tuple(term.name for term in self.all)
        assert len(set(self.names)) == len(self.names), "two terms of the energy balance have one name"
        self.heat = tuple(term.name for term in self.all if term.is_heat)
        self.signs = {term.name: term.role.sign for term in self.all}
        self.rows = (*ENDED, *(one.name for one in self.all if one.summed and one.name not in ENDED))

    def with_role(self, role: Role) -> tuple[str, ...]:
        """Return the names of the terms of one role."""
        return tuple(term.name for term in self.all if term.role is role)


def _in_order(role: Role, of_features: Iterable[EnergyTerm]) -> list[EnergyTerm]:
    """Return all terms of a role: terms of the engine, with terms of features at their positions."""
    found = [term for term in ENGINE_TERMS if term.role is role]
    for term in of_features:
        if term.role is role:
            names = [one.name for one in found]
            found.insert(names.index(term.before) if term.before in names else len(found), term)
    return found
