"""Python files that a case names: ``python:FILE.py:NAME``, for an object that the file creates."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from functools import cache
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from pathlib import Path

FROM_FILE = "python:"
"""Prefix of these names."""


def is_python_name(text: str) -> bool:
    """Return whether a text that begins with `FROM_FILE` contains a file and a name."""
    return text.count(":") == 2 and text.rpartition(":")[2].isidentifier() and bool(text.split(":")[1])


@cache
def _variables_of_file(path: Path, changed: int) -> dict[str, Any]:
    """Return the variables of a file, which runs once for each time `changed` of its last change.

    Raises
    ------
    CaseError
        If that fails; the caller adds the key to the message.
    """
    spec = importlib.util.spec_from_file_location(f"pdem_case_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise CaseError(f"{path}, line {error.lineno}: {error.msg}; mend it") from None
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(sys.exc_info()[2]) if frame.filename == str(path)]
        at = f", line {lines[-1]}" if lines else ""
        raise CaseError(f"{path}{at}: {type(error).__name__}: {error}") from None
    return vars(module)


def variables_of(path: Path, where: str) -> dict[str, Any]:
    """Return the variables of a Python file after it has run.

    Parameters
    ----------
    path : Path
        The file.
    where : str
        Key of the case that names it, for messages.

    Raises
    ------
    CaseError
        If the file cannot be read or fails; the message names the line.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise CaseError(
            f"{where}: {path} cannot be read: {error.strerror}; paths are relative to the folder of the case"
        ) from None
    try:
        return _variables_of_file(path.resolve(), changed)
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from None
