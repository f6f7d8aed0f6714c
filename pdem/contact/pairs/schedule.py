"""When each particle is first read, when its contacts are complete, and how long their forces have to be kept.

A worker evaluates one chunk of candidates after the other, and sums the forces on a particle as soon as the last of its
candidates has been evaluated; its row is prefetched before the first of them is. The force of a contact is needed for
as many chunks as lie between the first and the last one of a particle: where most particles are complete soon, few
forces have to be kept at a time. Particles for which that takes too long are *deferred*: their forces are summed at the
end of the step. Behind these stand particles that a carrier moves (`pdem.motion.clusters.carriers`): their forces are
summed at the end of the step, too, and no particle is kicked by them. Where there are none, no particle costs anything
for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.history_kernels import chunk_of, chunk_range
from pdem.numerics.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Candidates
    from pdem.foundation.array_types import Booleans, Int32s, Integers

_FEW = 20  # one particle in so many may be deferred, so that the others need less room
_PART = 4  # of the chunks of a worker: if forces were kept for more of them there would be little gained


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

    Chunks have `size` candidates. `begins` are the first chunks of the workers and the one behind all. The last of
    these stands in `last_chunk` for particles that are deferred: with a candidate from `inner` on, with candidates of
    several workers, or with none; and in `first_chunk` for those that have no candidate before `inner`.
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
    """Count particles that are not deferred by the chunks between first and last; longer ones by the last number."""
    for p in range(owned):
        if last_chunk[p] != deferred:
            counts[min(last_chunk[p] - first_chunk[p], len(counts) - 1)] += 1


def reuse_window(owned: int, begins: Integers, first_chunk: Int32s, last_chunk: Int32s) -> int:
    """Return the number of chunks for which forces are kept; 0 if all are, to the end of the step.

    It is enough for all particles that are not deferred, or, if the rest would need more than twice as many, for nearly
    all and some of the others.
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
    """Defer particles whose candidates lie in more chunks than forces are kept for."""
    for p in prange(owned):
        if last_chunk[p] - first_chunk[p] >= window:
            last_chunk[p] = deferred


@threaded_kernel
def mark_persistent(size: int, deferred: int, candidates: Candidates, last_chunk: Int32s, persistent: Booleans) -> None:
    """Mark the chunks whose forces are needed until the end of the step.

    These have a candidate of a particle that is deferred or carried: its `last_chunk` is `deferred` or greater.
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
    """List particles by chunk: those of chunk t, in their order, are ``order[first[t]:first[t + 1]]``."""
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
