"""Memory limit for readers of foreign files: a corrupt size in a file must not exhaust the memory of the machine."""

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
    """Allow this process to allocate at most `more` additional bytes; beyond that, allocations raise MemoryError.

    Without effect if the system has no such limits, or does not report the memory of this process.
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
