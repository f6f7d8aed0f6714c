"""Rates as functions of the time, and their integrals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


class Rate:
    """A quantity per time: linear between the times of a table, constant before the first and after the last time.

    Parameters
    ----------
    times : sequence of float
        Increasing times [s]; a single one for a constant rate.
    values : sequence of float
        Rate at each time, not negative.
    """

    def __init__(self, times: Sequence[float], values: Sequence[float]) -> None:
        self._times, self._values = np.array(times, np.float64), np.array(values, np.float64)
        widths = np.diff(self._times)
        pieces = 0.5 * widths * (self._values[1:] + self._values[:-1])
        self._sums = np.concatenate([[0.0], np.cumsum(pieces)])

    @property
    def largest(self) -> float:
        """Largest rate."""
        return float(self._values.max())

    def integral(self, first: float, last: float) -> float:
        """Return the amount between two times [s], the earlier one first."""
        # Rounding of the two sums may give a negative difference.
        return max(0.0, self._since_first(last) - self._since_first(first))

    def _since_first(self, time: float) -> float:
        """Return the amount between the first time of the table and a time, negative before the first time."""
        times, values = self._times, self._values
        if time <= times[0]:
            return float((time - times[0]) * values[0])
        piece = int(np.searchsorted(times, time, side="right")) - 1
        after = min(piece + 1, len(times) - 1)
        # a share, because between times that almost coincide the slope overflows
        share = (time - times[piece]) / (times[after] - times[piece]) if time < times[after] else 1.0
        now = values[piece] + share * (values[after] - values[piece])
        return float(self._sums[piece] + 0.5 * (time - times[piece]) * (values[piece] + now))
