"""A bound on the memory that a reader of foreign files may take: a wrong number in them must not fill the machine."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]


@contextmanager
def at_most(more: int) -> Iterator[None]:
    """Let this process take at most `more` bytes in addition; beyond, allocations raise MemoryError.

    Where the system cannot say how much there is or has no limits, nothing happens.
    """
    taken = _taken()
    if resource is None or taken is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    limits = [taken + more, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _taken() -> int | None:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return pages * int(resource.getpagesize()) if resource is not None else None
