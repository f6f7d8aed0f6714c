"""Where contacts between particles keep their histories and forces: slots, in runs of one worker each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law import HISTORY
from pdem.contact.pair_kernels import (
    BEGIN,
    CONTACTS,
    END,
    LANES,
    LIMIT,
    RUN,
    SLOT,
    STOP,
    TABLE,
)
from pdem.contact.pair_sums import CHUNK, FORCES, TORQUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROWTH = 1.3
_SPARE = CHUNK + LANES  # a worker stops when it has fewer slots left


class PairSlots:
    """Histories and forces of contacts by slot; slot 0 holds zeros and stands for "no contact".

    Workers do not know how many contacts they are going to find. Each begins at a slot of its own, so that there are
    gaps between their contacts, until `close_gaps`.

    Attributes
    ----------
    count : int
        Contacts.
    history, before : (HISTORY, room) arrays
        Of this step and of the last.
    force, torque : (FORCES, room) and (TORQUES, 2 room) arrays
        See `pdem.contact.pair_sums`.
    touching : (room,) int32 array
        Candidate of each slot.
    """

    def __init__(self) -> None:
        self.count = 0
        self.history, self.before = np.zeros((HISTORY, 1)), np.zeros((HISTORY, 1))
        self.force, self.torque = np.zeros((FORCES, 1)), np.zeros((TORQUES, 2))
        self.touching = np.zeros(1, np.int32)
        self._runs: list[tuple[int, int]] = []
        self._next = 1

    @property
    def histories(self) -> NDArray[np.float64]:
        """Histories of all contacts, shape (HISTORY, count), without gaps; a view."""
        return self.history[:, 1 : self.count + 1]

    @property
    def candidates(self) -> NDArray[np.int32]:
        """Candidate of each contact, without gaps; a view."""
        return self.touching[1 : self.count + 1]

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def hold(self, count: int) -> None:
        """Have so many contacts, without gaps, whose histories are written next."""
        self.reserve(count + 1)
        self.count, self._runs, self._next = count, [(1, count)], count + 1

    def begin(self) -> None:
        """Begin to find contacts anew: those there are become the ones before."""
        self.history, self.before = self.before, self.history
        self.count, self._runs, self._next = 0, [], 1

    def plan(self, first: int, last: int, workers: int, chunks: int, expected: float) -> NDArray[np.int64]:
        """Divide the candidates `first` to `last` - 1 into runs (RUN, workers).

        Parameters
        ----------
        chunks : int
            Numbers that the chunks of a worker have in the table of complete particles.
        expected : float
            Contacts per candidate.
        """
        ends = first + np.arange(workers + 1) * (last - first) // workers
        runs = np.zeros((RUN, workers), np.int64)
        runs[BEGIN], runs[END] = ends[:-1], ends[1:]
        runs[TABLE] = np.arange(workers) * chunks
        room = (expected * np.diff(ends)).astype(np.int64)
        self._give_slots(runs, np.minimum(room, np.diff(ends)) + _SPARE)
        return runs

    def take(self, runs: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Count what workers have found; return runs of what they had not slots enough for, None if all had."""
        self.count += int(runs[CONTACTS].sum())
        self._runs.extend(zip(runs[SLOT].tolist(), runs[CONTACTS].tolist(), strict=True))
        short = runs[:, runs[STOP] < runs[END]]
        if short.shape[1] == 0:
            return None
        rest = short.copy()
        rest[TABLE] += (short[STOP] - short[BEGIN]) // CHUNK
        rest[BEGIN] = short[STOP]
        self._give_slots(rest, rest[END] - rest[BEGIN] + _SPARE)
        return rest

    def _give_slots(self, runs: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        ends = self._next + np.cumsum(numbers)
        runs[SLOT], runs[LIMIT] = ends - numbers, ends
        self._next = int(ends[-1])
        self.reserve(self._next)

    def close_gaps(self, slot: NDArray[np.int32]) -> None:
        """Move contacts to the slots 1 to `count`; `slot` has that of each candidate."""
        at = 1
        for first, number in self._runs:
            if first != at:
                new, old = slice(at, at + number), slice(first, first + number)
                self.history[:, new] = self.history[:, old]
                self.touching[new] = self.touching[old]
                slot[self.touching[new]] = np.arange(at, at + number)
            at += number
        self._runs = [(1, self.count)]

    def reserve(self, slots: int) -> None:
        """Make room for so many slots, keeping what is there."""
        if slots <= len(self.touching):
            return
        room = int(_GROWTH * slots) + _SPARE
        self.history, self.before, self.force = (
            _wider(columns, room) for columns in (self.history, self.before, self.force)
        )
        self.torque = _wider(self.torque, 2 * room)
        self.touching = _wider(self.touching, room)


def _wider(columns: NDArray[Any], room: int) -> NDArray[Any]:
    """Return columns with room for more, keeping what they hold."""
    grown = np.zeros((*columns.shape[:-1], room), columns.dtype)
    grown[..., : columns.shape[-1]] = columns
    return grown
