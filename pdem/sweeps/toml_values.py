"""Values as TOML writes them on one line."""

from __future__ import annotations

import json
from typing import Any

from pdem.case.messages import shown_key


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
        return json.dumps(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{shown_key([key])} = {toml_value(one)}' for key, one in value.items())}}}"
    if hasattr(value, "tolist"):  # of numpy
        return toml_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}, which TOML does not have")
