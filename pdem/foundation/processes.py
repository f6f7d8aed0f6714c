"""Processes of this machine: identify a process beyond its number, and check whether it is alive.

The system reuses process numbers, therefore the start time identifies a process together with its number. Containers
and each boot of a machine number their processes independently.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")

ENDED = "ZXx"
"""States of a process in ``/proc`` after its end."""


def boot() -> str:
    """Return the identifier of the current boot of this machine, empty if the system does not provide it."""
    with suppress(OSError):
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def namespace() -> str:
    """Return the namespace in which process numbers are unique, empty if the system does not provide it."""
    with suppress(OSError):
        return os.readlink(_PROC / "self/ns/pid")
    return ""


def state_of(process: int) -> tuple[str, int]:
    """Return the state of a process and its start time (ticks); the state is ``X`` if there is no such process."""
    if not (_PROC / "self/stat").exists():
        return _state_without_proc(process), 0
    try:
        words = (_PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return words[0], int(words[19])
    except (OSError, ValueError, IndexError):
        return "X", 0


def _state_without_proc(process: int) -> str:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return "X"
    except OSError:
        pass
    return "R"
