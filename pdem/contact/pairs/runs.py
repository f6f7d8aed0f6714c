"""Integers: which chunks a worker evaluates, what it has in reserve for them, and what it has found.

What happens between two kernels of a step is compiled as well: small arrays cost NumPy as much time as some hundred
contacts take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.sums import PART, add_part
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

RUN = 11
WORKER, BEGIN, END, STOP, ENDED, DEEP, CODE, FREE_HISTORY, FREE_HISTORY_END, FREE_FORCE, FREE_FORCE_END = range(RUN)
"""Fields of ``runs[worker, field]``, which says what a worker does and what it has found:

=================================  ===============================================================================
`WORKER`                           given: its number
`BEGIN`, `END`                     given: first chunk, and the one behind the last
`STOP`                             written: the first chunk that was not evaluated; `END` if there was room for all
`ENDED`                            written: number of contacts that have ended
`DEEP`                             written: 1 + a candidate whose overlap is beyond the limit, or 0
`CODE`                             written: largest code of particles that were advanced (`integration.FINE`)
`FREE_HISTORY`, `..._END`          renewed: history indices for chunks whose own do not suffice
`FREE_FORCE`, `..._END`            renewed: force indices for such chunks
=================================  ===============================================================================
"""


@inlined
def _restock(runs: Integers, begin: int, end: int, most: int, following: int) -> int:
    """Give workers with less than half of the most indices in reserve new ones; return the one behind the last."""
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
    """Divide the chunks from `first` to `last` - 1 among the workers, who keep what they have in reserve."""
    take_part(runs, (first, last), 0, 1)


@inlined
def take_part(runs: Integers, chunks: tuple[int, int], part: int, parts: int) -> None:
    """Divide chunks, of which there are the first and the one behind the last, and let workers take a part of theirs.

    Whatever the number of parts, each worker takes the same chunks in all of them together, in the same order.
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
        Written; what is in reserve stays there, and is renewed.
    first, last : int
        Chunks.
    most : int
        History and force indices that a worker gets in reserve.
    history, force : int
        The first that nobody has; 0 if no force indices are needed in reserve.

    Returns
    -------
    int, int
        The first that nobody has now.
    """
    divide_runs(runs, first, last)
    return _restock_both(runs, most, history, force)


@inlined
def has_reserve(runs: Integers, least: int, needs_forces: bool) -> bool:
    """Tell whether every worker has so many history indices in reserve, and force indices if these are needed."""
    enough = True
    for worker in range(len(runs)):
        enough &= runs[worker, FREE_HISTORY_END] - runs[worker, FREE_HISTORY] >= least
        enough &= (not needs_forces) | (runs[worker, FREE_FORCE_END] - runs[worker, FREE_FORCE] >= least)
    return enough


@kernel
def resume_runs(runs: Integers, most: int, history: int, force: int) -> tuple[int, int]:
    """Let workers go on where they have stopped; arguments and return value as for `plan_runs`."""
    for worker in range(len(runs)):
        runs[worker, BEGIN] = runs[worker, STOP]
    return _restock_both(runs, most, history, force)


@kernel
def add_ended(limbs: Integers, terms: Integers, accounts: Floats, runs: Integers) -> int:
    """Add the accounts of contacts that have ended to their terms of the ledger; return how many numbers were added.

    Parameters
    ----------
    limbs : (sums, LIMBS) array
        Exact sums [J].
    terms : int64 array
        By account: which of these sums.
    accounts : (accounts + 1, workers * n) array
        Those that worker w has written from column ``w * n`` on [J]; the last row is passed over.
    runs : (workers, RUN) int64 array
        What they have evaluated.
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
    """Return whether all chunks are done, whether contacts have ended, and the largest `DEEP` and `CODE`."""
    done, ended, deep, code = True, False, 0, 0
    for worker in range(len(runs)):
        done &= runs[worker, STOP] == runs[worker, END]
        ended |= runs[worker, ENDED] > 0
        deep, code = max(deep, runs[worker, DEEP]), max(code, runs[worker, CODE])
    return done, ended, deep, code
