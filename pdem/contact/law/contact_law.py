"""The contact law of a case: its parts, and the layout of histories and coefficients that follows from them.

A case has one law for all of its pairs of materials together. If pairs use different models of a part, all of these
models are evaluated and one result is chosen by the pair. Models that no pair uses cost neither columns nor
instructions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.parts import (
    PASSED_LOSS,
    REFERENCE_OVERLAP,
    Energy,
    HistoryColumn,
    MaterialProperties,
    NormalPart,
    Pair,
    Part,
    ResistancePart,
    TangentialPart,
    vector,
)
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

BASE = (HistoryColumn("overlap", "m"), HistoryColumn("normal_force", "N"), *vector("velocity", "m/s", -1))
"""History columns of every contact. The overlap comes first and is `UNKNOWN` in the first step of a contact."""

UNKNOWN = -np.inf
"""Overlap in the history of a contact in its first step."""

BLOCK = 32
"""Number of contacts, or candidates, in a block, which passes through all stages; a multiple of the lanes of a vector.
Histories are stored in blocks of the same size, one column after the other."""

OVERLAP = 0
"""Column of the overlap in every history."""

MOST_COEFFICIENTS = 48
"""Largest number of columns of a pair table, for which kernels have room."""

AGE = HistoryColumn("contact_steps", "1")
"""Number of steps since a contact began, if a case asks for it."""

NORMAL_DAMPING = Energy("normal_damping", "normal_damping", "normal_damping")

BOX_WORK = "box_work"
"""Account of a contact in a deforming box: the work of the deformation by its force."""


@dataclass(frozen=True)
class PartUse:
    """A part of a law with the values of its keys in the case, by name."""

    part: Any
    keys: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """The parts of the law for the contacts of two materials.

    Attributes
    ----------
    normal, adhesion, tangential, rolling, twisting : PartUse or None
        The parts; a normal part is required.
    keys : mapping of str to float
        Values for all parts: ``friction`` and ``restitution``.
    """

    normal: PartUse
    adhesion: PartUse | None = None
    tangential: PartUse | None = None
    rolling: PartUse | None = None
    twisting: PartUse | None = None
    keys: Mapping[str, float] = field(default_factory=dict)

    @property
    def elastic(self) -> tuple[NormalPart, AdhesionPart | None]:
        """The normal part and the adhesion that comes with it."""
        return self.normal.part, None if self.adhesion is None else self.adhesion.part

    @property
    def uses(self) -> list[PartUse]:
        """All parts that are not None."""
        uses = (self.normal, self.adhesion, self.tangential, self.rolling, self.twisting)
        return [use for use in uses if use is not None]

    @property
    def resistances(self) -> list[PartUse]:
        """Resistances to rolling and twisting."""
        return [use for use in (self.rolling, self.twisting) if use is not None]


def _by_name(options: Iterable[Any]) -> list[Any]:
    """Return the distinct options in an order that does not depend on the case file."""
    return [found for _, found in sorted({elastic_name(one): one for one in options}.items())]


def elastic_name(option: Any) -> str:
    """Return the name of a part, or the names of a normal part and its adhesion."""
    parts = option if isinstance(option, tuple) else (option,)
    return "+".join(part.name for part in parts if part is not None)


class ContactLaw:
    """The parts of a law, and the layout of all arrays that depend on them.

    Two laws with the same `version` are equal: kernels are compiled and cached by version.

    Parameters
    ----------
    recipes : iterable of Recipe
        Recipes of all pairs of materials of a case.
    energies : bool
        Whether histories have accounts of stored and lost energies.
    ages : bool
        Whether histories have the number of steps since the contact began.
    clusters : bool
        Whether particles may be members of rigid clusters, with an effective mass that depends on the direction.
    deforms : bool
        Whether the periodic box of the particles deforms.
    ends : bool
        Whether kernels tell why contacts end, see `tells_ends`.
    references : bool
        Whether histories have a reference overlap, see `pdem.contact.law.parts.REFERENCE_OVERLAP`.
    further : tuple of HistoryColumn
        Further columns of histories, which features use.

    Attributes
    ----------
    elastics : list of (NormalPart, AdhesionPart or None)
        Elastic models.
    tangential : TangentialPart or None
        The tangential force; None without friction.
    resistances : list of ResistancePart
        Against rolling and twisting.
    normal_history : tuple of HistoryColumn
        Columns of a history for the normal force; they follow `BASE`.
    energies : tuple of Energy
        Accounts, the last columns of a history; empty without an energy balance.
    history : tuple of HistoryColumn
        All columns of a history, accounts included.
    coefficients : tuple of str
        Columns of the pair table.
    version : str
        Name of the law, part of the names of files of machine code.

    Raises
    ------
    InputError
        If pairs use tangential forces of different kinds, or there are too many coefficients.
    """

    def __init__(
        self,
        recipes: Iterable[Recipe],
        *,
        energies: bool = True,
        ages: bool = False,
        clusters: bool = False,
        deforms: bool = False,
        ends: bool = False,
        references: bool = False,
        further: tuple[HistoryColumn, ...] = (),
    ) -> None:
        recipes, self.has_clusters, self.deforms, self._ends = list(recipes), clusters, deforms, ends
        self.elastics: list[tuple[NormalPart, AdhesionPart | None]] = _by_name(one.elastic for one in recipes)
        self.normal_history = _normal_history([normal for normal, _ in self.elastics])
        self.tangential: TangentialPart | None = _tangential(recipes)
        self.resistances: list[ResistancePart] = _by_name(
            use.part for one in recipes for use in one.resistances if use.part.torque or use.keys["friction"]
        )
        self.has_ledger = energies
        self.energies = self._accounts() if energies else ()
        accounts = tuple(HistoryColumn(one.name, "J") for one in self.energies)
        # models of one role may share history columns, since a pair has only one model of each role
        remembering = [*self._remembering(), *self.adhesions]
        memory = dict.fromkeys(column for part in remembering for column in part.history)
        asked = [*([AGE] if ages else []), *([REFERENCE_OVERLAP] if references else []), *further]
        self._further = [column.name for column in further]
        self.history: tuple[HistoryColumn, ...] = (*BASE, *self.normal_history, *memory, *asked, *accounts)
        self.coefficients = self._columns()
        if len(self.coefficients) > MOST_COEFFICIENTS:
            raise InputError(
                f"the contact laws of the case have {len(self.coefficients)} coefficients, more than "
                f"{MOST_COEFFICIENTS}; use fewer different laws in one case"
            )
        self.version = self._version()

    def __eq__(self, other: object) -> bool:
        """Laws are equal if their versions are."""
        return isinstance(other, ContactLaw) and other.version == self.version

    def __hash__(self) -> int:
        """Return a hash of the version."""
        return hash(self.version)

    def __repr__(self) -> str:
        """Return the version."""
        return f"ContactLaw({self.version})"

    @property
    def constant_torque(self) -> ResistancePart | None:
        """The torque of constant size against rolling, None if no pair has it."""
        return next((part for part in self.resistances if part.torque is None), None)

    @property
    def remembering(self) -> list[ResistancePart]:
        """Resistances that are functions with a memory."""
        return [part for part in self.resistances if part.torque is not None]

    @property
    def has_resistance(self) -> bool:
        """Whether contacts may exert torques in addition to the moments of their forces."""
        return self.constant_torque is not None or bool(self.remembering)

    @cached_property
    def adhesions(self) -> list[AdhesionPart]:
        """All kinds of adhesion."""
        return _by_name(adhesion for _, adhesion in self.elastics if adhesion is not None)

    @property
    def may_stretch(self) -> bool:
        """Whether contacts last while they are stretched."""
        return bool(self.adhesions)

    @property
    def tells_ends(self) -> bool:
        """Whether kernels tell contacts that rupture from those that separate; without adhesion all separate."""
        return self._ends and self.may_stretch

    @property
    def may_pull(self) -> bool:
        """Whether normal forces can be negative."""
        return self.may_stretch or bool(self.normal_history)

    @property
    def relaxes(self) -> bool:
        """Whether damping may be proportional to the stiffness itself."""
        return any(normal.relaxation is not None for normal, _ in self.elastics)

    @cached_property
    def remembered(self) -> tuple[str, ...]:
        """Columns of histories that adhesion reads instead of coefficients of the pair table."""
        return tuple(dict.fromkeys(column.name for part in self.adhesions for column in part.history))

    @property
    def columns(self) -> int:
        """Columns of a history."""
        return len(self.history)

    @property
    def width(self) -> int:
        """Columns of the pair table."""
        return len(self.coefficients)

    @property
    def first_energy(self) -> int:
        """First column of a history that is an account."""
        return self.columns - len(self.energies)

    @property
    def passes_losses(self) -> bool:
        """Whether bodies receive the energy that their contacts lose."""
        return self.has(PASSED_LOSS.name)

    def place(self, name: str) -> int:
        """Return the column of a history by name, the first one of a vector; 0 if the law has no such column."""
        names = [column.name for column in self.history]
        return next((names.index(one) for one in (name, f"{name}_x") if one in names), 0)

    def has(self, name: str) -> bool:
        """Return whether histories have a column of this name."""
        return any(column.name in (name, f"{name}_x") for column in self.history)

    def places_of(self, part: Part) -> list[int]:
        """Return the columns of the history of a part."""
        return [self.place(column.name) for column in part.history]

    def places_of_coefficients(self, part: Part) -> list[int]:
        """Return the columns of the pair table that are fields of the coefficients of a part."""
        return [self.coefficients.index(column) for column in _columns_of(part)]

    def column_of_use(self, part: Part) -> int | None:
        """Return the column of the pair table that is 0 where a pair has no such part, or None."""
        return self.coefficients.index(_used(part)) if _used(part) in self.coefficients else None

    def model_of(self, recipe: Recipe) -> int:
        """Return the index of the elastic model of a pair."""
        return [elastic_name(one) for one in self.elastics].index(elastic_name(recipe.elastic))

    def row(self, recipe: Recipe, first: MaterialProperties, second: MaterialProperties) -> list[float]:
        """Return the coefficients of a pair of materials, 0 for parts that it does not have."""
        normal = recipe.normal.part
        pair = Pair(first, second, {**recipe.keys, **recipe.normal.keys}, normal.from_materials)
        values = {"damping": normal.damped(pair), "elastic_model": float(self.model_of(recipe))}
        values["relaxation"] = normal.relaxation(pair) if normal.relaxation else 0.0
        for use in recipe.uses:
            given = pair._replace(keys={**pair.keys, **use.keys})
            names = [name for name in _columns_of(use.part) if name != "modulus" or use is recipe.normal]
            values.update(zip(names, use.part.values(given), strict=True))
        values.update({_used(use.part): 1.0 for use in recipe.resistances})
        return [float(values.get(name, 0.0)) for name in self.coefficients]

    def powers(self, table: Floats) -> Floats:
        """Return for each row of the pair table the power of the overlap in the elastic force."""
        powers = np.array([normal.power for normal, _ in self.elastics])
        if len(powers) == 1:
            return np.full(len(table), powers[0])
        return powers[table[:, self.coefficients.index("elastic_model")].astype(np.int64)]

    def _remembering(self) -> list[Part]:
        return [part for part in (self.tangential, *self.resistances) if part is not None]

    def _accounts(self) -> tuple[Energy, ...]:
        parts = [*self._remembering(), *self.adhesions, *(normal for normal, _ in self.elastics)]
        of_box = [Energy(BOX_WORK, BOX_WORK, BOX_WORK)] if self.deforms else []
        of_parts = [one for part in parts for one in part.energies]
        return tuple({one.name: one for one in (NORMAL_DAMPING, *of_parts, *of_box)}.values())

    def _columns(self) -> tuple[str, ...]:
        several = ["elastic_model"] if len(self.elastics) > 1 else []
        parts = [one for both in self.elastics for one in both if one is not None]
        relaxes = ["relaxation"] if self.relaxes else []
        columns = [*several, "damping", *relaxes, *(column for part in parts for column in _columns_of(part))]
        for part in self._remembering():
            columns += _columns_of(part)
        columns += [_used(part) for part in self.remembering]
        return tuple(dict.fromkeys(columns))

    def _version(self) -> str:
        elastics = [elastic_name(one) for one in self.elastics]
        others = [self._tangential_name()] if self.tangential else []
        others += [part.name for part in self.resistances]
        others += ["age"] * self.has(AGE.name) + ["reference"] * self.has(REFERENCE_OVERLAP.name)
        others += [*self._further, *(["ledger"] * self.has_ledger)]
        others += ["clusters"] * self.has_clusters + ["box"] * self.deforms + ["ends"] * self.tells_ends
        return "_".join([*elastics, *others])

    def _tangential_name(self) -> str:
        own = self.tangential.name if self.tangential else ""
        return ("friction-dynamic" if self.has("slips") else "friction") if self.is_spring else own

    @property
    def is_spring(self) -> bool:
        """Whether the tangential force is pdem's own spring."""
        return self.tangential is not None and self.tangential.force is None


def _normal_history(normals: list[NormalPart]) -> tuple[HistoryColumn, ...]:
    """Return the columns of the longest history of some normal parts; shorter histories are its first columns."""
    longest = max((normal.history for normal in normals), key=len)
    for normal in normals:
        if normal.history != longest[: len(normal.history)]:
            names = ", ".join(sorted(one.model for one in normals if one.history))
            raise InputError(f"the normal forces of the case ({names}) remember different things; give one of them")
    return longest


def _tangential(recipes: list[Recipe]) -> TangentialPart | None:
    """Return the tangential part of a case: pdem's spring, a user's function, or None without friction."""
    parts = [
        one.tangential.part
        for one in recipes
        if one.tangential is not None and (one.tangential.part.force or one.keys["friction"] > 0.0)
    ]
    # pdem's spring with two frictions has one more history column, and comes last if any pair uses it
    parts.sort(key=lambda part: len(part.history))
    kinds = {part.name if part.force else "": part for part in parts}
    if len(kinds) > 1:
        names = ", ".join(sorted(part.model for part in kinds.values()))
        raise InputError(f"pairs of materials have tangential forces of different kinds ({names}); give all the same")
    return next(iter(kinds.values()), None)


def _columns_of(part: Part) -> list[str]:
    """Return the names of the columns of the pair table that hold the coefficients of a part."""
    if part.role == "normal":
        return ["modulus", *(f"{part.name}.{name}" for name in part.coefficients if name != "modulus")]
    if part.role == "adhesion":
        return ["modulus", *(f"{part.name}.{name}" for name in part.coefficients)]
    if isinstance(part, TangentialPart):
        return [f"tangential.{name}" for name in part.coefficients]
    return [f"{part.name}.{name}" for name in part.coefficients]


def _used(part: Part) -> str:
    """Return the column that is 1 where a pair has a resistance, else 0."""
    return f"{part.name}.used"
