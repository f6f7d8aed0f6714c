"""A plan: the real division of a case's particles among many ranks, and the time of a step that it predicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError
from pdem.foundation.memory import BYTES_PER_PARTICLE, largest_count
from pdem.output.log import environment
from pdem.scaling.predict import Costs, Work, predict, summary
from pdem.scaling.starts import begin
from pdem.simulation.ranks import copy_seconds, division_of, list_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from pdem.benchmark.cases import Prepared
    from pdem.contact.walls.contacts import WallContacts
    from pdem.containers.exchange import Division
    from pdem.scaling.predict import Network
    from pdem.simulation.simulation import Simulation


def plan(
    name: str, start: Prepared, ranks: Sequence[int], network: Network, threads: int, steps: int, warm_up: int,
    larger: Callable[[int], Prepared] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the plan of a case, for a file.

    Parameters
    ----------
    name : str
        Of the case.
    start : Prepared
        Where it begins.
    ranks : sequence of int
        Numbers of ranks, each at least 1.
    network : Network
        Between them.
    threads : int
        Of each rank.
    steps, warm_up : int
        To be timed on one rank, and before that; without any the plan only counts.
    larger : callable, optional
        Returns the start for so many ranks, if the case grows with them (weak scaling).

    Raises
    ------
    InputError
        If a number of ranks is below 1, there are no particles, or more than fit into the memory.
    """
    if not ranks or min(ranks) < 1:
        raise InputError(f"a plan for {min(ranks, default=0)} ranks: at least 1 is needed")
    simulation = begin(start, threads)
    if simulation.particles.count == 0:
        raise InputError(f"{name}: has no particles at its beginning; plan a checkpoint of its run instead")
    if larger is not None:
        _require_memory(name, int(simulation.particles.count), max(ranks))
    work = work_of(simulation, start)
    document: dict[str, Any] = {
        "case": name, "weak": larger is not None, "particles": int(simulation.particles.count),
        "candidate_pairs": len(work.first), "threads": threads, "radii": simulation.system.skins.radii.tolist(),
        "network": asdict(network), "environment": environment(),
    }  # fmt: skip
    parts: Iterable[tuple[Division, Work]]
    if larger is None:
        parts = [(divide(simulation, start, count), work) for count in ranks]  # steps may change the skins
        costs = measured_costs(simulation, threads, steps, warm_up) if steps else None
    else:
        costs = measured_costs(simulation, threads, steps, warm_up) if steps else None
        parts = (_grown(larger(count), count, threads) for count in ranks)
    rows = []
    for division, there in parts:
        predicted = {} if costs is None else predict(division, there, costs.for_work(work, there), network)
        rows.append({**summary(division, there), **predicted})
    return {**document, "costs": None if costs is None else asdict(costs), "rows": rows}


def _grown(start: Prepared, ranks: int, threads: int) -> tuple[Division, Work]:
    """Return division and work of a start that was made for so many ranks."""
    simulation = begin(start, threads)
    return divide(simulation, start, ranks), work_of(simulation, start)


def _require_memory(name: str, particles: int, times: int) -> None:
    """Require that a case fits into the memory of this machine so many times."""
    most = largest_count(BYTES_PER_PARTICLE) / particles
    if times > most:
        raise InputError(
            f"{name}: {particles} particles for each of {times} ranks do not fit into the memory of this machine, "
            f"where a plan has them all: about {most:.0f} times as many do; plan for fewer ranks, or without --weak"
        )


def divide(simulation: Simulation, start: Prepared, ranks: int) -> Division:
    """Return the division with which a run of a start on so many ranks begins."""
    columns = _columns(start)
    return division_of(start.case, ranks, columns["position"], columns["radius"], simulation.system.skins)


def _columns(start: Prepared) -> dict[str, Any]:
    columns = start.particles if start.state is None else start.state["particles"]
    if columns is None:
        raise InputError("a start without particles cannot be planned; prepare it on rank 0")
    return columns


def work_of(simulation: Simulation, start: Prepared) -> Work:
    """Return candidates of a simulation of one rank at its beginning, by rows of its start."""
    system, ids = simulation.system, _columns(start)["id"]
    order = np.argsort(ids)
    row = order[np.searchsorted(ids, system.particles.id, sorter=order)]
    found = slice(0, system.pair_contacts.candidates)
    facets = np.zeros(len(ids), np.int64)
    facets[row] = system.work()[:, 2]
    near = None if system.wall_contacts is None else facets_of(system.wall_contacts)
    reached = None if near is None else (row[near[0]], near[1])
    return Work(
        row[system.pair_contacts.lower[found]], row[system.pair_contacts.higher[found]], facets, reached
    )


def facets_of(walls: WallContacts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all candidates for contacts with walls: the row of the particle, and the facet."""
    lists = walls.lists
    first, count = lists.start, lists.end - lists.start
    rows = np.repeat(lists.near.astype(np.int64), count)
    places = np.arange(len(rows)) + np.repeat(first - (np.cumsum(count) - count), count)
    return rows, lists.candidates[places]


def measured_costs(simulation: Simulation, threads: int, steps: int, warm_up: int) -> Costs:
    """Take steps on one rank and return what they cost."""
    simulation.advance(warm_up)
    simulation.phases.reset_seconds()
    detections = simulation.system.detections
    simulation.advance(steps)
    spent = simulation.phases.seconds

    def per_step(*names: str) -> float:
        return sum(spent.get(name, 0.0) for name in names) / steps

    copies, migration = list_seconds(len(simulation.system.skins.radii))
    return Costs(
        threads=threads,
        steps=steps,
        particle=per_step("integrate", "sum", "wait"),
        pair=per_step("pairs"),
        wall=per_step("walls", "walls move", "detect facets"),
        detect=per_step("detect", "migrate", "exchange"),
        detections=(simulation.system.detections - detections) / steps,
        copy=copy_seconds(),
        copies_list=copies,
        migration_list=migration,
    )
