"""When the contacts of each particle are complete, and for how long it has to be remembered what they do.

A worker evaluates one chunk of candidates after the other, and adds up the forces on a particle as soon as the last of
its candidates has been looked at. What a contact does to its particles is needed for as many chunks as lie between the
first and the last one of a particle; where most particles are complete soon, it needs little room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.slot_kernels import chunk_of, chunk_range
from pdem.foundation.kernels import kernel, prange, threaded_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 20  # one particle in so many may be late, so that the others need less room
_PART = 4  # of the chunks of a worker: if loads were kept for more of them there would be little gained


@threaded_kernel
def note_chunks(
    owned: int,
    inner: int,
    begins: NDArray[np.int64],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    chunk: NDArray[np.int32],
    span: NDArray[np.int32],
) -> None:
    """Write after which chunk of candidates the contacts of each particle are complete.

    `begins` are the first chunks of the workers and the one behind all. The last stands for particles that are late:
    with a candidate from `inner` on, with candidates of several workers, or with none. Of all others `span` becomes how
    many chunks lie between the first and the last one; of these -1.
    """
    for p in prange(owned):
        first, last = inner, -1
        for place in range(start[p], start[p + 1]):
            first, last = min(first, entry[place] >> 1), max(last, entry[place] >> 1)
        chunk[p], span[p] = begins[-1], -1
        if 0 <= last < inner:
            low, high = chunk_of(first, inner), chunk_of(last, inner)
            worker = np.searchsorted(begins, high, side="right") - 1
            if begins[worker] <= low:
                chunk[p], span[p] = high, high - low


@kernel
def _count_spans(owned: int, span: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Count particles by span; the last number is for all longer ones."""
    for p in range(owned):
        if span[p] >= 0:
            counts[min(span[p], len(counts) - 1)] += 1


def window_of(owned: int, begins: NDArray[np.int64], span: NDArray[np.int32]) -> int:
    """Return the number of chunks for which loads are remembered; 0 if all are, to the end of the step.

    It is enough for all particles that are not late, or, if the rest would need more than twice as many, for nearly
    all and some of the others.
    """
    most = int(np.diff(begins).min()) // _PART
    counts = np.zeros(most + 1, np.int64)
    _count_spans(owned, span, counts)
    reached, total = np.cumsum(counts[:most]), int(counts.sum())
    for_nearly_all, for_all = (
        1 + int(np.searchsorted(reached, number)) for number in (total - total // _FEW, total)
    )
    if total == 0 or for_nearly_all > most:
        return 0
    return min(for_all if for_all <= 2 * for_nearly_all else for_nearly_all + for_nearly_all // 4 + 1, most)


@threaded_kernel
def put_off(owned: int, window: int, late: int, span: NDArray[np.int32], chunk: NDArray[np.int32]) -> None:
    """Have particles late whose candidates lie in more chunks than loads are remembered for."""
    for p in prange(owned):
        if span[p] >= window:
            chunk[p] = late


@threaded_kernel
def mark_kept(
    chunks: int,
    inner: int,
    candidates: int,
    late: int,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    chunk: NDArray[np.int32],
    kept: NDArray[np.bool_],
) -> None:
    """Mark the chunks whose loads are needed to the end: those with a candidate of a late particle."""
    for number in prange(chunks):
        first, last = chunk_range(number, inner, candidates)
        needed = first >= inner
        for k in range(first, min(last, inner)):
            needed |= (chunk[lower[k]] == late) | (chunk[higher[k]] == late)
        kept[number] = needed


@kernel
def list_ready(
    owned: int, chunk: NDArray[np.int32], ready: NDArray[np.int64], order: NDArray[np.int32]
) -> None:
    """List particles by the chunk that completes them: ``order[ready[t]:ready[t + 1]]``, and then the late ones."""
    ready[:] = 0
    for p in range(owned):
        ready[chunk[p] + 1] += 1
    for t in range(1, len(ready)):
        ready[t] += ready[t - 1]
    for p in range(owned):
        order[ready[chunk[p]]] = p
        ready[chunk[p]] += 1
    for t in range(len(ready) - 1, 0, -1):
        ready[t] = ready[t - 1]
    ready[0] = 0
