"""Processes of this machine: which one a number meant when it was written down, and whether it is alive.

Numbers of processes are used again, so a process is known by when it has started as well; containers, and each start
of a machine, have numbers of their own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")

ENDED = "ZXx"
"""States in ``/proc`` of a process that has ended."""


def boot() -> str:
    """Return which start of which machine this is, empty where the system does not tell."""
    with suppress(OSError):
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def namespace() -> str:
    """Return in which namespace numbers of processes are unique, empty where the system does not tell."""
    with suppress(OSError):
        return os.readlink(_PROC / "self/ns/pid")
    return ""


def state_of(process: int) -> tuple[str, int]:
    """Return the state of a process and when it has started (ticks), ``X`` if there is none."""
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
