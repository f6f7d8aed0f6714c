"""Kernels that give contacts their slots when new lists are made, and bring their histories there.

Candidates come in chunks of one size: first those between owned particles, then, from a chunk of their own on, those
with a ghost. A chunk has a region of slots; its contacts are at the begin of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import HISTORY
from pdem.contact.pair_stages import BLOCK, history_of
from pdem.foundation.kernels import inlined, prange, threaded_kernel
from pdem.foundation.transposition import LANES, whole_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNKS = (256, 512, 1024, 2048)
"""Candidates that may be looked at, evaluated and added up at a time: what they read shall stay in the nearest caches,
and each worker shall have chunks enough."""

CHUNK = 1024
"""Their number to begin with."""

SPARE = 8 + LANES
"""Slots for contacts that begin before a region has to be moved, besides a sixth of those a chunk has."""


@inlined
def slots_for(contacts: int, spare: int) -> int:
    """Return how many slots, or seats, a chunk of so many contacts is given."""
    return -(-(contacts + contacts // 6 + spare) // BLOCK) * BLOCK


UNORDERED = -1
"""In place of the number of contacts of a particle: it has changed, and its row has to be put in order."""


@inlined
def chunk_of(k: int, size: int, inner: int) -> int:
    """Return the chunk of candidate k, of which the first `inner` are between owned particles."""
    behind = (inner + size - 1) // size
    return k // size if k < inner else behind + (k - inner) // size


@inlined
def chunk_range(chunk: int, size: int, inner: int, candidates: int) -> tuple[int, int]:
    """Return the first candidate of a chunk, and the one behind its last."""
    behind = (inner + size - 1) // size
    if chunk < behind:
        return chunk * size, min(inner, (chunk + 1) * size)
    first = inner + (chunk - behind) * size
    return first, min(candidates, first + size)


@threaded_kernel
def count_known(
    chunks: int, size: int, most: int, inner: int, candidates: int, spare: int, seat: NDArray[np.int32],
    live: NDArray[np.int32], room: NDArray[np.int32],
) -> None:  # fmt: skip
    """Write how many candidates of each chunk have been contacts, and how many slots it is given, `most` at most."""
    for chunk in prange(chunks):
        first, last = chunk_range(chunk, size, inner, candidates)
        count = 0
        for k in range(first, last):
            count += seat[k] > 0
        live[chunk], room[chunk] = count, min(slots_for(count, spare), most)


@threaded_kernel
def list_slots(
    chunks: int, region: NDArray[np.int64], live: NDArray[np.int32], ends: NDArray[np.int64],
    known: NDArray[np.int32],
) -> None:  # fmt: skip
    """List the slots of all contacts, chunk by chunk; `ends` are the sums of `live` up to each chunk."""
    for chunk in prange(chunks):
        at = ends[chunk] - live[chunk]
        for c in range(live[chunk]):
            known[at + c] = region[chunk] + c


@threaded_kernel
def give_slots(
    chunks: int,
    size: int,
    inner: int,
    candidates: int,
    region: NDArray[np.int64],
    first_seat: NDArray[np.int64],
    known: NDArray[np.int32],
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    seat: NDArray[np.int32],
    touching: NDArray[np.int32],
    bound: NDArray[np.int32],
    source: NDArray[np.int32],
) -> None:
    """Give each candidate that has been a contact a slot in the region of its chunk, and a seat.

    Parameters
    ----------
    known
        The slots that contacts have had.
    seat
        By candidate, 0 or one more than the number of its contact in `known`; written: its seat, or 0.
    touching, source
        Written by slot: its candidate, and where the history of its contact has been. Slots that fill the last vector
        of a chunk get its first candidate.
    bound
        Written: `UNORDERED` for particles with contacts.
    """
    for chunk in prange(chunks):
        first, last = chunk_range(chunk, size, inner, candidates)
        s = region[chunk]
        for k in range(first, last):
            if seat[k] > 0:
                source[s] = history_of(known[seat[k] - 1])
                seat[k] = first_seat[chunk] + s - region[chunk]
                touching[s] = k
                bound[lower[k]] = bound[higher[k]] = UNORDERED
                s += 1
        for filling in range(s, region[chunk] + whole_lanes(s - region[chunk])):
            touching[filling] = first


@threaded_kernel
def move_histories(
    chunks: int,
    region: NDArray[np.int64],
    live: NDArray[np.int32],
    ends: NDArray[np.int64],
    source: NDArray[np.int32],
    history: NDArray[np.float64],
    scratch: NDArray[np.float64],
) -> None:
    """Bring the histories from where they have been, number by number.

    `ends` are the sums of `live` up to each chunk; `scratch` has room for one number of each contact.
    """
    for column in range(HISTORY):
        behind = BLOCK * column
        for chunk in prange(chunks):
            first, at = np.uint64(region[chunk]), np.uint64(ends[chunk] - live[chunk])
            for c in range(live[chunk]):
                from_here = np.uint64(source[first + np.uint64(c)]) + np.uint64(behind)
                scratch[at + np.uint64(c)] = history[from_here]
        for chunk in prange(chunks):
            last = region[chunk] + live[chunk]
            at = ends[chunk] - last
            for s in range(region[chunk], last):
                history[history_of(s) + behind] = scratch[np.uint64(at + s)]
            for s in range(last, region[chunk] + whole_lanes(live[chunk])):
                history[history_of(s) + behind] = 0.0
