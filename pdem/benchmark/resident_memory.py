"""Resident memory of this process, as reported by the operating system."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PEAK_IS_RESET = "5"
_NOW, _PEAK = "VmRSS:", "VmHWM:"


class MemoryWatch:
    """Growth of the memory of this process since the creation of this object.

    Freed memory is first returned to the system, as far as the C library can: otherwise later allocations would reuse
    this memory, and the growth would be too small. The growth is inaccurate for small arrays. If the peak cannot be
    reset (not Linux, or forbidden in a container), the present size replaces the peak since `begin`.

    Attributes
    ----------
    before : int
        Resident bytes at the creation of this object.
    """

    def __init__(self) -> None:
        _release_freed_memory()
        self.before = resident_bytes()
        self._peak_was_reset = False

    def begin(self) -> None:
        """Reset the peak of the resident size."""
        _release_freed_memory()
        self._peak_was_reset = _reset_peak()

    def peak(self) -> int:
        """Return the largest resident size of the whole process since `begin` [bytes]."""
        return _bytes_in_status(_PEAK) or resident_bytes() if self._peak_was_reset else resident_bytes()

    def grown(self) -> int:
        """Return the peak minus `before`, at least 0 [bytes]."""
        return max(self.peak() - self.before, 0)


def resident_bytes() -> int:
    """Return the resident size of this process [bytes], 0 if the system does not report it."""
    return _bytes_in_status(_NOW) or _peak_of_process()


def _release_freed_memory() -> None:
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # other C libraries have no such function
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> bool:
    """Reset the peak of the resident size; return whether this was possible."""
    with suppress(OSError):
        _RESET.write_text(_PEAK_IS_RESET)
        return True
    return False


def _bytes_in_status(key: str) -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(key):
                return 1024 * int(line.split()[1])
    return 0


def _peak_of_process() -> int:
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
