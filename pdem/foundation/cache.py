"""Where compiled kernels are kept on disk, so that a run compiles only what no earlier run has compiled.

Numba decides by the content of a function's own file whether a stored kernel is still good. It does not look
at the other files whose functions or constants were compiled into it, and the index it keeps per function is
not safe against two processes that write at the same time. Here the folder carries everything that matters in
its name (processor, versions, all kernel sources), and writes are serialised by a lock. A change of any of
these begins a new folder; folders nobody has used for a month are removed. Where pdem itself lies does not matter: what
one installation has compiled another one of the same sources loads.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import llvmlite
import llvmlite.binding
import numba

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # a system without POSIX locks: writes are then not serialised
    fcntl = None  # type: ignore[assignment]

_PACKAGE = Path(__file__).resolve().parents[1]
_KERNEL_ROOMS = ("foundation", "simd", "containers", "detection", "contact", "motion")
_KERNEL_MARK = re.compile(rb"@\w*(?:kernel|inlined)\w*\s*$", re.MULTILINE)  # the decorators of kernels
_UNUSED_SECONDS = 30 * 24 * 3600


@cache
def cache_directory() -> Path:
    """Return the folder that holds this process's compiled kernels, made if it was missing.

    ``NUMBA_CACHE_DIR``, where the user has set it, is taken as it is. Otherwise the folder is one of its own,
    named after processor, versions and kernel sources, inside ``PDEM_CACHE_DIR`` or else ``~/.cache/pdem``
    (``XDG_CACHE_HOME`` is respected). Where that cannot be written, a temporary folder takes its place.

    Returns
    -------
    pathlib.Path
        An existing, writable folder.

    Warns
    -----
    RuntimeWarning
        If the intended folder cannot be written and the temporary one is used.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    own = _base() / _key()  # in any case now, since `kernels` changes what numba knows of the processor
    intended = Path(given) if given else own
    try:
        return _prepared(intended, private=False)
    except OSError as problem:
        fallback = Path(tempfile.gettempdir()) / f"pdem-{os.getuid()}" / _key()
        warnings.warn(
            f"compiled kernels cannot be kept in {intended} ({problem.strerror}): using {fallback}; "
            "set PDEM_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        return _prepared_or_new(fallback)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path` against other processes; where there are no locks, go on without."""
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


def place_in_package(source: str) -> str | None:
    """Return where a source is in pdem, from which its kernels have their folder, None for others.

    In a folder that is not named after all kernel sources, which several versions of pdem may use, it is None as well.
    """
    parent = Path(source).resolve().parent
    if Path(numba.config.CACHE_DIR).name == _key():
        for name in ("pdem", "decomposition"):
            if parent.is_relative_to(_PACKAGE.parent / name):
                return ".".join(parent.relative_to(_PACKAGE.parent).parts)
    return None


def is_marked(tag: str) -> bool:
    """Tell whether a complete warm-up with this `tag` has been recorded in the cache folder."""
    return _marker(tag).exists()


def mark(tag: str) -> None:
    """Record in the cache folder that the warm-up `tag` is complete: every kernel it calls is stored."""
    with suppress(OSError):
        _marker(tag).touch()


def _marker(tag: str) -> Path:
    # the key again: a folder given by NUMBA_CACHE_DIR outlives a change of the sources
    return cache_directory() / f"complete-{tag}-{hashlib.blake2b(_key().encode(), digest_size=8).hexdigest()}"


def _base() -> Path:
    given = os.environ.get("PDEM_CACHE_DIR")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "pdem"


@cache
def _key() -> str:
    processor = llvmlite.binding.get_host_cpu_name()
    features = numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_features().flatten()
    return "-".join(
        (
            processor,
            hashlib.blake2b(features.encode(), digest_size=4).hexdigest(),
            f"python{platform.python_version()}",
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


def _prepared(folder: Path, *, private: bool) -> Path:
    if not folder.is_dir():  # another rank may make it at the same moment
        folder.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o755)
        _remove_unused(folder)
    os.utime(folder)  # says "in use"; fails where nothing could be stored
    if not os.access(folder, os.W_OK):
        raise PermissionError(13, "not writable", str(folder))
    return folder


def _prepared_or_new(fallback: Path) -> Path:
    """Return `fallback` if it is this user's own: a folder another user made may hold another's code."""
    with suppress(OSError):
        folder = _prepared(fallback, private=True)
        if folder.parent.stat().st_uid == folder.stat().st_uid == os.getuid():
            return folder
    return Path(tempfile.mkdtemp(prefix="pdem-"))


def _remove_unused(folder: Path) -> None:
    """Remove the folders beside `folder` that have not been used for a month."""
    oldest = time.time() - _UNUSED_SECONDS
    for other in folder.parent.iterdir():
        with suppress(OSError):
            if "-numba" in other.name and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
