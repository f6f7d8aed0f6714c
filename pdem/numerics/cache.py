"""Location of compiled kernels on disk, so that a run compiles only kernels that no earlier run has compiled.

Numba decides by the content of a function's own file whether a stored kernel is still valid. It does not look at the
files of functions or constants that were compiled into the kernel, and its index per function is not safe against two
processes that write concurrently. Here the name of the folder contains all that matters (processor, versions, digest of
all kernel sources), and a lock serialises writes. A change of any of these starts a new folder; folders without use for
a month are removed. The location of pdem itself does not matter: an installation loads kernels that a different
installation of the same sources has compiled.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numba

from pdem.numerics.cache_places import READ_VARIABLE, CacheWarning, choose
from pdem.numerics.portable.target import target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.numerics.cache_places import Places

try:
    import fcntl
except ImportError:  # a system without POSIX locks: writes are then not serialised
    fcntl = None  # type: ignore[assignment]

_PACKAGE = Path(__file__).resolve().parents[1]
_KERNEL_ROOMS = ("foundation", "numerics", "containers", "detection", "contact", "motion")
_KERNEL_MARK = re.compile(rb"@\w*(?:kernel|inlined)\w*\s*$", re.MULTILINE)  # the decorators of kernels


@cache
def places() -> Places:
    """Return the folders that kernels are stored in and loaded from; see `pdem.numerics.cache_places.choose`.

    Warns
    -----
    CacheWarning
        If kernels cannot simply be stored in the intended folder.
    """
    found = choose(_key())
    if found.notice:
        warnings.warn(found.notice, CacheWarning, stacklevel=2)
    return found


def cache_directory() -> Path:
    """Return the folder in which this process stores compiled kernels."""
    return places().kept


def stored(path: Path) -> Path:
    """Return a file beside the kernels: `path`, or the file of this name in a further folder if only that exists."""
    others = (folder / path.name for folder in places().read if folder != places().kept)
    return next((one for one in (path, *others) if os.path.isfile(one)), path)


def cache_environment() -> dict[str, str]:
    """Return the environment variables that give child processes the kernels of this process."""
    first, *others = [str(places().kept), *map(str, places().read)]
    return {"NUMBA_CACHE_DIR": first, READ_VARIABLE: os.pathsep.join(one for one in others if one != first)}


_unstored: list[OSError] = []


def not_stored(error: OSError) -> None:
    """Record that a kernel could not be stored: this run uses it, and the next run compiles it again.

    Warns
    -----
    CacheWarning
        The first time in a process.
    """
    _record(
        _unstored, error,
        f"compiled kernels cannot be stored in {cache_directory()} ({error.strerror}): this run uses them, the next "
        "one compiles them again; make room, or set PDEM_CACHE_DIR to another folder",
    )  # fmt: skip


_damaged: list[str] = []


def damaged(path: str) -> None:
    """Record that a stored kernel is damaged: it is compiled again.

    Warns
    -----
    CacheWarning
        The first time in a process.
    """
    _record(_damaged, path, f"{path} is damaged: it is compiled again, and so are others")


def _record(problems: list[Any], one: object, text: str) -> None:
    """Add a problem to the problems of this process, and warn of the first."""
    problems.append(one)
    if len(problems) == 1:
        warnings.warn(text, CacheWarning, stacklevel=3)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path` against other processes; without effect where there are no locks."""
    handle = None
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def place_in_package(source: str, folder: Path | None = None) -> str | None:
    """Return the location of a source within pdem, which names the folder of its kernels; None for other sources.

    The result is also None for a folder that is not named after all kernel sources, because several versions of pdem
    may use it. The default folder is the folder in which kernels are stored.
    """
    parent = Path(source).resolve().parent
    if (Path(numba.config.CACHE_DIR) if folder is None else folder).name == _key():
        for name in ("pdem", "decomposition"):
            if parent.is_relative_to(_PACKAGE.parent / name):
                return ".".join(parent.relative_to(_PACKAGE.parent).parts)
    return None


def is_marked(tag: str) -> bool:
    """Return whether a complete warm-up with this `tag` has been recorded in a folder with kernels."""
    return os.path.exists(stored(_marker(tag)))


def mark(tag: str) -> None:
    """Record that the warm-up `tag` is complete: every kernel that it calls is stored."""
    with suppress(OSError):
        if not _unstored:
            _marker(tag).touch()


def _marker(tag: str) -> Path:
    # includes the key, because a folder from NUMBA_CACHE_DIR outlives a change of the sources
    return cache_directory() / f"complete-{tag}-{hashlib.blake2b(_key().encode(), digest_size=8).hexdigest()}"


@cache
def _key() -> str:
    processor, features = target()
    return "-".join(
        (
            processor or "any",
            hashlib.blake2b(str(features).encode(), digest_size=4).hexdigest(),
            f"python{sys.version_info.major}.{sys.version_info.minor}",
            f"numba{numba.__version__}",
            f"llvmlite{llvmlite.__version__}",
            _source_digest(),
        )
    )


def _source_digest() -> str:
    """Digest of every source that can end up in a kernel."""
    digest = hashlib.blake2b(digest_size=8)
    for path, content in _kernel_sources():
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _kernel_sources() -> Iterator[tuple[str, bytes]]:
    rooms = [os.path.join(_PACKAGE, room) + os.sep for room in _KERNEL_ROOMS]
    for root in (_PACKAGE, _PACKAGE.parent / "decomposition"):
        for folder, subfolders, names in os.walk(root):
            subfolders.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        content = file.read()
                    if _KERNEL_MARK.search(content) or any(path.startswith(room) for room in rooms):
                        yield os.path.relpath(path, _PACKAGE.parent), content
