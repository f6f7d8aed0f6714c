"""Memory of this process that is really held: what the system counts, beside what arrays add up to."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # a system that does not tell
    resource = None  # type: ignore[assignment]

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_PEAK_IS_RESET = "5"
_NOW, _PEAK = "VmRSS:", "VmHWM:"


class MemoryWatch:
    """By how much the memory of this process has grown since the watch was made.

    What has been freed is given back to the system first, as far as the C library can: else the next thing would use it
    again, and seem to need less. Of small things the growth says little. Where the system forgets no peak (it is not
    Linux, or a container forbids it), the present size stands for the peak since `begin`.

    Attributes
    ----------
    before : int
        Resident bytes when the watch was made.
    """

    def __init__(self) -> None:
        _give_back()
        self.before = resident()
        self._begun = False

    def begin(self) -> None:
        """Look for the peak from now on."""
        _give_back()
        self._begun = _forget_peak()

    def peak(self) -> int:
        """Return the largest resident size of the whole process since `begin` [bytes]."""
        return _status(_PEAK) or resident() if self._begun else resident()

    def grown(self) -> int:
        """Return how much larger that was than before, at least 0 [bytes]."""
        return max(self.peak() - self.before, 0)


def resident() -> int:
    """Return the bytes of this process that are in memory, 0 where the system does not tell."""
    return _status(_NOW) or _largest_ever()


def _give_back() -> None:
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # other C libraries have no such function
        ctypes.CDLL(None).malloc_trim(0)


def _forget_peak() -> bool:
    """Let the peak of the resident size begin anew; tell whether it did."""
    with suppress(OSError):
        _RESET.write_text(_PEAK_IS_RESET)
        return True
    return False


def _status(key: str) -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith(key):
                return 1024 * int(line.split()[1])
    return 0


def _largest_ever() -> int:
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
