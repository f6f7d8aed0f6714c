"""Values as TOML writes them on one line."""

from __future__ import annotations

import json
import re
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


def toml_value(value: Any) -> str:
    """Return a value as TOML, tables inline.

    Raises
    ------
    TypeError
        If TOML has no such type.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        entries = (
            f"{key if _BARE_KEY.match(key) else _quoted(key)} = {toml_value(one)}"
            for key, one in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    if hasattr(value, "tolist"):  # of numpy
        return toml_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}, which TOML does not have")


def _quoted(text: str) -> str:
    """Return a text in quotes: as JSON writes it, which leaves one control character that TOML does not take."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
