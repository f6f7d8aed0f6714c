"""Interactions of pairs of materials that a case does not name, and constants of pairs from their materials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.case.messages import Problem
from pdem.case.sections.materials import split_pair
from pdem.contact.law.models import LAWS

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT = "default"
"""Key of the interaction of all pairs without an entry of their own."""

MIXED = ("friction", "restitution")
"""Constants of an interaction that both materials may define."""


def mixed(one: float, other: float, rule: str) -> float:
    """Return the constant of a pair from the constants of its materials, by a rule of `Interaction.mixing`."""
    if one == other:
        return one
    if rule == "geometric":
        return math.sqrt(one * other)
    if rule == "arithmetic":
        return 0.5 * (one + other)
    if rule == "harmonic":
        return 2.0 * one * other / (one + other) if one + other else 0.0
    return min(one, other)


def with_all_pairs(materials: Any, interactions: Any) -> Any:
    """Return the interactions of a case file with one per pair of materials, as far as the file is sufficient for it.

    ``[interactions.default]`` applies to all pairs that are not named. Constants that an interaction lacks follow from
    its materials. A value that is not a table is returned unchanged: later checks report it.
    """
    if not isinstance(interactions, dict) or not isinstance(materials, dict):
        return interactions
    named = {key: table for key, table in interactions.items() if key != DEFAULT}
    if DEFAULT in interactions:
        for pair in _missing_pairs(materials, named):
            named["-".join(pair)] = interactions[DEFAULT]
    return {key: _completed(key, table, materials) for key, table in named.items()}


def idle_problem(parts: list[str], document: dict[str, Any]) -> str:
    """Return the reason why a key of a case file has no influence on any pair of materials; empty if it has some.

    The result is empty for other keys, too. In a case with all values written out, such as that of a checkpoint, every
    pair is named and has all its constants.
    """
    materials, interactions = document.get("materials"), document.get("interactions")
    if not isinstance(materials, dict) or not isinstance(interactions, dict):
        return ""
    without = dict(materials), dict(interactions)
    if parts[:2] == ["interactions", DEFAULT]:
        without[1].pop(DEFAULT, None)
    elif len(parts) == 3 and parts[0] == "materials" and parts[2] in MIXED and parts[1] in materials:
        without[0][parts[1]] = {key: one for key, one in materials[parts[1]].items() if key != parts[2]}
    else:
        return ""
    if with_all_pairs(*without) != with_all_pairs(materials, interactions):
        return ""
    pairs = ", ".join(key for key in interactions if key != DEFAULT) or "none"
    return f"changes no pair of materials: those that are named have values of their own; change these: {pairs}"


def _missing_pairs(materials: dict[str, Any], named: dict[str, Any]) -> list[tuple[str, str]]:
    there = {frozenset(pair) for key in named for pair in split_pair(key, materials)}
    names = list(materials)
    pairs = [(first, second) for index, first in enumerate(names) for second in names[index:]]
    return [pair for pair in pairs if frozenset(pair) not in there]


def _completed(key: str, table: Any, materials: dict[str, Any]) -> Any:
    """Return an interaction with the constants that follow from its two materials."""
    pairs = split_pair(key, materials)
    if not isinstance(table, dict) or len(pairs) != 1:
        return table
    found, law = dict(table), LAWS.get(str(table.get("law")))
    without = () if law is None or law.normal.has_restitution else ("restitution",)
    for name in MIXED:
        one, other = (_number(materials[material], name) for material in pairs[0])
        if name not in table and name not in without and one is not None and other is not None:
            found[name] = mixed(one, other, table.get("mixing", "geometric"))
    return found


def _number(material: Any, name: str) -> float | None:
    """Return a constant of a material if it is a usable number, else None."""
    value = material.get(name) if isinstance(material, dict) else None
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value < math.inf
    return float(value) if usable and value is not None else None


def as_in_file(problem: Problem, document: Any) -> Problem:
    """Return a problem with its location in the case file; for a pair without an entry there, that of the default."""
    given = document.get("interactions") if isinstance(document, dict) else None
    place, *rest = problem.location[1:] or ("",)
    if problem.location[:1] != ("interactions",) or not isinstance(given, dict):
        return problem
    if place in given or DEFAULT not in given:
        return problem
    text = problem.text.replace("both materials", f"both materials of {place}")
    return Problem(("interactions", DEFAULT, *rest), text, problem.meant)


def once_for_all_pairs(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in which a key that the default lacks is missing only once, for the first pair."""
    found: dict[tuple[Any, ...], Problem] = {}
    for one in problems:
        lacks = one.location[:2] == ("interactions", DEFAULT) and one.text.startswith("is missing")
        found.setdefault((one.location,) if lacks else (one.location, one.text), one)
    return list(found.values())
