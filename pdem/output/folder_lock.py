"""One writer at a time in an output folder: the file ``run.lock`` says who it is, and the kernel whether it is alive.

The writer holds a lock of the kernel (flock) on the file, which ends with the process however that ends, so that a
file that is left over is no lock. The lock is held by an open file: other Simulations of the same process find it as
other processes do, and forked processes close their copy of it, so that they do not keep it alive. Reading needs no
lock.

On a network file system the kernel lock is as good as the file system: NFS, CephFS, GPFS, Lustre and CIFS hand it on to
the server unless they are mounted without, some hold it for each node alone, some have none. So the file also names
host, boot and process. Where a free kernel lock does not say that the writer of another node has ended, and where
there are no kernel locks, a lock of this machine is judged by its process, and of one of another machine the user is
told which file to remove once that writer has ended.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from weakref import WeakSet

from pdem.foundation.errors import FolderInUseError, InputError
from pdem.output.lock_owner import LOCK_FILE, Owner, hands_locks_on
from pdem.output.run_folder import folder_problem, time_of_day, unusable_folder_text
from pdem.output.saving import reason

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_PATIENCE, _PAUSE = 3.0, 0.02
"""How long another process may take to put its name into the file [s], and between two looks."""

_MOST_BYTES = 1 << 16


class FolderLock:
    """The right to write into an output folder, from `acquire` until `release` or the end of the process.

    Parameters
    ----------
    path : Path
        The lock file.
    descriptor : int
        Of the open file.
    made : list of Path
        Folders that were made for it, the innermost first.
    """

    def __init__(self, path: Path, descriptor: int, made: list[Path]) -> None:
        self.path = path
        self._descriptor, self._made = descriptor, made
        _locks.add(self)

    @classmethod
    def acquire(cls, folder: Path | str, remedy: str = "") -> FolderLock:
        """Take the lock on a folder, which is made if it was missing.

        Parameters
        ----------
        folder : path
            The folder.
        remedy : str
            What else the user can do if another one writes there, for the message.

        Raises
        ------
        FolderInUseError
            If something writes there, or may: the message says who, where and since when. Nothing is changed then.
        InputError
            If the folder cannot be made or written to.
        """
        attempt = _Attempt(Path(folder), remedy)
        try:
            return attempt.lock()
        except FolderInUseError:
            if not gc.collect():  # a Simulation that nobody refers to any more may have it
                raise
        return attempt.lock()

    @classmethod
    def require_free(cls, folder: Path | str, remedy: str = "") -> None:
        """Require that nothing writes into a folder, which is not taken; for checks before a long work.

        Raises
        ------
        FolderInUseError
            As `acquire`.
        """
        if os.path.exists(Path(folder) / LOCK_FILE):  # of a writer that is alive, or left by one that was killed
            cls.acquire(folder, remedy).release()

    @property
    def is_held(self) -> bool:
        """Whether this process has the lock; one that was forked from it does not."""
        return self._descriptor >= 0

    def release(self) -> None:
        """Give up the lock; folders that were made for it and hold nothing are removed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        with suppress(OSError):
            if _is_at(self.path, descriptor):
                self.path.unlink()
        os.close(descriptor)
        _remove_empty(self._made)

    def forget(self) -> None:
        """Close the copy of a forked process, which keeps no lock alive."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        """Give up the lock of outputs that nobody refers to any more."""
        with suppress(Exception):
            self.release()


_locks: WeakSet[FolderLock] = WeakSet()


def _forget_all() -> None:
    for lock in list(_locks):
        lock.forget()


os.register_at_fork(after_in_child=_forget_all)


class _Attempt:
    """To take the lock on a folder."""

    def __init__(self, folder: Path, remedy: str) -> None:
        self._folder, self._remedy = folder, remedy
        self._path = Path(os.path.abspath(folder)) / LOCK_FILE
        self._made: list[Path] = []

    def lock(self) -> FolderLock:
        """Return the lock; see `FolderLock.acquire`."""
        try:
            descriptor = self._descriptor()
        except BaseException as error:
            _remove_empty(self._made)
            if isinstance(error, (OSError, ValueError)) and not isinstance(error, InputError):
                problem = folder_problem(self._folder) or reason(error)
                raise InputError(unusable_folder_text(self._folder, problem)) from None
            raise
        made, self._made = self._made, []
        return FolderLock(self._path, descriptor, made)

    def _descriptor(self) -> int:
        """Return the file, open and locked, with the name of this process in it."""
        end, owner = time.monotonic() + _PATIENCE, None
        while time.monotonic() < end:
            self._make_folder()
            try:
                descriptor = _open(self._path)
            except FileNotFoundError:  # who has given up has removed the folder
                continue
            try:
                owner = Owner.read(os.pread(descriptor, _MOST_BYTES, 0))
                if self._takes(descriptor, owner):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            time.sleep(_PAUSE)
        raise self._in_use(owner)

    def _make_folder(self) -> None:
        """Make the folder, and note what has been made, the innermost first."""
        missing = []
        for place in (self._path.parent, *self._path.parent.parents):
            if place.exists():
                break
            missing.append(place)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._made += [place for place in missing if place not in self._made]

    def _takes(self, descriptor: int, owner: Owner | None) -> bool:
        """Return whether the lock on an open file is this process's now; if not, to try again may help.

        Raises
        ------
        FolderInUseError
            If its owner is alive, or may be.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return self._takes_without_kernel(descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            if owner is not None and owner.may_be_alive:
                raise self._in_use(owner) from None
            return False  # between the lock and its name
        if not _is_at(self._path, descriptor):
            return False
        owner = Owner.read(os.pread(descriptor, _MOST_BYTES, 0))
        if owner is not None and not owner.is_of_this_machine and not hands_locks_on(self._path.parent):
            raise self._in_doubt(owner)
        return self._is_signed(descriptor)

    def _is_signed(self, descriptor: int) -> bool:
        """Return whether this process has put its name into the file; one of another user is removed instead."""
        if not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_RDWR:
            self._path.unlink()
            return False
        os.ftruncate(descriptor, 0)
        try:
            os.pwrite(descriptor, Owner.me().text(), 0)
        except OSError:
            self._path.unlink()
            raise
        return True

    def _takes_without_kernel(self, descriptor: int) -> bool:
        """Take the lock where the kernel has none: one process at a time looks who has it, and puts its name there."""
        guard = self._path.with_name(f"{LOCK_FILE}.new")
        try:
            os.close(os.open(guard, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
        try:
            if not _is_at(self._path, descriptor):
                return False
            owner = Owner.read(os.pread(descriptor, _MOST_BYTES, 0))
            if owner is not None and owner.may_be_alive:
                raise self._in_use(owner) if owner.is_of_this_machine else self._in_doubt(owner)
            return self._is_signed(descriptor)
        finally:
            guard.unlink(missing_ok=True)

    def _in_use(self, owner: Owner | None) -> FolderInUseError:
        """Return the error that names a writer that is alive."""
        other = f", or {self._remedy}" if self._remedy else ""
        if owner is None:
            return FolderInUseError(
                f"{self._folder}: another process writes here, and {self._path} does not say which; try again{other}"
            )
        if owner.is_this_process:
            return FolderInUseError(
                f"{self._folder}: another Simulation of this process has been writing here since {_since(owner)}; its "
                f"close() ends that{other}"
            )
        state = f", and is suspended (kill -CONT {owner.process} lets it go on)" if owner.is_suspended else ""
        where = "" if owner.is_of_this_machine else f" on {owner.host}"
        return FolderInUseError(
            f"{self._folder}: {owner} has been writing here since {_since(owner)}{state}; wait until it ends, stop it "
            f"(kill {owner.process}{where}, which writes a checkpoint){other}"
        )

    def _in_doubt(self, owner: Owner) -> FolderInUseError:
        """Return the error that names a writer of which nobody can tell here whether it is alive."""
        times = [path.stat().st_mtime for path in self._path.parent.iterdir() if path != self._path]
        last = f"; the last file here is of {time_of_day(max(times))}" if times else ""
        other = f"; {self._remedy}" if self._remedy else ""
        return FolderInUseError(
            f"{self._folder}: {owner} has been writing here since {_since(owner)}, and this machine cannot see whether "
            f"it still does{last}. If it has ended, remove {self._path}{other}"
        )


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # left by another user, or nothing may be written here
        if not os.access(path.parent, os.W_OK):
            raise
        return os.open(path, os.O_RDONLY)


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether an open file still has its name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _since(owner: Owner) -> str:
    with suppress(ValueError):
        return time_of_day(datetime.fromisoformat(owner.since).timestamp())
    return owner.since
