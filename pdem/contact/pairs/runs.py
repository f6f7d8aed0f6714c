"""Runs of workers: which chunks a worker evaluates, its reserve of indices, and its results, as rows of integers.

The functions that act between two kernels of a step are compiled as well: an operation of NumPy on a small array costs
as much time as some hundred contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.sums import PART, add_part
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Int32s, Integers


class EndWatcher(Protocol):
    """An object that counts the ends of contacts between particles."""

    def count_pairs(self, runs: Integers, ended: Floats, candidates: tuple[Int32s, Int32s], packed: Floats) -> None:
        """Count the contacts between particles that workers have ended in this step.

        Parameters
        ----------
        runs : (workers, RUN) array
            Results of the workers; the field `ENDED` has the number of contacts that each worker has ended.
        ended : (accounts + 1, workers * ENDS) array
            Energy accounts and candidates of these contacts, see `pdem.contact.pairs.begin_and_end.note_ended`.
        candidates : (int32 array, int32 array)
            Rows of the particles of each candidate.
        packed : array
            Packed rows of particles.
        """


RUN = 12
(
    WORKER, BEGIN, END, STOP, ENDED, ENDED_IN_ALL, DEEP, CODE,
    FREE_HISTORY, FREE_HISTORY_END, FREE_FORCE, FREE_FORCE_END,
) = range(RUN)  # fmt: skip
"""Fields of ``runs[worker, field]``, the task and the results of a worker:

=================================  ===============================================================================
`WORKER`                           read: its number
`BEGIN`, `END`                     read: first chunk, and the end of the chunks
`STOP`                             written: the first chunk that was not evaluated; `END` if the room sufficed
`ENDED`                            written: number of contacts that have ended and that this rank counts
`ENDED_IN_ALL`                     written: number of contacts that have ended
`DEEP`                             written: 1 + a candidate with an overlap beyond the limit, or 0
`CODE`                             written: largest code of integrated particles (`integration.FINE`)
`FREE_HISTORY`, `..._END`          used up: history indices for chunks that need more than their own
`FREE_FORCE`, `..._END`            used up: force indices for such chunks
=================================  ===============================================================================
"""


@inlined
def _restock(runs: Integers, begin: int, end: int, most: int, following: int) -> int:
    """Refill the reserves of workers that have less than half of `most` indices; return the first free index."""
    for worker in range(len(runs)):
        if runs[worker, end] - runs[worker, begin] < most // 2:
            runs[worker, begin], runs[worker, end] = following, following + most
            following += most
    return following


@inlined
def _restock_both(runs: Integers, most: int, history: int, force: int) -> tuple[int, int]:
    history = _restock(runs, FREE_HISTORY, FREE_HISTORY_END, most, history)
    return history, (_restock(runs, FREE_FORCE, FREE_FORCE_END, most, force) if force > 0 else force)


@inlined
def divide_runs(runs: Integers, first: int, last: int) -> None:
    """Divide the chunks from `first` to `last` - 1 among the workers; reserves do not change."""
    take_part(runs, (first, last), 0, 1)


@inlined
def take_part(runs: Integers, chunks: tuple[int, int], part: int, parts: int) -> None:
    """Assign to each worker part `part` of its share of the chunks from `chunks[0]` to `chunks[1]` - 1.

    Each worker evaluates the same chunks in the same order for any number of parts.
    """
    (first, last), workers = chunks, len(runs)
    for worker in range(workers):
        begin, end = share_of(worker, workers, last - first)
        low, high = share_of(part, parts, end - begin)
        runs[worker, WORKER] = worker
        runs[worker, BEGIN], runs[worker, END] = first + begin + low, first + begin + high


@kernel
def plan_runs(runs: Integers, first: int, last: int, most: int, history: int, force: int) -> tuple[int, int]:
    """Divide the chunks from `first` to `last` - 1 among the workers.

    Parameters
    ----------
    runs : (workers, RUN) int64 array
        Written; reserves are refilled.
    first, last : int
        Range of chunks.
    most : int
        History and force indices that a worker gets in reserve.
    history, force : int
        First free history index and force index; 0 if no force indices are needed in reserve.

    Returns
    -------
    int, int
        First free history index and force index afterwards.
    """
    divide_runs(runs, first, last)
    return _restock_both(runs, most, history, force)


@inlined
def has_reserve(runs: Integers, least: int, needs_forces: bool) -> bool:
    """Return whether every worker has `least` history indices in reserve, and as many force indices if needed."""
    enough = True
    for worker in range(len(runs)):
        enough &= runs[worker, FREE_HISTORY_END] - runs[worker, FREE_HISTORY] >= least
        enough &= (not needs_forces) | (runs[worker, FREE_FORCE_END] - runs[worker, FREE_FORCE] >= least)
    return enough


@kernel
def resume_runs(runs: Integers, most: int, history: int, force: int) -> tuple[int, int]:
    """Continue the runs of workers that have stopped; arguments and return value as for `plan_runs`."""
    for worker in range(len(runs)):
        runs[worker, BEGIN] = runs[worker, STOP]
    return _restock_both(runs, most, history, force)


@kernel
def add_ended(limbs: Integers, terms: Integers, accounts: Floats, runs: Integers) -> int:
    """Add the accounts of ended contacts to their terms of the energy balance; return how many numbers were added.

    Parameters
    ----------
    limbs : (sums, LIMBS) array
        Exact sums [J].
    terms : int64 array
        Index of the sum of each account.
    accounts : (accounts + 1, workers * n) array
        Accounts [J]; worker w has written from column ``w * n`` on. The last row is not used.
    runs : (workers, RUN) int64 array
        Runs with their results.
    """
    number, room = 0, accounts.shape[1] // len(runs)
    for worker in range(len(runs)):
        for account in range(len(terms)):
            for first in range(0, runs[worker, ENDED], PART):
                part = min(PART, runs[worker, ENDED] - first)
                add_part(limbs, terms[account], accounts[account], worker * room + first, part)
        number += runs[worker, ENDED] * len(terms)
    return number


@kernel
def outcome_of(runs: Integers) -> tuple[bool, bool, int, int]:
    """Return whether all chunks are evaluated, whether contacts have ended, and the largest `DEEP` and `CODE`."""
    done, ended, deep, code = True, False, 0, 0
    for worker in range(len(runs)):
        done &= runs[worker, STOP] == runs[worker, END]
        ended |= runs[worker, ENDED_IN_ALL] > 0
        deep, code = max(deep, runs[worker, DEEP]), max(code, runs[worker, CODE])
    return done, ended, deep, code
