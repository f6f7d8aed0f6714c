"""Observers that are named on the command line: functions in files of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def observer_of(text: str) -> Any:
    """Return the observer that ``FILE.py:NAME`` names.

    Raises
    ------
    CaseError, InputError
        If the file cannot be read, or has no such function.
    """
    from pdem.case.python_files import variables_of
    from pdem.foundation.errors import InputError, name_hint

    file, _, name = text.rpartition(":")
    variables = variables_of(Path(file), f"--observer {text}") if file else {}
    if not callable(variables.get(name)):
        names = [key for key, value in variables.items() if callable(value) and not key.startswith("_")]
        hint = name_hint(name, names) if names else "write FILE.py:NAME"
        raise InputError(f"--observer {text}: names no function; {hint}")
    return variables[name]
