"""Whole files in one step: a full disk, or the end of the process, leaves the file that was there before."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the system where a disk, a quota or the largest size of a file is used up."""


def write_file(path: Path | str, content: str | bytes) -> None:
    """Write a file, or put a new one in the place of an old one; text as UTF-8.

    A link stays one, and what is no file, such as a pipe, is written to.

    Parameters
    ----------
    path : path
        The file.
    content : str or bytes
        All of it.

    Raises
    ------
    OSError
        With the name of the file; what was there before is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            replace_file(target, lambda new: _write(new, data))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        write_at(file.fileno(), data, 0)


def write_at(descriptor: int, data: bytes | bytearray | memoryview, offset: int) -> None:
    """Write all bytes at an offset of a file.

    Raises
    ------
    OSError
        If they find no room; some of them may be written.
    """
    with memoryview(data) as rest:
        written = 0
        while written < len(rest):
            written += os.pwrite(descriptor, rest[written:], offset + written)


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a path, with the same ending, at which a library writes a file, which then gets its name.

    Raises
    ------
    OSError and what the library raises
        What was there before is unchanged.
    """
    path = Path(os.path.realpath(path))
    new = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield new
        new.replace(path)
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def replace_file(path: Path, write: Callable[[Path], object], *, sync: bool = False) -> None:
    """Let a function write a file beside `path`, which then gets that name.

    Parameters
    ----------
    path : Path
        The file.
    write : callable
        Gets the path to write to.
    sync : bool
        Return when the file is on the disk.

    Raises
    ------
    OSError and what `write` raises
        What was there before is unchanged.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # other processes may write it as well
    try:
        write(temporary)
        if sync:
            publish(temporary, path)
        else:
            temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def publish(temporary: Path, path: Path) -> None:
    """Give a finished file its name, in one step that no crash can tear."""
    _sync(temporary)
    temporary.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Return once the content of a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
