"""The folders `validation` and `benchmarks` of the sources, which an installed package does not have."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pdem.foundation.errors import InputError
from pdem.foundation.version import VERSION

SOURCES = Path(__file__).resolve().parents[2]
"""The folder that holds the package; of the sources, if `pyproject.toml` is there."""


def require_sources(package: str, part: str = "") -> None:
    """Let a package that stands beside pdem in its sources be imported, also in processes that this one spawns.

    Parameters
    ----------
    package : str
        Name of its folder.
    part : str
        For which part of the present command, for the message; by default for all of it.

    Raises
    ------
    InputError
        If pdem is installed without its sources.
    """
    if not ((SOURCES / "pyproject.toml").is_file() and (SOURCES / package / "__init__.py").is_file()):
        command = click.get_current_context().command_path
        raise InputError(
            f"{command}{part} needs the folder {package}/ of the sources of pdem, and {SOURCES} holds the installed "
            f"package alone: unpack polydem-{VERSION}.tar.gz or clone the repository, run `bash scripts/setup` there, "
            "and use the pdem of its .venv"
        )
    if sys.path[:1] != [str(SOURCES)]:
        sys.path.insert(0, str(SOURCES))  # first: other packages of these names may be installed
