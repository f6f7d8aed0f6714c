"""Changes of single values of a parsed case: ``time.end=0.5``."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from pdem.case.messages import shown_key
from pdem.foundation.errors import CaseError

_INDEX = re.compile(r"\[\s*(\d+)\s*\]")
_PLAIN_TEXT = re.compile(r"[\w./~+-][\w ./~+-]*")


def apply_override(document: dict[str, Any], assignment: str, source: str) -> list[str]:
    """Set one value of a parsed case in place, and return the parts of its key.

    Parameters
    ----------
    document : dict
        Result of the TOML parser.
    assignment : str
        ``key=value``: dotted key with list indices as ``.0`` or ``[0]``, value in TOML syntax. A plain text, such
        as a path, needs no quotes: shells take them away.
    source : str
        Name for messages.

    Raises
    ------
    CaseError
        If the assignment cannot be parsed, or a list or table on the way to its key does not exist.
    """
    key, separator, text = assignment.partition("=")
    if not separator:
        raise CaseError(f"{source}: an override is written key=value, for instance time.end=0.5")
    parts = _parts(key, source)
    value = value_of(text.strip(), key.strip(), source)
    holder: Any = document
    for depth, part in enumerate(parts[:-1], 1):
        holder = _child(holder, part, parts[:depth], source)
    if isinstance(holder, list):
        holder[_index(holder, parts[-1], parts, source)] = value
    elif isinstance(holder, dict):
        holder[parts[-1]] = value
    else:
        raise CaseError(f"{source}: {shown_key(parts[:-1])} is a single value and has no {parts[-1]!r} in it")
    return parts


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
        If it is neither.
    """
    try:
        tree = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        tree = {}
    if tree.keys() != {"value"}:
        if _PLAIN_TEXT.fullmatch(text):
            return text
        raise CaseError(f"""{source}: {text!r} is not a TOML value; a text needs quotes: '{key}="..."'""")
    return tree["value"]


def _child(holder: Any, part: str, parts: list[str], source: str) -> Any:
    if isinstance(holder, list):
        return holder[_index(holder, part, parts, source)]
    if isinstance(holder, dict):
        return holder.setdefault(part, {})
    raise CaseError(f"{source}: {shown_key(parts[:-1])} is a single value and has no {part!r} in it")


def _index(holder: list[Any], part: str, parts: list[str], source: str) -> int:
    if not part.isdecimal() or int(part) >= len(holder):
        what = f"a list of {len(holder)}; its entries are numbered from 0"
        raise CaseError(f"{source}: {shown_key(parts[:-1])} is {what}, there is no {part!r}")
    return int(part)
