"""Files that commands write in addition to runs: complete or not at all, with errors in one line. Needs no HDF5."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError, WriteError
from pdem.foundation.files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RUN_GOES_ON = "the run goes on from its last checkpoint once there is room"
"""Remedy for the files that a run writes with its snapshots."""


@contextmanager
def writing(path: Path, remedy: str) -> Iterator[None]:
    """Turn a failing write to `path` into one `WriteError` that ends with `remedy`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise WriteError(f"{path}: cannot be written ({reason(error)}); {remedy}") from error


def reason(error: BaseException) -> str:
    """Return the cause of `error` in a few words on one line."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def save_file(path: Path, content: str | bytes, remedy: str = "make room, or name another place") -> None:
    """Write a file, and create its folder if needed; see `pdem.foundation.files.write_file`.

    Raises
    ------
    WriteError
        If it cannot be written; the message ends with `remedy`.
    """
    with saving(path, remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)


@contextmanager
def saving(path: Path, remedy: str = "make room, or name another place") -> Iterator[None]:
    """Turn a failing write to `path` into a `WriteError` that ends with `remedy`."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise WriteError(f"{path}: cannot be written ({reason(error)}); {remedy}") from None


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document to a file, and create its folder if needed.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    save_file(path, json.dumps(document, indent=2) + "\n", "name another file or folder")
