"""Atomic writes of files: if the disk is full or the process ends, the previous file remains unchanged."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of the system for a full disk, an exhausted quota or a file of the largest allowed size."""


def write_file(path: Path | str, content: str | bytes) -> None:
    """Write a file, or replace an existing file; strings are encoded as UTF-8.

    A symbolic link is followed, not replaced. Paths other than regular files, such as pipes, are written directly.

    Parameters
    ----------
    path : path
        The file.
    content : str or bytes
        The whole content of the file.

    Raises
    ------
    OSError
        With the name of the file; the previous file is unchanged.
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
        If there is no room for all bytes; some bytes may have been written.
    """
    with memoryview(data) as rest:
        written = 0
        while written < len(rest):
            written += os.pwrite(descriptor, rest[written:], offset + written)


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path with the same suffix for a library to write to, then rename the file to `path`.

    Raises
    ------
    OSError and errors of the library
        The previous file is unchanged.
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
    """Let a function write a temporary file beside `path`, then rename the file to `path`.

    Parameters
    ----------
    path : Path
        The file.
    write : callable
        Called with the path of the temporary file.
    sync : bool
        Return only when the content of the file is on the disk.

    Raises
    ------
    OSError and errors of `write`
        The previous file is unchanged.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # other processes may write the same file
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
    """Rename a finished file to its final name; the rename is atomic, also in a crash of the machine."""
    _sync(temporary)
    temporary.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Flush the content of a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
