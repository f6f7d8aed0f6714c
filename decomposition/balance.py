"""When space is cut anew: when waiting for the busiest rank has cost more than that would.

What counts is the time that each rank has worked since the last cut. Noise makes now one rank late and now another; no
cut mends that, and in these sums most of it cancels.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats

WORTH = 2.0
"""Times the cost of cutting anew that imbalance has to cost first: what is measured is noisy, and so is its cure."""


class Balance:
    """What ranks have worked since space was cut, and what cutting costs.

    Parameters
    ----------
    policy : {"auto", "always", "never"}
        When space is cut anew: as above, at every detection, never.

    Attributes
    ----------
    cost : float
        Time that the last cut has taken here, with what it moved [s].
    """

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._seconds: Floats | None = None
        self._at_cut: Floats | None = None
        self._begun: float | None = None
        self.cost = 0.0

    @property
    def may_cut(self) -> bool:
        """Whether space may be cut anew at all: else nobody asks what imbalance costs."""
        return self._policy != "never"

    def since_cut(self, seconds: Floats) -> Floats:
        """Return the times spent on each kind of work since space was cut, by those since the run began [s]."""
        if self._at_cut is None:
            self._at_cut = seconds.copy()
        self._seconds = seconds.copy()
        return seconds - self._at_cut

    def is_due(self, lost: float, cost: float) -> bool:
        """Tell whether to cut anew, after the busiest rank has worked longer than the mean by `lost` [s].

        Parameters
        ----------
        lost, cost : float
            The same on every rank: time lost since space was cut, and the cost of a cut on the slowest rank [s].
        """
        if self._policy != "auto":
            return self._policy == "always"
        return lost > WORTH * cost and lost > 0.0

    def begin(self) -> None:
        """Note that space is being cut."""
        self._at_cut = self._seconds
        self._begun = time.perf_counter()

    def end(self) -> None:
        """Note that everything has its place again."""
        if self._begun is not None:
            self.cost, self._begun = time.perf_counter() - self._begun, None
