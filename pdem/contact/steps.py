"""The contacts of many steps with the same neighbour lists, in one kernel.

A step that Python takes kernel by kernel costs about a tenth of a millisecond more, the time of a thousand contacts,
and the data of particles has left the caches when the next kernel begins. As long as the lists do not change, the
arguments of all kernels do not change either, so that one kernel can take many steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.losses import pass_at_pairs, pass_at_walls
from pdem.contact.pairs.arguments import Candidates, Chunks, Contacts, Kick, ParticleArrays
from pdem.contact.pairs.due_candidates import OWNED, STEP, add_step, add_step_of_all, take_longest
from pdem.contact.pairs.runs import add_ended, divide_runs, has_reserve, outcome_of, take_part
from pdem.contact.step_calls import PairCalls, WallCalls
from pdem.contact.strength_watch import (
    BROKEN,
    Strengths,
    apply_damage,
    watch_pairs,
    watch_walls,
    weaken_at_pairs,
    weaken_at_walls,
)
from pdem.contact.walls.arguments import NearFacets, WallArguments, WallRecord, WallWork
from pdem.contact.walls.due_facets import OF_WALLS, count_wall_step
from pdem.contact.walls.facet_lists import add_ended as add_ended_at_walls
from pdem.contact.walls.search import reduce_worker_results
from pdem.containers.exchange import AGREED, ERRORS, FAILURE, LISTS, MINE, REQUEST, SIGNAL, ExchangeCalls
from pdem.motion.integration import FINE, LOST, STALE
from pdem.motion.planned_walls import Poses, largest_step
from pdem.numerics.kernel_calls import ask_python, call_kernel, processor_clock
from pdem.numerics.kernels import inlined, uncounted_serial_kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

OUTCOME = 10
TAKEN, UNFINISHED, CODE, DEEP_WALL, DEEP_PAIR, SWAPS, ENDED, FAILED, STATUS_AGREED, BREAKS = range(OUTCOME)
"""Results of `take_steps`:

=========================  ========================================================================================
`TAKEN`                    number of completed steps
`UNFINISHED`               `OWNED_PAIRS` or `GHOST_PAIRS` if the room for contacts of the next step did not suffice
`CODE`                     largest code of the particles in the last step, see `pdem.motion.integration.FINE`
`DEEP_WALL`, `DEEP_PAIR`   1 + a particle or candidate whose overlap is beyond the limit, or 0
`SWAPS`                    number of searches for contacts with walls, each of which swaps the two sets of contacts
`ENDED`                    contacts with walls that ended in the last step
`FAILED`                   not 0 if a Python hook failed within the last step
`STATUS_AGREED`            1 if ranks have agreed on the status of the next step, which needs attention in Python
`BREAKS`                   1 if a particle breaks, see `pdem.contact.strength_watch`
=========================  ========================================================================================
"""

OWNED_PAIRS, GHOST_PAIRS = 1, 2
"""Contacts among owned particles, and contacts with ghosts."""

PARTS = 8
"""Largest number of parts of the contacts among owned particles, between which messages make progress."""

LEAST, LEAST_OF_THREADS = 2, 32
"""Smallest number of chunks of a part, for one worker and for each of several workers: several begin a part together,
which costs as much time as half a chunk."""

TIMES = 7
WALLS, PAIRS, SUM, WAIT, EXCHANGE, MOVES, COUNTED = range(TIMES)
"""Ticks of the processor's clock for walls, pairs, sums of forces, the status of ranks, messages, and the motion of
walls; and how many numbers were added to the energy balance."""


@inlined
def find_and_evaluate(
    walls: WallCalls, found: tuple[Any, ...], now: tuple[Any, ...], before: tuple[Any, ...],
    limbs: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Find the contacts with walls, evaluate their law, and add up the energies of ended contacts.

    Returns how many contacts ended, a particle that overlaps a wall too deeply (as `DEEP_WALL`), and how many numbers
    were added.
    """
    tally, near, parameters, surface, motion, work, _, _ = walls.given
    call_kernel(walls.find, (tally, near, parameters, surface, found, work, now, before))
    call_kernel(walls.evaluate, (near, parameters, surface, motion, found, work, now, before))
    ended, deep = reduce_worker_results(WallWork(*work).seen)
    if ended == 0:
        return ended, deep, 0
    weaken_at_walls(near, work, before, walls.strengths)
    if not walls.keeps_account:
        return ended, deep, 0
    add_ended_at_walls(limbs, walls.terms, walls.columns, near, work, before)
    pass_at_walls(near, work, before, walls.sink)
    return ended, deep, ended * len(walls.terms)


@inlined
def move_walls(walls: WallCalls, of_particles: Floats, outcome: Integers, times: Integers) -> None:
    """Move the walls to their planned poses of the next step, and add to the paths of walls and particles.

    `of_particles` is the path of particles, to which this step has been added.
    """
    path = NearFacets(*walls.given[1]).path
    if walls.place != 0:
        begin, row = processor_clock(), walls.row + outcome[TAKEN]
        call_kernel(walls.place, (row, walls.poses, walls.places))
        path[OF_WALLS] = largest_step(row, Poses(*walls.poses))
        times[MOVES] += processor_clock() - begin
    count_wall_step(path, of_particles)


@inlined
def evaluate_walls(walls: WallCalls, limbs: Integers, outcome: Integers, times: Integers) -> None:
    """Find the contacts with walls and their forces."""
    if not walls.acts:
        return
    given = WallArguments(*walls.given)
    begin, (first, second), record = processor_clock(), given.found, given.record
    if outcome[SWAPS] % 2 == 0:
        ended, deep, counted = find_and_evaluate(walls, first, record[0], record[1], limbs)
    else:
        ended, deep, counted = find_and_evaluate(walls, second, record[1], record[0], limbs)
    outcome[ENDED], outcome[DEEP_WALL] = ended, max(outcome[DEEP_WALL], deep)
    outcome[SWAPS] += 1
    times[COUNTED] += counted
    times[WALLS] += processor_clock() - begin


@inlined
def evaluate_part(
    pairs: PairCalls, late: bool, limbs: Integers, outcome: Integers, times: Integers
) -> bool:  # fmt: skip
    """Find contacts among the chunks of the workers' runs, and their forces; return whether the room sufficed."""
    runs, candidates, chunks, contacts, rows, early, parameters, kick, particles, work = pairs.evaluated
    schedule = pairs.late if late else early
    call_kernel(pairs.evaluate, (runs, candidates, chunks, contacts, rows, schedule, parameters, kick, particles, work))
    done, any_ended, deep, code = outcome_of(runs)
    if any_ended:
        times[COUNTED] += add_ended(limbs, pairs.terms, Contacts(*contacts).ended, runs)
        listed = Candidates(*candidates)
        pass_at_pairs(runs, Contacts(*contacts).left, listed.lower, listed.higher, pairs.sink)
        weaken_at_pairs(runs, Contacts(*contacts).left, listed.lower, listed.higher, pairs.strengths)
    outcome[DEEP_PAIR], outcome[CODE] = max(outcome[DEEP_PAIR], deep), max(outcome[CODE], code)
    return done


@inlined
def progress_messages(ranks: ExchangeCalls, times: Integers) -> None:
    """Let MPI make progress with pending messages."""
    begin = processor_clock()
    call_kernel(ranks.poll, ranks.given)
    times[EXCHANGE] += processor_clock() - begin


@inlined
def evaluate_owned_pairs(
    pairs: PairCalls, ranks: ExchangeCalls, parts: int, limbs: Integers, outcome: Integers,
    times: Integers,
) -> bool:  # fmt: skip
    """Find contacts among owned particles and their forces; return whether the room for contacts sufficed.

    Messages make progress before each part. Where the room did not suffice, the runs of workers contain the remaining
    chunks.
    """
    runs, chunks, done = pairs.evaluated[0], (0, pairs.inner), True
    for part in range(parts):
        if ranks.poll != 0:
            progress_messages(ranks, times)
        begin = processor_clock()
        take_part(runs, chunks, part, parts)
        done = evaluate_part(pairs, False, limbs, outcome, times)
        times[PAIRS] += processor_clock() - begin
        if not done:
            break
    divide_runs(runs, 0, pairs.inner)
    return done


@inlined
def count_step(pairs: PairCalls, outcome: Integers) -> None:
    """Add the largest displacement of owned particles in the last step to their path.

    In the first step that displacement is in the path already; in later steps the workers have recorded it.
    """
    path = Candidates(*pairs.evaluated[1]).path
    longest = take_longest(len(pairs.evaluated[0]), pairs.evaluated[9])
    if outcome[TAKEN] > 0:
        path[STEP] = longest
    add_step(OWNED, path[STEP], path)


@inlined
def count_step_of_ghosts(pairs: PairCalls) -> None:
    """Add the displacement of this step to the path of ghosts, which are up to date, and of owned particles."""
    candidates, dt = Candidates(*pairs.evaluated[1]), Kick(*pairs.evaluated[7]).dt
    packed = ParticleArrays(*pairs.evaluated[8]).packed
    add_step_of_all(dt, candidates.owned, pairs.rows, packed, candidates.path)


@inlined
def evaluate_ghost_pairs(pairs: PairCalls, limbs: Integers, outcome: Integers, times: Integers) -> bool:
    """Find contacts with ghosts and their forces; return whether the room for contacts sufficed."""
    begin = processor_clock()
    divide_runs(pairs.evaluated[0], pairs.inner, pairs.chunks)
    done = evaluate_part(pairs, True, limbs, outcome, times)
    times[PAIRS] += processor_clock() - begin
    return done


@inlined
def parts_of(pairs: PairCalls, ghosts: int, ranks: ExchangeCalls) -> int:
    """Return in how many parts contacts among owned particles are evaluated, so that messages make progress meanwhile.

    One part without messages, and where ended contacts are counted for all chunks together.
    """
    if ranks.poll == 0 or ghosts != 0:
        return 1
    workers = len(pairs.evaluated[0])
    least = LEAST if workers == 1 else LEAST_OF_THREADS * workers
    return max(1, min(PARTS, pairs.inner // least))


@inlined
def sum_remaining(pairs: PairCalls, outcome: Integers, times: Integers) -> None:
    """Sum the forces on the particles with contacts in the last chunks or with ghosts, and integrate their motion."""
    begin, (worst, remaining) = processor_clock(), (pairs.summed[0], pairs.summed[1])
    if len(remaining) > 0:
        call_kernel(pairs.sum_forces, pairs.summed)
        for worker in range(len(worst)):
            outcome[CODE] = max(outcome[CODE], worst[worker])
    times[SUM] += processor_clock() - begin


@inlined
def note_status(status: Integers, outcome: Integers) -> None:
    """Write the status of this rank, from the results of the last step."""
    status[MINE, LISTS] = min(outcome[CODE], STALE)
    told = outcome[CODE] >= LOST or outcome[DEEP_WALL] > 0 or outcome[DEEP_PAIR] > 0
    status[MINE, ERRORS] += 1 if told else 0
    status[MINE, REQUEST] |= outcome[BREAKS]


@inlined
def begin_among_ranks(ranks: ExchangeCalls, outcome: Integers, times: Integers) -> bool:
    """All-reduce the status of ranks and send ghosts; return False if a rank needs attention in Python.

    Rows for other ranks are gathered while the all-reduce is pending.
    """
    begin, status = processor_clock(), ranks.status
    if ranks.ask != 0:
        call_kernel(ranks.ask, ranks.given)
    asked = processor_clock()
    times[EXCHANGE] += asked - begin
    if ranks.agree == 0:
        return True
    call_kernel(ranks.agree, ranks.given)
    agreed = processor_clock()
    times[WAIT] += agreed - asked
    told = (status[AGREED, LISTS] | status[AGREED, SIGNAL] | status[AGREED, ERRORS] | status[AGREED, REQUEST]) != 0
    told |= status[FAILURE, 0] != 0
    outcome[STATUS_AGREED] = 1 if told else 0
    if not told:
        call_kernel(ranks.begin_update, ranks.given)
    times[EXCHANGE] += processor_clock() - agreed
    return not told


@inlined
def wait_for_ghosts(ghosts: int, ranks: ExchangeCalls, outcome: Integers, times: Integers) -> None:
    """Wait until the rows of ghosts have arrived."""
    if ghosts != 0:
        outcome[FAILED] |= ask_python(ghosts)
    begin = processor_clock()
    if ranks.finish_update != 0:
        call_kernel(ranks.finish_update, ranks.given)
        times[EXCHANGE] += processor_clock() - begin


@inlined
def take_step(
    pairs: PairCalls, ghosts: int, ranks: ExchangeCalls, limbs: Integers, outcome: Integers,
    times: Integers,
) -> int:  # fmt: skip
    """Evaluate the contacts between particles, and integrate with all forces; return 0, or as `UNFINISHED`."""
    outcome[CODE] = FINE
    if not evaluate_owned_pairs(pairs, ranks, parts_of(pairs, ghosts, ranks), limbs, outcome, times):
        return OWNED_PAIRS
    wait_for_ghosts(ghosts, ranks, outcome, times)
    if pairs.chunks > pairs.inner:
        count_step_of_ghosts(pairs)
        if not evaluate_ghost_pairs(pairs, limbs, outcome, times):
            return GHOST_PAIRS
    sum_remaining(pairs, outcome, times)
    finish_strengths(pairs.chunks, pairs.evaluated[2], pairs.evaluated[3], outcome[TAKEN] + 1, pairs.strengths)
    return 0


@inlined
def finish_strengths(
    number: int, chunks: tuple[Any, ...], contacts: tuple[Any, ...], step: int, strengths: tuple[Any, ...] | None
) -> None:  # fmt: skip
    """Apply the damage of a step, and watch its contacts between particles in a number of chunks."""
    if strengths is not None:
        s = Strengths(*strengths)
        apply_damage(s)
        watch_pairs(number, Chunks(*chunks), Contacts(*contacts), step, s)


@inlined
def watch_at_walls(walls: tuple[Any, ...] | None, outcome: Integers, strengths: tuple[Any, ...] | None) -> None:
    """Watch the contacts with walls of the present step."""
    if walls is not None:  # noqa: SIM102 (numba leaves out branches by single conditions)
        if strengths is not None:
            calls = WallCalls(*walls)
            if calls.acts:
                first, second = WallArguments(*calls.given).record
                step, s = outcome[TAKEN] + 1, Strengths(*strengths)
                if outcome[SWAPS] % 2 == 0:
                    watch_walls(NearFacets(*calls.given[1]), WallRecord(*second), step, s)
                else:
                    watch_walls(NearFacets(*calls.given[1]), WallRecord(*first), step, s)


@inlined
def note_breakage(outcome: Integers, strengths: tuple[Any, ...] | None) -> None:
    """Note whether a particle breaks in this step."""
    if strengths is not None:
        s = Strengths(*strengths)
        outcome[BREAKS] |= s.asks & s.counts[BROKEN]


@uncounted_serial_kernel
def take_steps(
    most: int, between: tuple[int, int, int], ranks: tuple[Any, ...], walls: tuple[Any, ...] | None,
    pairs: tuple[Any, ...], limbs: Integers, outcome: Integers, times: Integers,
) -> None:  # fmt: skip
    """Take several steps with the same neighbour lists; each step also begins the next one.

    Parameters
    ----------
    most : int
        Number of steps.
    between : tuple
        Fields of `PythonHooks`. Without a hook at the begin of steps, the kernel ends with the first step after which
        particles or contacts need attention in Python.
    ranks : tuple
        Fields of `ExchangeCalls`. Steps end before the first one at which a rank needs attention in Python.
    walls, pairs : tuple
        Fields of `WallCalls`, or None without walls, and of `PairCalls`; the next step has begun.
    limbs : (sums, LIMBS) array
        Exact sums of the energies of ended contacts.
    outcome : (OUTCOME,) int64 array
        Written, see `OUTCOME`; zeros.
    times : (TIMES,) int64 array
        Added to, see `TIMES`.
    """
    (begin, seen, ghosts), of_pairs, of_ranks = between, PairCalls(*pairs), ExchangeCalls(*ranks)
    while outcome[TAKEN] < most and has_reserve(of_pairs.evaluated[0], of_pairs.reserve, of_pairs.needs_forces):
        if begin != 0 and ask_python(begin) != 0:
            break
        if begin == 0:
            note_status(of_ranks.status, outcome)
        if not begin_among_ranks(of_ranks, outcome, times):
            break
        count_step(of_pairs, outcome)
        if walls is not None:
            move_walls(WallCalls(*walls), Candidates(*of_pairs.evaluated[1]).path, outcome, times)
            evaluate_walls(WallCalls(*walls), limbs, outcome, times)
            if seen != 0:
                outcome[FAILED] |= ask_python(seen)
        outcome[UNFINISHED] = take_step(of_pairs, ghosts, of_ranks, limbs, outcome, times)
        if outcome[UNFINISHED] != 0:
            break
        watch_at_walls(walls, outcome, of_pairs.strengths)
        note_breakage(outcome, of_pairs.strengths)
        outcome[TAKEN] += 1
        told = outcome[CODE] != FINE or outcome[DEEP_WALL] > 0 or outcome[DEEP_PAIR] > 0 or outcome[BREAKS] > 0
        if outcome[FAILED] != 0 or (begin == 0 and of_ranks.agree == 0 and told):
            break
