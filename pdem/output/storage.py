"""Functions for everything that writes files: no file locks, free space checked first, atomic replacement."""

from __future__ import annotations

import errno
import json
import os
import resource
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from pdem.foundation.errors import CheckpointError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Attribute = str | int | float

HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError)
"""Exceptions that h5py raises on damaged or foreign files, or when a write fails."""

_SLACK = 1 << 16
_WRITES_AHEAD, _MOST_AHEAD = 32, 1 << 24
_PLENTY = 16
"""Free space over that of a write, below which each write is tried."""

_CANNOT_RESERVE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
_LARGEST_INTEGER = 2**63 - 1


def open_hdf5(path: Path, mode: str, **options: Any) -> h5py.File:
    """Open `path` without a file lock: a viewer that looks at a file never stops the run that writes it."""
    return h5py.File(path, mode, locking=False, **options)


def unfilled_dataset() -> Any:
    """Return the properties of a new dataset whose space HDF5 allocates at once and does not fill: ranks write it."""
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    create.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    create.set_obj_track_times(False)
    return create


_found: dict[Path, tuple[int, tuple[int, int]]] = {}
"""By folder: bytes for which there was room and that have not been asked for since; the limit of file sizes then."""


def reserve(folder: Path, byte_count: int) -> None:
    """Make sure that `folder` has space for `byte_count` more bytes, quotas and file size limits included.

    HDF5 cannot roll back a write that fails half way, so the space is tested before it starts. Quotas are found by
    trying, which takes some milliseconds: where there is much room that is done for several writes at once.

    Raises
    ------
    OSError
        When there is not enough space.
    """
    if not hasattr(os, "posix_fallocate"):  # macOS
        return
    limit, system = resource.getrlimit(resource.RLIMIT_FSIZE), os.statvfs(folder)
    room, then = _found.get(folder, (0, limit))
    ahead = min(_WRITES_AHEAD * byte_count, _MOST_AHEAD)
    if (
        byte_count > room
        or then != limit
        or system.f_bavail * system.f_frsize < _PLENTY * (byte_count + _MOST_AHEAD)
    ):
        room = 0
        if not _has_room(folder, byte_count + ahead + _SLACK):
            _try_room(folder, byte_count + _SLACK)
        else:
            room = byte_count + ahead
    _found[folder] = max(room - byte_count, 0), limit


def _has_room(folder: Path, byte_count: int) -> bool:
    try:
        _try_room(folder, byte_count)
    except OSError:
        return False
    return True


def _try_room(folder: Path, byte_count: int) -> None:
    with tempfile.TemporaryFile(dir=folder, prefix=".pdem-room-") as probe:
        try:
            os.posix_fallocate(probe.fileno(), 0, byte_count)
        except OSError as error:
            if error.errno not in _CANNOT_RESERVE:
                raise


@contextmanager
def writing(path: Path, remedy: str) -> Iterator[None]:
    """Turn a failing write to `path` into one `CheckpointError` that ends with `remedy`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise CheckpointError(f"{path}: cannot be written ({reason(error)}); {remedy}") from error


def reason(error: BaseException) -> str:
    """Return the cause of `error` in a few words on one line."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document to a file, and create its folder if needed.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({reason(error)}); name another file or folder"
        ) from None


def sync_file(path: Path) -> None:
    """Return once the content of `path` is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(temporary: Path, path: Path) -> None:
    """Give the finished file `temporary` its name `path`, in one step that no crash can tear."""
    sync_file(temporary)
    temporary.replace(path)
    sync_file(path.parent)


def discard(temporary: Path) -> None:
    """Remove `temporary` and free its blocks even while a failed HDF5 handle still holds the file open."""
    if temporary.exists():
        os.truncate(temporary, 0)
        temporary.unlink()


def set_aside(path: Path) -> Path:
    """Rename an unreadable file to the first free ``NAME.torn-1``, ``-2``, ... and return the new path."""
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    path.rename(aside)
    return aside


def plain_attribute(name: str, value: object) -> Attribute:
    """Return `value` as the str, int or float that HDF5 gives back unchanged.

    Raises
    ------
    InputError
        When it is of another type, does not fit 64 bits, or is a text with a NUL character.
    """
    if isinstance(value, str) and "\0" not in value:
        return str(value)
    if isinstance(value, (int, np.integer, np.bool_)) and abs(int(value)) <= _LARGEST_INTEGER:
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    raise InputError(
        f"attribute {name!r} is {repr(value)[:50]}; give text without NUL, a 64-bit integer or a float"
    )


def write_attributes(node: h5py.Group, attributes: Mapping[str, object]) -> None:
    """Store `attributes` on the HDF5 `node`: texts as UTF-8, numbers as int64 and float64."""
    stored = node.attrs  # looking them up takes as long as writing one
    for name, value in attributes.items():
        plain = plain_attribute(name, value)
        stored[name] = plain if isinstance(plain, str) else np.array(plain)[()]


def read_attributes(node: h5py.Group) -> dict[str, Attribute]:
    """Return the text and number attributes of the HDF5 `node`, sorted by name."""
    found: dict[str, Attribute] = {}
    for name in sorted(node.attrs):
        value = node.attrs[name]
        found[name] = value.item() if isinstance(value, np.generic) else value
    return found
