"""Problems of a case, one line each: file, key, value, allowed values."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from pdem.case.base import BRANCH, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_core import ErrorDetails

_LONGEST_VALUE = 70
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")

_ALLOWED = {
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be a text in quotes",
    "string_too_short": "must not be empty",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_long": "has {actual_length} entries, at most {max_length} are allowed",
    "too_short": "has {actual_length} entries, at least {min_length} are needed",
    "literal_error": "must be {expected}",
    "union_tag_invalid": "must be one of {branches}",
}


@dataclass(frozen=True)
class Problem:
    """One problem of a case.

    Attributes
    ----------
    location : tuple of str or int
        Keys and list indices that lead to the value.
    text : str
        Allowed values, and the remedy.
    """

    location: tuple[str | int, ...]
    text: str

    def line(self, source: str, document: Any) -> str:
        """Return the line for the user, with the value of `document` at the location."""
        found, given = value_at(document, self.location)
        shown = f" = {shown_value(given)}" if found and not isinstance(given, dict) else ""
        where = shown_key(self.location) + shown
        return " ".join(f"{source}: {where + ': ' if where else ''}{self.text}".splitlines())


def shown_key(location: Sequence[str | int]) -> str:
    """Return a location in the form ``particles[0].radius``."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE_KEY.match(part) else json.dumps(part))
    return text


def shown_value(value: Any) -> str:
    """Return a value as TOML would write it, shortened to one readable line."""
    text = _written(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _written(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value[:_LONGEST_VALUE], ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(entry) for entry in value[:_LONGEST_VALUE])}]"
    if isinstance(value, dict):
        entries = (f"{shown_key([key])} = {_written(entry)}" for key, entry in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a whole number of {value.bit_length()} bits"
    return str(value)


def value_at(document: Any, location: Sequence[str | int]) -> tuple[bool, Any]:
    """Return whether `document` has a value at the location, and the value."""
    for part in location:
        is_key = isinstance(document, dict) and part in document
        is_index = isinstance(document, (list, tuple)) and isinstance(part, int) and part < len(document)
        if not (is_key or is_index):
            return False, None
        document = document[part]
    return True, document


def _models_in(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _sections_at(root: type[BaseModel], location: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the possible sections at a location of a validation error, which includes tags of branches."""
    models: list[type[BaseModel]] = [root]
    for part in location:
        if isinstance(part, str) and part.startswith(BRANCH):
            models = [model for model in models if getattr(model, "branch", "") == part] or models
            continue
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        # List indices and names of materials lead to the same kind of section.
        if fields:
            models = [found for field in fields for found in _models_in(field.annotation)]
            models += [found for field in fields for item in field.metadata for found in _models_in(item)]
    return models


def nearest_key_hint(key: str, allowed: Sequence[str]) -> str:
    """Return ``did you mean ...`` if a key is near, and the list of all keys."""
    near = difflib.get_close_matches(key.lower(), allowed, n=1, cutoff=0.6)
    return (f"did you mean {near[0]!r}? " if near else "") + f"allowed: {', '.join(allowed)}"


_FOREIGN_KEYS = {
    "diameter": ("radius", "pdem takes the radius, which is half of it: radius = ..."),
    "mass": ("radius", "it follows from radius and materials.NAME.density"),
    "friction": ("friction", "did you mean 'friction'?"),
    "restitution": ("restitution", "did you mean 'restitution'?"),
    "rollingfriction": ("rolling_friction", "did you mean 'rolling_friction'?"),
}
"""Keys of other programs, by their letters without ``coefficient``: the key of pdem, and a hint."""

_COHESION = (
    "cohes",
    "adhes",
    "jkr",
    "dmt",
    "sjkr",
    "surfaceenergy",
    "workofadhesion",
    "bond",
    "liquid",
    "capillar",
)


def _foreign_hint(word: str, keys: Sequence[str]) -> str:
    """Return a hint on a key or value of other programs, where `keys` are allowed; empty if there is none."""
    letters = "".join(letter for letter in word.lower() if letter.isalnum())
    if any(part in letters for part in _COHESION):
        return 'pdem has adhesion = {model = ...} in an interaction: "jkr", "dmt", "linear", "liquid-bridge"; no bonds'
    plain = letters.replace("coefficientof", "").replace("coefficient", "").removesuffix("s")
    key, hint = _FOREIGN_KEYS.get(plain, ("", ""))
    return hint if key in keys else ""


def _unknown_key(root: type[BaseModel], location: tuple[str | int, ...]) -> str:
    keys: dict[str, None] = {}
    for model in _sections_at(root, location[:-1]):
        keys.update(dict.fromkeys(model.model_fields))
    return unknown_key_text(str(location[-1]), list(keys))


def unknown_key_text(key: str, allowed: Sequence[str]) -> str:
    """Return the text for an unknown key: the one probably meant, and all allowed ones."""
    hint = _foreign_hint(key, allowed)
    if hint:
        return f"is not a key; {hint}{'' if hint.endswith('?') else ';'} allowed: {', '.join(allowed)}"
    return f"is not a key; {nearest_key_hint(key, allowed)}"


def _branches(context: dict[str, Any]) -> str:
    names = [name.strip(" '").removeprefix(BRANCH) for name in str(context["expected_tags"]).split(",")]
    texts = [f'"{name}"' for name in names if name != "number"]
    return ", ".join(texts)


def _branch_remark(location: Sequence[str | int]) -> str:
    if f"{BRANCH}value" in location:
        return ' (or "auto")'
    return ""


def _text(root: type[BaseModel], error: ErrorDetails) -> str:
    kind, location, context = error["type"], error["loc"], dict(error.get("ctx", {}))
    if kind == "extra_forbidden":
        return _unknown_key(root, location)
    if kind == "missing":
        mixed = location[:1] == ("interactions",) and location[-1] in ("friction", "restitution")
        return f"is missing; give it here, or {location[-1]} in both materials" if mixed else "is missing"
    if kind == "literal_error" and f"{BRANCH}auto" in location:
        return 'must be "auto" or a number'
    if kind == "literal_error":
        hint = _foreign_hint(str(error["input"]), ())
        context["expected"] = str(context["expected"]).replace("'", '"') + (f"; {hint}" if hint else "")
    if kind == "union_tag_invalid":
        context["branches"] = _branches(context)
    allowed = _ALLOWED.get(kind)
    return (allowed.format(**context) if allowed else error["msg"]) + _branch_remark(location)


def problems_of(root: type[BaseModel], errors: Sequence[ErrorDetails]) -> list[Problem]:
    """Translate the validation errors of pydantic.

    For a list with wrong entries pydantic also reports that it is too short, because it counts valid ones only.
    """
    relevant = [
        error
        for error in errors
        if error["type"] != "too_short" or len(error["input"]) < error["ctx"]["min_length"]
    ]
    return list(dict.fromkeys(problem_of(root, error) for error in relevant))


def problem_of(root: type[BaseModel], error: ErrorDetails) -> Problem:
    """Translate one validation error of pydantic."""
    plain = tuple(part for part in error["loc"] if not (isinstance(part, str) and part.startswith(BRANCH)))
    if plain[-2:-1] == ("positions",) and isinstance(error["input"], (int, float)):
        text = "must be a list of points, each a list of x, y and z, as in [[0.0, 0.0, 0.1]]"
        return Problem(plain[:-1], text)
    if error["type"] == "missing" and isinstance(plain[-1], int):
        return Problem(plain[:-1], f"has too few entries, at least {plain[-1] + 1} are needed")
    if error["type"] == "union_tag_invalid":
        plain = (*plain, "distribution" if plain[-1:] == ("radius",) else "shape")
    return Problem(plain, _text(root, error))
