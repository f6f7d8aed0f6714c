"""Kernels that assign history indices to contacts when new lists are made, and move their histories there.

Candidates come in chunks of one size: first the candidates between owned particles, then, from a new chunk on, the
candidates with a ghost. A chunk owns a range of history indices; its contacts have the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.history import history_of
from pdem.contact.pairs.layout import BLOCK
from pdem.numerics.kernels import inlined, prange, threaded_kernel
from pdem.numerics.simd.threshold_filter import ALWAYS, NEVER
from pdem.numerics.simd.transposition import LANES, whole_lanes
from pdem.numerics.simd.unsigned_index import offset

if TYPE_CHECKING:
    from pdem.contact.pairs.arguments import Candidates, Chunks, Contacts
    from pdem.foundation.array_types import Floats, Int32s, Integers

CHUNKS = (256, 512, 1024, 2048)
"""Possible numbers of candidates that are tested, evaluated and summed at a time: their data should fit into the
nearest caches, and each worker should have enough chunks."""

CHUNK = 1024
"""Candidates of a chunk at the begin of a run."""

SPARE = 8 + LANES
"""Spare history indices of a chunk for contacts that begin, besides a sixth of its present number."""


@inlined
def capacity_for(contacts: int, spare: int) -> int:
    """Return the number of history indices for a chunk with a number of contacts."""
    return -(-(contacts + contacts // 6 + spare) // BLOCK) * BLOCK


UNORDERED = -1
"""Marks a particle with new or ended contacts: its entries have to be sorted before forces are summed."""


@inlined
def chunk_of(k: int, size: int, inner: int) -> int:
    """Return the chunk of candidate k; the first `inner` candidates are between owned particles."""
    behind = (inner + size - 1) // size
    return k // size if k < inner else behind + (k - inner) // size


@inlined
def chunk_range(chunk: int, size: int, inner: int, candidates: int) -> tuple[int, int]:
    """Return the range of candidates of a chunk: the first one, and the end."""
    behind = (inner + size - 1) // size
    if chunk < behind:
        return chunk * size, min(inner, (chunk + 1) * size)
    first = inner + (chunk - behind) * size
    return first, min(candidates, first + size)


@inlined
def _count_in_chunk(chunk: int, spare: int, candidates: Candidates, chunks: Chunks) -> None:
    first, last = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    count = 0
    for k in range(first, last):
        count += candidates.force_index[k] > 0
    chunks.contacts[chunk] = count
    chunks.capacity[chunk] = min(capacity_for(count, spare), chunks.most)


@threaded_kernel
def count_contacts(number: int, spare: int, candidates: Candidates, chunks: Chunks) -> None:
    """Write for each of `number` chunks how many of its candidates were contacts before, and its capacity."""
    for chunk in prange(number):
        _count_in_chunk(chunk, spare, candidates, chunks)


@threaded_kernel
def list_contacts(
    number: int, begin: Integers, contacts: Int32s, ends: Integers,
    listed: Int32s,
) -> None:  # fmt: skip
    """List the history indices of all contacts, chunk by chunk; `ends` are the sums of `contacts` up to each chunk."""
    for chunk in prange(number):
        at = ends[chunk] - contacts[chunk]
        for c in range(contacts[chunk]):
            listed[at + c] = begin[chunk] + c


@inlined
def mark_unordered(k: int, candidates: Candidates, touching: Int32s) -> None:
    """Mark both particles of a candidate, so that their entries are sorted before forces are summed."""
    touching[candidates.lower[k]] = touching[candidates.higher[k]] = UNORDERED


@inlined
def name_contact(h: int, k: int, candidates: Candidates, contacts: Contacts) -> None:
    """Write the candidate of the contact with the history index `h`, and the rows of its particles."""
    contacts.candidate[h] = k
    contacts.lower[h], contacts.higher[h] = candidates.lower[k], candidates.higher[k]


@inlined
def write_in_chunk(
    chunk: int, candidate: Int32s, candidates: Candidates, chunks: Chunks, touching: Int32s
) -> None:  # fmt: skip
    """Write the force indices of the contacts of one chunk, see `write_force_indices`."""
    for c in range(chunks.contacts[chunk]):
        k = candidate[chunks.history_begin[chunk] + c]
        candidates.force_index[k] = chunks.force_begin[chunk] + c
        mark_unordered(k, candidates, touching)


@threaded_kernel
def write_force_indices(
    number: int, candidate: Int32s, candidates: Candidates, chunks: Chunks, touching: Int32s
) -> None:  # fmt: skip
    """Write the force indices of all contacts by candidate, chunk by chunk; `candidate` is by history index.

    Particles with contacts become `UNORDERED`.
    """
    for chunk in prange(number):
        write_in_chunk(chunk, candidate, candidates, chunks, touching)


@inlined
def _assign_in_chunk(
    chunk: int,
    listed: Int32s,
    candidates: Candidates,
    chunks: Chunks,
    contacts: Contacts,
    touching: Int32s,
    source: Int32s,
) -> None:
    first, last = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    h = begin = chunks.history_begin[chunk]
    for k in range(first, last):
        if candidates.force_index[k] == 0:
            candidates.due[k] = ALWAYS
        else:
            source[h] = history_of(listed[candidates.force_index[k] - 1], contacts.width)
            candidates.force_index[k] = chunks.force_begin[chunk] + h - begin
            candidates.due[k] = NEVER
            name_contact(h, k, candidates, contacts)
            mark_unordered(k, candidates, touching)
            h += 1
    for filling in range(h, begin + whole_lanes(h - begin)):
        name_contact(filling, first, candidates, contacts)


@threaded_kernel
def assign_indices(
    number: int,
    listed: Int32s,
    candidates: Candidates,
    chunks: Chunks,
    contacts: Contacts,
    touching: Int32s,
    source: Int32s,
) -> None:
    """Assign a history index of its chunk, and a force index, to each candidate that was a contact before.

    Parameters
    ----------
    number : int
        Number of chunks.
    listed
        History indices of contacts in the lists before.
    candidates : Candidates
        ``force_index`` is 0, or one more than the position of the contact in `listed`; it is replaced by the force
        index, or 0. ``due`` is written as well.
    chunks : Chunks
        Ranges of indices of chunks.
    contacts, source
        Written by history index: its candidate, the rows of the two particles, and the history index of the contact in
        the lists before. Indices that fill the last vector of a chunk get its first candidate.
    touching
        Written: `UNORDERED` for particles with contacts.
    """
    for chunk in prange(number):
        _assign_in_chunk(chunk, listed, candidates, chunks, contacts, touching, source)


@threaded_kernel
def move_histories(
    number: int,
    width: int,
    begin: Integers,
    contacts: Int32s,
    ends: Integers,
    source: Int32s,
    history: Floats,
    scratch: Floats,
) -> None:
    """Move the histories of `number` chunks from the indices `source` to their new indices, column by column.

    A history has `width` columns. `ends` are the sums of `contacts` up to each chunk; `scratch` has room for one number
    of each contact.
    """
    for column in range(width):
        behind = BLOCK * column
        for chunk in prange(number):
            first, at = np.uint64(begin[chunk]), np.uint64(ends[chunk] - contacts[chunk])
            for c in range(contacts[chunk]):
                from_here = offset(source[first + np.uint64(c)], behind)
                scratch[at + np.uint64(c)] = history[from_here]
        for chunk in prange(number):
            last = begin[chunk] + contacts[chunk]
            at = ends[chunk] - last
            for h in range(begin[chunk], last):
                history[history_of(h, width) + behind] = scratch[np.uint64(at + h)]
            for h in range(last, begin[chunk] + whole_lanes(contacts[chunk])):
                history[history_of(h, width) + behind] = 0.0
