"""Changes of single values of a parsed case: ``time.end=0.5``."""

from __future__ import annotations

import re
import tomllib
from functools import partial
from typing import TYPE_CHECKING, Any

from pdem.case.explain.key_examples import is_named
from pdem.case.explain.key_texts import models_in
from pdem.case.hints.settings import meant_settings
from pdem.case.hints.toml_text import value_cause
from pdem.case.messages import shown_key, value_at
from pdem.case.sections.earlier_keys import make_way
from pdem.case.sections.units import UNIT_KEYS
from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

_INDEX = re.compile(r"\[\s*(\d+)\s*\]")
_PLAIN_TEXT = re.compile(r"[\w./~+-][\w ./~+-]*")


def apply_override(document: dict[str, Any], assignment: str, source: str, root: type[BaseModel]) -> list[str]:
    """Set one value of a parsed case in place, and return the parts of its key.

    Parameters
    ----------
    document : dict
        Result of the TOML parser.
    assignment : str
        ``key=value``: dotted key with list indices as ``.0`` or ``[0]``, value in TOML syntax. A plain text, such as a
        path, needs no quotes, because shells remove them. A unit after a key, as in ``walls.0.rotation.rate.rpm=20``,
        replaces an existing number.
    source : str
        Name for messages.
    root : type of BaseModel
        Sections of the document.

    Raises
    ------
    CaseError
        If the assignment cannot be parsed, or a list, a table or a section that its key needs does not exist.
    """
    key, separator, text = assignment.partition("=")
    if not separator:
        raise CaseError(f"{source}: an override is written key=value, for instance time.end=0.5")
    parts = _parts(key, source)
    value = value_of(text.strip(), key.strip(), source)
    if _names_unit(document, parts):
        parts, value = parts[:-1], {parts[-1]: value}
    meant = partial(meant_settings, root, document, parts)  # takes some time, for messages only
    if (parts[0] not in root.model_fields or _lacks_name(document, parts, root)) and meant():
        raise CaseError(f"{source}: {key.strip()} is not a key; {meant()}")
    make_way(document, parts)
    holder: Any = document
    for depth, part in enumerate(parts[:-1], 1):
        holder = _child(holder, part, parts[:depth], source, meant)
    if isinstance(holder, list):
        holder[_index(holder, parts[-1], parts, source, meant)] = value
    elif isinstance(holder, dict):
        holder[parts[-1]] = value
    else:
        raise CaseError(f"{source}: {shown_key(parts[:-1])} is a single value and has no {parts[-1]!r} in it")
    return parts


def _names_unit(document: Any, parts: list[str]) -> bool:
    """Return whether the last part is a unit for numbers that the case has at the key before it: ``rate.rpm``."""
    if len(parts) < 2 or parts[-1] not in UNIT_KEYS:
        return False
    found, there = value_at(document, [int(part) if part.isdecimal() else part for part in parts[:-1]])
    return found and not isinstance(there, dict)


def _parts(key: str, source: str) -> list[str]:
    try:
        tree: Any = tomllib.loads(_INDEX.sub(r".\1", key.strip()) + " = 0")
    except (tomllib.TOMLDecodeError, RecursionError):
        tree = {}
    parts: list[str] = []
    while isinstance(tree, dict) and len(tree) == 1:
        part, tree = next(iter(tree.items()))
        parts.append(part)
    if tree != 0:
        raise CaseError(f"{source}: {key.strip()!r} is not a dotted key such as particles[0].radius")
    return parts


def value_of(text: str, key: str, source: str) -> Any:
    """Return the value that a user gives for a key: TOML, or a plain text without quotes.

    Raises
    ------
    CaseError
        If the text is neither.
    """
    try:
        tree = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        tree = {}
    if tree.keys() != {"value"}:
        if _PLAIN_TEXT.fullmatch(text):
            return text
        cause = value_cause(text) or f"""a text needs quotes: '{key}="..."'"""
        raise CaseError(f"{source}: {text!r} is not a TOML value; {cause}")
    return tree["value"]


def _lacks_name(document: dict[str, Any], parts: list[str], root: type[BaseModel]) -> bool:
    """Return whether a key continues after a section of named tables without a name."""
    if len(parts) < 2 or not is_named(root, parts[0]) or parts[1] in document.get(parts[0], {}):
        return False
    return any(parts[1] in inner.model_fields for inner in models_in(root.model_fields[parts[0]]))


def _child(holder: Any, part: str, parts: list[str], source: str, meant: Callable[[], str]) -> Any:
    if isinstance(holder, list):
        return holder[_index(holder, part, parts, source, meant)]
    if isinstance(holder, dict):
        return holder.setdefault(part, {})
    raise CaseError(f"{source}: {shown_key(parts[:-1])} is a single value and has no {part!r} in it")


def _index(holder: list[Any], part: str, parts: list[str], source: str, meant: Callable[[], str]) -> int:
    if not part.isdecimal() or int(part) >= len(holder):
        what = f"a list of {len(holder)}; its entries are numbered from 0"
        hint = f": {meant()}" if not part.isdecimal() and meant() else f", there is no {part!r}"
        raise CaseError(f"{source}: {shown_key(parts[:-1])} is {what}{hint}")
    return int(part)
