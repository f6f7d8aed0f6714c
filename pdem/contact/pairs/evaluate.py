"""The kernel of a step for contacts between particles: which candidates touch, their forces, and the sums.

How the arrays lie decides the speed. What a contact reads of a particle is *packed* into one row of `PACKED` numbers,
which one or two cache lines at one address hold; histories lie in blocks (`pdem.contact.pairs.stages`), and the force
of a contact in a row of its own. Row numbers are masked by `ROW` before they are used, and places are unsigned: known
not to be negative, they need no test for indices that count from the end.

Streaming all of this through the caches once for each thing that is done with it would spend most of a step waiting
for memory. Therefore candidates are tested, evaluated and summed in small chunks, one after the other.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import BOX_WORK
from pdem.contact.law.parts import Step
from pdem.contact.pairs.arguments import (
    Candidates,
    Chunks,
    Contacts,
    Kick,
    ParticleArrays,
    Rows,
    Schedule,
    StepParameters,
)
from pdem.contact.pairs.box_sums import box_sums_of
from pdem.contact.pairs.force_sums import sum_and_advance
from pdem.contact.pairs.history import begin_history, history_of, move_history, prefetch_history
from pdem.contact.pairs.history_kernels import SPARE, UNORDERED, capacity_for, chunk_range
from pdem.contact.pairs.law_stages import stages_of
from pdem.contact.pairs.layout import BLOCK, WORK, history_place
from pdem.contact.pairs.runs import (
    BEGIN,
    CODE,
    DEEP,
    END,
    ENDED,
    FREE_FORCE,
    FREE_FORCE_END,
    FREE_HISTORY,
    FREE_HISTORY_END,
    STOP,
    WORKER,
)
from pdem.contact.pairs.stages import (
    NO_MATERIALS,
    add_box_work,
    contact_geometry,
    contact_kinematics,
    gather_coefficients,
    gather_particles,
    gather_positions,
    mark_candidates,
    member_masses,
    scatter_forces,
)
from pdem.contact.pairs.stretched import lasts_of
from pdem.foundation.kernel_factory import inlined_closure, versioned_kernel
from pdem.foundation.kernels import inlined, prange
from pdem.motion.integration import FINE, prefetch_row
from pdem.simd.transposition import LANES, whole_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw

ENDS = 4096
"""Contacts of a worker that may end before it stops to have their energies counted."""


@inlined
def prefetch_new_particles(
    chunk: int, part: int, parts: int, schedule: Schedule, packed: NDArray[np.float64]
) -> None:
    """Prefetch one of `parts` shares of the particles that a chunk is the first to read.

    Their addresses are random, so that the hardware prefetcher cannot help.
    """
    first = schedule.first_read_begin[chunk]
    many = schedule.first_read_begin[chunk + 1] - first
    each = (many + parts - 1) // parts
    for place in range(first + part * each, first + min((part + 1) * each, many)):
        prefetch_row(schedule.first_read[np.uint64(place)], packed)


@inlined
def mark_touching(
    chunk: int,
    last_chunk: int,
    at: int,
    candidates: Candidates,
    chunks: Chunks,
    contacts: Contacts,
    schedule: Schedule,
    parameters: StepParameters,
    packed: NDArray[np.float64],
    work: NDArray[np.float64],
) -> tuple[int, int]:
    """Mark which candidates of a chunk touch.

    Meanwhile the chunk's histories are prefetched and so are the particles that the next chunk reads first, a few with
    each block: all at once would have to wait. Returns how many candidates begin or end to touch, and how many overlap
    too much.
    """
    first, end = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    history_begin, parts = chunks.history_begin[chunk], chunks.size // BLOCK
    changes = deep = 0
    for block in range(first, end, BLOCK):
        part, many = (block - first) // BLOCK, min(BLOCK, end - block)
        if schedule.sums and chunk + 1 < last_chunk:
            prefetch_new_particles(chunk + 1, part, parts, schedule, packed)
        prefetch_history(
            history_begin + part * BLOCK // parts,
            (BLOCK + parts - 1) // parts,
            contacts.width,
            contacts.history,
        )
        gather_positions(at, block, many, candidates, packed, work)
        changed, deeper = mark_candidates(at, block, many, candidates, parameters, work)
        changes += changed
        deep += deeper
    return changes, deep


@inlined
def make_room(
    chunk: int,
    changes: int,
    run: NDArray[np.int64],
    candidates: Candidates,
    chunks: Chunks,
    contacts: Contacts,
) -> bool:
    """See that a chunk has indices for the contacts it may have now; return False if the worker has none left.

    Where its own do not suffice, the chunk moves to free ones of the worker.
    """
    first, end = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    count = chunks.contacts[chunk]
    needed = min(count + changes, end - first)
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
        contacts.candidate[new + c] = contacts.candidate[old + c]
        move_history(old + c, new + c, contacts.width, contacts.history)
    if persistent:
        for c in range(count):
            candidates.force_index[contacts.candidate[new + c]] = forces + c
        chunks.force_begin[chunk], run[FREE_FORCE] = forces, forces + wanted
    chunks.history_begin[chunk], chunks.capacity[chunk] = new, wanted
    run[FREE_HISTORY] = new + wanted
    return True


@inlined
def note_ended(place: int, k: int, history_index: int, contacts: Contacts) -> None:
    """Keep the accounts of a contact that has ended, the last columns of its history, and which candidate it was."""
    accounts = len(contacts.ended) - 1
    contacts.ended[accounts, place] = k
    first = history_of(history_index, contacts.width) + BLOCK * (contacts.width - accounts)
    for term in range(accounts):
        contacts.ended[term, place] = contacts.history[first + BLOCK * term]


@inlined
def begin_contact(
    k: int, h: int, behind: int, candidates: Candidates, contacts: Contacts, rows: Rows
) -> None:
    """Make a candidate a contact with the history index `h`."""
    contacts.candidate[h], candidates.force_index[k] = k, h - behind
    rows.touching[candidates.lower[k]] = rows.touching[candidates.higher[k]] = UNORDERED
    begin_history(h, contacts.width, contacts.history)


@inlined
def end_contact(
    k: int, h: int, last: int, behind: int, candidates: Candidates, contacts: Contacts, rows: Rows
) -> None:
    """End the contact with the history index `h`; the last one of the chunk fills the gap."""
    move_history(last, h, contacts.width, contacts.history)
    rows.touching[candidates.lower[k]] = rows.touching[candidates.higher[k]] = UNORDERED
    contacts.candidate[h] = contacts.candidate[last]
    candidates.force_index[contacts.candidate[last]] = h - behind
    candidates.force_index[k] = 0


@inlined
def fill_lanes(begin: int, count: int, candidate: int, contacts: Contacts) -> None:
    """Fill the last vector of a chunk of contacts up with what does no harm."""
    for h in range(begin + count, begin + whole_lanes(count)):
        contacts.candidate[h] = candidate
        begin_history(h, contacts.width, contacts.history)


def evaluation_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the law of all contacts of a chunk, stage by stage, a block at a time."""
    stages, coefficients, clusters = stages_of(law), law.width, law.has_clusters
    counts_box_work, (width, column) = law.has(BOX_WORK), (law.columns, history_place(law.place(BOX_WORK)))
    deforms, add_box_sums = law.deforms, box_sums_of(law)

    @inlined_closure
    def evaluate_law(
        chunk: int, at: int, materials: float, candidates: Candidates, chunks: Chunks, contacts: Contacts,
        parameters: StepParameters, packed: NDArray[np.float64], work: NDArray[np.float64],
    ) -> float:  # fmt: skip
        """Do so; `materials` is the pair whose coefficients stand in the columns, that of the end is returned."""
        begin, whole = chunks.history_begin[chunk], whole_lanes(chunks.contacts[chunk])
        behind, step = begin - chunks.force_begin[chunk], Step(parameters.dt, parameters.rate)
        for block in range(0, whole, BLOCK):
            h, many = begin + block, min(BLOCK, whole - block)
            gather_particles(at, h, many, candidates, contacts, packed, work)
            if block > 0:
                scatter_forces(at, h - BLOCK - behind, BLOCK, work, contacts.forces)
            contact_geometry(at, many, parameters, work)
            if clusters:
                member_masses(at, h, many, candidates, contacts, parameters.tensors, work)
            if contact_kinematics(at, many, parameters, materials, work) > 0:
                materials = gather_coefficients(at, many, coefficients, parameters.coefficients, work)
            stages(at, h, many, step, work, contacts.history)
            if counts_box_work:
                add_box_work(at, h, many, parameters, work, (contacts.history, width, column))
            if deforms and len(parameters.limbs) > 0:
                real = min(BLOCK, chunks.contacts[chunk] - block)
                add_box_sums(at, h, real, candidates, contacts, parameters, work, at // WORK)
        if whole > 0:
            block = (whole - 1) & -BLOCK
            scatter_forces(at, begin + block - behind, whole - block, work, contacts.forces)
        return materials

    return evaluate_law


def update_of(law: ContactLaw) -> Any:
    """Make the function that begins and ends contacts of a chunk."""
    lasts = lasts_of(law)

    @inlined_closure
    def update_contacts(
        chunk: int, place: int, candidates: Candidates, chunks: Chunks, contacts: Contacts, rows: Rows,
        parameters: StepParameters, packed: NDArray[np.float64],
    ) -> tuple[int, int]:  # fmt: skip
        """Begin contacts of a chunk that touch now and did not before, and end those that do not last.

        Accounts of ended contacts are written from `place` on. Returns how many those are, and one more than a
        candidate that overlaps too much, or 0.
        """
        first, end = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
        begin, count = chunks.history_begin[chunk], chunks.contacts[chunk]
        behind = begin - chunks.force_begin[chunk]
        ended = deep = 0
        for k in range(first, end):
            # nearly all are as they were: a test that says the same costs little
            if candidates.mark[k] == (1 if candidates.force_index[k] > 0 else 0):
                continue
            deep = k + 1 if candidates.mark[k] > 1 else deep
            if candidates.mark[k] > 0 and candidates.force_index[k] == 0:
                begin_contact(k, begin + count, behind, candidates, contacts, rows)
                count += 1
                continue
            h = candidates.force_index[k] + behind
            if candidates.mark[k] == 0 and not lasts(k, h, candidates, contacts.history, parameters, packed):
                if candidates.lower[k] < candidates.owned:
                    note_ended(place + ended, k, h, contacts)
                    ended += 1
                count -= 1
                end_contact(k, h, begin + count, behind, candidates, contacts, rows)
        chunks.contacts[chunk] = count
        fill_lanes(begin, count, first, contacts)
        return ended, deep

    return update_contacts


def chunks_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the chunks of one worker, one after the other."""
    evaluate_law, update_contacts = evaluation_of(law), update_of(law)

    @inlined_closure
    def evaluate_chunks(
        run: NDArray[np.int64], candidates: Candidates, chunks: Chunks, contacts: Contacts, rows: Rows,
        schedule: Schedule, parameters: StepParameters, kick: Kick, particles: ParticleArrays,
        work: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Do so until the worker has no room for the contacts of the next one."""
        chunk, last_chunk = run[BEGIN], run[END]
        at, materials = run[WORKER] * WORK, NO_MATERIALS
        ended = deepest = 0
        code = FINE
        while chunk < last_chunk:
            changes, deep = mark_touching(
                chunk,
                last_chunk,
                at,
                candidates,
                chunks,
                contacts,
                schedule,
                parameters,
                particles.packed,
                work,
            )
            if ended + changes > ENDS:
                break
            if not make_room(chunk, changes, run, candidates, chunks, contacts):
                break
            if changes + deep > 0:
                place = run[WORKER] * ENDS + ended
                ends, beyond = update_contacts(
                    chunk, place, candidates, chunks, contacts, rows, parameters, particles.packed
                )
                ended, deepest = ended + ends, max(deepest, beyond)
            materials = evaluate_law(
                chunk, at, materials, candidates, chunks, contacts, parameters, particles.packed, work
            )
            if schedule.sums:
                first, end = schedule.complete_begin[chunk], schedule.complete_begin[chunk + 1]
                advanced = sum_and_advance(
                    at,
                    first,
                    end,
                    schedule.complete,
                    rows,
                    candidates,
                    contacts.forces,
                    kick,
                    particles,
                    work,
                )
                code, materials = max(code, advanced), NO_MATERIALS
            chunk += 1
        run[STOP], run[ENDED], run[DEEP], run[CODE] = chunk, ended, deepest, code

    return evaluate_chunks


@cache
def pair_kernel(law: ContactLaw) -> Any:
    """Make the kernel that evaluates the contacts between particles by a law.

    It finds the contacts among chunks of candidates, evaluates their law, and sums the forces that are complete. A
    worker takes one chunk at a time: what has been read and written is used again while it is in the nearest caches.
    Velocities are those of the middle of the step until the sum of a particle lets its forces act. A worker stops
    before a chunk for whose contacts it has no room.

    Its arguments are `runs`, shape (workers, RUN), see `RUN`; those of `pdem.contact.pairs.arguments` as plain tuples
    of their fields (`pdem.foundation.kernels.plain`); and an array for the columns of `BLOCK` contacts of each worker
    between two stages, or of particles that are advanced.
    """
    evaluate_chunks, width = chunks_of(law), law.columns

    @versioned_kernel(law.version, threaded=True)
    def evaluate_pairs(
        runs: NDArray[np.int64], candidates: Candidates, chunks: Chunks, contacts: Contacts, rows: Rows,
        schedule: Schedule, parameters: StepParameters, kick: Kick, particles: ParticleArrays,
        work: NDArray[np.float64],
    ) -> None:  # fmt: skip
        for worker in prange(runs.shape[0]):
            evaluate_chunks(
                runs[worker], Candidates(*candidates), Chunks(*chunks),
                Contacts(contacts[0], contacts[1], contacts[2], contacts[3], width), Rows(*rows),
                Schedule(*schedule), StepParameters(*parameters), Kick(*kick), ParticleArrays(*particles), work,
            )  # fmt: skip

    return evaluate_pairs
