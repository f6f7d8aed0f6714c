"""Problems of single values of a file: the errors of pydantic in the terms of the file, with the required form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.case.explain.key_examples import is_named
from pdem.case.explain.key_texts import first_sentence, models_in, plain
from pdem.case.hints.given_values import number_hint, remark_on, text_hint, whole_hint
from pdem.case.hints.key_places import all_keys, place_of, places_of_key
from pdem.case.hints.suggestions import foreign_key, unknown_key_text, value_hint
from pdem.case.hints.wanted import fixed_length, list_form, number_form, table_form, unit_of
from pdem.case.messages import Problem, shown_value
from pdem.case.sections.base import BRANCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from pdem.case.hints.key_places import KeyPlace

    Location = tuple[str | int, ...]

_LIMITS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_long": "has {actual_length} entries, at most {max_length} are allowed",
    "too_short": "has {actual_length} entries, at least {min_length} are needed",
    "finite_number": "must be a finite number",
    "string_too_short": "must not be empty",
}
_NUMBERS = ("float_type", "float_parsing")
_WHOLE = ("int_type", "int_from_float", "int_parsing")
_LISTS = ("tuple_type", "list_type")
_TABLES = ("dict_type", "model_type", "model_attributes_type")
_LEAST_FOREIGN = 3
"""Shortest word whose meaning is searched at other locations of the file, in letters."""


def problems_of(root: type[BaseModel], errors: Sequence[ErrorDetails]) -> list[Problem]:
    """Translate the validation errors of pydantic: unknown keys come first; keys missing because of them are left out.

    For a list with wrong entries pydantic also reports that it is too short, because it counts only valid entries.
    """
    relevant = [
        error for error in errors if error["type"] != "too_short" or len(error["input"]) < error["ctx"]["min_length"]
    ]
    return in_order(problem_of(root, error) for error in relevant)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return distinct problems, unknown keys first, without missing keys that the unknown keys were meant to be."""
    found = list(dict.fromkeys(problems))
    meant = {(*one.location[:-1], one.meant) for one in found if one.meant}
    covered = {one.location for one in found if one.covers}
    kept = [
        one
        for one in found
        if (one.location not in meant or not one.text.startswith("is missing"))
        and not any(one.location[:end] in covered for end in range(len(one.location)))
    ]
    return sorted(kept, key=lambda one: not one.text.startswith("is not a key"))


def problem_of(root: type[BaseModel], error: ErrorDetails) -> Problem:
    """Translate one validation error of pydantic."""
    place, kind = place_of(root, error["loc"]), error["type"]
    *outer, last = error["loc"] or ("",)
    location = tuple(part for part in outer if not _is_branch(part))
    if kind == "extra_forbidden" or (error["loc"] and not _is_branch(last)):  # a user's key may begin like a branch
        location = (*location, last)
    if location[-2:-1] == ("positions",) and isinstance(error["input"], (int, float)):
        text = "must be a list of points, each a list of x, y and z, as in [[0.0, 0.0, 0.1]]"
        return Problem(location[:-1], text)
    if kind == "missing" and isinstance(location[-1], int):
        return Problem(location[:-1], _too_few(place_of(root, error["loc"][:-1]), location[-1]))
    if kind == "union_tag_invalid":
        key = "distribution" if location[-1:] == ("radius",) else "kind" if location[:1] == ("measures",) else "shape"
        return Problem((*location, key), _wrong_branch(error, key))
    if kind == "extra_forbidden":
        return _unknown_key(root, location, error["loc"], error["input"])
    if kind == "bool_type" and place.is_entry:
        return Problem(location[:-1], f"must be {list_form(place._replace(is_entry=False))}")
    if kind in _TABLES and place.chosen and place.chosen in place.keys:
        return _without_name(place, location)
    return Problem(location, _text(place, location, error) + _or_auto(error["loc"], kind))


def _is_branch(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith(BRANCH)


def _too_few(place: KeyPlace, count: int | str) -> str:
    form = list_form(place)
    text = f"has too few entries, at least {fixed_length(place) or int(count) + 1} are needed"
    return f"{text}: {form}" if "[x, y, z]" in form else text


def _unknown_key(root: type[BaseModel], location: Location, with_tags: Sequence[str | int], given: Any) -> Problem:
    """Return the problem of a key that does not belong to its table."""
    word, table = str(location[-1]), place_of(root, with_tags[:-1])
    if table.chosen and table.chosen in table.keys:
        return _without_name(table, location[:-1])
    if len(location) == 1 and (section := _named_section(root, given)):
        text = f"is not a key; did you mean [{section}.{word}]? allowed: {', '.join(table.keys)}"
        return Problem(location, text)
    places = elsewhere(root, word, location)
    text, meant = unknown_key_text(word, table.keys, places)
    if len(location) == 1 and places and not meant:  # the section of that key is then not missing
        meant = places[0].partition(".")[0]
    return Problem(location, text, meant)


def _named_section(root: type[BaseModel], given: Any) -> str:
    """Return the section of named tables that contains all keys of a table; empty if there is none."""
    if not isinstance(given, dict) or not given:
        return ""
    for name, field in root.model_fields.items():
        if is_named(root, name) and any(set(given) <= set(inner.model_fields) for inner in models_in(field)):
            return name
    return ""


def _without_name(place: KeyPlace, location: Location) -> Problem:
    """Return the problem of keys in the place of named tables."""
    name = place.way[-1][1]
    how = "[interactions.A-B], or [interactions.default]" if name == "interactions" else f"[{name}.NAME]"
    text = f"its keys belong to a table with a name: write {how} above them"
    return Problem(location[:-1], text, covers=True)


def elsewhere(root: type[BaseModel], word: str, location: Location = ()) -> list[str]:
    """Return the full keys of a file that end with a key, or with the key that a foreign word means.

    Keys of the section of a location come first.
    """
    found = places_of_key(root, word)
    if not found and len(word) >= _LEAST_FOREIGN:
        names = list(dict.fromkeys(key.rpartition(".")[2] for key in all_keys(root)))
        foreign = foreign_key(word, names)
        found = places_of_key(root, foreign.key) if foreign is not None else []
    section = str(location[0]) if location else ""
    return sorted(found, key=lambda key: key.partition(".")[0] != section)


def _wrong_branch(error: ErrorDetails, key: str) -> str:
    """Return the text for an unknown kind of table."""
    names = [name.strip(" '").removeprefix(BRANCH) for name in str(error["ctx"]["expected_tags"]).split(",")]
    known = [name for name in names if name != "number"]
    given = error["input"].get(key) if isinstance(error["input"], dict) else None
    hint = value_hint(given, known) if isinstance(given, str) else ""
    return _one_of(known, hint)


def _one_of(known: Sequence[str], hint: str) -> str:
    text = ", ".join(f'"{name}"' for name in known)
    return f"must be one of {text}{f'; {hint}' if hint else ''}"


def _or_auto(location: Sequence[str | int], kind: str) -> str:
    return ' (or "auto")' if f"{BRANCH}value" in location and kind not in _LIMITS else ""


def _text(place: KeyPlace, location: Location, error: ErrorDetails) -> str:
    """Return the required form of a value, and the given value in that form."""
    kind, given = error["type"], error["input"]
    if kind == "missing":
        return _missing(place, location)
    if kind == "literal_error":
        return _literal(place, error)
    if kind in _NUMBERS:
        hint = number_hint(place, given) or _other_kind(place, given)
        return f"must be {number_form(place)}{hint}"
    if kind in _WHOLE:
        return f"must be {number_form(place, whole=True)}{whole_hint(given)}"
    if kind in _LISTS:
        form = list_form(place)
        return f"must be {form}{_remark(place, given, of_numbers='numbers' in form)}"
    if kind in _TABLES:
        return _table(place, given)
    if kind in ("bool_type", "bool_parsing"):
        return f"must be true or false{text_hint(given)}"
    if kind == "string_type":
        alone = isinstance(given, list) and len(given) == 1 and isinstance(given[0], str)
        hint = f"; without brackets: {shown_value(given[0])}" if alone else _other_kind(place, given)
        return f"must be a text in quotes{hint}"
    if kind in _LIMITS:
        return _LIMITS[kind].format(**error.get("ctx", {})) + remark_on(place, error)
    return error["msg"]


def _remark(place: KeyPlace, given: Any, *, of_numbers: bool = False) -> str:
    """Return the hint on a wrong value in place of a list, perhaps of numbers, or of a table."""
    hint = text_hint(given) or (number_hint(place, given) if of_numbers and isinstance(given, str) else "")
    return hint or _other_kind(place, given)


def _other_kind(place: KeyPlace, given: Any) -> str:
    """Return the hint on a value of a wrong kind."""
    return remark_on(place, {"type": "kind", "input": given})


def _table(place: KeyPlace, given: Any) -> str:
    """Return the required form of a table, for a value that is not a table."""
    if isinstance(given, list) and place.fields and is_named(*place.fields[-1]) and not place.chosen:
        name = place.way[-1][1]
        first = given[0].get("name") if given and isinstance(given[0], dict) else None
        return f"has a name for each: write [{name}.{first or 'NAME'}] in place of [[{name}]]"
    if place.fields and is_named(*place.fields[-1]) and not place.chosen:
        name = place.way[-1][1]
        return f"must be tables with names, each below [{name}.{'A-B' if name == 'interactions' else 'NAME'}]"
    if place.is_entry and len(place.way) == 1:
        name = place.way[-1][1]
        return f"must be a table: each of {name} begins with [[{name}]]"
    return f"must be {table_form(place)}{_remark(place, given)}"


def _missing(place: KeyPlace, location: Location) -> str:
    """Return the text on a missing key, with its meaning."""
    if location[:1] == ("interactions",) and location[-1] in ("friction", "restitution"):
        return f"is missing; give it here, or {location[-1]} in both materials"
    if not place.fields:
        return "is missing"
    owner, name = place.fields[0]
    if len(place.way) == 1 and place.models:
        needed = [key for key, field in place.models[0].model_fields.items() if field.is_required()]
        return f"is missing: write [{name}] with {' and '.join(needed)}"
    sentence = plain(first_sentence(owner, name)).rstrip(".")
    unit = unit_of(place)
    said = f"{sentence[:1].lower()}{sentence[1:]}" if sentence[1:2].islower() else sentence
    return f"is missing: {said}{f' ({unit})' if unit and f' {unit}' not in said else ''}"


def _literal(place: KeyPlace, error: ErrorDetails) -> str:
    """Return the allowed words, and the word that was probably meant."""
    if f"{BRANCH}auto" in error["loc"]:
        meant = value_hint(error["input"], ["auto"])
        return f'must be "auto" or a number{number_hint(place, error["input"]) or (f"; {meant}" if meant else "")}'
    expected = str(error["ctx"]["expected"]).replace("'", '"')
    words = [word.strip(' "') for word in expected.replace(" or ", ", ").split(", ")]
    hint = value_hint(error["input"], words) if isinstance(error["input"], str) else ""
    return f"must be {expected}{f'; {hint}' if hint else ''}"
