"""Folders for compiled kernels: the folder that a user may write, folders that may be read, and their owners.

A kernel is machine code that runs with the rights of its user. So pdem loads no kernel that a different user may have
stored: a folder and its contents must belong to this user, to root, or to the owner of a folder that the user has
named, and nobody else may have the right to write them.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pdem.foundation.errors import PdemWarning

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Owners = Collection[int] | None

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_UNUSED_SECONDS = 30 * 24 * 3600
READ_VARIABLE = "PDEM_READ_KERNELS"
"""Environment variable with further folders of kernels, for child processes."""

_REMEDY = "set PDEM_CACHE_DIR to a folder that only you may write"
SHIPPED = Path(__file__).resolve().parents[1] / "kernels"
"""Folder with kernels that are part of an installation, by the names of their folders; missing in a checkout."""

NOWHERE = Path(os.devnull)
"""Substitute where there is no folder: nothing can be read or written below this path."""


class CacheWarning(PdemWarning):
    """Warning that compiled kernels are not stored in the intended folder."""


class Places(NamedTuple):
    """Folders of compiled kernels.

    Attributes
    ----------
    kept : Path
        Folder for new kernels.
    read : tuple of Path
        Folders to load kernels from, in this order.
    notice : str
        Notice for the user in one line; empty if there is nothing to report.
    """

    kept: Path
    read: tuple[Path, ...]
    notice: str


def home_folder() -> Path | None:
    """Return the home folder of this user; None if there is none, as in many containers."""
    home = os.environ.get("HOME")
    if not home:
        with suppress(KeyError):
            home = pwd.getpwuid(os.getuid()).pw_dir
    return Path(home) if home and os.path.isdir(home) else None


def own_folder() -> Path | None:
    """Return the folder of this user's caches; None without a home folder."""
    given = os.environ.get("XDG_CACHE_HOME")
    home = home_folder()
    if given:
        return Path(given) / "pdem"
    return None if home is None else home / ".cache" / "pdem"


def named_folder() -> Path | None:
    """Return the folder that the user has named in ``PDEM_CACHE_DIR``; None if it is not set."""
    given = os.environ.get("PDEM_CACHE_DIR")
    if not given:
        return None
    home = home_folder()
    return home / given[2:] if given.startswith("~/") and home is not None else Path(given)


class _Candidate(NamedTuple):
    """A folder for kernels, its parent folder, and the permitted owners of both; None permits any owner."""

    folder: Path
    base: Path
    owners: Owners


def choose(key: str) -> Places:
    """Return the folders for the kernels of a key, and create the folder to write.

    If ``NUMBA_CACHE_DIR`` is set, it is used directly. Otherwise the folder has the name of the key, in
    ``PDEM_CACHE_DIR`` or else in ``~/.cache/pdem`` (``XDG_CACHE_HOME`` is respected). A folder without the right to
    write is read; further kernels are then stored in the user's own folder, or else in a temporary one.

    Parameters
    ----------
    key : str
        Name that contains processor, versions and sources.

    Returns
    -------
    Places
        If nothing can be stored, `Places.kept` is a folder that cannot be written.
    """
    read, problems = list[Path](), list[str]()
    for one in _candidates(key):
        problem = _unfit(one)
        if not problem:
            return Places(one.folder, (one.folder, *read, *_further(key)), _notice(one.base, read, problems))
        problems.append(f"{one.base} ({problem})")
        if os.path.isdir(one.folder) and not _doubt(one):
            read.append(one.folder)
    return Places(read[0] if read else NOWHERE / key, (*read, *_further(key)), _notice(None, read, problems))


def _candidates(key: str) -> Iterator[_Candidate]:
    """Yield candidate folders in the order of preference."""
    given, named, own = os.environ.get("NUMBA_CACHE_DIR"), named_folder(), own_folder()
    if given:
        yield _Candidate(Path(given), Path(given), None)
    elif named is not None:
        yield _Candidate(named / key, named, None)
    if own is not None and not given:
        yield _Candidate(own / key, own, (os.getuid(), 0))
    with suppress(OSError):  # there may be no temporary folder
        temporary = Path(tempfile.gettempdir()) / f"pdem-{os.getuid()}"
        yield _Candidate(temporary / key, temporary, (os.getuid(),))
        if temporary.stat().st_uid != os.getuid():  # a different user already has a folder of this name
            new = Path(tempfile.mkdtemp(prefix="pdem-"))
            yield _Candidate(new / key, new, (os.getuid(),))


def _further(key: str) -> list[Path]:
    """Return the further folders to read: those of the parent process, and the folder of this installation."""
    paths = [*map(Path, filter(None, os.environ.get(READ_VARIABLE, "").split(os.pathsep))), SHIPPED / key]
    return [path for path in paths if os.path.isdir(path) and not _doubt(_Candidate(path, path, None))]


def _unfit(one: _Candidate) -> str:
    """Return the reason why a folder cannot store new kernels, empty if it can. Create the folder if it is missing."""
    try:
        if one.owners is not None:  # not a folder that several users may share
            _heal(one)
        is_common = os.path.exists(one.base) and _is_common(one.base.stat())
        if os.path.exists(one.base) and not is_common and (doubt := _doubt(one._replace(folder=one.base))):
            return doubt
        if not os.path.isdir(one.folder):  # a second rank may create it at the same moment
            _make(one.base)
            _make(one.folder)
            _remove_unused(one.folder)
        if doubt := _doubt(one):
            return doubt
        os.utime(one.folder)  # marks the folder as in use; fails where nothing could be stored
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(one.folder, os.W_OK | os.X_OK) else "cannot be written"


def _make(folder: Path) -> None:
    """Create a folder that nobody else may write, whatever the user's mask for new files."""
    if not os.path.isdir(folder):
        folder.mkdir(parents=True, exist_ok=True)
        keep_private(folder)


def keep_private(path: Path | int) -> None:
    """Remove the right of all other users to write a file or folder of this user."""
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_OTHERS_WRITE)


def _heal(one: _Candidate) -> None:
    """Remove the right of the group to write the user's own folders, which a permissive mask may have granted.

    Files that other users may have stored there meanwhile are not loaded, because they belong to these users.
    """
    for path in (one.base, one.folder):
        with suppress(OSError):
            if path.stat().st_uid == os.getuid() and path.stat().st_mode & _OTHERS_WRITE:
                keep_private(path)


def _remove_unused(folder: Path) -> None:
    """Remove the folders beside `folder` that have not been used for a month."""
    oldest = time.time() - _UNUSED_SECONDS
    for other in folder.parent.iterdir():
        with suppress(OSError):
            if "-numba" in other.name and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)


def _doubt(one: _Candidate) -> str:
    """Return the reason why a folder may contain code of other users; empty if it cannot."""
    try:
        base, owners = one.base.stat(), one.owners
        if one.folder != one.base and _is_common(base):
            owners = (os.getuid(), 0)  # the first user creates the folder in it
        elif doubt := doubt_of(base, owners):
            return doubt if one.folder == one.base else f"{one.base} {doubt}"
        return doubt_of(one.folder.stat(), owners)
    except OSError as error:
        return error.strerror or str(error)


def _is_common(status: os.stat_result) -> bool:
    """Return whether all users may add files to a folder but not change files of other users, as in ``/tmp``."""
    return bool(status.st_mode & stat.S_IWOTH and status.st_mode & stat.S_ISVTX)


def doubt_of(status: os.stat_result, owners: Owners) -> str:
    """Return the reason why a file with this status may be the work of a different user; empty if it cannot.

    Parameters
    ----------
    status : os.stat_result
        Status of a file or folder.
    owners : collection of int or None
        Permitted owners; None permits any owner.
    """
    if owners is not None and status.st_uid not in owners:
        return f"belongs to {user_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_group_of(status)):
        return "may be written by other users, chmod go-w makes it safe"
    return ""


def _is_group_of(status: os.stat_result) -> bool:
    """Return whether the group of a file contains its owner alone, as on systems with a group for each user."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return group.gr_gid == owner.pw_gid and group.gr_name == owner.pw_name and {*group.gr_mem} <= {owner.pw_name}


def user_name(number: int) -> str:
    """Return the name of a user, or the user's number if there is no entry."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _notice(kept: Path | None, read: list[Path], problems: list[str]) -> str:
    """Return one line about the folders that cannot be used as intended, and about their substitute."""
    if not problems and kept is not None:
        is_lasting = own_folder() or named_folder() or os.environ.get("NUMBA_CACHE_DIR")
        return "" if is_lasting else f"there is no home folder: compiled kernels are kept in {kept}; {_REMEDY}"
    new = f"new ones are kept in {kept}" if kept else "new ones are compiled in each run"
    reading = f"; they are read from {read[0].parent}, " if read else "; "
    return f"compiled kernels cannot be stored in {', '.join(problems) or 'any folder'}{reading}{new}; {_REMEDY}"
