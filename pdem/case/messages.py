"""Problems of a case, one line each: file, key, value, allowed values."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_VALUE = 70
"""Letters of a value that messages show."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True)
class Problem:
    """One problem of a case.

    Attributes
    ----------
    location : tuple of str or int
        Keys and list indices that lead to the value.
    text : str
        Allowed values, and the remedy.
    meant : str
        For an unknown key, the key that was probably meant and is therefore not reported as missing.
    covers : bool
        Whether problems within this location follow from this problem.
    """

    location: tuple[str | int, ...]
    text: str
    meant: str = ""
    covers: bool = False

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


def shown_value(value: Any, longest: int = LONGEST_VALUE) -> str:
    """Return a value as TOML would write it, shortened to one readable line."""
    text = _written(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _written(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value[:LONGEST_VALUE], ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(entry) for entry in value[:LONGEST_VALUE])}]"
    if isinstance(value, dict):
        entries = (f"{shown_key([key])} = {_written(entry)}" for key, entry in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"a whole number of {value.bit_length()} bits"
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    """Return a number in a short notation, without many zeros."""
    short = f"{value:g}"
    return short if not (1e-4 <= abs(value) < 1e6) and value and float(short) == value else str(value)


def value_at(document: Any, location: Sequence[str | int]) -> tuple[bool, Any]:
    """Return whether `document` has a value at the location, and the value."""
    for part in location:
        is_key = isinstance(document, dict) and part in document
        is_index = isinstance(document, (list, tuple)) and isinstance(part, int) and part < len(document)
        if not (is_key or is_index):
            return False, None
        document = document[part]
    return True, document


def nearest_key_hint(key: str, allowed: Sequence[str]) -> str:
    """Return ``did you mean ...`` if a key is near, and the list of all keys."""
    near = difflib.get_close_matches(key.lower(), allowed, n=1, cutoff=0.6)
    return (f"did you mean {near[0]!r}? " if near else "") + f"allowed: {', '.join(allowed)}"
