"""The files that a case names: meshes, particles, tables, contact laws, forces."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pdem.case.messages import shown_key
from pdem.case.python_files import FROM_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pdem.case.sections.schema import CaseData

_FILE_KEYS = ("file", "mesh")
_PYTHON_KEYS = ("law", "kind")


def input_files(case: CaseData) -> dict[str, Path]:
    """Return the paths of all files that a case names, by their keys; the files may be missing."""
    return files_in(case, case.model_dump(exclude_none=True))


def files_in(case: CaseData, document: dict[str, Any]) -> dict[str, Path]:
    """Return the paths of all files that a part of a case names, as nested tables, by their keys."""
    return {key: case.file(name) for key, name in named_files(document).items()}


def named_files(document: dict[str, Any]) -> dict[str, str]:
    """Return the names of all files in a case or a part of one, as nested tables, by their keys."""
    return {shown_key(list(key)): name for key, name in _names(document, ())}


def _names(value: Any, key: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the keys below `key` that name a file, and the names."""
    if isinstance(value, dict | list | tuple):
        for part, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _names(inner, (*key, part))
    elif isinstance(value, str) and key[-1] in _FILE_KEYS:
        yield key, value
    elif isinstance(value, str) and key[-1] in _PYTHON_KEYS and value.startswith(FROM_FILE):
        yield key, value.removeprefix(FROM_FILE).rpartition(":")[0]


def contents_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Return digests of the contents of files by their keys, see `content_of_file`."""
    return {key: content_of_file(path) for key, path in files.items()}


def content_of_file(path: Path) -> str:
    """Return a digest of the content of a file, empty if it cannot be read; unchanged files are read only once."""
    try:
        status = path.stat()
        return _digest_of(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return ""


@lru_cache(maxsize=256)
def _digest_of(path: Path, time: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
