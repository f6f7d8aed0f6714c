"""The folders `validation` and `benchmarks` of the sources, which an installed package does not have."""

from __future__ import annotations

import sys
from pathlib import Path

from pdem.foundation.errors import InputError
from pdem.foundation.version import VERSION

SOURCES = Path(__file__).resolve().parents[2]
"""The folder that holds the package; of the sources, if `pyproject.toml` is there."""


def require_sources(package: str, command: str) -> None:
    """Let a package that stands beside pdem in its sources be imported, also in processes that this one spawns.

    Parameters
    ----------
    package : str
        Name of its folder.
    command : str
        The command that needs it, for the message.

    Raises
    ------
    InputError
        If pdem is installed without its sources.
    """
    if not ((SOURCES / "pyproject.toml").is_file() and (SOURCES / package / "__init__.py").is_file()):
        raise InputError(
            f"{command} needs the folder {package}/ of the sources of pdem, and {SOURCES} holds the installed package "
            f"alone: unpack polydem-{VERSION}.tar.gz or clone the repository, run `bash scripts/setup` there, and use "
            "the pdem of its .venv"
        )
    if sys.path[:1] != [str(SOURCES)]:
        sys.path.insert(0, str(SOURCES))  # first: other packages of these names may be installed
