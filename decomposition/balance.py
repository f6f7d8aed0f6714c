"""When space is cut anew: when waiting for the busiest rank has cost more than that would."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORTH = 2.0
"""Times the cost of cutting anew that imbalance has to cost first: what is measured is noisy, and so is its cure."""


class Balance:
    """A tally of what imbalance has cost since space was cut.

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
        self._before: NDArray[np.float64] | None = None
        self._lost = 0.0
        self._begun: float | None = None
        self.cost = 0.0

    @property
    def may_cut(self) -> bool:
        """Whether space may be cut anew at all: else nobody asks what imbalance costs."""
        return self._policy != "never"

    def since(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times spent on each kind of work since the last call [s]."""
        spent = np.zeros(len(seconds)) if self._before is None else seconds - self._before
        self._before = seconds.copy()
        return spent

    def is_due(self, lost: float, cost: float) -> bool:
        """Tell whether to cut anew, after the busiest rank has taken longer than the mean by `lost` [s].

        Parameters
        ----------
        lost, cost : float
            The same on every rank: time lost since the last call, and the cost of cutting anew on the slowest [s].
        """
        self._lost += lost
        if self._policy != "auto":
            return self._policy == "always"
        return self._lost > WORTH * cost and self._lost > 0.0

    def begin(self) -> None:
        """Note that space is being cut."""
        self._lost = 0.0
        self._begun = time.perf_counter()

    def end(self) -> None:
        """Note that everything has its place again."""
        if self._begun is not None:
            self.cost, self._begun = time.perf_counter() - self._begun, None
