"""Time of a step on ranks that are not here: counted work, measured costs, a stated network.

A step of rank r of P takes, with everything it owns and copies counted exactly at the beginning of the run:

* compute: measured time of one rank for integration, pairs and walls, by its share of particles, candidate pairs
  (those across a cut are evaluated on both sides) and candidate facets;
* detect: measured time of one rank for making lists, by its share of particles, copies included;
* exchange: copies packed and unpacked (measured), a latency for each message, its bytes over the bandwidth;
* lists of ranks: what a detection does for every other rank, near or not (measured), and exchanges with all;
* agree: one small reduction over all ranks, log2 P latencies.

All wait for the slowest. Not in it: networks that many ranks share, memory that cores share, noise, imbalance that
grows later, output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.exchange import Division

    Floats = NDArray[np.float64]

LATENCY = 2e-6
"""Of a message between two ranks [s], unless the user says so: that of a fabric made for this."""
BANDWIDTH = 1e9
"""Of one rank [B/s], unless the user says so: a node's adapter of 25 GB/s shared by some tens of ranks."""
PARTS = ("compute", "detect", "exchange", "lists", "agree", "wait")
"""Of a predicted step; all but ``wait`` are means over the ranks."""
_EXTENT_BYTES = 56
_COUNT_BYTES = 8
_COUNT_EXCHANGES = 4  # of copies, and of particles and two kinds of contacts that migrate


@dataclass(frozen=True)
class Network:
    """What a message costs.

    Attributes
    ----------
    latency : float
        Of each [s].
    bandwidth : float
        Of each rank [B/s].
    """

    latency: float = LATENCY
    bandwidth: float = BANDWIDTH

    def __post_init__(self) -> None:
        if not (0.0 <= self.latency < math.inf and 0.0 < self.bandwidth < math.inf):
            raise InputError(
                f"a network of latency {self.latency} s and bandwidth {self.bandwidth} B/s: "
                "a finite latency of at least 0 and a positive bandwidth are needed"
            )


@dataclass(frozen=True)
class Costs:
    """What was measured on one rank.

    Attributes
    ----------
    threads : int
        Of that rank, and of all planned ones.
    steps : int
        Over which it was measured.
    particle, pair, wall : float
        Seconds in a step: integration and sums, pairs, walls; of all particles.
    detect : float
        Seconds in a step for lists, spread over the steps between them.
    detections : float
        Per step.
    copy : float
        To gather one copy for a message [s]; it arrives where it belongs.
    copies_list, migration_list : float
        Of a detection, for each other rank [s].
    """

    threads: int
    steps: int
    particle: float
    pair: float
    wall: float
    detect: float
    detections: float
    copy: float
    copies_list: float
    migration_list: float

    @property
    def alone(self) -> float:
        """Seconds of a step on one rank."""
        return self.particle + self.pair + self.wall + self.detect

    def for_work(self, measured: Work, other: Work) -> Costs:
        """Return the costs of other work, if this much work had those that were measured."""
        more = len(other.facets) / max(len(measured.facets), 1)
        pairs, facets = len(measured.first), int(measured.facets.sum())
        return replace(
            self,
            particle=self.particle * more,
            pair=self.pair * (len(other.first) / pairs if pairs else more),
            wall=self.wall * (float(other.facets.sum()) / facets if facets else more),
            detect=self.detect * more,
        )


@dataclass(frozen=True)
class Work:
    """What there is to do at the beginning of a run.

    Attributes
    ----------
    first, second : (m,) int64 arrays
        Rows of the particles of each candidate pair.
    facets : (n,) int64 array
        Candidate facets of each particle.
    reached : two int64 arrays, optional
        Row of the particle and number of each of these facets, where there are walls.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    facets: NDArray[np.int64]
    reached: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def by_rank(self, division: Division) -> tuple[Floats, Floats]:
        """Return candidate pairs and facets of each rank; a pair across a cut is one of both sides."""
        one, other = division.owner[self.first], division.owner[self.second]
        pairs = np.bincount(one, minlength=division.ranks)
        pairs += np.bincount(other[one != other], minlength=division.ranks)
        facets = np.bincount(division.owner, self.facets, minlength=division.ranks)
        return pairs.astype(np.float64), facets.astype(np.float64)

    def facets_by_rank(self, division: Division) -> NDArray[np.int64] | None:
        """Return how many facets each rank's particles may reach, each facet once; None without walls."""
        if self.reached is None:
            return None
        particle, facet = self.reached
        number = int(facet.max(initial=0)) + 1
        pairs = np.unique(division.owner[particle] * number + facet)
        return np.bincount(pairs // number, minlength=division.ranks)


def predict(division: Division, work: Work, costs: Costs, network: Network) -> dict[str, Any]:
    """Return what a step takes on the ranks of a division.

    Returns
    -------
    dict
        ``seconds_per_step``, ``parts`` (those of `PARTS`) [s], ``imbalance`` of compute (largest over mean),
        ``speed_up`` and ``efficiency`` over one rank.
    """
    ranks, owned, ghosts = division.ranks, division.owned.sum(axis=1), division.ghosts.sum(axis=1)
    pairs, facets = work.by_rank(division)
    all_ = max(int(owned.sum()), 1)
    # what is not there yet at the beginning, such as contacts of grains that still fall, is shared like particles
    pair_share = pairs / len(work.first) if len(work.first) else owned / all_
    wall_share = facets / facets.sum() if facets.any() else owned / all_
    compute = costs.particle * owned / all_ + costs.pair * pair_share + costs.wall * wall_share
    detect = costs.detect * (owned + ghosts) / all_
    exchange = _exchange(division, costs, network)
    lists, agree = _collective(ranks, division.owned.shape[1], costs, network)
    busy = compute + detect + exchange
    slowest = float(busy.max(initial=0.0))
    total = slowest + lists + agree
    parts = (compute.mean(), detect.mean(), exchange.mean(), lists, agree, slowest - busy.mean())
    speed_up = costs.alone / total if total > 0.0 else 1.0
    return {
        "seconds_per_step": total,
        "parts": dict(zip(PARTS, map(float, parts), strict=True)),
        "imbalance": float(compute.max(initial=0.0) / compute.mean()) if compute.any() else 1.0,
        "speed_up": speed_up,
        "efficiency": speed_up / ranks,
    }


def _exchange(division: Division, costs: Costs, network: Network) -> Floats:
    """Return the seconds of each rank in a step for its copies; what comes and what goes have a line each."""
    out, into = division.sent.sum(axis=1), division.ghosts.sum(axis=1)
    messages = np.maximum(division.sends, division.receives)
    seconds: Floats = (
        costs.copy * out
        + network.latency * messages
        + division.row_bytes * np.maximum(out, into) / network.bandwidth
    )
    return seconds


def _collective(ranks: int, levels: int, costs: Costs, network: Network) -> tuple[float, float]:
    """Return the seconds of a step for lists of all ranks, and for agreeing on the next step."""
    if ranks == 1:
        return 0.0, 0.0
    agree = network.latency * math.ceil(math.log2(ranks))
    all_bytes = ranks * (_EXTENT_BYTES * levels + _COUNT_EXCHANGES * _COUNT_BYTES)
    messages = (1 + _COUNT_EXCHANGES) * agree + all_bytes / network.bandwidth
    own = (costs.copies_list + costs.migration_list) * (ranks - 1)
    return costs.detections * (own + messages), agree


def summary(division: Division, work: Work) -> dict[str, Any]:
    """Return numbers of a division for a table: smallest, mean and largest over the ranks."""
    facets = work.facets_by_rank(division)
    owned, ghosts, sent = (one.sum(axis=1) for one in (division.owned, division.ghosts, division.sent))
    particles = max(int(owned.sum()), 1)
    return {
        "ranks": division.ranks,
        "owned": _spread(owned),
        "ghosts": _spread(ghosts),
        "ghosts_per_particle": float(ghosts.sum() / particles),
        "ghosts_by_size": [float(many / particles) for many in division.ghosts.sum(axis=0)],
        "neighbours": _spread(division.sends),
        "bytes_per_step": _spread(division.row_bytes * sent),
        "particles": int(owned.sum()),
        **({} if facets is None else {"facets": _spread(facets)}),
    }


def _spread(values: NDArray[Any]) -> dict[str, float]:
    return {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
