"""Contacts between particles that begin and end, and the room that a chunk of candidates has for its contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import LARGEST_ENERGY, REFERENCE_OVERLAP
from pdem.contact.losses import leaves_at_end, left_loss_of
from pdem.contact.pairs.history import begin_history, history_of, move_history
from pdem.contact.pairs.history_kernels import (
    SPARE,
    capacity_for,
    chunk_range,
    mark_unordered,
    name_contact,
    write_in_chunk,
)
from pdem.contact.pairs.layout import BLOCK, OVERLAP_END, RADIUS_I, RADIUS_J, STATE
from pdem.contact.pairs.runs import FREE_FORCE, FREE_FORCE_END, FREE_HISTORY, FREE_HISTORY_END
from pdem.contact.pairs.stages import APART, TOO_DEEP
from pdem.contact.pairs.stretched import lasts_of, ruptures_of
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.threshold_filter import ALWAYS, NEVER
from pdem.numerics.simd.transposition import LANES, whole_lanes
from pdem.numerics.simd.unsigned_index import offset

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.pairs.arguments import Candidates, Contacts, Lists, Rows, StepParameters
    from pdem.foundation.array_types import Floats, Integers

ENDS = 4096
"""Number of contacts that may end before a worker stops, so that their energies are added up; no chunk has as many."""


@inlined
def note_ended(place: int, k: int, history_index: int, contacts: Contacts) -> None:
    """Copy the accounts of an ended contact, which are the last columns of its history, and its candidate."""
    accounts = len(contacts.ended) - 1
    contacts.ended[accounts, place] = k
    first = history_of(history_index, contacts.width) + BLOCK * (contacts.width - accounts)
    for term in range(accounts):
        contacts.ended[term, place] = contacts.history[first + BLOCK * term]


@inlined
def begin_contact(k: int, h: int, behind: int, candidates: Candidates, contacts: Contacts, rows: Rows) -> None:
    """Make a candidate a contact with the history index `h`."""
    candidates.force_index[k], candidates.due[k] = h - behind, NEVER
    name_contact(h, k, candidates, contacts)
    mark_unordered(k, candidates, rows.touching)
    begin_history(h, contacts.width, contacts.history)


@inlined
def end_contact(k: int, h: int, last: int, behind: int, candidates: Candidates, contacts: Contacts, rows: Rows) -> None:
    """End the contact with the history index `h`; the last one of the chunk fills the gap."""
    move_history(last, h, contacts.width, contacts.history)
    moved = contacts.candidate[last]
    candidates.force_index[moved] = h - behind
    name_contact(h, moved, candidates, contacts)
    candidates.force_index[k], candidates.due[k] = 0, ALWAYS
    mark_unordered(k, candidates, rows.touching)
    mark_unordered(moved, candidates, rows.touching)


@inlined
def fill_lanes(begin: int, count: int, k: int, candidates: Candidates, contacts: Contacts) -> None:
    """Fill the last vector of a chunk of contacts with copies of a valid candidate."""
    for h in range(begin + count, begin + whole_lanes(count)):
        name_contact(h, k, candidates, contacts)
        begin_history(h, contacts.width, contacts.history)


@inlined
def make_room(chunk: int, begin: int, run: Integers, lists: Lists) -> bool:
    """Ensure that a chunk has indices for `begin` further contacts; return False if the worker has none left.

    If its own indices do not suffice, the chunk moves to free indices of the worker.
    """
    candidates, chunks, contacts = lists.candidates, lists.chunks, lists.contacts
    first, end = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    count = chunks.contacts[chunk]
    needed = min(count + begin, end - first)
    if needed + LANES <= chunks.capacity[chunk]:
        return True
    wanted = min(capacity_for(needed, SPARE), chunks.most)
    new, forces = run[FREE_HISTORY], run[FREE_FORCE]
    persistent = chunks.persistent[chunk]
    if new + wanted > run[FREE_HISTORY_END]:
        return False
    if persistent and forces + wanted > run[FREE_FORCE_END]:
        return False
    old = chunks.history_begin[chunk]
    for c in range(count):
        k = contacts.candidate[old + c]
        name_contact(new + c, k, candidates, contacts)
        move_history(old + c, new + c, contacts.width, contacts.history)
    chunks.history_begin[chunk], chunks.capacity[chunk] = new, wanted
    run[FREE_HISTORY] = new + wanted
    if persistent:
        chunks.force_begin[chunk], run[FREE_FORCE] = forces, forces + wanted
        write_in_chunk(chunk, contacts.candidate, candidates, chunks, lists.rows.touching)
    return True


@inlined
def begin_contacts(chunk: int, place: int, new: int, lists: Lists) -> int:
    """Begin the contacts of a chunk that `list_new` has listed from `place` on.

    Returns one more than a candidate that overlaps too much, or 0.
    """
    candidates, chunks, contacts = lists.candidates, lists.chunks, lists.contacts
    first, _ = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    begin, count, deep = chunks.history_begin[chunk], chunks.contacts[chunk], 0
    behind = begin - chunks.force_begin[chunk]
    for c in range(new):
        listed = candidates.listed[offset(place, c)]
        k = listed if listed >= 0 else ~listed
        begin_contact(k, begin + count + c, behind, candidates, contacts, lists.rows)
        deep = max(deep, k + 1 if listed < 0 else 0)
    chunks.contacts[chunk] = count + new
    fill_lanes(begin, count + new, first, candidates, contacts)
    return deep


def contact_end_of(law: ContactLaw) -> Any:
    """Make the function that ends contacts of a block if particles separated, unless the law continues the contact."""
    lasts, ruptures, tells = lasts_of(law), ruptures_of(law), law.tells_ends
    leaves, left_of = leaves_at_end(law), left_loss_of(law, BLOCK)
    has_reference, reference = law.has(REFERENCE_OVERLAP.name), BLOCK * law.place(REFERENCE_OVERLAP.name)
    has_largest, largest = law.has(LARGEST_ENERGY.name), BLOCK * law.place(LARGEST_ENERGY.name)

    @inlined_closure
    def end_contacts(
        chunk: int, at: int, block: int, places: tuple[int, int], lists: Lists, parameters: StepParameters,
        packed: Floats, work: Floats,
    ) -> tuple[int, int, int]:  # fmt: skip
        """End contacts of a chunk, from its contact `block` on, if particles separated and the law does not continue.

        Accounts of ended contacts are written from the first of two `places` on, `Contacts.left` from the second one
        on. The candidate of a contact that ruptured has all bits inverted, if the law
        distinguishes these. Returns the number of ended contacts, the number of accounts, and one
        more than a candidate that overlaps too much, or 0.
        """
        candidates, chunks, contacts = lists.candidates, lists.chunks, lists.contacts
        first, _ = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
        begin, before = chunks.history_begin[chunk], chunks.contacts[chunk]
        behind, count, noted, deep = begin - chunks.force_begin[chunk], before, 0, 0
        place, left_place = places
        # backwards: the contact that fills a gap has been tested before
        for c in range(min(BLOCK, before - block) - 1, -1, -1):
            state, h = work[offset(at, c) + STATE], begin + block + c
            k = contacts.candidate[h]
            too_deep = state == TOO_DEEP
            if has_reference and too_deep:  # an overlap without force does not count
                w = offset(at, c)
                beyond = work[w + OVERLAP_END] - contacts.history[history_of(h, contacts.width) + reference]
                too_deep = beyond > parameters.largest_overlap * min(work[w + RADIUS_I], work[w + RADIUS_J])
            deep = max(deep, k + 1 if too_deep else 0)
            if state == APART and not lasts(k, h, candidates, contacts.history, parameters, packed):
                if candidates.lower[k] < candidates.owned:
                    note_ended(place + noted, k, h, contacts)
                    if tells and ruptures(k, h, candidates, contacts.history, parameters, packed):
                        contacts.ended[len(contacts.ended) - 1, place + noted] = -1 - k
                    noted += 1
                if leaves:
                    to, at_history = left_place + before - count, history_of(h, contacts.width)
                    contacts.left[0, to], contacts.left[1, to] = k, left_of(contacts.history, at_history)
                    if has_largest:
                        contacts.left[2, to] = contacts.history[at_history + largest]
                count -= 1
                end_contact(k, h, begin + count, behind, candidates, contacts, lists.rows)
        chunks.contacts[chunk] = count
        if count < before:
            fill_lanes(begin, count, first, candidates, contacts)
        return before - count, noted, deep

    return end_contacts
