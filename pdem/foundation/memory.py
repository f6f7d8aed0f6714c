"""Memory that a case needs, and memory of this machine."""

from __future__ import annotations

import os

BYTES_PER_PARTICLE = 1024
"""Total for a dense bed: state, contacts, lists, buffers."""

BYTES_PER_FACET = 1024
"""With the adjacency of facets during preparation; once per machine."""

BYTES_PER_FACET_AND_RANK = 128
"""Positions and normals of moving walls and search buffers, on every rank; less where few particles are near."""

BYTES_PER_PROCESS = 200 * 2**20
"""Memory of the interpreter, the libraries and the compiled kernels."""


def memory_size() -> int | None:
    """Return the physical memory of this machine in bytes, None if the system does not provide it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def largest_count(bytes_each: int) -> float:
    """Return how many objects of `bytes_each` bytes fit into this machine's memory, infinity if its size is unknown."""
    size = memory_size()
    return float("inf") if size is None else size / bytes_each
