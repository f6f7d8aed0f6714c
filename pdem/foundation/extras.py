"""Optional packages."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of this distribution, such as ``render``."""
    return f"pip install 'polydem[{extra}]'"
