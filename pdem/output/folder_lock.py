"""One writer at a time in an output folder: the file ``run.lock`` names it, and a kernel lock shows that it is alive.

The writer holds a kernel lock (flock) on the file. It ends with the process, however that ends, so that a file of an
ended process is no lock. The lock belongs to an open file: other Simulations of the same process see it in the same way
as other processes do. Forked processes close their copy of the open file, so that they do not keep the lock. Reading
needs no lock.

On a network file system the kernel lock is as reliable as the file system: NFS, CephFS, GPFS, Lustre and CIFS pass it
to the server unless they are mounted without locks; some file systems keep locks on each node, some have none.
Therefore the file also has the names of host, boot and process. A free kernel lock may not prove that a writer on a
different node has ended, and some systems have no kernel locks. Then the lock of a process of this machine is valid
while the process runs. For a lock of a different machine, the message asks the user to remove the file once that writer
has ended.
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
"""Time limit for a process to write its name into the file, and time between two checks [s]."""

_MOST_BYTES = 1 << 16


class FolderLock:
    """The right to write into an output folder, from `acquire` until `release` or the end of the process.

    Parameters
    ----------
    path : Path
        The lock file.
    descriptor : int
        Descriptor of the open file.
    made : list of Path
        Folders that were created for it, the innermost first.
    """

    def __init__(self, path: Path, descriptor: int, made: list[Path]) -> None:
        self.path = path
        self._descriptor, self._made = descriptor, made
        _locks.add(self)

    @classmethod
    def acquire(cls, folder: Path | str, remedy: str = "") -> FolderLock:
        """Lock a folder, which is created if it is missing.

        Parameters
        ----------
        folder : path
            The folder.
        remedy : str
            Alternative for the user if another process writes there, for the message.

        Raises
        ------
        FolderInUseError
            If another process writes there, or may do so: the message has its name, host and start. Nothing is changed
            then.
        InputError
            If the folder cannot be made or written to.
        """
        attempt = _Attempt(Path(folder), remedy)
        try:
            return attempt.lock()
        except FolderInUseError:
            if not gc.collect():  # an unreferenced Simulation may still hold it
                raise
        return attempt.lock()

    @classmethod
    def require_free(cls, folder: Path | str, remedy: str = "") -> None:
        """Require that no process writes into a folder, without locking it; for checks before a long computation.

        Raises
        ------
        FolderInUseError
            Like `acquire`.
        """
        if os.path.exists(Path(folder) / LOCK_FILE):  # of a running or a killed writer
            cls.acquire(folder, remedy).release()

    @property
    def is_held(self) -> bool:
        """Whether this process holds the lock; a process that was forked from it does not."""
        return self._descriptor >= 0

    def release(self) -> None:
        """Release the lock; empty folders that were created for it are removed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        with suppress(OSError):
            if _is_at(self.path, descriptor):
                self.path.unlink()
        os.close(descriptor)
        _remove_empty(self._made)

    def forget(self) -> None:
        """Close the copy in a forked process, which does not keep the lock."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        """Release the lock of outputs that are not referenced any more."""
        with suppress(Exception):
            self.release()


_locks: WeakSet[FolderLock] = WeakSet()


def _forget_all() -> None:
    for lock in list(_locks):
        lock.forget()


os.register_at_fork(after_in_child=_forget_all)


class _Attempt:
    """An attempt to lock a folder."""

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
        """Return the descriptor of the file, open and locked, with the name of this process in it."""
        end, owner = time.monotonic() + _PATIENCE, None
        while time.monotonic() < end:
            self._make_folder()
            try:
                descriptor = _open(self._path)
            except FileNotFoundError:  # a process that released the lock has removed the folder
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
        """Create the folder, and store the created folders, the innermost first."""
        missing = []
        for place in (self._path.parent, *self._path.parent.parents):
            if place.exists():
                break
            missing.append(place)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._made += [place for place in missing if place not in self._made]

    def _takes(self, descriptor: int, owner: Owner | None) -> bool:
        """Return whether this process now has the lock on an open file; if not, the caller can try again.

        Raises
        ------
        FolderInUseError
            If its owner is alive, or may be alive.
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
            return False  # after the lock and before its name
        if not _is_at(self._path, descriptor):
            return False
        owner = Owner.read(os.pread(descriptor, _MOST_BYTES, 0))
        if owner is not None and not owner.is_of_this_machine and not hands_locks_on(self._path.parent):
            raise self._in_doubt(owner)
        return self._is_signed(descriptor)

    def _is_signed(self, descriptor: int) -> bool:
        """Return whether this process has written its name into the file; another user's file is removed instead."""
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
        """Take the lock without a kernel lock: one process at a time checks the owner, and writes its name."""
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
        """Return the error for a writer that is alive."""
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
        """Return the error for a writer that may be alive, which cannot be determined on this machine."""
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
    except PermissionError:  # file of a different user, or no permission to write here
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
