"""The owner of an output folder's lock file: process, host, user, start; and whether the process is alive."""

from __future__ import annotations

import json
import os
import platform
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pdem.foundation.processes import ENDED, boot, namespace, state_of
from pdem.numerics.cache_places import user_name

_PROC = Path("/proc")
LOCK_FILE = "run.lock"
"""Name of the file in an output folder while something writes there."""

_SUSPENDED = "Tt"
"""States in ``/proc`` of a process that is stopped by a signal."""

_HANDED_ON = {
    "nfs": {"nolock", "local_lock=all", "local_lock=flock"}, "nfs4": {"nolock", "local_lock=all", "local_lock=flock"},
    "lustre": {"localflock", "noflock"}, "cifs": {"nobrl"}, "smb3": {"nobrl"}, "ceph": set(), "gpfs": set(),
    "gfs2": set(), "ocfs2": set(),
}  # fmt: skip
"""File systems that pass kernel locks to other nodes, unless they are mounted with one of these options."""

_IN_MEMORY = ("tmpfs", "overlay", "ramfs", "zfs")
"""File systems that are local to one machine and have no block device."""


@dataclass(frozen=True)
class Owner:
    """The process that has a lock.

    Attributes
    ----------
    process : int
        Process id on its host.
    host, user, command, since : str
        Host, user and command of the process, and time of the lock (ISO 8601).
    boot : str
        Identifier of the boot of the machine; empty if the system does not provide it.
    started : int
        Start time of the process, in ticks of its machine; it distinguishes processes with the same id.
    namespace : str
        Namespace in which the process id is unique: containers have their own.
    """

    process: int
    host: str
    user: str
    command: str
    since: str
    boot: str
    started: int
    namespace: str

    @classmethod
    def me(cls) -> Owner:
        """Return this process."""
        now, process = datetime.now().astimezone(), os.getpid()
        return cls(
            process, platform.node(), user_name(os.getuid()), _command(), now.isoformat(timespec="seconds"), boot(),
            state_of(process)[1], namespace(),
        )  # fmt: skip

    @classmethod
    def read(cls, text: bytes) -> Owner | None:
        """Return the owner in the text of a lock file, None if there is none."""
        with suppress(ValueError, TypeError):
            found = cls(**json.loads(text))
            if isinstance(found.process, int) and isinstance(found.since, str):
                return found
        return None

    def text(self) -> bytes:
        """Return the text for a lock file."""
        return json.dumps(asdict(self), indent=1).encode() + b"\n"

    @property
    def is_of_this_machine(self) -> bool:
        """Whether the process runs, or has run, on this machine since its last boot."""
        return self.boot == boot() and bool(self.boot or self.host == platform.node())

    @property
    def may_be_alive(self) -> bool:
        """Whether the process may be running, as well as this machine can determine."""
        if not self.is_of_this_machine or self.namespace != namespace():
            return True
        state, started = state_of(self.process)
        return state not in ENDED and started == self.started

    @property
    def is_this_process(self) -> bool:
        """Whether the owner is the calling process."""
        return self.process == os.getpid() and self.is_of_this_machine and self.namespace == namespace()

    @property
    def is_suspended(self) -> bool:
        """Whether the process exists on this machine and is stopped by a signal, to be continued later."""
        here = self.is_of_this_machine and self.namespace == namespace()
        return here and state_of(self.process)[0] in _SUSPENDED

    def __str__(self) -> str:
        """Return process and host in words."""
        return f"{self.command} (process {self.process} of {self.user} on {self.host})"


def _command() -> str:
    """Return the command of this process in short, such as ``pdem run``."""
    path = Path(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c") else Path("python")
    if path.name in ("pdem", "__main__.py"):
        return " ".join(["pdem", *sys.argv[1:2]])
    return path.name


def has_other_writer(folder: Path | str) -> bool:
    """Return whether another process writes into a folder, according to its lock file."""
    with suppress(OSError):
        owner = Owner.read((Path(folder) / LOCK_FILE).read_bytes())
        return owner is not None and owner.may_be_alive and not owner.is_this_process
    return False


def hands_locks_on(folder: Path) -> bool:
    """Return whether all processes that may write into a folder see its kernel locks, also on other nodes."""
    kind, options = _mount_of(os.path.realpath(folder))
    if kind in _HANDED_ON:
        return not _HANDED_ON[kind] & options
    return kind in _IN_MEMORY or kind in _kinds_with_device()


def _mount_of(folder: str) -> tuple[str, set[str]]:
    """Return type and options of the file system of a folder; an empty type if the system does not provide it."""
    found: tuple[str, set[str]] = "", set()
    longest = -1
    with suppress(OSError):
        for line in (_PROC / "self/mountinfo").read_text(errors="replace").splitlines():
            before, _, after = line.partition(" - ")
            place = before.split()[4].encode().decode("unicode_escape")
            inside = folder == place or folder.startswith(place.rstrip("/") + "/")
            if inside and len(place) >= longest:
                kind, _, *options = after.split()
                longest, found = (len(place), (kind, {*before.split()[5].split(","), *",".join(options).split(",")}))
    return found


def _kinds_with_device() -> set[str]:
    """Return the names of file system types that are on a disk of this machine."""
    with suppress(OSError):
        lines = (_PROC / "filesystems").read_text(encoding="ascii").splitlines()
        return {line.strip() for line in lines if not line.startswith("nodev")}
    return set()
