"""Values of a case by their full keys."""

from __future__ import annotations

from typing import Any


def flat_keys(key: str, value: Any) -> dict[str, Any]:
    """Return the values of nested tables and lists of tables by their full keys."""
    if isinstance(value, dict):
        inner = [(f"{key}.{name}" if key else str(name), one) for name, one in value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(one, dict) for one in value):
        inner = [(f"{key}[{index}]", one) for index, one in enumerate(value)]
    else:
        return {key: list(value) if isinstance(value, tuple) else value}
    return {name: leaf for part, one in inner for name, leaf in flat_keys(part, one).items()}
