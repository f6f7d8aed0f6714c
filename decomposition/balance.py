"""Balance of work among ranks: space is cut again when imbalance has cost more time than a new cut takes.

The criterion is the time that each rank has worked since the last cut. Measured times are noisy and delay a different
rank each time. No cut repairs that, and most of the noise cancels in these sums.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

WORTH = 2.0
"""Imbalance must cost this multiple of the time of a cut before space is cut again, since measured times are noisy."""


class Balance:
    """Working time of the ranks since space was last cut, and the cost of a cut.

    Parameters
    ----------
    policy : {"auto", "always", "never"}
        When space is cut again: by the criterion above, at every detection, or never.

    Attributes
    ----------
    cost : float
        Time that this rank spent on the last cut, including the migration of particles [s].
    """

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._seconds: Floats | None = None
        self._at_cut: Floats | None = None
        self._begun: float | None = None
        self.cost = 0.0

    @property
    def may_cut(self) -> bool:
        """Whether space may ever be cut again. If not, the cost of imbalance is not measured."""
        return self._policy != "never"

    def since_cut(self, seconds: Floats) -> Floats:
        """Return the time per kind of work since the last cut [s]; `seconds` are the times since the run began."""
        if self._at_cut is None:
            self._at_cut = seconds.copy()
        self._seconds = seconds.copy()
        return seconds - self._at_cut

    def is_due(self, lost: float, cost: float) -> bool:
        """Return whether to cut space again, where the busiest rank has worked `lost` seconds longer than the mean.

        Parameters
        ----------
        lost, cost : float
            Equal on all ranks: time lost since the last cut, and time of a cut on the slowest rank [s].
        """
        if self._policy != "auto":
            return self._policy == "always"
        return lost > WORTH * cost and lost > 0.0

    def begin(self) -> None:
        """Record that a cut begins."""
        self._at_cut = self._seconds
        self._begun = time.perf_counter()

    def end(self) -> None:
        """Record that the cut has ended: particles have migrated, and ghosts exist again."""
        if self._begun is not None:
            self.cost, self._begun = time.perf_counter() - self._begun, None
