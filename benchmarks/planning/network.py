"""Model of a network between ranks, for predictions.

Ranks send small messages to their neighbours concurrently. The costs of the messages for a processor add up, but their
travel times do not (the model LogGP: Alexandrov, Ionescu, Schauser and Scheiman 1997).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdem.foundation.errors import InputError


@dataclass(frozen=True)
class Network:
    """Cost of messages.

    Attributes
    ----------
    latency : float
        Time from the start of a small message to its arrival [s], including its cost for the processors at both
        ends; the default is typical of a cluster interconnect.
    overhead : float
        Time of a processor to send one message and to receive one [s]. Between two ranks of a node MPICH needs 0.7
        microseconds.
    bandwidth : float
        Bandwidth of a rank [B/s]; the default is a node's adapter of 25 GB/s shared by some tens of ranks.

    Raises
    ------
    InputError
        If a value is negative or not a number, or nothing can be sent.
    """

    latency: float = 2e-6
    overhead: float = 1e-6
    bandwidth: float = 1e9

    def __post_init__(self) -> None:
        times = self.latency, self.overhead
        if not (all(0.0 <= one < math.inf for one in times) and 0.0 < self.bandwidth < math.inf):
            raise InputError(
                f"a network of latency {self.latency} s, overhead {self.overhead} s and bandwidth {self.bandwidth} "
                "B/s: finite times of at least 0 and a positive bandwidth are needed"
            )

    def delay(self, messages: Any, most_bytes: Any, work: Any) -> Any:
        """Return the extra time of a step for messages to neighbours [s].

        The messages travel while the rank computes; the processor starts and completes each of them.

        Parameters
        ----------
        messages, most_bytes : int or array of int
            The larger of the numbers sent and received: links are full duplex.
        work : float or array
            Computing time of a rank before it waits for the messages [s].
        """
        on_the_way = np.where(np.asarray(messages) > 0, self.latency + most_bytes / self.bandwidth, 0.0)
        return self.overhead * messages + np.maximum(on_the_way - work, 0.0)

    def exchange(self, neighbours: Any, most_bytes: Any = 0) -> Any:
        """Return the time to send a message to each neighbour and receive one from each, without overlapping work [s].

        Parameters
        ----------
        neighbours, most_bytes : int or array of int
            Number of neighbours, and the larger of the total bytes sent and received.
        """
        return self.delay(neighbours, most_bytes, 0.0)

    def all_reduce(self, ranks: int) -> float:
        """Return the time of an all-reduce of a few numbers [s].

        Each rank exchanges its data with ranks at distances of 1, then 2, 4, ...: recursive doubling, as in MPICH and
        Open MPI (Thakur, Rabenseifner and Gropp 2005). Ranks beyond the last power of two send their data to a partner
        before, and get the result afterwards.
        """
        doublings = ranks.bit_length() - 1
        return self.latency * (doublings + (2 if ranks != 1 << doublings else 0))
