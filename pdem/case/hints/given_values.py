"""Hints on values in a wrong form: texts that are numbers, and numbers of a different kind, with the right form."""

from __future__ import annotations

import math
import tomllib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pdem.case.explain.key_texts import models_in
from pdem.case.hints.other_words import IN_PLACE
from pdem.case.hints.quantities import DEGREES, RPM, number_of, number_text, quantity_of
from pdem.case.hints.toml_text import value_cause
from pdem.case.messages import shown_value
from pdem.case.sections.units import InDegrees, InRpm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.hints.key_places import KeyPlace

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_LARGEST_SHARE = 1.0
_PERCENT = 100.0


def number_hint(place: KeyPlace | None, given: Any) -> str:
    """Return the right form of a number that was given as a text, or as a list of one number."""
    if isinstance(given, list) and len(given) == 1 and type(given[0]) in (int, float):
        return f"; without brackets: {shown_value(given[0])}"
    if not isinstance(given, str):
        return ""
    if (number := number_of(given)) is not None:
        return f"; without quotes: {number_text(number)}"
    if (quantity := quantity_of(given)) is None:
        cause = value_cause(given)
        return f"; {cause}" if cause.startswith("there are no") else ""
    written = str(quantity)
    if f"{{{RPM}" in written and not _takes(place, InRpm):
        return ""
    if f"{{{DEGREES}" in written and not _takes(place, InDegrees):
        return ""
    return f"; without quotes, in SI units: {written}"


def whole_hint(given: Any) -> str:
    """Return the right form of a whole number that was given with a decimal point, or as a text."""
    if isinstance(given, float) and math.isfinite(given) and given == int(given) and abs(given) < 1e15:
        return f", without a point and an exponent: {int(given)}"
    number = number_of(given) if isinstance(given, str) else None
    if number is not None and number == int(number):
        return f"; without quotes: {int(number)}"
    return ""


def text_hint(given: Any) -> str:
    """Return the right form of a value that was given as a text, or as 0 or 1; empty if there is none."""
    word = given.strip().lower() if isinstance(given, str) else str(given) if type(given) is int else ""
    if word in _TRUE + _FALSE:
        how = "without quotes" if isinstance(given, str) else "write"
        return f"; {how}: {'true' if word in _TRUE else 'false'}"
    if not isinstance(given, str) or not given.lstrip().startswith(("[", "{")):
        return ""
    try:
        tomllib.loads(f"value = {given}")
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return ""
    return f"; without quotes: {given}"


def remark_on(place: KeyPlace, error: Mapping[str, Any]) -> str:
    """Return the hint on a value of a wrong kind, or beyond its limits."""
    kind, given, context = str(error["type"]), error["input"], error.get("ctx", {})
    if kind in ("less_than", "less_than_equal") and isinstance(given, (int, float)):
        return _beyond(place, float(given), float(context.get("lt", context.get("le", math.inf))))
    if kind == "too_long":
        return _commas(given)
    key = place.way[-1][1] if place.way else ""
    found = IN_PLACE.get((key, _kind_of(given)), "")
    return f"; {found.format(value=shown_value(given))}" if found else ""


def _beyond(place: KeyPlace, given: float, most: float) -> str:
    if _takes(place, InDegrees) and given <= 360.0:
        return f", in rad; in degrees: {{degrees = {number_text(given)}}}"
    if most <= _LARGEST_SHARE < given <= _PERCENT:
        return f"; {number_text(given)} % is {number_text(given / _PERCENT)}"
    return ""


def _commas(given: Any) -> str:
    """Return the hint on a list that is too long because its numbers have decimal commas."""
    whole = [type(one) is int for one in given] if isinstance(given, (list, tuple)) else []
    both = any(one and other for one, other in pairwise(whole))
    return "; decimals are written with a point: 0.5, not 0,5" if both else ""


def _kind_of(given: Any) -> str:
    if isinstance(given, dict):
        return "table"
    if isinstance(given, list):
        return "list"
    return "number" if type(given) in (int, float) else "text"


def _takes(place: KeyPlace | None, section: type) -> bool:
    """Return whether a key accepts numbers in the unit of a section."""
    if place is None:
        return False
    inner = [model for owner, name in place.fields for model in models_in(owner.model_fields[name])]
    return any(issubclass(model, section) for model in inner)
