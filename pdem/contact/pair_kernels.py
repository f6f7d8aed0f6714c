"""Kernels of the contacts between particles: which candidates touch, and what the contact law says of these.

A candidate pair is oriented from the lower to the higher id. A contact has a *slot* for its history, which is renewed
in place while it lasts, and a *seat*, a row for what it does to its particles until that has been added up. Both are
told from each other by the chunk. Seat 0 stands for "does not touch".

How the arrays lie decides the speed. What a contact reads of a particle is *packed* into one row of `PACKED` numbers,
so that it comes from one or two cache lines at one address; histories lie in blocks (`pdem.contact.pair_stages`), and
what a contact does to its particles in a row of its own. Rows are masked by `ROW` before they are used, and slots are
unsigned: known not to be negative, they need no test for indices that count from the end.

A step would stream all of this through the caches once for each thing that is done with it, and most of its time went
into waiting for memory. Therefore candidates are looked at, evaluated and added up in small chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law import STORED
from pdem.contact.pair_stages import (
    BLOCK,
    WORK,
    approach,
    ask_for,
    begin_history,
    bring,
    bring_places,
    compare,
    hand_out,
    history_of,
    load,
    look_up,
    meet,
    move_history,
    push,
    shear,
)
from pdem.contact.pair_sums import add_rows
from pdem.contact.slot_kernels import SPARE, UNORDERED, chunk_range, slots_for
from pdem.foundation.kernels import inlined, prange, uncounted_kernel
from pdem.foundation.transposition import LANES, whole_lanes
from pdem.motion.integration import FINE, ask_for_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUN = 10
"""Numbers of a run of chunks that one worker takes. Given:"""

BEGIN, END = 0, 1
"""its first chunk and the one behind its last; written:"""

STOP, ENDED, DEEP, MOVED = range(2, 6)
"""the chunk where it has come to (`END` if it had room for all), how many contacts have ended, a candidate whose
overlap is beyond the limit + 1, or 0, and the largest code of particles that have moved on (see
`pdem.motion.integration.FINE`); and renewed:"""

SLOTS, SLOTS_END, SEATS, SEATS_END = range(6, RUN)
"""slots and seats for chunks whose own do not suffice, from the first free one to that behind the last."""

ENDS = 4096
"""Contacts of a worker that may end before it stops to have their energies counted."""


@inlined
def find_room(
    worker: int,
    chunk: int,
    count: int,
    wanted: int,
    runs: NDArray[np.int64],
    region: NDArray[np.int64],
    first_seat: NDArray[np.int64],
    kept: NDArray[np.bool_],
    room: NDArray[np.int32],
    touching: NDArray[np.int32],
    seat: NDArray[np.int32],
    history: NDArray[np.float64],
) -> bool:
    """Move a chunk of `count` contacts to where it has `wanted` slots; return whether there is a place."""
    new, seats = runs[SLOTS, worker], runs[SEATS, worker]
    if new + wanted > runs[SLOTS_END, worker] or (kept[chunk] and seats + wanted > runs[SEATS_END, worker]):
        return False
    old = region[chunk]
    for c in range(count):
        touching[new + c] = touching[old + c]
        move_history(old + c, new + c, history)
    if kept[chunk]:
        for c in range(count):
            seat[touching[new + c]] = seats + c
        first_seat[chunk], runs[SEATS, worker] = seats, seats + wanted
    region[chunk], room[chunk], runs[SLOTS, worker] = new, wanted, new + wanted
    return True


@inlined
def ask_for_newcomers(
    chunk: int, part: int, parts: int, first_new: NDArray[np.int64], newcomer: NDArray[np.int32],
    packed: NDArray[np.float64],
) -> None:  # fmt: skip
    """Have one of `parts` parts of the rows that a chunk will be the first to read brought near in time.

    Nothing else tells the processor where these lie, and each would be waited for.
    """
    first, many = first_new[chunk], first_new[chunk + 1] - first_new[chunk]
    each = (many + parts - 1) // parts
    for place in range(first + part * each, first + min((part + 1) * each, many)):
        ask_for_row(newcomer[np.uint64(place)], packed)


@uncounted_kernel
def evaluate_pairs(
    runs: NDArray[np.int64],
    owned: int,
    dt: float,
    step: float,
    largest_overlap: float,
    lower: NDArray[np.int32],
    higher: NDArray[np.int32],
    ids: NDArray[np.int64],
    period: NDArray[np.float64],
    frequency: NDArray[np.float64],
    materials: float,
    coefficient: NDArray[np.float64],
    size: int,
    most: int,
    inner: int,
    candidates: int,
    region: NDArray[np.int64],
    first_seat: NDArray[np.int64],
    kept: NDArray[np.bool_],
    room: NDArray[np.int32],
    live: NDArray[np.int32],
    mark: NDArray[np.int8],
    touching: NDArray[np.int32],
    ended: NDArray[np.float64],
    adds: bool,
    ready: NDArray[np.int64],
    order: NDArray[np.int32],
    first_new: NDArray[np.int64],
    newcomer: NDArray[np.int32],
    start: NDArray[np.int64],
    entry: NDArray[np.int32],
    seat: NDArray[np.int32],
    bound: NDArray[np.int32],
    history: NDArray[np.float64],
    work: NDArray[np.float64],
    loads: NDArray[np.float64],
    wall: NDArray[np.float64],
    wall_row: NDArray[np.int32],
    half: float,
    ahead: bool,
    gravity: NDArray[np.float64],
    free: NDArray[np.float64],
    sides: NDArray[np.float64],
    reference: NDArray[np.float64],
    skin: NDArray[np.float64],
    image: NDArray[np.int32],
    packed: NDArray[np.float64],
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    angular_velocity: NDArray[np.float64],
    force: NDArray[np.float64],
    torque: NDArray[np.float64],
) -> None:
    """Find the contacts among chunks of candidates, evaluate their law, and add up what is complete.

    A worker takes one chunk at a time: it looks which candidates touch, has those begin that did not touch before and
    those end that did, evaluates the contact law of all contacts, and adds up the forces on particles none of whose
    candidates is still to come. So what has been read and written is used again while it is in the nearest caches.
    Velocities are those of the middle of the step until the sum of a particle lets its forces act.

    Parameters
    ----------
    runs : (RUN, workers) array
        See `RUN`; a worker stops before a chunk for whose contacts it has no room.
    owned : int
        Particles of this rank; a contact has ended for the rank that owns its lower particle.
    lower, higher, mark, seat : arrays
        By candidate: rows of its particles; written: 0 apart, 1 touching, 3 if the overlap exceeds
        `largest_overlap` smaller radii; its seat, or 0.
    ids
        Of all rows.
    size, most, inner, candidates, region, first_seat, kept, room, live
        Candidates of a chunk, and its slots if all of them touch; candidates between owned particles, and all; by
        chunk: its first slot, its first seat, whether it has as many seats as slots (or one for each candidate), how
        many slots, and its contacts.
    touching : int32 array
        The candidate of each slot.
    ended : (4, workers * ENDS) array
        Written: energies of contacts that have ended, those of worker w from ``w * ENDS`` on.
    adds : bool
        Whether sums are made here: of the particles ``order[ready[t]:ready[t + 1]]`` after chunk t.
    first_new, newcomer : arrays
        The particles that chunk t is the first to look at, ``newcomer[first_new[t]:first_new[t + 1]]``.
    start, entry, bound : arrays
        ``entry[start[p]:start[p + 1]]`` are p's candidates, as ``2 k`` where p is the lower and ``2 k + 1`` where it
        is the higher particle; the first ``bound[p]`` of them touch and are in the order of the partners' ids, unless
        it is `UNORDERED`.
    history : (HISTORY * slots,) array
        Of the contact in each slot, in blocks, see `pdem.contact.pair_stages`; renewed.
    work : array
        Written: `BLOCK` contacts of each worker between two stages, and particles that go on.
    loads : (LOADS * seats + spare,) array
        Written: what the contact in each seat does to its particles.
    wall, wall_row
        Force and torque from the walls, (m, 6), and which row of these each particle has; empty without walls.
    half : float
        For how long forces act on the velocities [s], 0 for not at all.
    ahead : bool
        Whether the next step is begun at once; columns are not written then.
    gravity, free, sides, reference, skin, image, packed
        As `pdem.motion.integration.drift` takes them.
    position, ..., torque
        Columns that are written; the last two only where the next step does not begin at once.
    """
    rate = 1.0 / step
    parts = size // BLOCK  # in so many it is asked for what will be needed: all at once would have to wait
    for worker in prange(runs.shape[1]):
        chunk = runs[BEGIN, worker]
        ending = 0
        beyond = 0
        code = FINE
        at = worker * WORK
        filled = -1.0
        while chunk < runs[END, worker]:
            bottom, top = chunk_range(chunk, size, inner, candidates)
            first = region[chunk]
            behind = first - first_seat[chunk]
            changes = deeper = 0
            for block in range(bottom, top, BLOCK):
                part = (block - bottom) // BLOCK
                if adds and chunk + 1 < runs[END, worker]:
                    ask_for_newcomers(chunk + 1, part, parts, first_new, newcomer, packed)
                many = min(BLOCK, top - block)
                ask_for(first + part * BLOCK // parts, (BLOCK + parts - 1) // parts, history)
                bring_places(at, block, many, lower, higher, packed, work)
                begun, beneath = compare(
                    at, block, many, largest_overlap, period, frequency, seat, mark, work
                )
                changes += begun
                deeper += beneath
            count = live[chunk]
            if ending + changes > ENDS:
                break
            needed = min(count + changes, top - bottom)
            if needed + LANES > room[chunk]:
                wanted = min(slots_for(needed, SPARE), most)
                if not find_room(
                    worker, chunk, count, wanted, runs, region, first_seat, kept, room, touching, seat, history
                ):  # fmt: skip
                    break
                first = region[chunk]
                behind = first - first_seat[chunk]
            if changes + deeper > 0:
                for c in range(bottom, top):
                    # nearly all are as they were: a test that says the same costs little
                    if mark[c] == (1 if seat[c] > 0 else 0):
                        continue
                    beyond = c + 1 if mark[c] > 1 else beyond
                    if mark[c] > 0 and seat[c] == 0:
                        s = first + count
                        count += 1
                        touching[s], seat[c] = c, s - behind
                        bound[lower[c]] = bound[higher[c]] = UNORDERED
                        begin_history(s, history)
                    elif mark[c] == 0:
                        s = seat[c] + behind
                        if lower[c] < owned:
                            place = worker * ENDS + ending
                            h = history_of(s)
                            for term in range(len(ended)):
                                ended[term, place] = history[h + BLOCK * (STORED + term)]
                            ending += 1
                        # the last contact of the chunk fills the gap
                        count -= 1
                        last = first + count
                        move_history(last, s, history)
                        bound[lower[c]] = bound[higher[c]] = UNORDERED
                        touching[s] = touching[last]
                        seat[touching[last]] = s - behind
                        seat[c] = 0
                live[chunk] = count
                whole = count & -LANES
                for lane in range(count - whole, whole_lanes(count) - whole):
                    s = first + whole + lane
                    touching[s] = bottom
                    begin_history(s, history)
            whole = whole_lanes(count)
            for block in range(0, whole, BLOCK):
                b, many = first + block, min(BLOCK, whole - block)
                bring(at, b, many, touching, lower, higher, packed, work, history)
                if block > 0:
                    hand_out(at, b - BLOCK - behind, BLOCK, work, loads)
                approach(at, many, dt, period, frequency, work)
                if meet(at, many, dt, materials, filled, work) > 0:
                    filled = look_up(at, many, coefficient, work)
                push(at, b, many, dt, rate, work, history)
                shear(at, b, many, dt, rate, work, history)
                load(at, b, many, dt, rate, work, history)
            if whole > 0:
                block = (whole - 1) & -BLOCK
                hand_out(at, first + block - behind, whole - block, work, loads)
            if adds:
                moved = add_rows(
                    at, ready[chunk], ready[chunk + 1], order, start, entry, seat, lower, higher, ids, bound, loads,
                    wall, wall_row, half, ahead, gravity, free, sides, reference, skin, image, packed, position,
                    velocity, angular_velocity, force, torque, work,
                )  # fmt: skip
                code, filled = max(code, moved), -1.0
            chunk += 1
        runs[STOP, worker], runs[ENDED, worker] = chunk, ending
        runs[DEEP, worker], runs[MOVED, worker] = beyond, code
