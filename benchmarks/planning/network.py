"""A network between ranks, as predictions assume it.

Ranks send small messages to their neighbours at the same time. What each of them costs a processor adds up, the time on
the way does not (the model LogGP: Alexandrov, Ionescu, Schauser and Scheiman 1997).
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
        Time from the begin of a small message until it is there [s], with what it costs the processors at both ends;
        the default is that of a cluster interconnect.
    overhead : float
        Time of a processor to send one message and to receive another [s]. Between two ranks of a node MPICH needs
        0.7 microseconds.
    bandwidth : float
        Bandwidth of a rank [B/s]; the default is a node's adapter of 25 GB/s shared by some tens of ranks.

    Raises
    ------
    InputError
        If one is negative or not a number, or nothing can be sent.
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
        """Return how much longer a step takes with messages to neighbours than without [s].

        They travel while the rank works; the processor begins and ends each.

        Parameters
        ----------
        messages, most_bytes : int or array of int
            Sent or received, whichever are more: links are full duplex.
        work : float or array
            What a rank does before it waits for them [s].
        """
        on_the_way = np.where(np.asarray(messages) > 0, self.latency + most_bytes / self.bandwidth, 0.0)
        return self.overhead * messages + np.maximum(on_the_way - work, 0.0)

    def exchange(self, neighbours: Any, most_bytes: Any = 0) -> Any:
        """Return the time of a message to each neighbour, and of one from each, while nothing else is done [s].

        Parameters
        ----------
        neighbours, most_bytes : int or array of int
            Neighbours, and all bytes that are sent or received.
        """
        return self.delay(neighbours, most_bytes, 0.0)

    def all_reduce(self, ranks: int) -> float:
        """Return the time in which ranks add up or compare some numbers [s].

        Each rank exchanges what it has with one that is 1, then 2, 4, ... away: recursive doubling, as in MPICH and
        Open MPI (Thakur, Rabenseifner and Gropp 2005). Ranks beyond the last power of two send theirs to another
        before, and get the result afterwards.
        """
        doublings = ranks.bit_length() - 1
        return self.latency * (doublings + (2 if ranks != 1 << doublings else 0))
