"""Wall-clock time of a run by phase of the time step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def parts_of(shares: Mapping[str, int]) -> dict[str, float]:
    """Return the fraction of each phase, from shares that are not all 0."""
    whole = sum(max(share, 1) for share in shares.values())
    return {phase: max(share, 1) / whole for phase, share in shares.items()}


class Phases:
    """A stopwatch that adds the time since its last reading to a named phase.

    Parameters
    ----------
    earlier : Phases, optional
        Stopwatch whose times are continued.

    Attributes
    ----------
    records_steps : bool
        Whether the times of each step are recorded.
    """

    records_steps = False

    def __init__(self, earlier: Phases | None = None) -> None:
        self._spent: dict[str, float] = {} if earlier is None else dict(earlier._spent)
        self._before: dict[str, float] = {} if earlier is None else dict(earlier._before)
        self._last: float = time.perf_counter() if earlier is None else earlier._last

    def start(self) -> None:
        """Discard the time since the last reading."""
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Add the time since the last reading to `phase`."""
        now = time.perf_counter()
        self._spent[phase] = self._spent.get(phase, 0.0) + now - self._last
        self._last = now

    def divide(self, shares: Mapping[str, int]) -> None:
        """Add the time since the last reading to several phases, see `parts_of`.

        Ranks compare the times of their phases, and must have the same phases.
        """
        now = time.perf_counter()
        spent, self._last = now - self._last, now
        for phase, part in parts_of(shares).items():
            self._spent[phase] = self._spent.get(phase, 0.0) + spent * part

    def reset_seconds(self) -> None:
        """Reset `seconds` to zero."""
        self._before = dict(self._spent)

    @property
    def seconds(self) -> dict[str, float]:
        """Time of each phase since `reset_seconds` [s], without phases of no time, in the order of first use."""
        since = {phase: spent - self._before.get(phase, 0.0) for phase, spent in self._spent.items()}
        return {phase: seconds for phase, seconds in since.items() if seconds > 0.0}

    def spent(self, *phases: str) -> float:
        """Return the total time of some phases since the start of the run [s]."""
        return sum(self._spent.get(phase, 0.0) for phase in phases)
