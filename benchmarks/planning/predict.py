"""Predicted time of a step on many ranks, from counted work, measured costs and an assumed network.

Owned particles and ghosts of each of the P ranks are counted exactly at the beginning of the run. Parts of a step:

* compute: measured time of one rank for integration, pairs and walls, times the rank's share of particles,
  candidate pairs (pairs across a cut are evaluated on both sides) and candidate facets;
* detect: measured time of one rank for neighbour lists, times the rank's share of particles, ghosts included;
* exchange: packing and unpacking of ghosts (measured), an overhead for each message, and travel time that exceeds
  the time of the contacts that a rank evaluates before it waits;
* lists: work of a detection for every neighbour (measured), its messages, and its all-reduces;
* agree: the all-reduce of a step;
* wait: idle time until the slowest rank has finished.

Not included: networks shared by many ranks, memory shared by cores, noise, imbalance that grows later, output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.scaling.comparison import PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.planning.division import Division
    from benchmarks.planning.network import Network
    from pdem.foundation.array_types import Floats, Integers

_EXTENT_BYTES = 56
MESSAGES = 4
"""Messages of a detection to each neighbour: extents, copies, number of leaving particles, their rows."""
AGREEMENTS = 3
"""Successive all-reduces of a detection, see `decomposition.exchange`: two of the four run concurrently."""


@dataclass(frozen=True)
class Costs:
    """Costs measured on one rank.

    Attributes
    ----------
    threads : int
        Threads of that rank, and of all planned ranks.
    steps : int
        Number of timed steps.
    particle, pair, wall : float
        Seconds per step for all particles: integration and sums, pairs, walls.
    detect : float
        Seconds per step for neighbour lists, averaged over the steps between detections.
    detections : float
        Detections per step.
    copy : float
        Time to pack one ghost into a message [s]; there is no unpacking, as messages arrive in place.
    neighbour : float
        Time of a detection per neighbour [s], without messages.
    """

    threads: int
    steps: int
    particle: float
    pair: float
    wall: float
    detect: float
    detections: float
    copy: float
    neighbour: float

    @property
    def one_rank(self) -> float:
        """Time of a step on one rank [s]."""
        return self.particle + self.pair + self.wall + self.detect

    def for_work(self, measured: WorkCounts, other: WorkCounts) -> Costs:
        """Return the costs scaled from the `measured` work to `other` work."""
        ratio = len(other.facets) / max(len(measured.facets), 1)
        pairs, facets = len(measured.first), int(measured.facets.sum())
        return replace(
            self,
            particle=self.particle * ratio,
            pair=self.pair * (len(other.first) / pairs if pairs else ratio),
            wall=self.wall * (float(other.facets.sum()) / facets if facets else ratio),
            detect=self.detect * ratio,
        )


@dataclass(frozen=True)
class WorkCounts:
    """Candidates at the beginning of a run.

    Attributes
    ----------
    first, second : (m,) int64 arrays
        Rows of the particles of each candidate pair.
    facets : (n,) int64 array
        Candidate facets of each particle.
    facet_candidates : two int64 arrays, optional
        Row of the particle and index of the facet of each candidate; None without walls.
    """

    first: Integers
    second: Integers
    facets: Integers
    facet_candidates: tuple[Integers, Integers] | None = None

    def by_rank(self, division: Division) -> tuple[Floats, Floats, Floats]:
        """Return the numbers of candidate pairs within each rank and across its cuts, and of its candidate facets.

        A pair across a cut counts on both sides.
        """
        one, other = division.owner[self.first], division.owner[self.second]
        crosses = one != other
        within = np.bincount(one[~crosses], minlength=division.ranks)
        across = np.bincount(np.concatenate((one[crosses], other[crosses])), minlength=division.ranks)
        facets = np.bincount(division.owner, self.facets, minlength=division.ranks)
        return within.astype(np.float64), across.astype(np.float64), facets.astype(np.float64)

    def facets_by_rank(self, division: Division) -> Integers | None:
        """Return the number of distinct candidate facets of each rank; None without walls."""
        if self.facet_candidates is None:
            return None
        particle, facet = self.facet_candidates
        number = int(facet.max(initial=0)) + 1
        pairs = np.unique(division.owner[particle] * number + facet)
        return np.bincount(pairs // number, minlength=division.ranks)


def predict(division: Division, work: WorkCounts, costs: Costs, network: Network) -> dict[str, Any]:
    """Return the predicted time of a step on the ranks of a division.

    Returns
    -------
    dict
        ``seconds_per_step``, ``parts`` (as in `PARTS`) [s], ``imbalance`` of compute (largest over mean),
        ``speed_up`` and ``efficiency`` over one rank.
    """
    ranks, owned, ghosts = division.ranks, division.owned.sum(axis=1), division.ghosts.sum(axis=1)
    within, across, facets = work.by_rank(division)
    particles = max(int(owned.sum()), 1)
    # without candidates at the beginning, for instance while grains fall, later candidates are shared like particles
    share = owned / particles
    number = len(work.first)
    before, after = (within / number, across / number) if number else (share, np.zeros_like(share))
    wall_share = facets / facets.sum() if facets.any() else share
    early = costs.pair * before + costs.wall * wall_share
    compute = costs.particle * share + early + costs.pair * after
    detect = costs.detect * (owned + ghosts) / particles
    exchange = _exchange(division, costs, network, early)
    lists, agree = _lists_and_agreement(division, costs, network)
    busy = compute + detect + exchange
    slowest = float(busy.max(initial=0.0))
    total = slowest + lists + agree
    parts = (compute.mean(), detect.mean(), exchange.mean(), lists, agree, slowest - busy.mean())
    speed_up = costs.one_rank / total if total > 0.0 else 1.0
    return {
        "seconds_per_step": total,
        "parts": dict(zip(PARTS, map(float, parts), strict=True)),
        "imbalance": float(compute.max(initial=0.0) / compute.mean()) if compute.any() else 1.0,
        "speed_up": speed_up,
        "efficiency": speed_up / ranks,
    }


def _exchange(division: Division, costs: Costs, network: Network, early: Floats) -> Floats:
    """Return the time per step of each rank for ghosts, which travel during the `early` work of the rank [s]."""
    messages = np.maximum(division.sends, division.receives)
    most_bytes = np.maximum(division.sent_bytes, division.received_bytes)
    seconds: Floats = costs.copy * division.sent.sum(axis=1) + network.delay(messages, most_bytes, early)
    return seconds


def _lists_and_agreement(division: Division, costs: Costs, network: Network) -> tuple[float, float]:
    """Return the time per step for the neighbours of a detection, and for the all-reduce [s]."""
    agree, neighbours = network.all_reduce(division.ranks), int(division.neighbours.max())
    extents = _EXTENT_BYTES * division.owned.shape[1] * neighbours
    messages = network.exchange(neighbours, extents) + (MESSAGES - 1) * network.exchange(neighbours)
    return costs.detections * (costs.neighbour * neighbours + messages + AGREEMENTS * agree), agree


def summary(division: Division, work: WorkCounts) -> dict[str, Any]:
    """Return numbers of a division for a table: smallest, mean and largest over the ranks."""
    facets = work.facets_by_rank(division)
    owned, ghosts = division.owned.sum(axis=1), division.ghosts.sum(axis=1)
    particles = max(int(owned.sum()), 1)
    return {
        "ranks": division.ranks,
        "owned": _spread(owned),
        "ghosts": _spread(ghosts),
        "ghosts_per_particle": float(ghosts.sum() / particles),
        "ghosts_by_size": [float(many / particles) for many in division.ghosts.sum(axis=0)],
        "neighbours": _spread(division.neighbours),
        "bytes_per_step": _spread(division.sent_bytes),
        "particles": int(owned.sum()),
        **({} if facets is None else {"facets": _spread(facets)}),
    }


def _spread(values: NDArray[Any]) -> dict[str, float]:
    return {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
