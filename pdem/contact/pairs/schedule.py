"""Schedule of a step: when each particle is first read, when its contacts are complete, and how long forces are needed.

A worker evaluates one chunk of candidates after the other. It prefetches the row of a particle before its first
candidate, and sums the forces on the particle after its last candidate. The force of a contact is needed from the first
to the last chunk of a particle: if most particles are complete soon, few forces are in memory at a time. Particles that
take too long are *deferred*: their forces are summed at the end of the step. The forces on particles that a carrier
moves (`pdem.motion.clusters.carriers`) are summed at the end of the step as well, after the deferred ones, and these
particles are not kicked. Cases without carriers pay nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.history_kernels import chunk_of, chunk_range
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Candidates
    from pdem.foundation.array_types import Booleans, Int32s, Integers

_FEW = 20  # one particle in 20 may be deferred, so that the forces on all other particles need less room
_PART = 4  # largest window: a quarter of the chunks of a worker; a longer one saves little memory


@threaded_kernel
def find_first_and_last_chunks(
    owned: int,
    size: int,
    inner: int,
    begins: Integers,
    start: Integers,
    entry: Int32s,
    first_chunk: Int32s,
    last_chunk: Int32s,
) -> None:
    """For each particle write the first chunk that reads it and the last chunk that contributes a force.

    Chunks have `size` candidates. `begins` are the first chunks of the workers and the end of all chunks. That end is
    written to `last_chunk` of deferred particles: particles with a candidate from `inner` on, with candidates of
    several workers, or without candidates; and to `first_chunk` of particles without a candidate before `inner`.
    """
    for p in prange(owned):
        first, last = inner, -1
        for place in range(start[p], start[p + 1]):
            first, last = min(first, entry[place] >> 1), max(last, entry[place] >> 1)
        last_chunk[p] = first_chunk[p] = begins[-1]
        if first < inner:
            first_chunk[p] = chunk_of(first, size, inner)
        if 0 <= last < inner:
            high = chunk_of(last, size, inner)
            worker = np.searchsorted(begins, high, side="right") - 1
            if begins[worker] <= first_chunk[p]:
                last_chunk[p] = high


@kernel
def _count_spans(owned: int, deferred: int, first_chunk: Int32s, last_chunk: Int32s, counts: Integers) -> None:
    """Count particles that are not deferred by the chunks between first and last; the last bin has all longer spans."""
    for p in range(owned):
        if last_chunk[p] != deferred:
            counts[min(last_chunk[p] - first_chunk[p], len(counts) - 1)] += 1


def reuse_window(owned: int, begins: Integers, first_chunk: Int32s, last_chunk: Int32s) -> int:
    """Return for how many chunks the memory of forces is not used again; 0 if it is never used again within a step.

    The window suffices for all particles that are not deferred; or for nearly all, if the last ones would need more
    than twice as many chunks.
    """
    most = int(np.diff(begins).min()) // _PART
    counts = np.zeros(most + 1, np.int64)
    _count_spans(owned, int(begins[-1]), first_chunk, last_chunk, counts)
    reached, total = np.cumsum(counts[:most]), int(counts.sum())
    for_nearly_all, for_all = (1 + int(np.searchsorted(reached, number)) for number in (total - total // _FEW, total))
    if total == 0 or for_nearly_all > most:
        return 0
    return min(for_all if for_all <= 2 * for_nearly_all else for_nearly_all + for_nearly_all // 4 + 1, most)


@threaded_kernel
def defer(owned: int, window: int, deferred: int, first_chunk: Int32s, last_chunk: Int32s) -> None:
    """Defer particles with candidates in more chunks than the window has."""
    for p in prange(owned):
        if last_chunk[p] - first_chunk[p] >= window:
            last_chunk[p] = deferred


@threaded_kernel
def mark_persistent(size: int, deferred: int, candidates: Candidates, last_chunk: Int32s, persistent: Booleans) -> None:
    """Mark the chunks with forces that are needed until the end of the step.

    These chunks have a candidate of a particle that is deferred or moved by a carrier: its `last_chunk` is `deferred`
    or greater.
    """
    inner = candidates.inner
    for number in prange(len(persistent)):
        first, last = chunk_range(number, size, inner, candidates.total)
        needed = first >= inner
        for k in range(first, min(last, inner)):
            lower, higher = candidates.lower[k], candidates.higher[k]
            needed |= (last_chunk[lower] >= deferred) | (last_chunk[higher] >= deferred)
        persistent[number] = needed


@kernel
def list_by_chunk(owned: int, chunk: Int32s, first: Integers, order: Int32s) -> None:
    """List particles by chunk: ``order[first[t]:first[t + 1]]`` are the particles of chunk t in their order."""
    first[:] = 0
    for p in range(owned):
        first[chunk[p] + 1] += 1
    for t in range(1, len(first)):
        first[t] += first[t - 1]
    for p in range(owned):
        order[first[chunk[p]]] = p
        first[chunk[p]] += 1
    for t in range(len(first) - 1, 0, -1):
        first[t] = first[t - 1]
    first[0] = 0
