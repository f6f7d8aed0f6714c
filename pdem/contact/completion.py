"""When each particle comes up, when its contacts are complete, and how long it has to be remembered what they do.

A worker evaluates one chunk of candidates after the other, and adds up the forces on a particle as soon as the last of
its candidates has been looked at; what is known of a particle is asked for before the first of them is. What a contact
does to its particles is needed for as many chunks as lie between the first and the last one of a particle; where most
particles are complete soon, it needs little room.
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
    size: int,
    inner: int,
    begins: NDArray[np.int64],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    chunk: NDArray[np.int32],
    opening: NDArray[np.int32],
) -> None:
    """Write with which chunk of candidates each particle comes up, and after which its contacts are complete.

    Chunks have `size` candidates. `begins` are the first chunks of the workers and the one behind all. The last stands
    in `chunk` for particles that are late: with a candidate from `inner` on, with candidates of several workers, or
    with none; in `opening`, where the first chunks are written, for those that have none before `inner`.
    """
    for p in prange(owned):
        first, last = inner, -1
        for place in range(start[p], start[p + 1]):
            first, last = min(first, entry[place] >> 1), max(last, entry[place] >> 1)
        chunk[p] = opening[p] = begins[-1]
        if first < inner:
            opening[p] = chunk_of(first, size, inner)
        if 0 <= last < inner:
            high = chunk_of(last, size, inner)
            worker = np.searchsorted(begins, high, side="right") - 1
            if begins[worker] <= opening[p]:
                chunk[p] = high


@kernel
def _count_spans(
    owned: int, late: int, chunk: NDArray[np.int32], opening: NDArray[np.int32], counts: NDArray[np.int64]
) -> None:
    """Count particles that are not late by the chunks between first and last; longer ones by the last number."""
    for p in range(owned):
        if chunk[p] != late:
            counts[min(chunk[p] - opening[p], len(counts) - 1)] += 1


def window_of(
    owned: int, begins: NDArray[np.int64], chunk: NDArray[np.int32], opening: NDArray[np.int32]
) -> int:
    """Return the number of chunks for which loads are remembered; 0 if all are, to the end of the step.

    It is enough for all particles that are not late, or, if the rest would need more than twice as many, for nearly
    all and some of the others.
    """
    most = int(np.diff(begins).min()) // _PART
    counts = np.zeros(most + 1, np.int64)
    _count_spans(owned, int(begins[-1]), chunk, opening, counts)
    reached, total = np.cumsum(counts[:most]), int(counts.sum())
    for_nearly_all, for_all = (
        1 + int(np.searchsorted(reached, number)) for number in (total - total // _FEW, total)
    )
    if total == 0 or for_nearly_all > most:
        return 0
    return min(for_all if for_all <= 2 * for_nearly_all else for_nearly_all + for_nearly_all // 4 + 1, most)


@threaded_kernel
def put_off(owned: int, window: int, late: int, opening: NDArray[np.int32], chunk: NDArray[np.int32]) -> None:
    """Have particles late whose candidates lie in more chunks than loads are remembered for."""
    for p in prange(owned):
        if chunk[p] - opening[p] >= window:
            chunk[p] = late


@threaded_kernel
def mark_kept(
    chunks: int,
    size: int,
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
        first, last = chunk_range(number, size, inner, candidates)
        needed = first >= inner
        for k in range(first, min(last, inner)):
            needed |= (chunk[lower[k]] == late) | (chunk[higher[k]] == late)
        kept[number] = needed


@kernel
def list_by_chunk(
    owned: int, chunk: NDArray[np.int32], first: NDArray[np.int64], order: NDArray[np.int32]
) -> None:
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
