"""How much memory a case needs, and how much there is."""

from __future__ import annotations

import os

BYTES_PER_PARTICLE = 1024
"""In a dense bed, all told: state, contacts, lists, buffers."""

BYTES_PER_FACET = 1024
"""With its adjacency, while it is prepared: once on every machine."""

BYTES_PER_FACET_AND_RANK = 128
"""Places and normals of moving walls and room for the search, on every rank; less where few particles are near."""

BYTES_PER_PROCESS = 200 * 2**20
"""Interpreter, libraries and compiled kernels."""


def memory_size() -> int | None:
    """Return the physical memory of this machine in bytes, None if the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def largest_count(bytes_each: int) -> float:
    """Return how many things of a size fit into this machine, infinity if that is not known."""
    size = memory_size()
    return float("inf") if size is None else size / bytes_each
