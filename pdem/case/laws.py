"""Contact laws from the interactions of a case: checks of their keys, and recipes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.case.deformation import deforms
from pdem.case.groups.shapes import has_clusters
from pdem.case.hints.given_values import number_hint
from pdem.case.hints.suggestions import unknown_key_text, value_hint
from pdem.case.hints.validation import elsewhere
from pdem.case.messages import Problem, nearest_key_hint, shown_value
from pdem.case.python_files import FROM_FILE, is_python_name, variables_of
from pdem.case.sections.materials import LAW_KEYS, Interaction
from pdem.case.sections.schema import CaseData
from pdem.case.stage_cases import cases_of_stages
from pdem.contact.law.check import check_part
from pdem.contact.law.contact_law import ContactLaw, PartUse, Recipe
from pdem.contact.law.kinds.two_frictions import frictions_rule
from pdem.contact.law.models import LAWS, PARTS, LawModel
from pdem.contact.law.parts import (
    EXCHANGE_REST,
    LARGEST_ENERGY,
    LARGEST_FORCE,
    PASSED_LOSS,
    STRAIN_ENERGY,
    MaterialProperties,
    Pair,
)
from pdem.foundation.errors import CaseError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pdem.contact.law.parts import HistoryColumn, Key

    Location = tuple[str | int, ...]

DEFAULT_LAW = str(Interaction.model_fields["law"].default)

TRIAL_MATERIAL = MaterialProperties(1000.0, 1e7, 0.3)
"""A typical material, for test calls of laws."""


def interaction_problems(interaction: Interaction, where: Location) -> Iterator[Problem]:
    """Yield the problems of the laws and keys of an interaction; `recipe_of` checks keys of laws in files."""
    if interaction.law.startswith(FROM_FILE):
        if not is_python_name(interaction.law):
            yield Problem((*where, "law"), 'must be "python:FILE.py:NAME", a file and a name in it')
    elif interaction.law not in LAWS:
        yield Problem((*where, "law"), f"is no contact law; {_law_hint(interaction.law)}")
    else:
        yield from _law_problems(LAWS[interaction.law], interaction, where)
    for role in PARTS:
        yield from _part_problems(role, interaction, where)
    if interaction.rolling is not None and interaction.rolling_friction:
        text = "is not allowed together with rolling_friction, which is short for a table of constant-torque"
        yield Problem((*where, "rolling"), text)
    yield from _friction_problems(interaction, where)


def _law_hint(name: str) -> str:
    """Return the use of a name that belongs to a part of a law, or else the available laws."""
    for role, models in PARTS.items():
        if name.lower() in models:
            return f'it is a model of {role}: give {role} = {{model = "{name.lower()}", ...}} beside the law'
    hint = value_hint(name, list(LAWS))
    return f"{hint}{' ' if hint else ''}allowed: {', '.join(LAWS)}"


def _friction_problems(interaction: Interaction, where: Location) -> Iterator[Problem]:
    """Yield problems of rolling and twisting resistance without friction, which would never make a body roll."""
    keys = {"friction": interaction.friction, "dynamic_friction": interaction.law_keys.get("dynamic_friction")}
    if isinstance(keys["dynamic_friction"], (int, float)) and (text := frictions_rule(keys)):
        yield Problem((*where, "dynamic_friction"), text)
    if interaction.friction > 0.0:
        return
    for role in ("rolling", "twisting"):
        table = interaction.parts.get(role, {})
        friction = table.get("friction", 0.0 if role == "rolling" else interaction.friction)
        needs = table.get("model") == "marshall" or (isinstance(friction, (int, float)) and friction > 0.0)
        if table and needs:
            key = "rolling_friction" if role == "rolling" and interaction.rolling is None else role
            text = f"resists {role} of bodies that slide without friction (friction = 0)"
            yield Problem((*where, key), f"{text}: give friction, or leave {key} out")


def _law_problems(model: LawModel, interaction: Interaction, where: Location) -> Iterator[Problem]:
    given = interaction.law_keys
    yield from _unknown_keys(model, interaction.law, given, where)
    problems = list(_value_problems(model.keys, given, where))
    yield from problems
    defaults = {name: key.default for name, key in model.keys.items()}
    if not problems and (text := model.normal.rule({**defaults, **given})):
        yield Problem((*where, "law"), text)
    if not model.normal.has_restitution and interaction.restitution != 1.0:
        text = f"has no use: by {interaction.law} it follows from the speed and its own keys; leave it out"
        yield Problem((*where, "restitution"), text)


def _unknown_keys(model: LawModel, law: str, names: Iterable[str], where: Location) -> Iterator[Problem]:
    """Yield the problems of keys that do not belong to a law."""
    for name in names:
        if name in model.keys:
            continue
        others = [other for other, one in LAWS.items() if name in one.keys]
        if others:
            yield Problem((*where, name), f'belongs to law = "{others[0]}"; {law} has no use for it')
        else:
            text, meant = unknown_key_text(name, [*LAW_KEYS, *model.keys], elsewhere(CaseData, name))
            yield Problem((*where, name), text, meant)


def unknown_keys_of_laws(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of unknown keys in the interactions of a file that may be invalid elsewhere."""
    interactions = document.get("interactions")
    for key, table in interactions.items() if isinstance(interactions, dict) else ():
        law = table.get("law", DEFAULT_LAW) if isinstance(table, dict) else None
        if isinstance(law, str) and law in LAWS:
            names = [name for name in table if name not in Interaction.model_fields]
            yield from _unknown_keys(LAWS[law], law, names, ("interactions", str(key)))


def _part_problems(role: str, interaction: Interaction, where: Location) -> Iterator[Problem]:
    table = getattr(interaction, role)
    if table is None:
        return
    models, location = PARTS[role], (*where, role)
    model = table.get("model")
    if not isinstance(model, str) or model not in models:
        names = ", ".join(f'"{name}"' for name in models) or "none is there yet"
        hint = value_hint(model, list(models)) if isinstance(model, str) else ""
        text = f"must be one of {names}" if "model" in table else f"is missing; it is one of {names}"
        text += f"; {hint}" if hint else ""
        yield Problem((*location, "model"), text)
        return
    part = models[model]
    keys = {key.name: key for key in part.keys}
    given = {name: value for name, value in table.items() if name != "model"}
    for name in given:
        if name not in keys:
            text, meant = unknown_key_text(name, ["model", *keys])
            yield Problem((*location, name), text, meant)
    problems = list(_value_problems(keys, given, location))
    yield from problems
    if not problems and (text := part.rule({**{name: key.default for name, key in keys.items()}, **given})):
        yield Problem(location, text)
    if role == "adhesion" and interaction.law in LAWS:
        text = _combination_problem(part, LAWS[interaction.law])
        if text:
            yield Problem((*location, "model"), text)


def _combination_problem(adhesion: Any, law: LawModel) -> str:
    """Return the problem of an adhesion model with the normal force of a law, or ""."""
    if law.normal.model in adhesion.normal:
        return ""
    allowed = [f'"{name}"' for name, other in LAWS.items() if other.normal.model in adhesion.normal]
    text = f'"{adhesion.model}" is no adhesion for the normal force {law.normal.model!r} of this law'
    if not law.normal.history:
        return f"{text}; it goes with law = {' or '.join(allowed)}"
    own = [name for name in ("adhesion_stiffness", "work_of_adhesion") if name in law.keys]
    remedy = f"give its own {own[0]}" if own else 'use law = "luding", which has its own'
    return f"{text}, which is plastic: {remedy}"


def takes_liquid(case: CaseData) -> bool:
    """Return whether bridges of a case take the liquid that particles carry."""
    return any((one.adhesion or {}).get("carried_volume") for one in case.interactions.values())


def liquid_problems(case: CaseData) -> Iterator[Problem]:
    """Yield the problems of liquid on particles in a case without bridges that take it."""
    if takes_liquid(case):
        return
    liquids = {
        "particles": [group.liquid for group in case.particles],
        "insertions": [one.liquid for one in case.insertions],
    }
    for section, given in liquids.items():
        for index, liquid in enumerate(given):
            if liquid:
                text = (
                    'has no use: no interaction has adhesion = {model = "liquid-bridge", carried_volume = ...}, '
                    "the largest volume of bridges that take it"
                )
                yield Problem((section, index, "liquid"), text)


def _value_problems(keys: Mapping[str, Key], given: Mapping[str, Any], where: Location) -> Iterator[Problem]:
    for name, key in keys.items():
        if name not in given:
            if key.required:
                unit = f" ({key.unit})" if key.unit else ""
                yield Problem(
                    (*where, name), f"is missing; {key.text[:1].lower()}{key.text[1:] or 'the law needs it.'}{unit}"
                )
        elif (text := _value_problem(key, given[name])) is not None:
            yield Problem((*where, name), text)


def _value_problem(key: Key, value: Any) -> str | None:
    """Return the problem of the value of a key; None if it is valid."""
    if key.choices:
        hint = value_hint(value, key.choices) if isinstance(value, str) else ""
        text = f"must be one of {', '.join(map(shown_value, key.choices))}{f'; {hint}' if hint else ''}"
        return None if value in key.choices else text
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"must be a number{f' in {key.unit}' if key.unit else ''}{number_hint(None, value)}"
    if not math.isfinite(value):
        return "must be a finite number"
    if key.above is not None and not value > key.above:
        return f"must be greater than {key.above:g}"
    if key.at_least is not None and not value >= key.at_least:
        return f"must be at least {key.at_least:g}"
    if key.at_most is not None and not value <= key.at_most:
        return f"must be at most {key.at_most:g}"
    if key.below is not None and not value < key.below:
        return f"must be below {key.below:g}"
    return None


def recipe_of(interaction: Interaction, directory: Path, where: str) -> Recipe:
    """Return the recipe of an interaction: the parts of its law with the values of their keys.

    Raises
    ------
    CaseError
        If its law is in a file that cannot be used, a key of that law is missing, or a key does not belong to it.
    """
    model = LAWS.get(interaction.law) or _from_file(interaction.law, directory, where)
    if interaction.law.startswith(FROM_FILE):
        problems = list(_law_problems(model, interaction, ()))
        if problems:
            raise CaseError("\n".join(problem.line(where, {}) for problem in problems))
    keys = {"friction": interaction.friction, "restitution": interaction.restitution}
    own = {**{key.name: key.default for key in model.keys.values()}, **interaction.law_keys}
    uses = {
        role: None if part is None else PartUse(_with_frictions(part, own), {**own, **keys})
        for role, part in (
            ("adhesion", model.adhesion),
            ("tangential", model.tangential),
            ("rolling", model.rolling),
            ("twisting", model.twisting),
        )
    }
    for role, table in interaction.parts.items():
        part = PARTS[role][table["model"]]
        # values of missing keys without a default may follow from the interaction: its friction
        defaults = {one.name: keys.get(one.name) if one.default is None else one.default for one in part.keys}
        given = {name: value for name, value in {**defaults, **table}.items() if name != "model"}
        uses[role] = PartUse(_with_frictions(part, given), given)
    recipe = Recipe(PartUse(model.normal, own), keys=keys, **uses)
    if recipe.adhesion is not None and (text := _combination_problem(recipe.adhesion.part, model)):
        raise CaseError(f"{where}.adhesion.model: {text}")
    try:
        for use in recipe.uses:
            check_part(use.part, Pair(TRIAL_MATERIAL, TRIAL_MATERIAL, {**keys, **own, **use.keys}))
    except InputError as error:
        raise CaseError(f'{where}.law = "{interaction.law}": {error}') from None
    return recipe


def _with_frictions(part: Any, keys: Mapping[str, Any]) -> Any:
    """Return the part, or its replacement for contacts that have a dynamic friction as well."""
    both = getattr(part, "two_frictions", None)
    return part if both is None or keys.get("dynamic_friction") is None else both


def recipes_of(case: CaseData) -> dict[str, Recipe]:
    """Return the recipe of every interaction of a case, by its key.

    Raises
    ------
    CaseError
        See `recipe_of`.
    """
    return {key: recipe_by_key(case, key) for key in case.interactions}


def recipe_by_key(case: CaseData, key: str) -> Recipe:
    """Return the recipe of one interaction of a case.

    Raises
    ------
    CaseError
        See `recipe_of`.
    """
    return recipe_of(case.interactions[key], case.directory, f"{case.source}: interactions.{key}")


def law_of(case: CaseData, *, images: bool = True) -> ContactLaw:
    """Return the contact law of a case, with all parts that its stages need.

    Without `images` it is the law of separate pairs, which ignore a box that deforms.

    Raises
    ------
    CaseError
        See `recipe_of`.
    """
    made = [recipe for one in cases_of_stages(case) for recipe in recipes_of(one).values()]
    recipes, output = made or [Recipe(PartUse(LAWS["linear"].normal))], case.output
    return ContactLaw(
        recipes, energies=output.energies, ages=output.contact_ages, clusters=has_clusters(case),
        deforms=images and deforms(case), ends=output.contact_ends,
        references=any(one.contact == "after-break" for one in case.bonds.values()) or has_breakage(case),
        further=(*heat_columns(case), *breakage_columns(case)),
    )  # fmt: skip


def heat_columns(case: CaseData) -> tuple[HistoryColumn, ...]:
    """Return the columns of histories for the heat of a case."""
    if case.heat is None:
        return ()
    return (EXCHANGE_REST, PASSED_LOSS) if case.heat.from_motion and case.output.energies else (EXCHANGE_REST,)


def has_breakage(case: CaseData) -> bool:
    """Return whether a material of a case breaks."""
    return any(one.breakage is not None for one in case.materials.values())


def breakage_columns(case: CaseData) -> tuple[HistoryColumn, ...]:
    """Return the columns of histories for the breakage of spheres of a case."""
    if not has_breakage(case):
        return ()
    by_force = any(one.breakage is not None and one.breakage.model == "stress" for one in case.materials.values())
    return (STRAIN_ENERGY, LARGEST_ENERGY, *((LARGEST_FORCE,) if by_force else ()))


def material_properties(case: CaseData) -> list[MaterialProperties]:
    """Return the materials of a case in the form that contact laws need."""
    return [
        MaterialProperties(one.density or 0.0, one.youngs_modulus or math.inf, one.poisson_ratio or 0.0)
        for one in case.materials.values()
    ]


def _from_file(name: str, directory: Path, where: str) -> LawModel:
    """Return the law ``python:FILE.py:NAME``; the file is relative to `directory`."""
    if not name.startswith(FROM_FILE):
        raise CaseError(
            f'{where}.law = "{name}": a script made this law, and it is not known here; put it into a file and name '
            f'that: law = "python:FILE.py:NAME"'
        )
    file, variable = name.removeprefix(FROM_FILE).rsplit(":", 1)
    path = directory / file
    variables = variables_of(path, f'{where}.law = "{name}"')
    if variable not in variables:
        laws = [key for key, value in variables.items() if isinstance(value, LawModel)]
        hint = nearest_key_hint(variable, laws) if laws else "the file makes none: NAME = pdem.contact_law(...)"
        raise CaseError(f'{where}.law = "{name}": {path} has no {variable}; {hint}')
    if not isinstance(variables[variable], LawModel):
        kind = type(variables[variable]).__name__
        raise CaseError(
            f'{where}.law = "{name}": {variable} of {path} is a {kind}, no contact law; make one by '
            f"{variable} = pdem.contact_law(...)"
        )
    return variables[variable]
