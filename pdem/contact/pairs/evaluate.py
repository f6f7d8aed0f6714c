"""The kernel of a step for contacts between particles: which candidates touch, their forces, and the sums.

The layout of arrays decides the speed. The numbers of a particle that contacts read are *packed* into one row of
`PACKED` numbers, which is one or two cache lines; histories are stored in blocks (`pdem.contact.pairs.stages`), and the
force of a contact in a row of its own. Row numbers are masked by `ROW` before use, and indices are unsigned: the
compiler can rule out negative ones, and omits the test for indices that count from the end.

If all arrays were streamed through the caches once for testing, once for evaluation and once for sums, most of a step
would be spent waiting for memory. Therefore candidates are tested, evaluated and summed in small chunks.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import BOX_WORK
from pdem.contact.pairs.arguments import (
    Candidates,
    Chunks,
    Contacts,
    Kick,
    Lists,
    ParticleArrays,
    Rows,
    Schedule,
    StepParameters,
)
from pdem.contact.pairs.begin_and_end import ENDS, begin_contacts, contact_end_of, make_room
from pdem.contact.pairs.box_sums import box_sums_of
from pdem.contact.pairs.due_candidates import find_waits, gather_positions, list_due, list_new, list_of, path_of
from pdem.contact.pairs.force_sums import sum_and_advance
from pdem.contact.pairs.history_kernels import chunk_range
from pdem.contact.pairs.largest_energy import strain_energy_of
from pdem.contact.pairs.law_stages import stages_of
from pdem.contact.pairs.layout import BLOCK, OVERLAP_END, WORK, history_place
from pdem.contact.pairs.runs import BEGIN, CODE, DEEP, END, ENDED, ENDED_IN_ALL, STOP, WORKER
from pdem.contact.pairs.stages import (
    NO_MATERIALS,
    add_box_work,
    contact_geometry,
    contact_kinematics,
    force_scatter_of,
    gather_coefficients,
    gather_particles,
    member_masses,
)
from pdem.motion.integration import FINE, prefetch_row
from pdem.motion.time_step import TimeStep
from pdem.numerics.kernel_factory import inlined_closure, versioned_kernel
from pdem.numerics.kernels import inlined, prange
from pdem.numerics.simd.prefetch import LINE, fetch
from pdem.numerics.simd.transposition import whole_lanes

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Floats, Integers


@inlined
def prefetch_new_particles(chunk: int, part: int, parts: int, schedule: Schedule, packed: Floats) -> None:
    """Prefetch one of `parts` shares of the particles that a chunk reads first.

    Their addresses are random, so that the hardware prefetcher cannot help.
    """
    first = schedule.first_read_begin[chunk]
    many = schedule.first_read_begin[chunk + 1] - first
    each = (many + parts - 1) // parts
    for place in range(first + part * each, first + min((part + 1) * each, many)):
        prefetch_row(schedule.first_read[np.uint64(place)], packed)


@inlined
def prefetch_for_next(chunk: int, last_chunk: int, block: int, blocks: int, lists: Lists, packed: Floats) -> None:
    """Prefetch a share of the data of the next chunk, during each of the `blocks` of the present one.

    Prefetching all data together would stall. Blocks are blocks of due candidates and blocks of contacts.
    """
    candidates, chunks, contacts, _, schedule = lists
    if chunk + 1 < last_chunk:
        first, _ = chunk_range(chunk + 1, chunks.size, candidates.inner, candidates.total)
        each = whole_lines(chunks.size // blocks)
        for k in range(each * block, min(each * (block + 1), chunks.size), 2 * LINE):
            fetch(candidates.due, np.uint64(first + k))
            fetch(candidates.lower, np.uint64(first + k))
            fetch(candidates.higher, np.uint64(first + k))
            if k < chunks.contacts[chunk + 1]:
                fetch(contacts.lower, np.uint64(chunks.history_begin[chunk + 1] + k))
                fetch(contacts.higher, np.uint64(chunks.history_begin[chunk + 1] + k))
        if schedule.sums:
            prefetch_new_particles(chunk + 1, block, blocks, schedule, packed)


@inlined
def whole_lines(number: int) -> int:
    """Round `number` of int32 up to whole pairs of cache lines."""
    return (number // (2 * LINE) + 1) * 2 * LINE


@inlined
def find_new_contacts(
    chunk: int, last_chunk: int, at: int, lists: Lists, parameters: StepParameters, packed: Floats, work: Floats
) -> tuple[int, int]:
    """List the candidates of a chunk that begin to touch.

    Returns their number, and the number of blocks that have been tested.
    """
    candidates, chunks = lists.candidates, lists.chunks
    first, end = chunk_range(chunk, chunks.size, candidates.inner, candidates.total)
    base, path, begin, blocks = list_of(at), path_of(first, candidates), 0, 0
    due = list_due(first, end, base, path, candidates)
    blocks_in_all = blocks_of(due, chunks.contacts[chunk])
    for block in range(0, due, BLOCK):
        count = min(BLOCK, due - block)
        prefetch_for_next(chunk, last_chunk, blocks, blocks_in_all, lists, packed)
        gather_positions(at, base + block, count, candidates, packed, work)
        find_waits(at, count, parameters, work)
        begin = list_new(at, base, block, count, begin, path, candidates, work)
        blocks += 1
    return begin, blocks


@inlined
def blocks_of(due: int, contacts: int) -> int:
    """Return the number of blocks for `due` candidates and `contacts` contacts, at least one."""
    return max(-(-due // BLOCK) - (-contacts // BLOCK), 1)


def evaluation_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the law of a block of contacts, stage by stage, after the first stage."""
    stages, coefficients, clusters = stages_of(law), law.width, law.has_clusters
    write_energies = strain_energy_of(law, int(OVERLAP_END))
    counts_box_work, (width, column) = law.has(BOX_WORK), (law.columns, history_place(law.place(BOX_WORK)))
    deforms, add_box_sums = law.deforms, box_sums_of(law)

    @inlined_closure
    def evaluate_block(
        at: int, h: int, real: int, materials: float, lists: Lists, parameters: StepParameters,
        work: Floats,
    ) -> float:  # fmt: skip
        """Evaluate `real` contacts from the history index `h` on, filled up to whole vectors.

        `materials` is the pair of materials with coefficients in the columns; the pair afterwards is returned.
        """
        candidates, contacts, many = lists.candidates, lists.contacts, whole_lanes(real)
        step = TimeStep(parameters.dt, parameters.rate)
        if clusters:
            member_masses(at, h, many, candidates, contacts, parameters.tensors, work)
        if contact_kinematics(at, many, parameters, materials, work) > 0:
            materials = gather_coefficients(at, many, coefficients, parameters.coefficients, work)
        stages(at, h, many, step, work, contacts.history)
        write_energies(at, h, many, work, contacts.history)
        if counts_box_work:
            add_box_work(at, h, many, parameters, work, (contacts.history, width, column))
        if deforms and len(parameters.limbs) > 0:
            add_box_sums(at, h, real, candidates, contacts, parameters, work, at // WORK)
        return materials

    return evaluate_block


def chunk_of_contacts(law: ContactLaw) -> Any:
    """Make the function that evaluates the contacts of a chunk, a block at a time."""
    evaluate_block, end_contacts, scatter_forces = (
        evaluation_of(law), contact_end_of(law), force_scatter_of(law)
    )  # fmt: skip

    @inlined_closure
    def evaluate_contacts(
        run: Integers, chunk: int, blocks: int, place: int, materials: float, lists: Lists,
        parameters: StepParameters, packed: Floats, work: Floats,
    ) -> tuple[float, int]:  # fmt: skip
        """Evaluate the contacts of a chunk, and write the accounts of contacts that end from `place` on.

        `blocks` of candidates of this chunk have been tested before, and `materials` is the pair of materials with
        coefficients in the columns. Returns the pair afterwards, and the number of accounts.
        """
        at, chunks, contacts = run[WORKER] * WORK, lists.chunks, lists.contacts
        begin, blocks_in_all = chunks.history_begin[chunk], blocks_of(BLOCK * blocks, chunks.contacts[chunk])
        behind, ended = begin - chunks.force_begin[chunk], 0
        block = scattered = 0
        while block < chunks.contacts[chunk]:
            h, real = begin + block, min(BLOCK, chunks.contacts[chunk] - block)
            prefetch_for_next(chunk, run[END], blocks + block // BLOCK, blocks_in_all, lists, packed)
            following = h + BLOCK
            if block + BLOCK >= chunks.contacts[chunk] and chunk + 1 < run[END]:
                following = chunks.history_begin[chunk + 1]
            gather_particles(at, h, whole_lanes(real), following, contacts, packed, work)
            if block > scattered:
                scatter_forces(at, h - BLOCK - behind, BLOCK, work, contacts.forces)
                scattered = block
            if contact_geometry(at, whole_lanes(real), real, parameters, work) > 0:
                places = place + ended, run[WORKER] * ENDS + run[ENDED_IN_ALL]
                fewer, accounts, deep = end_contacts(chunk, at, block, places, lists, parameters, packed, work)
                ended, run[DEEP] = ended + accounts, max(run[DEEP], deep)
                run[ENDED_IN_ALL] += fewer
                if fewer > 0:  # other contacts have moved into this block
                    continue
            materials = evaluate_block(at, h, real, materials, lists, parameters, work)
            block += BLOCK
        if block > scattered:
            last = block - BLOCK
            many = whole_lanes(min(BLOCK, chunks.contacts[chunk] - last))
            scatter_forces(at, begin + last - behind, many, work, contacts.forces)
        return materials, ended

    return evaluate_contacts


def chunks_of(law: ContactLaw) -> Any:
    """Make the function that evaluates the chunks of one worker, one after the other."""
    evaluate_contacts = chunk_of_contacts(law)

    @inlined_closure
    def evaluate_chunks(
        run: Integers, lists: Lists, parameters: StepParameters, kick: Kick, particles: ParticleArrays,
        work: Floats,
    ) -> None:  # fmt: skip
        """Evaluate the chunks of a run until the worker has no room for the contacts of the next one."""
        chunk, at, materials = run[BEGIN], run[WORKER] * WORK, NO_MATERIALS
        ended, run[ENDED_IN_ALL], run[DEEP], run[CODE] = 0, 0, 0, FINE
        schedule, contacts, packed = lists.schedule, lists.contacts, particles.packed
        while chunk < run[END]:
            begin, blocks = find_new_contacts(chunk, run[END], at, lists, parameters, packed, work)
            if run[ENDED_IN_ALL] + lists.chunks.contacts[chunk] + begin > ENDS:
                break
            if not make_room(chunk, begin, run, lists):
                break
            if begin > 0:
                run[DEEP] = max(run[DEEP], begin_contacts(chunk, list_of(at), begin, lists))
            place = run[WORKER] * ENDS + ended
            materials, accounts = evaluate_contacts(
                run, chunk, blocks, place, materials, lists, parameters, packed, work
            )
            ended += accounts
            if schedule.sums:
                first, end = schedule.complete_begin[chunk], schedule.complete_begin[chunk + 1]
                advanced = sum_and_advance(
                    at, first, end, schedule.complete, lists.rows, lists.candidates, contacts.forces, kick, particles,
                    work,
                )  # fmt: skip
                run[CODE], materials = max(run[CODE], advanced), NO_MATERIALS
            chunk += 1
        run[STOP], run[ENDED] = chunk, ended

    return evaluate_chunks


@cache
def pair_kernel(law: ContactLaw) -> Any:
    """Make the kernel that evaluates the contacts between particles by a law.

    The kernel finds the contacts among chunks of candidates, evaluates their law, and sums the forces on particles that
    are complete. A worker evaluates one chunk at a time, so that data is used again while it is in the nearest caches.
    Velocities belong to the middle of the step until the particle is integrated. A worker stops before a chunk if the
    room for its contacts does not suffice.

    Its arguments are `runs`, shape (workers, RUN), see `RUN`; the classes of `pdem.contact.pairs.arguments` as plain
    tuples of their fields (`pdem.numerics.kernels.plain`); and the work array for the columns of `BLOCK` contacts of
    each worker between two stages, or for integrated particles.
    """
    evaluate_chunks, width = chunks_of(law), law.columns

    @versioned_kernel(law.version, threaded=True)
    def evaluate_pairs(
        runs: Integers, candidates: Candidates, chunks: Chunks, contacts: Contacts, rows: Rows,
        schedule: Schedule, parameters: StepParameters, kick: Kick, particles: ParticleArrays,
        work: Floats,
    ) -> None:  # fmt: skip
        for worker in prange(runs.shape[0]):
            lists = Lists(
                Candidates(*candidates), Chunks(*chunks),
                Contacts(*contacts[:-1], width), Rows(*rows), Schedule(*schedule),
            )  # fmt: skip
            evaluate_chunks(
                runs[worker], lists, StepParameters(*parameters), Kick(*kick), ParticleArrays(*particles), work
            )

    return evaluate_pairs
